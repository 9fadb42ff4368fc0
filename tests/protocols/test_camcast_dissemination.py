"""CAMCAST's dissemination (Figs 7 and 8): given these tables and draws, exactly these copies."""

from __future__ import annotations

import math
from typing import Any

import pytest

from agents.core.errors import LocalError, RemoteError, TopicError
from agents.core.interest import AnyOf, Box, Range, Topic, TopicSet
from agents.core.messages import Event, Message, ScopedTimer, Timer, ns
from agents.core.registry import protocols
from agents.membership.scamp import Scamp, Subscription, Welcome
from agents.protocols.camcast import Camcast, DaMulticast
from agents.protocols.camcast.messages import KeepTableUpdated, SearchTimeout, Spread
from tests.support.camcast import ME, Peer, hierarchy, to_each

SOCCER, ITALY, TENNIS = ".soccer", ".soccer.italy", ".tennis"
GOAL = Event("1", ITALY, b"goal")
FANS = [ME, 1, 2, 3]
ABOVE = [10, 11, 12]


def fan(**knobs: Any) -> Peer:
    """One of four of `.soccer.italy` that knows 1 and 2 there (c = 1, so that its fanout is 2), and
    10, 11 and 12 above it."""
    peer = Peer(
        hierarchy(ITALY, TENNIS),
        {ITALY: FANS},
        super_contacts={SOCCER: ABOVE},
        **{"c": 1, **knobs},
    )
    return peer.subscribe(ITALY).settle()


def inside(hop: int, event: Event = GOAL) -> Spread:
    return Spread(event, hop, ITALY)


def upwards(hop: int, event: Event = GOAL) -> Spread:
    return Spread(event, hop, SOCCER, ITALY)


def test_both_are_found_by_their_names() -> None:
    assert protocols.load("camcast") is Camcast
    assert protocols.load("damulticast") is DaMulticast


# To whom


def test_a_selected_process_sends_up_and_inside_and_delivers() -> None:
    peer = fan(g=2, a=2)  # psel = 2/4, pa = 2/3

    sent = peer.hear(5, inside(3), 0.49, 0.66, 0.67, 0.0, 0.0, 0.0)

    assert sent == [*to_each([10, 12], upwards(4)), *to_each([1, 2], inside(4))]
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_a_process_that_is_not_selected_sends_inside_only() -> None:
    peer = fan(g=2)

    sent = peer.hear(5, inside(1), 0.5, 0.0, 0.0)

    assert sent == to_each([1, 2], inside(2))
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_a_selected_process_may_choose_nobody_above() -> None:
    assert fan(g=4).hear(5, inside(1), 0.99, 0.34, 0.34, 0.34, 0.0, 0.0) == to_each(
        [1, 2], inside(2)
    )


def test_with_a_as_large_as_z_all_above_are_chosen() -> None:
    sent = fan(g=4, a=3).hear(5, inside(1), 0.99, 0.99, 0.99, 0.99, 0.0, 0.0)

    assert sent == [*to_each(ABOVE, upwards(2)), *to_each([1, 2], inside(2))]


@pytest.mark.parametrize(
    ("knobs", "psel"),
    [
        ({"g": 1}, 0.25),
        ({"g": 3}, 0.75),
        ({"g": 5}, 1.0),  # a small community: everybody passes events up (4.5.1)
        ({"g": 5, "size": 100}, 0.05),
        ({"g": 5, "psel": 0.1}, 0.1),
        ({"g": 0}, 0.0),
    ],
)
def test_a_process_is_selected_with_probability_g_of_n(knobs: dict[str, Any], psel: float) -> None:
    def passes_up(draw: float) -> bool:
        peer = fan(a=3, c=-50, **knobs)
        peer.draws(draw, 0.0, 0.0, 0.0)
        peer.camcast.on_message(5, inside(1))
        return bool(peer.port.sent)

    below_and_at = [passes_up(math.nextafter(psel, 0)) if psel else None, passes_up(psel)]

    assert below_and_at == [True if psel else None, False]


