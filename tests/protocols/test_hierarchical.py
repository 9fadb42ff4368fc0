"""Hierarchical gossip: given these clusters and this input, exactly these effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest

from agents.core.draw import log_size
from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Box, Range, Topic
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.registry import protocols
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.scamp import ScampHeartbeat
from agents.membership.static import Static
from agents.protocols.gossip import Gossip
from agents.protocols.hierarchical import HierarchicalGossip
from tests.support.ports import Exchange, ListPort

GOAL = Event("e", ".s", b"goal")


def setting(size: int, parameters: dict[str, Any]) -> Setting:
    """The communities have nothing to do with the clusters."""
    topics = Topics()
    topics.add(".s")
    half = size // 2
    directory = Directory(topics, {".s": range(half), ".": range(half, size)})
    return Setting(topics, directory, Static, parameters=parameters)


class Peer:
    """One process on a list port, of 12 in three clusters unless it is told otherwise."""

    def __init__(self, peer: PeerId = 0, size: int = 12, seed: int = 0, **parameters: Any) -> None:
        self.port = ListPort(peer, seed)
        self.protocol = HierarchicalGossip(self.port, setting(size, parameters))
        self.protocol.start()

    def hear(self, sender: PeerId, message: Message) -> list[tuple[PeerId, Message]]:
        """What is sent because of the message."""
        self.port.sent.clear()
        self.protocol.on_message(sender, message)
        return self.port.take_sent()

    @property
    def inside(self) -> Sequence[PeerId]:
        return self.protocol.views()["", "inside"]

    @property
    def outside(self) -> Sequence[PeerId]:
        return self.protocol.views()["", "outside"]


def copies(peer: Peer, hop: int) -> list[tuple[PeerId, Message]]:
    return [(other, Gossip(GOAL, hop)) for other in (*peer.inside, *peer.outside)]


def test_is_found_by_its_name() -> None:
    assert protocols.load("hierarchical-gossip") is HierarchicalGossip


# The two tables


def test_the_inner_table_has_processes_of_the_own_cluster_and_the_outer_one_of_others() -> None:
    peer = Peer(4)

    assert sorted(peer.inside) == [1, 7, 10]
    assert all(other % 3 != 1 for other in peer.outside)


def test_tables_have_the_papers_sizes() -> None:
    peer = Peer(0, 3000, clusters=30, c1=2, c2=1.5)

    assert len(set(peer.inside)) == len(peer.inside) == 6  # floor(ln 100 + 2)
    assert len(set(peer.outside)) == len(peer.outside) == 4  # floor(ln 30 + 1.5)


def test_each_link_outside_is_to_another_cluster_where_there_are_enough() -> None:
    for seed in range(20):
        peer = Peer(5, 300, seed, clusters=10, c2=4)
        assert len(peer.outside) == 6
        assert len({other % 10 for other in peer.outside} - {5}) == 6


def test_where_there_are_not_enough_each_has_its_turn() -> None:
    peer = Peer(0, 300, clusters=3, c2=4)

    by_cluster = Counter(other % 3 for other in peer.outside)
    assert sorted(by_cluster) == [1, 2]
    assert sorted(by_cluster.values()) == [2, 3]


def test_a_cluster_that_is_used_up_gives_its_turns_to_the_others() -> None:
    # Of seven in three clusters there are two each in those of 1 and 2.
    assert sorted(Peer(0, 7, c2=50).outside) == [1, 2, 4, 5]


@pytest.mark.parametrize(
    ("size", "clusters", "inside", "outside"),
    [
        (1, 3, [], []),
        (2, 3, [], [1]),
        (3, 3, [], [1, 2]),
        (4, 1, [1, 2, 3], []),
        (4, 2, [2], [1, 3]),
    ],
)
def test_small_systems_have_everybody_in_their_tables(
    size: int, clusters: int, inside: list[PeerId], outside: list[PeerId]
) -> None:
    peer = Peer(0, size, clusters=clusters)

    assert (sorted(peer.inside), sorted(peer.outside)) == (inside, outside)


def test_nobody_is_in_its_own_tables() -> None:
    for number in range(12):
        peer = Peer(number)
        assert number not in (*peer.inside, *peer.outside)


def test_the_same_seed_gives_the_same_tables_and_another_gives_others() -> None:
    first, again, other = (Peer(0, 300, seed) for seed in (1, 1, 2))

    assert (first.inside, first.outside) == (again.inside, again.outside)
    assert first.inside != other.inside
    assert first.outside != other.outside


# Events


def test_it_joins_at_the_start_and_leaves_when_it_stops() -> None:
    peer = Peer()
    assert (peer.port.joined_communities, peer.port.left_communities) == ([""], [])

    peer.protocol.stop()

    assert peer.port.left_communities == [""]
    assert (peer.port.sent, peer.port.timers) == ([], [])


def test_what_is_published_goes_to_all_of_both_tables() -> None:
    peer = Peer(0, 300)

    peer.protocol.publish(GOAL)

    assert peer.port.take_sent() == copies(peer, 1)
    assert len(copies(peer, 1)) == log_size(100, 5) + log_size(3, 5)
    assert peer.port.delivered == []


def test_what_is_new_is_passed_on_a_hop_further_interesting_or_not() -> None:
    peer = Peer()

    assert peer.hear(1, Gossip(GOAL, 3)) == copies(peer, 4)
    assert peer.port.delivered == []


def test_what_was_seen_is_neither_passed_on_nor_delivered_again() -> None:
    peer = Peer()
    peer.protocol.subscribe(Topic(".s"))
    peer.hear(1, Gossip(GOAL, 3))

    assert peer.hear(2, Gossip(GOAL, 1)) == []
    assert peer.port.delivered == [(GOAL, "")]


def test_what_several_interests_match_is_delivered_once() -> None:
    peer = Peer()
    for interest in (Topic(".s"), Topic("."), Topic(".s")):
        peer.protocol.subscribe(interest)

    peer.protocol.publish(GOAL)

    assert peer.port.delivered == [(GOAL, "")]


def test_interests_may_be_in_content_and_end() -> None:
    peer = Peer()
    wanted = Box({"goals": Range(2, 9)})
    peer.protocol.subscribe(wanted)
    first, second = (Event(name, ".s", attributes={"goals": 3.0}) for name in "ab")

    peer.hear(1, Gossip(GOAL, 1))
    peer.hear(1, Gossip(first, 1))
    peer.protocol.unsubscribe(wanted)
    peer.protocol.unsubscribe(wanted)
    peer.hear(1, Gossip(second, 1))

    assert peer.port.delivered == [(first, "")]


def test_an_event_of_an_unknown_topic_is_passed_on_and_delivered_to_nobody() -> None:
    peer = Peer()
    peer.protocol.subscribe(Topic("."))

    assert len(peer.hear(1, Gossip(Event("e", ".new"), 1))) == len(copies(peer, 1))
    assert peer.port.delivered == []


# What is wrong


def test_what_is_no_gossip_is_refused() -> None:
    peer = Peer()

    with pytest.raises(RemoteError, match="hierarchical-gossip takes no ScampHeartbeat"):
        peer.hear(1, ScampHeartbeat(""))

    assert (peer.port.sent, peer.port.delivered) == ([], [])


def test_a_timer_would_be_a_bug_of_ours() -> None:
    with pytest.raises(AssertionError, match="has no timers"):
        Peer().protocol.on_timer(Timer())


def test_nothing_can_change_while_it_runs() -> None:
    with pytest.raises(LocalError, match="no parameters that can change while it runs"):
        Peer().protocol.configure(".s", {"c1": 1})


@pytest.mark.parametrize("impossible", [{"clusters": 0}, {"c1": 51}, {"c2": -51}, {"c": 5}])
def test_impossible_parameters_are_our_own_mistake(impossible: dict[str, Any]) -> None:
    with pytest.raises(LocalError, match="HierarchicalParameters"):
        Peer(**impossible)


# The whole system


def test_an_event_costs_what_the_paper_says_and_is_delivered_to_the_interested() -> None:
    exchange, place = Exchange(seed=1), setting(120, {"clusters": 4, "c1": 3, "c2": 2})
    for peer in range(120):
        node = exchange.host(peer, lambda port: HierarchicalGossip(port, place))
        node.start()
        node.subscribe(Topic(".s" if peer < 60 else "."))
    node.publish(Event("e", "."))
    exchange.deliver_mail()

    assert exchange.carried == 120 * (log_size(30, 3) + log_size(4, 2))  # eq. 5
    assert [peer for peer, port in exchange.ports.items() if port.delivered] == [*range(60, 120)]
    assert exchange.errors == []
