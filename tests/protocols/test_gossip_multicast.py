"""Gossip multicast: each topic has a group, of those who subscribe to it or to a topic above."""

from __future__ import annotations

import pytest

from agents.core.draw import log_size
from agents.core.errors import LocalError, RemoteError, TopicError
from agents.core.interest import AnyOf, Box, Interest, Range, Topic, TopicSet
from agents.core.messages import Event
from agents.membership.scamp import HeartbeatDue
from agents.protocols.gossip import Gossip, GossipMulticast
from tests.support.gossip import ITALY, SYSTEM, Peer, receivers, run, to


def test_multicast_joins_the_groups_of_a_topic_and_of_all_below_it() -> None:
    peer = Peer(GossipMulticast)
    assert peer.joined == []

    peer.subscribe(Topic(".s"))

    assert peer.joined == [".s", ".s.i", ".s.f"]


def test_a_groups_table_has_those_whose_topics_include_it() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic("."))

    assert peer.tables == {
        ".": [1],
        ".s": [1, 2, 3],
        ".s.i": [1, 2, 3, 4, 5, 6],
        ".s.f": [1, 2, 3],
        ".t": [1, 7],
    }


def test_an_event_goes_round_in_the_group_of_its_own_topic_only() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic("."))

    assert peer.publish(Event("1", ".t")) == to([1, 7], Gossip(Event("1", ".t"), 1))
    assert peer.hear(2, Gossip(Event("2", ".s"), 1)) == to([1, 2, 3], Gossip(Event("2", ".s"), 2))


def test_multicast_joins_a_group_to_publish_there_and_is_delivered_nothing() -> None:
    peer = Peer(GossipMulticast)

    assert peer.publish(ITALY) == to([1, 2, 3, 4, 5, 6], Gossip(ITALY, 1))
    peer.hear(4, Gossip(Event("f", ".s.i"), 1))

    assert peer.joined == [".s.i"]
    assert peer.delivered == []


def test_an_event_of_a_group_that_one_is_not_in_is_refused() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))

    for topic in (".", ".t", ".new"):
        with pytest.raises(RemoteError, match=f"not in the group of '{topic}'"):
            peer.hear(1, Gossip(Event("e", topic), 1))

    assert (peer.port.sent, peer.delivered) == ([], [])


def test_multicast_follows_new_subtopics_and_no_other_new_topics() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))
    for name in (".s.new", ".s.new.er", ".t.new"):
        peer.topics.add(name)

    peer.hear(1, Gossip(Event("e", ".s.new.er"), 1))

    assert peer.joined == [".s", ".s.i", ".s.f", ".s.new", ".s.new.er"]
    assert peer.delivered == [(Event("e", ".s.new.er"), "")]


def test_multicast_follows_a_topic_that_is_put_under_a_further_parent() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))
    peer.topics.add_parent(".t", ".s")

    peer.hear(1, Gossip(Event("e", ".t"), 1))

    assert peer.joined == [".s", ".s.i", ".s.f", ".t"]


def test_a_timer_is_occasion_enough_to_follow_new_subtopics() -> None:
    peer = Peer(GossipMulticast, {}, contacts={}).subscribe(Topic(".s"))
    peer.topics.add(".s.new")

    peer.fire(HeartbeatDue(".s", 0))

    assert peer.joined == [".s", ".s.i", ".s.f", ".s.new"]


def test_unsubscribing_leaves_the_groups_of_the_topic_and_of_all_below_it() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"), Topic(".t"))

    peer.protocol.unsubscribe(Topic(".s"))

    assert peer.left == [".s", ".s.i", ".s.f"]
    assert list(peer.tables) == [".t"]


def test_groups_that_another_interest_asks_for_are_not_left() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"), Topic(".s.i"))

    peer.protocol.unsubscribe(Topic(".s"))

    assert peer.left == [".s", ".s.f"]
    peer.hear(4, Gossip(ITALY, 1))
    assert peer.delivered == [(ITALY, "")]


def test_unsubscribing_a_subtopic_of_what_is_subscribed_leaves_nothing() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"), Topic(".s.i"))

    peer.protocol.unsubscribe(Topic(".s.i"))

    assert peer.left == []