@pytest.mark.parametrize(("own", "draw", "goes_up"), [(0.3, 0.29, True), (0.3, 0.3, False)])
def test_an_events_own_psel_comes_before_the_communitys(
    own: float, draw: float, goes_up: bool
) -> None:
    event = Event("1", ITALY, psel=own)
    chosen = [0.0, 0.0, 0.0] if goes_up else []

    sent = fan(g=1, a=3).hear(5, inside(1, event), draw, *chosen, 0.0, 0.0)

    above = to_each(ABOVE, upwards(2, event)) if goes_up else []
    assert sent == [*above, *to_each([1, 2], inside(2, event))]


def test_an_event_of_psel_0_never_leaves_its_community() -> None:
    event = Event("1", ITALY, psel=0.0)

    assert fan(g=4).hear(5, inside(1, event), 0.0, 0.0, 0.0) == to_each([1, 2], inside(2, event))


@pytest.mark.parametrize(
    ("size", "c", "fanout"),
    [(1, 0, 0), (1, 5, 5), (4, 0, 1), (10, 5, 7), (100, 5, 9), (1110, 5, 12), (100, -5, 0)],
)
def test_the_fanout_is_floor_of_ln_n_plus_c(size: int, c: float, fanout: int) -> None:
    everybody = range(40)
    # A table that holds them all whatever the size is taken for, so that it is not what bounds.
    peer = Peer(hierarchy(), {".": everybody}, c=c, b=100, topic_parameters={".": {"size": size}})
    peer.subscribe(".")
    peer.community(".").membership.population.size = 40
    peer.community(".").membership.leave()
    peer.draws(*[0.0] * 40)
    peer.community(".").membership.join()
    draws = [n / 40 for n in range(fanout)]

    sent = peer.hear(5, Spread(Event("1", "."), 1, "."), *draws)

    assert len({to for to, _ in sent}) == len(sent) == fanout
    assert {message for _, message in sent} <= {Spread(Event("1", "."), 2, ".")}


def test_the_fanout_is_drawn_among_the_table() -> None:
    peer = Peer(hierarchy(), {".": range(5)}, protocol=DaMulticast, c=1)
    peer.subscribe(".")  # a table of 1, 2, 3, 4 and a fanout of 2

    sent = peer.hear(5, Spread(Event("1", "."), 1, "."), 0.74, 0.99)

    assert [to for to, _ in sent] == [3, 4]


def test_nobody_known_means_nobody_told_but_the_application() -> None:
    peer = Peer(hierarchy()).subscribe(".")
    event = Event("1", ".")

    assert peer.hear(5, Spread(event, 1, ".")) == []
    assert peer.port.delivered == [(event, ".")]


def test_the_root_has_nobody_above_and_draws_nothing_for_it() -> None:
    peer = Peer(hierarchy(ITALY), {".": [ME, 1]}, super_contacts={SOCCER: ABOVE}).subscribe(".")

    sent = peer.hear(5, Spread(GOAL, 7, ".", SOCCER), 0.0)

    assert sent == [(1, Spread(GOAL, 8, "."))]


def test_a_copy_to_those_who_stand_in_names_their_own_community() -> None:
    peer = Peer(hierarchy(ITALY), {ITALY: [ME]}, super_contacts={".": [20]}, a=3)
    peer.subscribe(ITALY)

    assert peer.hear(5, inside(1), 0.0, 0.0) == [(20, Spread(GOAL, 2, ".", ITALY))]


def test_each_parents_table_is_drawn_for_by_itself() -> None:
    topics = hierarchy(ITALY, TENNIS, italy=[TENNIS])
    peer = Peer(topics, {ITALY: [ME]}, super_contacts={SOCCER: [10], TENNIS: [20]}, psel=0.5, a=3)
    peer.subscribe(ITALY)

    to_both = peer.hear(5, inside(1), 0.4, 0.0, 0.4, 0.0)
    to_second = peer.hear(5, inside(1, Event("2", ITALY)), 0.6, 0.4, 0.0)

    assert to_both == [(10, upwards(2)), (20, Spread(GOAL, 2, TENNIS, ITALY))]
    assert to_second == [(20, Spread(Event("2", ITALY), 2, TENNIS, ITALY))]


# Once


