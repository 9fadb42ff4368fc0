"""CAMCAST's keeping of communities in touch (3.4, Fig. 6), and the news it spreads inside them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from agents.core.errors import RemoteError
from agents.core.interest import Topic
from agents.core.messages import MAX_TOPIC_NAME, ns
from agents.membership.scamp import HeartbeatDue, Scamp, ScampHeartbeat, Welcome
from agents.protocols.camcast.messages import (
    MAX_NEWS,
    MAX_NEWS_PEERS,
    MAX_NEWS_TABLES,
    Alive,
    AnsContact,
    Check,
    CheckTimeout,
    KeepTableUpdated,
    NewProcesses,
    NewProcessRequest,
    ReqContact,
    SearchTimeout,
    TableNews,
)
from tests.support.camcast import ME, Effects, Peer, decoded, encoded, hierarchy, to_each

SOCCER, ITALY, TENNIS = ".soccer", ".soccer.italy", ".tennis"
NEAR = [20, 21]
UPKEEP = KeepTableUpdated(ITALY, 2)
FIRST_CHECK = 3
"""Its serial: 1 was the search's and 2 the upkeep's."""


def fan(*above: int, topic: str = SOCCER, **options: Any) -> Peer:
    """Of `.soccer.italy`, with these processes above it as answers to its search brought them."""
    options = {"neighbourhood": NEAR, "maintain_every_s": 10, **options}
    peer = Peer(hierarchy(ITALY, TENNIS), {ITALY: [ME]}, **options).subscribe(ITALY)
    for other in above:
        peer.hear(other, AnsContact(ITALY, SOCCER, topic, (other,)))
    return peer.settle()


def checking(*above: int, **options: Any) -> Peer:
    """The same, when it has just asked them all whether they are alive."""
    peer = fan(*above, **options)
    assert peer.fire(UPKEEP, 0.0) == to_each(above, check())
    return peer.settle()


def bereaved(*above: int, dead: int, **options: Any) -> Peer:
    """The same, when `dead` was found so by a check of its own and all others answered."""
    peer = checking(*above, check_attempts=1, **options)
    for other in above:
        if other != dead:
            peer.hear(other, alive())
    peer.fire(timeout())
    return peer.settle()


def check(serial: int = FIRST_CHECK, topic: str = SOCCER) -> Check:
    return Check(ITALY, SOCCER, topic, serial)


def alive(serial: int = FIRST_CHECK, topic: str = SOCCER) -> Alive:
    return Alive(ITALY, SOCCER, topic, serial)


def timeout(attempt: int = 1, serial: int = FIRST_CHECK) -> CheckTimeout:
    return CheckTimeout(ITALY, SOCCER, serial, attempt)


def search(serial: int, *scope: str) -> Effects:
    return to_each(NEAR, ReqContact(ME, serial, ITALY, SOCCER, scope, 4))


# KEEP_TABLE_UPDATED


def test_the_first_upkeep_is_somewhere_in_the_first_period() -> None:
    peer = Peer(hierarchy(ITALY), maintain_every_s=10)
    peer.draws(0.25, 0.7)  # the first serial ever; when in the period

    peer.camcast.subscribe(Topic(ITALY))

    assert peer.port.timers == [(ns(7), KeepTableUpdated(ITALY, (1 << 29) + 1))]


def test_the_root_has_nothing_to_keep_up() -> None:
    peer = Peer(hierarchy(ITALY), maintain_every_s=10).subscribe(".")

    assert peer.port.timers == []


def test_a_period_of_0_means_never() -> None:
    assert fan(maintain_every_s=0).port.timers == []


def test_a_selected_process_asks_all_above_whether_they_are_alive() -> None:
    peer = fan(10, 11, 12, psel=0.5)

    assert peer.fire(UPKEEP, 0.49) == to_each([10, 11, 12], check())
    assert peer.port.timers == [(ns(1), timeout()), (ns(10), UPKEEP)]


def test_a_process_that_is_not_selected_only_waits_for_the_next_time() -> None:
    peer = fan(10, 11, 12, psel=0.5)

    assert peer.fire(UPKEEP, 0.5) == []
    assert peer.port.timers == [(ns(10), UPKEEP)]


def test_an_empty_table_starts_the_search_and_draws_nothing() -> None:
    near: list[int] = []
    peer = fan(neighbourhood=near)
    upkeep = KeepTableUpdated(ITALY, 1)
    near += NEAR

    assert peer.fire(upkeep) == search(2, SOCCER)
    assert peer.port.timers == [(ns(1), SearchTimeout(ITALY, SOCCER, 2)), (ns(10), upkeep)]


def test_those_who_stand_in_are_checked_while_the_search_for_the_direct_ones_goes_on() -> None:
    peer = fan(10, topic=".")

    assert peer.fire(UPKEEP, 0.0) == [(10, check(topic="."))]
    assert peer.fire(SearchTimeout(ITALY, SOCCER, 1)) == search(4, SOCCER)


def test_a_check_that_is_still_on_is_not_begun_again() -> None:
    peer = checking(10, 11)

    assert peer.fire(UPKEEP, 0.0) == []
    assert peer.port.timers == [(ns(10), UPKEEP)]


def test_each_parents_table_is_drawn_for_and_checked_by_itself() -> None:
    topics = hierarchy(ITALY, ".travel", italy=[".travel"])
    peer = Peer(
        topics, super_contacts={SOCCER: [10], ".travel": [11]}, maintain_every_s=10, psel=0.5
    ).subscribe(ITALY)

    sent = peer.fire(KeepTableUpdated(ITALY, 1), 0.9, 0.1)

    assert sent == [(11, Check(ITALY, ".travel", ".travel", 2))]


# Check and Alive


def test_a_member_that_is_asked_says_that_it_is_alive() -> None:
    peer = Peer(hierarchy(ITALY)).subscribe(SOCCER)

    assert peer.hear(5, check(7)) == [(5, alive(7))]


def test_who_is_not_or_no_longer_in_the_community_does_not_pass_for_alive() -> None:
    peer = Peer(hierarchy(ITALY)).subscribe(SOCCER)
    peer.camcast.unsubscribe(Topic(SOCCER))

    with pytest.raises(RemoteError, match="not in the community"):
        peer.hear(5, check(7))

    assert peer.port.sent == []


def test_when_all_answered_nothing_changes() -> None:
    peer = checking(10, 11, 12)
    for other in (10, 11, 12):
        assert peer.hear(other, alive()) == []

    assert peer.fire(timeout()) == []
    assert peer.port.timers == []
    assert peer.known(ITALY, SOCCER) == {SOCCER: [10, 11, 12]}


def test_who_did_not_answer_is_asked_again_as_often_as_configured() -> None:
    peer = checking(10, 11, 12, check_attempts=3, tau=0)
    peer.hear(11, alive())

    assert peer.fire(timeout(1)) == to_each([10, 12], check())
    peer.hear(12, alive())
    assert peer.fire(timeout(2)) == [(10, check())]
    assert peer.port.take_timers() == [(ns(1), timeout(2)), (ns(1), timeout(3))]
    assert peer.known(ITALY, SOCCER) == {SOCCER: [10, 11, 12]}

    assert peer.fire(timeout(3)) == []
    assert peer.known(ITALY, SOCCER) == {SOCCER: [12, 11]}


def test_how_long_an_answer_may_take_is_configured() -> None:
    peer = fan(10, check_timeout_s=0.25)

    peer.fire(UPKEEP, 0.0)

    assert peer.port.timers[0] == (ns(0.25), timeout())


def test_the_timeout_of_an_earlier_check_does_nothing() -> None:
    peer = checking(10, check_attempts=1)
    peer.hear(10, alive())
    peer.fire(timeout())
    peer.fire(UPKEEP, 0.0)  # the next check, 4
    peer.settle()

    assert peer.fire(timeout()) == []
    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}


def test_an_answer_to_an_earlier_check_is_none_to_this_one() -> None:
    peer = checking(10, 11, check_attempts=1)
    peer.hear(10, alive())
    peer.hear(11, alive())
    peer.fire(timeout())
    peer.fire(UPKEEP, 0.0)  # the next check, 4

    peer.hear(10, alive(3))
    peer.hear(11, alive(4))
    peer.fire(timeout(serial=4))

    assert peer.known(ITALY, SOCCER) == {SOCCER: [11]}


def test_the_same_process_may_stand_there_for_two_topics_and_answers_for_each() -> None:
    topics = hierarchy(".a.x.low", ".b", x=[".b"])
    peer = Peer(
        topics, super_contacts={".a": [10], ".b": [10]}, maintain_every_s=10, check_attempts=1
    ).subscribe(".a.x.low")

    def about(topic: str) -> Check:
        return Check(".a.x.low", ".a.x", topic, 2)

    assert peer.fire(KeepTableUpdated(".a.x.low", 1), 0.0, 0.0, 0.0) == [
        (10, about(".a")),
        (10, about(".b")),
    ]
    peer.hear(10, Alive(".a.x.low", ".a.x", ".b", 2))
    peer.draws(0.0, 0.0)
    peer.fire(CheckTimeout(".a.x.low", ".a.x", 2, 1))
    assert peer.known(".a.x.low", ".a.x") == {".b": [10]}


def test_an_answer_for_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(RemoteError, match="no parent"):
        checking(10).hear(10, Alive(ITALY, TENNIS, TENNIS, FIRST_CHECK))


def test_a_stranger_that_says_it_is_alive_is_not_taken_in() -> None:
    peer = checking(10)

    peer.hear(99, alive())

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}


# At tau or fewer


@pytest.mark.parametrize(
    ("tau", "asked"),
    [
        (0, []),
        (1, []),
        (2, [(11, 1), (12, 1)]),
        (3, [(11, 1), (12, 1)]),  # z - tau is 0, and none would be no answer
    ],
)
def test_at_tau_or_fewer_the_living_are_asked_for_z_minus_tau_others(
    tau: int, asked: list[tuple[int, int]]
) -> None:
    peer = checking(10, 11, 12, tau=tau, check_attempts=1)
    peer.hear(12, alive())
    peer.hear(11, alive())

    sent = peer.fire(timeout())

    assert sorted(sent, key=lambda one: one[0]) == [
        (to, NewProcessRequest(ITALY, SOCCER, SOCCER, count)) for to, count in asked
    ]


def test_they_are_asked_for_even_if_nobody_died() -> None:
    peer = checking(10, z=5, tau=2)
    peer.hear(10, alive())

    assert peer.fire(timeout()) == [(10, NewProcessRequest(ITALY, SOCCER, SOCCER, 3))]


def test_a_member_names_so_many_others_but_not_the_one_who_asks() -> None:
    peer = Peer(hierarchy(ITALY), {SOCCER: [ME, 1, 2, 3, 4]}).subscribe(SOCCER)

    sent = peer.hear(1, NewProcessRequest(ITALY, SOCCER, SOCCER, 2), 0.0, 0.0, 0.0)

    assert sent == [(1, NewProcesses(ITALY, SOCCER, SOCCER, (2, 3)))]


def test_a_member_that_knows_nobody_says_so() -> None:
    peer = Peer(hierarchy(ITALY)).subscribe(SOCCER)

    sent = peer.hear(5, NewProcessRequest(ITALY, SOCCER, SOCCER, 2))

    assert sent == [(5, NewProcesses(ITALY, SOCCER, SOCCER, ()))]


def test_who_is_asked_for_members_of_a_community_that_it_is_not_in_refuses() -> None:
    with pytest.raises(RemoteError, match="not in the community"):
        fan().hear(5, NewProcessRequest(ITALY, SOCCER, SOCCER, 2))


def test_new_processes_take_the_places_of_the_dead_and_the_living_keep_theirs() -> None:
    peer = bereaved(10, 11, 12, dead=10)

    sent = peer.hear(11, NewProcesses(ITALY, SOCCER, SOCCER, (13, ME, 14)))

    assert sent == []
    assert peer.known(ITALY, SOCCER) == {SOCCER: [12, 11, 13]}


def test_the_dead_are_not_taken_back_on_hearsay_but_asked_whether_they_live() -> None:
    peer = bereaved(10, 11, 12, dead=10)

    sent = peer.hear(11, NewProcesses(ITALY, SOCCER, SOCCER, (10,)))

    assert sent == [(10, check(1))]
    assert peer.known(ITALY, SOCCER) == {SOCCER: [12, 11]}


def test_one_who_was_taken_for_dead_and_sends_new_processes_is_taken_back() -> None:
    peer = bereaved(10, 11, 12, dead=10)

    assert peer.hear(10, NewProcesses(ITALY, SOCCER, SOCCER, ())) == []
    assert peer.known(ITALY, SOCCER) == {SOCCER: [12, 11, 10]}


@pytest.mark.parametrize(
    "wrong",
    [NewProcesses(ITALY, SOCCER, TENNIS, (9,)), NewProcesses(ITALY, TENNIS, TENNIS, (9,))],
)
def test_new_processes_of_what_does_not_lie_above_are_refused(wrong: NewProcesses) -> None:
    peer = fan(10)

    with pytest.raises(RemoteError):
        peer.hear(10, wrong)

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}


# Nobody left


def test_when_all_are_dead_the_search_begins_anew_at_once() -> None:
    peer = checking(10, check_attempts=1)

    assert peer.fire(timeout()) == search(4, SOCCER)
    assert peer.known(ITALY, SOCCER) == {}
    assert peer.port.timers == [(ns(1), SearchTimeout(ITALY, SOCCER, 4))]


def test_given_contacts_that_were_found_dead_are_asked_before_others_are() -> None:
    peer = Peer(
        hierarchy(ITALY),
        super_contacts={SOCCER: [10]},
        neighbourhood=[20],
        maintain_every_s=10,
        check_attempts=1,
    ).subscribe(ITALY)
    peer.fire(KeepTableUpdated(ITALY, 1), 0.0)

    sent = peer.fire(timeout(serial=2), 0.0)

    # 0 for the check: it belongs to no search.
    assert sent == [(10, check(0)), (20, ReqContact(ME, 3, ITALY, SOCCER, (SOCCER,), 4))]
    peer.hear(10, alive(0))
    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}
    assert peer.fire(SearchTimeout(ITALY, SOCCER, 3)) == []


def test_the_dead_themselves_are_taken_back_when_they_answer_a_search() -> None:
    peer = checking(10, check_attempts=1)
    peer.fire(timeout())

    assert peer.hear(10, AnsContact(ITALY, SOCCER, SOCCER, (10,))) == []
    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}


def test_another_who_names_the_dead_has_them_asked_first() -> None:
    peer = checking(10, check_attempts=1)
    peer.fire(timeout())

    assert peer.hear(20, AnsContact(ITALY, SOCCER, SOCCER, (10, 11))) == [(10, check(4))]
    assert peer.known(ITALY, SOCCER) == {SOCCER: [11]}
    peer.hear(10, alive(4))
    assert peer.known(ITALY, SOCCER) == {SOCCER: [11, 10]}


# Signs of life


def test_one_who_answers_late_is_taken_back() -> None:
    peer = bereaved(10, 11, 12, dead=10)

    peer.hear(10, alive())

    assert peer.known(ITALY, SOCCER) == {SOCCER: [12, 11, 10]}


def test_one_who_answers_late_finds_its_place_taken() -> None:
    peer = bereaved(10, 11, 12, dead=10)
    peer.hear(11, NewProcesses(ITALY, SOCCER, SOCCER, (13,)))

    peer.hear(10, alive())

    assert peer.known(ITALY, SOCCER) == {SOCCER: [12, 11, 13]}


def test_one_whom_others_took_for_dead_and_who_answers_our_check_is_taken_back() -> None:
    peer = checking(10, 11)
    peer.community(ITALY).incoming_news(5, encoded(TableNews(SOCCER, SOCCER, (), (10,))))
    assert peer.known(ITALY, SOCCER) == {SOCCER: [11]}

    peer.hear(10, alive())

    assert peer.known(ITALY, SOCCER) == {SOCCER: [11, 10]}


# News inside the community (3.3, 3.4)


def news_of(peer: Peer) -> list[TableNews]:
    return decoded(peer.community(ITALY).outgoing_news())


def test_a_table_that_is_empty_is_no_news() -> None:
    assert fan().community(ITALY).outgoing_news() == b""


def test_the_news_are_who_is_above() -> None:
    assert news_of(fan(10, 11)) == [TableNews(SOCCER, SOCCER, (10, 11), ())]


def test_the_news_say_of_which_topic_those_are_who_stand_in() -> None:
    assert news_of(fan(10, topic=".")) == [TableNews(SOCCER, ".", (10,), ())]


def test_the_news_are_also_whom_the_last_check_of_ours_found_dead() -> None:
    assert news_of(bereaved(10, 11, 12, dead=10)) == [TableNews(SOCCER, SOCCER, (12, 11), (10,))]


def test_a_table_that_died_out_is_news_too() -> None:
    assert news_of(bereaved(10, dead=10)) == [TableNews(SOCCER, SOCCER, (), (10,))]


def test_what_others_say_of_the_dead_is_acted_upon_but_not_passed_on() -> None:
    peer = fan(10, 11)

    peer.community(ITALY).incoming_news(5, encoded(TableNews(SOCCER, SOCCER, (), (10,))))

    assert news_of(peer) == [TableNews(SOCCER, SOCCER, (11,), ())]


def test_one_who_lives_after_all_is_no_longer_told_of_as_dead() -> None:
    peer = bereaved(10, 11, 12, dead=10)

    peer.hear(10, alive())

    assert news_of(peer) == [TableNews(SOCCER, SOCCER, (12, 11, 10), ())]


def test_a_next_check_forgets_what_the_last_one_found() -> None:
    peer = bereaved(10, 11, 12, dead=10)

    peer.fire(UPKEEP, 0.0)

    assert news_of(peer) == [TableNews(SOCCER, SOCCER, (12, 11), ())]


def test_the_news_are_merged_the_living_keep_their_places_and_the_dead_lose_theirs() -> None:
    peer = fan(10, 11, z=3)

    peer.community(ITALY).incoming_news(
        5, encoded(TableNews(SOCCER, SOCCER, (11, 12, ME, 13, 14), (10,)))
    )

    assert peer.known(ITALY, SOCCER) == {SOCCER: [11, 12, 13]}


def test_the_news_of_the_super_topic_end_the_search() -> None:
    peer = fan()

    peer.community(ITALY).incoming_news(5, encoded(TableNews(SOCCER, SOCCER, (10,), ())))

    assert peer.fire(SearchTimeout(ITALY, SOCCER, 1)) == []


def test_whom_we_found_dead_others_cannot_bring_back() -> None:
    peer = bereaved(10, 11, dead=10)

    peer.community(ITALY).incoming_news(5, encoded(TableNews(SOCCER, SOCCER, (10,), ())))

    assert peer.known(ITALY, SOCCER) == {SOCCER: [11]}


@pytest.mark.parametrize(
    "garbage",
    [
        b"\xc1",
        b"\x00",
        encoded(TableNews(SOCCER, SOCCER, (12,), ()))[:-1],
        encoded(TableNews(SOCCER, SOCCER, (12,), ())) + b"\x00",
        msgspec.msgpack.encode([[SOCCER, SOCCER, [-1], []]]),
        msgspec.msgpack.encode([[SOCCER, SOCCER, [1 << 32], []]]),
        msgspec.msgpack.encode([[SOCCER, SOCCER, list(range(1025)), []]]),
        msgspec.msgpack.encode([[SOCCER, "." + "x" * MAX_TOPIC_NAME, [], []]]),
        encoded(*[TableNews(SOCCER, SOCCER, (12,), ())] * (MAX_NEWS_TABLES + 1)),
        encoded(TableNews(SOCCER, SOCCER, (12,), (10,)), TableNews(TENNIS, TENNIS, (13,), ())),
        encoded(TableNews(SOCCER, SOCCER, (12,), (10,)), TableNews(SOCCER, TENNIS, (13,), ())),
        encoded(TableNews(SOCCER, ITALY, (13,), ())),
    ],
)
def test_news_that_make_no_sense_are_refused_and_change_nothing(garbage: bytes) -> None:
    peer = fan(10, 11)

    with pytest.raises(RemoteError):
        peer.community(ITALY).incoming_news(5, garbage)

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10, 11]}


def test_news_of_a_parent_that_the_sender_noticed_first_are_taken() -> None:
    peer = fan(10)
    peer.camcast.setting.topics.add_parent(ITALY, TENNIS)

    peer.community(ITALY).incoming_news(5, encoded(TableNews(TENNIS, TENNIS, (30,), ())))

    assert peer.known(ITALY, TENNIS) == {TENNIS: [30]}


def test_of_a_very_large_table_the_first_are_told() -> None:
    peer = fan(*range(100, 300), z=200)

    assert news_of(peer) == [TableNews(SOCCER, SOCCER, tuple(range(100, 100 + MAX_NEWS_PEERS)), ())]


def test_the_news_of_very_many_parents_are_as_many_as_others_take() -> None:
    parents = [f".p{number}" for number in range(2 * MAX_NEWS_TABLES)]
    topics = hierarchy(".low", *parents, low=parents)
    contacts = {parent: [5] for parent in parents}
    teller = Peer(topics, super_contacts=contacts).subscribe(".low")
    hearer = Peer(topics).subscribe(".low")

    hearer.community(".low").incoming_news(5, teller.community(".low").outgoing_news())

    told = [parent for parent, table in hearer.community(".low").tables.items() if table.complete]
    # The parent by name has no contacts, so that only the further ones are told of.
    assert told == parents[:MAX_NEWS_TABLES]


def test_the_news_fit_into_the_memberships_messages() -> None:
    parents = [f".{'p' * 200}{number}" for number in range(60)]
    topics = hierarchy(".low", *parents, low=parents)
    peer = Peer(
        topics, super_contacts={parent: range(1 << 20, (1 << 20) + 60) for parent in parents}, z=60
    )
    peer.draws(*[0.0] * 10_000)
    peer.camcast.subscribe(Topic(".low"))

    news = peer.community(".low").outgoing_news()

    assert len(news) <= MAX_NEWS
    assert 1 < len(decoded(news)) < 60


# News on a real membership's messages


def in_scamp(*above: int) -> Peer:
    return fan(
        *above,
        membership=Scamp,
        membership_parameters={"lease_s": 0},
        contacts={ITALY: [7]},
    )


def test_the_news_ride_on_the_memberships_messages() -> None:
    peer = in_scamp(10)
    peer.hear(7, Welcome(ITALY, False), 0.0)
    ((_, beat),) = [one for one in peer.port.timers if isinstance(one[1], HeartbeatDue)]

    ((to, sent),) = peer.fire(beat)

    assert (to, type(sent)) == (7, ScampHeartbeat)
    assert isinstance(sent, ScampHeartbeat)
    assert decoded(sent.news) == [TableNews(SOCCER, SOCCER, (10,), ())]


def test_a_newcomer_learns_of_the_super_processes_with_its_welcome() -> None:
    peer = in_scamp()

    peer.hear(7, Welcome(ITALY, False, encoded(TableNews(SOCCER, SOCCER, (10,), ()))), 0.0)

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}


def test_garbage_on_a_membership_message_is_refused() -> None:
    peer = in_scamp(10)

    with pytest.raises(RemoteError, match="news of 7 cannot be read"):
        peer.hear(7, ScampHeartbeat(ITALY, b"\xc1"))

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10]}