def test_unsubscribing_leaves_a_group_that_was_only_published_to() -> None:
    peer = Peer(GossipMulticast)
    peer.publish(ITALY)
    peer.publish(Event("f", ".t"))

    peer.protocol.unsubscribe(Topic(".s.i"))

    assert peer.left == [".s.i"]
    assert list(peer.tables) == [".t"]


def test_who_subscribes_again_joins_again() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".t"))
    peer.protocol.unsubscribe(Topic(".t"))

    peer.subscribe(Topic(".t"))

    assert (peer.joined, peer.left) == ([".t", ".t"], [".t"])
    assert peer.publish(Event("e", ".t")) == to([1, 7], Gossip(Event("e", ".t"), 1))


def test_the_timers_of_a_group_that_was_left_do_nothing() -> None:
    peer = Peer(GossipMulticast, {}, contacts={".t": [7]}).subscribe(Topic(".t"))
    timers = peer.port.take_timers()
    peer.protocol.unsubscribe(Topic(".t"))
    assert timers

    for _, timer in timers:
        assert peer.fire(timer) == []
    peer.subscribe(Topic(".t"))
    for _, timer in timers:
        assert peer.fire(timer) == []

    assert peer.joined == []


@pytest.mark.parametrize(
    ("interest", "groups"),
    [
        (TopicSet((".t", ".s.i")), [".s.i", ".t"]),
        (AnyOf((Topic(".t"), TopicSet((".s.f",)))), [".s.f", ".t"]),
    ],
)
def test_an_interest_in_several_topics_joins_the_groups_of_each(
    interest: Interest, groups: list[str]
) -> None:
    peer = Peer(GossipMulticast).subscribe(interest)
    assert peer.joined == groups

    peer.protocol.unsubscribe(interest)

    assert peer.left == groups


def test_an_interest_that_names_no_topic_is_our_own_mistake() -> None:
    with pytest.raises(LocalError, match="by topic, and Box"):
        Peer(GossipMulticast).subscribe(Box({"goals": Range(2, 9)}))


def test_topics_that_are_not_known_are_named() -> None:
    peer = Peer(GossipMulticast)
    for act in (peer.protocol.subscribe, peer.protocol.unsubscribe):
        with pytest.raises(TopicError, match=r"'\.new' is not known"):
            act(Topic(".new"))
    with pytest.raises(TopicError, match=r"'\.new' is not known"):
        peer.publish(Event("e", ".new"))


def test_multicast_changes_the_fanout_of_one_topic_while_it_runs() -> None:
    everybody = {".s": range(100), ".t": range(100)}
    peer = Peer(GossipMulticast, everybody, c=0).subscribe(Topic(".s"), Topic(".t"))

    peer.protocol.configure(".s", {"c": -2})

    assert len(peer.publish(Event("1", ".s"))) == 2
    assert len(peer.publish(Event("2", ".t"))) == 4


def test_a_change_made_before_a_group_is_joined_holds_in_it() -> None:
    peer = Peer(GossipMulticast, {".s": range(100)}, c=0)

    peer.protocol.configure(".s", {"c": 2})

    assert len(peer.publish(Event("1", ".s"))) == 6


def test_a_topic_can_have_a_fanout_of_its_own() -> None:
    everybody = {".s": range(100), ".t": range(100)}
    peer = Peer(GossipMulticast, everybody, topic_parameters={".s": {"c": 1}}, c=3)

    assert len(peer.publish(Event("1", ".s"))) == 5
    assert len(peer.publish(Event("2", ".t"))) == 7


def test_who_stops_leaves_every_group() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))
    peer.publish(Event("e", ".t"))

    peer.protocol.stop()

    assert peer.left == [".s", ".s.i", ".s.f", ".t"]
    assert peer.tables == {}


def test_a_multicast_costs_the_same_of_its_audience_and_reaches_nobody_else() -> None:
    exchange = run(GossipMulticast, SYSTEM, ITALY)

    assert exchange.carried == 110 * log_size(110, 5)
    assert receivers(exchange) == list(range(50, 160))