def test_a_second_copy_does_nothing() -> None:
    peer = fan()
    peer.hear(5, inside(1), 0.99, 0.0, 0.0, 0.0, 0.0, 0.0)

    assert peer.hear(6, inside(1)) == []
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_an_infected_process_keeps_no_timer_to_send_again() -> None:
    peer = fan()
    peer.hear(5, inside(1), 0.99, 0.0, 0.0, 0.0, 0.0, 0.0)

    assert peer.port.timers == []


def test_a_publisher_takes_no_copy_of_its_own_event() -> None:
    peer = fan(psel=0)
    peer.draws(0.0, 0.0, 0.0)
    peer.camcast.publish(GOAL)
    peer.settle()

    assert peer.hear(5, inside(2)) == []
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_a_process_of_two_communities_passes_an_event_on_once_in_each() -> None:
    peer = Peer(hierarchy(ITALY), {ITALY: [ME, 1], SOCCER: [ME, 2]}, psel=0)
    peer.subscribe(ITALY, SOCCER)

    in_italy = peer.hear(5, inside(1), 0.0, 0.0)
    in_soccer = peer.hear(5, upwards(1), 0.0, 0.0)

    assert in_italy == [(1, inside(2))]
    assert in_soccer == [(2, Spread(GOAL, 2, SOCCER))]
    assert peer.port.delivered == [(GOAL, ITALY), (GOAL, SOCCER)]


# Publishing (5.1)


def test_a_publisher_sends_what_a_receiver_would_at_hop_1() -> None:
    peer = fan(g=4)
    peer.draws(0.0, 0.0, 0.99, 0.99, 0.0, 0.0)

    peer.camcast.publish(GOAL)

    assert peer.port.sent == [(10, upwards(1)), *to_each([1, 2], inside(1))]
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_the_first_publish_joins_and_delivers_nothing_to_who_did_not_subscribe() -> None:
    peer = Peer(hierarchy(ITALY), {ITALY: [ME, 1]}, psel=0)
    peer.draws(0.0, 0.0, 0.0, 0.0)

    peer.camcast.publish(GOAL)

    assert peer.port.joined_communities == [ITALY]
    assert (peer.port.sent, peer.port.delivered) == ([(1, inside(1))], [])


def test_a_mere_publisher_passes_on_what_others_published_and_keeps_it_to_itself() -> None:
    peer = Peer(hierarchy(ITALY), {ITALY: [ME, 1]}, psel=0)
    peer.draws(0.0, 0.0, 0.0, 0.0)
    peer.camcast.publish(Event("0", ITALY))

    assert peer.hear(5, inside(1), 0.0, 0.0) == [(1, inside(2))]
    assert peer.port.delivered == []


def test_a_publisher_that_subscribes_later_joins_once_and_gets_later_events() -> None:
    peer = Peer(hierarchy(ITALY), {ITALY: [ME, 1]}, psel=0)
    peer.draws(0.0, 0.0, 0.0, 0.0)
    peer.camcast.publish(Event("0", ITALY))

    peer.subscribe(ITALY)
    peer.hear(5, inside(1), 0.0, 0.0)

    assert peer.port.joined_communities == [ITALY]
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_what_is_published_before_the_membership_is_ready_waits_for_it() -> None:
    peer = Peer(hierarchy(ITALY), membership=Scamp, contacts={ITALY: [7]}, psel=0)
    second = Event("2", ITALY)
    peer.draws(0.0)
    peer.camcast.publish(GOAL)
    peer.camcast.publish(second)
    assert peer.port.take_sent() == [(7, Subscription(ITALY, ME, 0, 1.0))]
    assert peer.port.joined_communities == []

    sent = peer.hear(9, Welcome(ITALY, False), 0.0, *[0.0, 0.0] * 2)

    assert peer.port.joined_communities == [ITALY]
    assert sent == [(9, inside(1)), (9, inside(1, second))]


def test_what_arrives_before_the_membership_is_ready_is_delivered_at_once() -> None:
    peer = Peer(hierarchy(ITALY), membership=Scamp, contacts={ITALY: [7]}, psel=0)
    peer.subscribe(ITALY)

    peer.hear(5, inside(1), 0.0)

    assert peer.port.delivered == [(GOAL, ITALY)]


def test_publishing_to_an_unknown_topic_is_our_own_mistake() -> None:
    peer = fan()

    with pytest.raises(TopicError, match="not known"):
        peer.camcast.publish(Event("1", ".chess"))

    assert list(peer.camcast.communities) == [ITALY]


