"""CAMCAST's bootstrapping (3.3, Fig. 5): how a process finds those above its topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agents.core.errors import RemoteError
from agents.core.interest import Topic
from agents.core.membership import Found
from agents.core.messages import ns
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from agents.protocols.camcast import Camcast
from agents.protocols.camcast.messages import (
    AnsContact,
    KeepTableUpdated,
    ReqContact,
    SearchTimeout,
)
from tests.support.camcast import ME, Effects, Peer, hierarchy, to_each
from tests.support.ports import Exchange, ExchangePort

SOCCER, ITALY, ROME = ".soccer", ".soccer.italy", ".soccer.italy.rome"
TENNIS = ".tennis"
NEAR = [20, 21]


def newcomer(**options: Any) -> Peer:
    """Of `.soccer.italy.rome`, with two processes near by and nobody known above."""
    options = {"neighbourhood": NEAR, **options}
    return Peer(hierarchy(ROME, TENNIS), {ROME: [ME]}, **options).subscribe(ROME)


def request(serial: int, *scope: str, ttl: int = 4) -> ReqContact:
    return ReqContact(ME, serial, ROME, ITALY, scope, ttl)


def asked(serial: int, *scope: str) -> Effects:
    return to_each(NEAR, request(serial, *scope))


def answer(topic: str, *peers: int) -> AnsContact:
    return AnsContact(ROME, ITALY, topic, peers)


def overdue(serial: int) -> SearchTimeout:
    return SearchTimeout(ROME, ITALY, serial)


# From given contacts


def test_given_contacts_of_the_super_community_are_the_table_and_nothing_is_asked() -> None:
    peer = newcomer(super_contacts={ITALY: [5, 6]})

    assert peer.known(ROME, ITALY) == {ITALY: [5, 6]}
    assert (peer.port.sent, peer.port.timers) == ([], [])


def test_of_many_given_contacts_z_are_drawn_and_never_oneself() -> None:
    peer = Peer(hierarchy(ROME), super_contacts={ITALY: [ME, 5, 6, 7, 8]}, z=2)
    peer.draws(0.0, 0.99, 0.0, *[0.0] * 9)

    peer.camcast.subscribe(Topic(ROME))

    assert peer.known(ROME, ITALY) == {ITALY: [8, 6]}


def test_contacts_of_further_topics_are_not_taken_where_there_are_nearer_ones() -> None:
    peer = newcomer(super_contacts={".": [1], SOCCER: [2], ITALY: [3], ROME: [4], TENNIS: [5]})

    assert peer.known(ROME, ITALY) == {ITALY: [3]}


def test_with_contacts_further_up_only_all_below_them_is_searched_for() -> None:
    peer = newcomer(super_contacts={SOCCER: [2], ".": [1]})

    assert peer.known(ROME, ITALY) == {SOCCER: [2]}
    assert peer.port.sent == asked(1, ITALY)


def test_given_contacts_are_looked_at_again_at_each_timeout() -> None:
    contacts: dict[str, list[int]] = {}
    peer = newcomer(super_contacts=contacts).settle()
    contacts[ITALY] = [5]

    assert peer.fire(overdue(1), 0.0) == []
    assert peer.known(ROME, ITALY) == {ITALY: [5]}
    assert peer.port.timers == []


def test_the_root_looks_for_nobody() -> None:
    peer = Peer(hierarchy(ROME), neighbourhood=NEAR, super_contacts={SOCCER: [1]}).subscribe(".")

    assert (peer.port.sent, peer.port.timers) == ([], [])
    assert peer.community(".").tables == {}


# The search


def test_the_search_begins_with_the_direct_super_topic_alone() -> None:
    peer = newcomer(search_timeout_s=0.5, search_ttl=7)

    assert peer.port.sent == to_each(NEAR, request(1, ITALY, ttl=7))
    assert peer.port.timers == [(ns(0.5), overdue(1))]


def test_each_timeout_widens_the_scope_until_the_root_is_in_it() -> None:
    peer = newcomer().settle()

    sent = [peer.fire(overdue(serial)) for serial in (1, 2, 3, 4)]

    assert sent == [
        asked(2, ITALY, SOCCER),
        asked(3, ITALY, SOCCER, "."),
        asked(4, ITALY, SOCCER, "."),
        asked(5, ITALY, SOCCER, "."),
    ]
    waits = [(1, 2), (1, 3), (2, 4), (4, 5)]  # longer once it cannot be widened any more
    assert peer.port.timers == [(ns(wait), overdue(serial)) for wait, serial in waits]


def test_the_timeout_of_an_earlier_round_does_nothing() -> None:
    peer = newcomer()
    peer.fire(overdue(1))
    peer.settle()

    assert peer.fire(overdue(1)) == []
    assert peer.port.timers == []


def test_without_a_neighbourhood_nothing_is_asked_and_nothing_waited_for() -> None:
    peer = newcomer(neighbourhood=())

    assert (peer.port.sent, peer.port.timers) == ([], [])


def test_a_search_that_nobody_could_be_asked_in_is_begun_at_the_next_upkeep() -> None:
    near: list[int] = []
    peer = newcomer(neighbourhood=near, maintain_every_s=10).settle()
    near += NEAR

    assert peer.fire(KeepTableUpdated(ROME, 1)) == asked(2, ITALY)


def test_a_search_that_is_on_is_not_begun_a_second_time_by_upkeep() -> None:
    peer = newcomer(maintain_every_s=10).settle()

    assert peer.fire(KeepTableUpdated(ROME, 2)) == []


def test_processes_of_the_super_topic_end_the_search() -> None:
    peer = newcomer().settle()

    assert peer.hear(9, answer(ITALY, 9, 8)) == []

    assert peer.known(ROME, ITALY) == {ITALY: [9, 8]}
    assert peer.fire(overdue(1)) == []
    assert peer.port.timers == []


def test_processes_further_up_stand_in_and_narrow_the_search_to_what_is_below_them() -> None:
    peer = newcomer()
    peer.fire(overdue(1))
    peer.fire(overdue(2))

    peer.hear(9, answer(SOCCER, 9))

    assert peer.known(ROME, ITALY) == {SOCCER: [9]}
    assert peer.fire(overdue(3)) == asked(4, ITALY)
    assert peer.fire(overdue(4)) == asked(5, ITALY)


def test_a_topic_between_what_was_found_and_what_is_wanted_is_still_asked_for() -> None:
    peer = newcomer()
    peer.fire(overdue(1))
    peer.fire(overdue(2))

    peer.hear(9, answer(".", 9))

    assert peer.fire(overdue(3)) == asked(4, ITALY, SOCCER)


def test_the_super_topics_processes_replace_those_who_stood_in() -> None:
    peer = newcomer()
    peer.fire(overdue(1))
    peer.hear(9, answer(SOCCER, 9))

    peer.hear(7, answer(ITALY, 7))

    assert peer.known(ROME, ITALY) == {ITALY: [7]}
    assert peer.fire(overdue(2)) == []


def test_processes_further_up_come_too_late_where_nearer_ones_are_known() -> None:
    peer = newcomer()
    peer.hear(7, answer(ITALY, 7))

    peer.hear(9, answer(".", 9))

    assert peer.known(ROME, ITALY) == {ITALY: [7]}


def test_further_answers_fill_the_table_up_to_z_and_replace_nobody() -> None:
    peer = newcomer(z=3)
    peer.hear(7, answer(ITALY, 7, 5))

    peer.hear(9, answer(ITALY, 9, 8))

    assert peer.known(ROME, ITALY) == {ITALY: [7, 5, 9]}


def test_an_answer_with_nobody_in_it_but_oneself_changes_nothing() -> None:
    peer = newcomer().settle()

    peer.hear(9, answer(ITALY, ME))

    assert peer.known(ROME, ITALY) == {}
    assert peer.fire(overdue(1)) == asked(2, ITALY, SOCCER)


@pytest.mark.parametrize(
    "wrong",
    [
        AnsContact(ROME, ITALY, ROME, (9,)),  # not above its own parent
        AnsContact(ROME, ITALY, TENNIS, (9,)),
        AnsContact(ROME, ITALY, ".chess", (9,)),
        AnsContact(ROME, SOCCER, SOCCER, (9,)),  # above, but no direct parent
        AnsContact(ITALY, SOCCER, SOCCER, (9,)),  # for a community that we are not in
    ],
)
def test_an_answer_that_was_not_asked_for_is_refused(wrong: AnsContact) -> None:
    peer = newcomer().settle()

    with pytest.raises(RemoteError):
        peer.hear(9, wrong)

    assert (peer.known(ROME, ITALY), peer.port.sent, peer.port.timers) == ({}, [], [])


# Being asked


def test_a_member_answers_with_itself_and_members_it_knows() -> None:
    peer = Peer(hierarchy(ROME), {ITALY: [ME, 1, 2, 3]}, neighbourhood=NEAR, z=3)
    peer.subscribe(ITALY)

    sent = peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY,), 4), 0.0, 0.0)

    assert sent == [(50, answer(ITALY, ME, 1, 2))]


def test_a_member_does_not_name_the_requester_to_itself() -> None:
    peer = Peer(hierarchy(ROME), {ITALY: [ME, 1, 50]}).subscribe(ITALY)

    sent = peer.hear(50, ReqContact(50, 1, ROME, ITALY, (ITALY,), 4), 0.0, 0.0)

    assert sent == [(50, answer(ITALY, ME, 1))]


def test_who_is_below_the_topic_itself_answers_from_its_super_topic_table() -> None:
    peer = newcomer(super_contacts={ITALY: [5, 50, 6]})

    sent = peer.hear(50, ReqContact(50, 1, ROME, ITALY, (ITALY,), 4))

    assert sent == [(50, answer(ITALY, 5, 6))]


def test_the_topic_that_is_wanted_most_is_answered_for() -> None:
    peer = Peer(hierarchy(ROME), super_contacts={SOCCER: [5]}).subscribe(ITALY, ".")

    sent = peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY, SOCCER, "."), 4))
    of_soccer = peer.hear(20, ReqContact(50, 2, ROME, ITALY, (SOCCER, ITALY), 4))

    assert sent == [(50, answer(ITALY, ME))]
    assert of_soccer == [(50, answer(SOCCER, 5))]


def test_who_knows_nobody_passes_the_request_on_but_not_back() -> None:
    peer = Peer(hierarchy(ROME), neighbourhood=[20, 21, 22, 50]).subscribe(".")

    sent = peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY,), 4))

    assert sent == to_each([21, 22], ReqContact(50, 1, ROME, ITALY, (ITALY,), 3))


def test_who_knows_only_the_requester_passes_the_request_on() -> None:
    peer = newcomer(super_contacts={ITALY: [50]})

    sent = peer.hear(50, ReqContact(50, 1, ROME, ITALY, (ITALY,), 1))

    assert sent == to_each(NEAR, ReqContact(50, 1, ROME, ITALY, (ITALY,), 0))


def test_a_request_whose_time_to_live_is_over_goes_no_further() -> None:
    peer = Peer(hierarchy(ROME), neighbourhood=NEAR).subscribe(".")

    assert peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY,), 0)) == []


def test_a_request_whose_time_to_live_is_over_is_still_answered() -> None:
    peer = Peer(hierarchy(ROME)).subscribe(ITALY)

    sent = peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY,), 0))

    assert sent == [(50, answer(ITALY, ME))]


def test_a_request_is_passed_on_once_only() -> None:
    peer = Peer(hierarchy(ROME), neighbourhood=NEAR).subscribe(".")
    wanted = ReqContact(50, 1, ROME, ITALY, (ITALY,), 4)
    peer.hear(20, wanted)

    assert peer.hear(21, wanted) == []
    assert peer.hear(21, ReqContact(50, 1, ROME, ITALY, (ITALY,), 2)) == []


def test_a_request_is_answered_once_only() -> None:
    peer = Peer(hierarchy(ROME)).subscribe(ITALY)
    wanted = ReqContact(50, 1, ROME, ITALY, (ITALY,), 4)
    assert peer.hear(20, wanted) == [(50, answer(ITALY, ME))]

    assert peer.hear(21, wanted) == []


def test_another_round_and_another_requester_are_new_requests() -> None:
    peer = Peer(hierarchy(ROME)).subscribe(ITALY)
    peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY,), 4))

    sent = [
        peer.hear(20, ReqContact(requester, serial, ROME, ITALY, (ITALY,), 4))
        for requester, serial in ((50, 2), (5, 1), (5, 12), (51, 2))
    ]

    assert sent == [[(to, answer(ITALY, ME))] for to in (50, 5, 5, 51)]


def test_ones_own_request_that_comes_back_is_left_alone() -> None:
    assert newcomer().hear(20, request(1, ITALY, ttl=2)) == []


def test_a_request_about_topics_that_we_have_not_heard_of_is_passed_on() -> None:
    peer = Peer(hierarchy(ROME), neighbourhood=NEAR).subscribe(".")

    sent = peer.hear(20, ReqContact(50, 1, ".x.y", ".x", (".x",), 4))

    assert sent == [(21, ReqContact(50, 1, ".x.y", ".x", (".x",), 3))]


def test_who_is_in_no_community_passes_requests_on_too() -> None:
    peer = Peer(hierarchy(ROME), neighbourhood=NEAR)

    sent = peer.hear(20, ReqContact(50, 1, ROME, ITALY, (ITALY,), 4))

    assert sent == [(21, ReqContact(50, 1, ROME, ITALY, (ITALY,), 3))]


# Several parents (3.6)


def two_parents(**options: Any) -> Peer:
    """Of `.soccer.italy`, which lies under `.travel.europe` as well."""
    topics = hierarchy(ITALY, ".travel.europe", italy=[".travel.europe"])
    return Peer(topics, {ITALY: [ME]}, **options)


def test_each_parent_has_a_table_of_its_own() -> None:
    peer = two_parents(super_contacts={SOCCER: [5], ".travel.europe": [6], ".": [7]})

    peer.subscribe(ITALY)

    assert peer.known(ITALY, SOCCER) == {SOCCER: [5]}
    assert peer.known(ITALY, ".travel.europe") == {".travel.europe": [6]}
    assert peer.port.sent == []


def test_each_parent_is_searched_for_by_itself() -> None:
    peer = two_parents(neighbourhood=[20]).subscribe(ITALY)
    europe = ".travel.europe"

    assert peer.port.sent == [
        (20, ReqContact(ME, 1, ITALY, SOCCER, (SOCCER,), 4)),
        (20, ReqContact(ME, 2, ITALY, europe, (europe,), 4)),
    ]
    peer.hear(5, AnsContact(ITALY, SOCCER, SOCCER, (5,)))
    assert peer.fire(SearchTimeout(ITALY, SOCCER, 1)) == []
    assert peer.fire(SearchTimeout(ITALY, europe, 2)) == [
        (20, ReqContact(ME, 3, ITALY, europe, (europe, ".travel"), 4))
    ]


def test_where_the_ways_up_part_both_are_looked_for_and_kept() -> None:
    topics = hierarchy(".a.x", ".b", x=[".b"])
    topics.add_path(".a.x.low")
    peer = Peer(topics, neighbourhood=[20]).subscribe(".a.x.low").settle()

    def wide(serial: int, *scope: str) -> Effects:
        return [(20, ReqContact(ME, serial, ".a.x.low", ".a.x", scope, 4))]

    assert peer.fire(SearchTimeout(".a.x.low", ".a.x", 1)) == wide(2, ".a.x", ".a")
    assert peer.fire(SearchTimeout(".a.x.low", ".a.x", 2)) == wide(3, ".a.x", ".a", ".b")
    peer.hear(5, AnsContact(".a.x.low", ".a.x", ".a", (5,)))
    # The root is reached through .a, but .b is not.
    assert peer.fire(SearchTimeout(".a.x.low", ".a.x", 3)) == wide(4, ".a.x", ".b")
    peer.hear(6, AnsContact(".a.x.low", ".a.x", ".b", (6,)))
    assert peer.known(".a.x.low", ".a.x") == {".a": [5], ".b": [6]}


def test_a_parent_that_is_added_while_running_gets_its_table_at_the_next_upkeep() -> None:
    topics = hierarchy(ITALY, ".travel")
    peer = Peer(
        topics, {ITALY: [ME]}, super_contacts={SOCCER: [5], ".travel": [6]}, maintain_every_s=10
    ).subscribe(ITALY)
    topics.add_parent(ITALY, ".travel")

    # The contact, and for each table whether it is checked.
    peer.fire(KeepTableUpdated(ITALY, 1), 0.99, 0.0, 0.99)

    assert peer.known(ITALY, SOCCER) == {SOCCER: [5]}
    assert peer.known(ITALY, ".travel") == {".travel": [6]}


# Many processes


class Town:
    """Processes that each know only the next one, so that searches must be passed on."""

    def __init__(self, topics: Topics, *interests: str, **knobs: Any) -> None:
        self.exchange = Exchange(seed=1, delay_ns=ns(0.001))
        self.topics = topics
        self.knobs = {"maintain_every_s": 0, **knobs}
        self.interests = interests

    def begin(self, peer: int) -> Camcast:
        def make(port: ExchangePort) -> Camcast:
            near = [(peer + 1) % len(self.interests)]
            directory = Directory(self.topics, {})
            return Camcast(
                port,
                Setting(self.topics, directory, Static, parameters=self.knobs, neighbourhood=near),
            )

        camcast = self.exchange.host(peer, make)
        assert isinstance(camcast, Camcast)
        camcast.start()
        camcast.subscribe(Topic(self.interests[peer]))
        return camcast

    def until(self, seconds: float) -> None:
        self.exchange.run_until(ns(seconds))


def test_an_empty_community_is_skipped_and_searched_for_until_it_is_there() -> None:
    town = Town(hierarchy(ROME, TENNIS), ROME, TENNIS, TENNIS, ".", ITALY, search_ttl=4)
    lowest = town.begin(0)
    for other in (1, 2, 3):
        town.begin(other)
    table = lowest.communities[ROME].tables[ITALY]

    town.until(1.5)  # neither .soccer.italy nor .soccer has anybody
    assert table.entries == []
    town.until(10)
    assert table.entries == [(".", 3)]

    town.begin(4)
    town.until(20)
    assert table.entries == [(ITALY, 4)]
    assert town.exchange.errors == []


@pytest.mark.parametrize(("ttl", "found"), [(1, []), (2, [(ITALY, 3)])])
def test_a_search_goes_as_far_as_its_time_to_live(ttl: int, found: list[tuple[str, int]]) -> None:
    town = Town(hierarchy(ROME, TENNIS), ROME, TENNIS, TENNIS, ITALY, TENNIS, search_ttl=ttl)
    peers = [town.begin(peer) for peer in range(5)]

    town.until(10)

    assert peers[0].communities[ROME].tables[ITALY].entries == found


# Where the membership looks up contacts (5.2.2, 5.2.3)


class LookingUp(Static):
    """Remembers what it was asked for."""

    name = "looking up"
    looks_up = True

    def __init__(self, *parts: Any) -> None:
        super().__init__(*parts)
        self.asked: list[tuple[tuple[str, ...], int]] = []
        self.found: Found | None = None

    def look_up(self, topics: Sequence[str], count: int, found: Found) -> None:
        self.asked.append((tuple(topics), count))
        self.found = found


def looking_up(**options: Any) -> tuple[Peer, LookingUp]:
    peer = newcomer(membership=LookingUp, **options)
    membership = peer.community(ROME).membership
    assert isinstance(membership, LookingUp)
    return peer, membership


def test_the_membership_is_asked_instead_of_the_neighbourhood() -> None:
    peer, membership = looking_up(neighbourhood=(), z=4)

    assert peer.port.sent == []
    assert peer.port.timers == [(ns(1), overdue(1))]
    assert membership.asked == [((ITALY,), 4)]
    assert peer.fire(overdue(1)) == []
    assert membership.asked[1:] == [((ITALY, SOCCER), 4)]


def test_whom_it_finds_is_known_from_then_on_and_ends_the_search() -> None:
    peer, membership = looking_up(maintain_every_s=10)
    assert membership.found is not None

    membership.found(ITALY, [5, 6])
    assert peer.known(ROME, ITALY) == {ITALY: [5, 6]}
    assert peer.fire(overdue(1)) == []
    membership.found(ITALY, [6, 7, 8])
    assert peer.known(ROME, ITALY) == {ITALY: [6, 7, 8]}
    membership.found(TENNIS, [9])  # which lies above none of ours

    assert peer.known(ROME, ITALY) == {ITALY: [6, 7, 8]}
    assert len(membership.asked) == 1


def test_it_is_asked_beside_the_given_contacts_too_for_these_will_not_live_for_ever() -> None:
    given = {ITALY: [5, 6]}
    peer, membership = looking_up(super_contacts=given, maintain_every_s=10, z=2)
    assert peer.known(ROME, ITALY) == {ITALY: [5, 6]}
    assert membership.asked == [((ITALY,), 2)]
    assert membership.found is not None

    assert membership.found(ITALY, [7, 8])

    assert peer.known(ROME, ITALY) == {ITALY: [7, 8]}


def test_without_upkeep_who_was_found_stays_and_no_more_than_the_places_are_filled() -> None:
    peer, membership = looking_up(maintain_every_s=0, z=3)
    assert membership.found is not None

    assert membership.found(".", [4, 9, 10])
    assert membership.found(ITALY, [5, 6])
    assert membership.found(ITALY, [])
    assert not membership.found(ITALY, [7, 8])
    assert not membership.found(ITALY, [8])

    assert peer.known(ROME, ITALY) == {ITALY: [5, 6, 7]}


def test_what_is_of_no_use_is_not_to_be_looked_for_on() -> None:
    peer, membership = looking_up(maintain_every_s=10)
    peer.fire(overdue(1))
    assert membership.asked[1:] == [((ITALY, SOCCER), 3)]
    assert membership.found is not None

    assert membership.found(SOCCER, [])
    assert membership.found(ITALY, [5])

    assert not membership.found(SOCCER, [6])
    assert not membership.found(TENNIS, [9])
    assert peer.known(ROME, ITALY) == {ITALY: [5]}


def test_it_is_asked_for_as_many_as_a_super_topic_table_holds_from_now_on() -> None:
    peer, membership = looking_up(maintain_every_s=10, z=2)
    assert membership.found is not None
    membership.found(ITALY, [5, 6])

    peer.draws(0)
    peer.camcast.configure(ROME, {"z": 4})

    assert membership.asked[1:] == [((ITALY,), 4)]
    membership.found(ITALY, [5, 6, 7, 8])
    assert peer.known(ROME, ITALY) == {ITALY: [5, 6, 7, 8]}


def test_it_is_asked_again_when_upkeep_begins() -> None:
    peer, membership = looking_up(maintain_every_s=0, z=2)
    assert membership.found is not None
    membership.found(ITALY, [5, 6])

    peer.draws(0)
    peer.camcast.configure(ROME, {"maintain_every_s": 5})

    assert membership.asked[1:] == [((ITALY,), 2)]
    assert membership.found(ITALY, [7, 8])
    assert peer.known(ROME, ITALY) == {ITALY: [7, 8]}


def test_processes_further_up_stand_in_until_nearer_ones_are_found() -> None:
    peer, membership = looking_up()
    assert membership.found is not None

    membership.found(".", [5])
    assert peer.known(ROME, ITALY) == {".": [5]}
    peer.fire(overdue(1))
    membership.found(ITALY, [6])

    assert peer.known(ROME, ITALY) == {ITALY: [6]}