# What is refused


@pytest.mark.parametrize(
    ("community", "topic"),
    [
        (ITALY, SOCCER),  # the including topic's events interest nobody below it
        (ITALY, "."),
        (ITALY, TENNIS),
        (SOCCER, ITALY),  # rightly addressed, to another
        (TENNIS, TENNIS),
        (".chess", ".chess"),
        ("", ITALY),
    ],
)
def test_an_event_that_has_no_place_here_is_refused_and_leaves_no_trace(
    community: str, topic: str
) -> None:
    peer = fan(psel=0)

    with pytest.raises(RemoteError):
        peer.hear(5, Spread(Event("1", topic), 1, community))

    assert (peer.port.sent, peer.port.timers, peer.port.delivered) == ([], [], [])
    # Nor does its id keep the real one out.
    peer.hear(5, inside(1), 0.0, 0.0, 0.0)
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_an_event_of_a_subtopic_that_we_have_not_heard_of_is_taken() -> None:
    peer = fan(psel=0)
    event = Event("1", f"{ITALY}.rome")

    assert peer.hear(5, inside(1, event), 0.0, 0.0, 0.0) == to_each([1, 2], inside(2, event))
    assert peer.port.delivered == [(event, ITALY)]


def test_an_event_of_a_topic_that_was_put_under_ours_meanwhile_is_taken() -> None:
    peer = fan(psel=0)
    event = Event("1", TENNIS)
    peer.camcast.setting.topics.add_parent(TENNIS, ITALY)

    peer.hear(5, inside(1, event), 0.0, 0.0, 0.0)

    assert peer.port.delivered == [(event, ITALY)]


def test_a_message_of_another_protocol_is_refused() -> None:
    class Foreign(Message, frozen=True):
        pass

    with pytest.raises(RemoteError, match="camcast takes no Foreign"):
        fan().hear(5, Foreign())


def test_a_membership_message_of_a_community_that_we_are_not_in_is_refused() -> None:
    with pytest.raises(RemoteError, match="not in the community"):
        fan().hear(5, Welcome(TENNIS, False))


# Several topics, and leaving (3.6, 5.1)


def test_k_unrelated_topics_take_2k_tables() -> None:
    peer = Peer(
        hierarchy(ITALY, TENNIS, ".chess.blitz"),
        {ITALY: [ME, 1], TENNIS: [ME, 2], ".chess.blitz": [ME, 3]},
        super_contacts={SOCCER: [10], ".": [20], ".chess": [30]},
    )
    peer.draws(*[0.0] * 100)

    peer.camcast.subscribe(AnyOf((Topic(ITALY), TopicSet((TENNIS, ".chess.blitz")))))

    assert peer.camcast.views() == {
        (ITALY, "topic"): [1],
        (ITALY, "super .soccer"): [10],
        (TENNIS, "topic"): [2],
        (TENNIS, "super ."): [20],
        (".chess.blitz", "topic"): [3],
        (".chess.blitz", "super .chess"): [30],
    }


def test_an_event_is_sent_on_in_its_own_community_alone() -> None:
    peer = Peer(hierarchy(ITALY, TENNIS), {ITALY: [ME, 1], TENNIS: [ME, 2]}, psel=0)
    peer.subscribe(ITALY, TENNIS)

    assert peer.hear(5, inside(1), 0.0, 0.0) == [(1, inside(2))]
    assert peer.port.delivered == [(GOAL, ITALY)]


def test_an_interest_that_names_no_topic_is_our_own_mistake() -> None:
    with pytest.raises(LocalError, match="by topic"):
        Peer(hierarchy()).camcast.subscribe(Box({"price": Range(0, 1)}))


def test_who_unsubscribes_leaves_that_community_and_no_other() -> None:
    peer = Peer(hierarchy(ITALY, TENNIS), {ITALY: [ME, 1], TENNIS: [ME, 2]})
    peer.subscribe(ITALY, TENNIS)

    peer.camcast.unsubscribe(Topic(ITALY))

    assert peer.port.left_communities == [ITALY]
    assert list(peer.camcast.communities) == [TENNIS]
    with pytest.raises(RemoteError):
        peer.hear(5, inside(1))


def test_leaving_what_one_is_not_in_does_nothing() -> None:
    peer = fan()

    peer.camcast.unsubscribe(Topic(TENNIS))

    assert (peer.port.sent, peer.port.left_communities) == ([], [])


def test_stopping_leaves_everything() -> None:
    peer = Peer(hierarchy(ITALY, TENNIS), {ITALY: [ME, 1], TENNIS: [ME, 2]})
    peer.subscribe(ITALY, TENNIS)

    peer.camcast.stop()

    assert peer.port.left_communities == [ITALY, TENNIS]
    assert peer.camcast.views() == {}


def test_who_never_became_a_member_reports_no_leaving() -> None:
    peer = Peer(hierarchy(), membership=Scamp, contacts={".": [7]}).subscribe(".")

    peer.camcast.unsubscribe(Topic("."))

    assert (peer.port.joined_communities, peer.port.left_communities) == ([], [])


@pytest.mark.parametrize(
    "timer",
    [KeepTableUpdated(ITALY, 1), SearchTimeout(ITALY, SOCCER, 1), ScopedTimer(ITALY), Timer()],
)
def test_the_timers_of_a_community_that_was_left_do_nothing(timer: Timer) -> None:
    peer = fan(maintain_every_s=10)
    peer.camcast.unsubscribe(Topic(ITALY))

    assert peer.fire(timer) == []
    assert peer.port.timers == []


def test_who_comes_back_starts_anew() -> None:
    peer = fan(psel=0)
    peer.hear(5, inside(1), 0.0, 0.0, 0.0)
    peer.camcast.unsubscribe(Topic(ITALY))

    peer.subscribe(ITALY)
    peer.hear(5, inside(1), 0.0, 0.0, 0.0)

    assert peer.port.delivered == [(GOAL, ITALY)] * 2


# Parameters: per topic, and changed while running


def test_a_topic_may_have_parameters_of_its_own() -> None:
    peer = Peer(
        hierarchy(ITALY, TENNIS),
        {ITALY: range(4), TENNIS: range(4)},
        c=0,
        topic_parameters={TENNIS: {"c": 1}},
        psel=0,
    ).subscribe(ITALY, TENNIS)
    ace = Event("2", TENNIS)

    in_italy = peer.hear(5, inside(1), 0.0, 0.0)
    in_tennis = peer.hear(5, Spread(ace, 1, TENNIS), 0.0, 0.0, 0.0)

    assert in_italy == [(1, inside(2))]
    assert in_tennis == to_each([1, 2], Spread(ace, 2, TENNIS))


def test_psel_pa_and_fanout_follow_what_is_configured_at_once() -> None:
    peer = fan(psel=0)
    peer.hear(5, inside(1, Event("0", ITALY)), 0.0, 0.0, 0.0)

    peer.camcast.configure(ITALY, {"psel": 1.0, "a": 3, "c": 0})

    sent = peer.hear(5, inside(1), 0.99, 0.99, 0.99, 0.99, 0.0)
    assert sent == [*to_each(ABOVE, upwards(2)), (1, inside(2))]


def test_a_smaller_z_cuts_the_table_to_its_first() -> None:
    peer = fan()

    peer.camcast.configure(ITALY, {"z": 2})

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10, 11]}


def test_what_is_configured_before_a_topic_is_entered_holds_when_it_is() -> None:
    peer = Peer(hierarchy(ITALY), super_contacts={SOCCER: ABOVE})
    peer.camcast.configure(ITALY, {"z": 2})

    peer.subscribe(ITALY)

    assert peer.known(ITALY, SOCCER) == {SOCCER: [10, 11]}


def test_configuring_one_topic_leaves_the_others_as_they_are() -> None:
    peer = Peer(hierarchy(ITALY, TENNIS)).subscribe(ITALY, TENNIS)

    peer.camcast.configure(ITALY, {"z": 2})
    peer.camcast.configure(ITALY, {"tau": 2})

    z_and_tau = [(c.parameters.z, c.parameters.tau) for c in peer.camcast.communities.values()]
    assert z_and_tau == [(2, 2), (3, 1)]


def test_upkeep_that_is_switched_on_begins_within_the_period() -> None:
    peer = fan()
    peer.draws(0.25, 0.5)  # the first serial ever; when in the period

    peer.camcast.configure(ITALY, {"maintain_every_s": 8})

    assert peer.port.timers == [(ns(4), KeepTableUpdated(ITALY, (1 << 29) + 1))]


def test_upkeep_of_another_period_replaces_the_old_one() -> None:
    peer = fan(maintain_every_s=10, g=0)
    old = KeepTableUpdated(ITALY, 1)
    peer.draws(0.5)

    peer.camcast.configure(ITALY, {"maintain_every_s": 2})

    assert peer.port.take_timers() == [(ns(1), KeepTableUpdated(ITALY, 2))]
    peer.fire(old)
    assert peer.port.take_timers() == []
    peer.fire(KeepTableUpdated(ITALY, 2), 0.0)
    assert peer.port.take_timers() == [(ns(2), KeepTableUpdated(ITALY, 2))]


def test_upkeep_that_is_switched_off_ends() -> None:
    peer = fan(maintain_every_s=10)

    peer.camcast.configure(ITALY, {"maintain_every_s": 0})

    assert peer.fire(KeepTableUpdated(ITALY, 1)) == []
    assert peer.port.timers == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"a": 4}, "a must be at most z"), ({"tau": 4}, "tau must be at most z"), ({"y": 1}, "y")],
)
def test_what_makes_no_sense_is_not_configured(changes: dict[str, Any], message: str) -> None:
    peer = fan()

    with pytest.raises(LocalError, match=message):
        peer.camcast.configure(ITALY, changes)

    assert peer.community(ITALY).parameters.z == 3


def test_an_unknown_topic_cannot_be_configured() -> None:
    with pytest.raises(TopicError, match="not known"):
        fan().camcast.configure(".chess", {"z": 2})


def test_n_follows_the_directory_as_it_grows() -> None:
    members = {".": [ME, 1]}
    peer = Peer(hierarchy(), members, protocol=DaMulticast, b=9, c=0).subscribe(".")
    assert peer.hear(5, Spread(Event("0", "."), 1, ".")) == []  # floor(ln 2)

    members["."] += [2, 3]

    # The table grows by two, of whom one is drawn: floor(ln 4).
    assert len(peer.hear(5, Spread(Event("1", "."), 1, "."), 0.0, 0.0, 0.0)) == 1


# daMulticast's tables (its V-A.1, VII-A)


@pytest.mark.parametrize(
    ("size", "b", "entries"),
    [(1, 3, 0), (10, 3, 9), (100, 3, 18), (1000, 3, 27), (1000, 0, 6), (100, 1.5, 11)],
)
def test_damulticasts_topic_tables_have_b_plus_1_ln_s_entries(
    size: int, b: float, entries: int
) -> None:
    peer = Peer(hierarchy(), {".": range(size)}, protocol=DaMulticast, b=b)
    peer.draws(*[n / 1009 for n in range(1009)])

    peer.camcast.subscribe(Topic("."))

    assert entries == math.floor((b + 1) * math.log(size))
    assert len(set(peer.camcast.views()[".", "topic"])) == entries


def test_damulticast_has_b_of_3_unless_told_and_camcast_none() -> None:
    tables = {}
    for protocol in (Camcast, DaMulticast):
        peer = Peer(hierarchy(), {".": range(100)}, protocol=protocol)
        peer.draws(*[n / 101 for n in range(101)])
        peer.camcast.subscribe(Topic("."))
        tables[protocol.name] = len(peer.camcast.views()[".", "topic"])

    assert tables == {"camcast": 9, "damulticast": 18}


def test_damulticast_draws_ln_s_plus_c_of_its_larger_table() -> None:
    peer = Peer(hierarchy(), {".": range(100)}, protocol=DaMulticast, c=5)
    peer.draws(*[n / 101 for n in range(101)])
    peer.camcast.subscribe(Topic("."))

    sent = peer.hear(200, Spread(Event("1", "."), 1, "."), *[0.5] * 9)

    table = peer.camcast.views()[".", "topic"]
    assert len({to for to, _ in sent}) == 9 < len(table)
    assert {to for to, _ in sent} <= set(table)
