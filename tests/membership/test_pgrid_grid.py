"""Many P-Grid nodes: how fast they build the trie, how fairly they sample, how they survive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, partial

import pytest

from agents.core.draw import sample, stream
from agents.core.messages import PeerId, ns
from agents.membership.pgrid.trie import key_of
from tests.support.pgrid import Grid

TOPICS = [f".t{number}" for number in range(12)]


def nobody_cares(_registered: int, _peers: Sequence[PeerId]) -> None:
    pass


# Construction


def meetings_each(recmax: int, seed: int, size: int = 200, maxl: int = 6) -> float:
    """Random pairs meet until paths have 99 % of the length that they can have, as in the paper."""
    grid = Grid(seed, maxl=maxl, recmax=recmax, refmax=1, refresh_s=1e5, registration_lease_s=1e6)
    for peer in range(size):
        grid.start(peer)
    random = stream(seed, "meetings").random
    nodes = grid.nodes
    while sum(len(node.trie.path) for node in nodes.values()) < 0.99 * maxl * size:
        one, other = sample(range(size), 2, random)
        nodes[one].meetings.arrange(other, 0)
        grid.run(0.02)
    assert grid.exchange.errors == []
    return sum(node.meetings.count for node in nodes.values()) / size


def test_with_recursion_of_two_it_takes_some_24_meetings_each_to_build_paths_of_six() -> None:
    each = [meetings_each(2, seed) for seed in range(4)]

    assert 23 <= sum(each) / len(each) <= 26


def test_without_recursion_it_takes_some_70_to_75_among_many() -> None:
    each = [meetings_each(0, seed, size=500) for seed in range(3)]

    assert 65 <= sum(each) / len(each) <= 78


def test_a_recursion_of_one_or_three_is_no_optimum() -> None:
    best = meetings_each(2, 1)

    assert best < meetings_each(1, 1) < meetings_each(0, 1)
    assert best < meetings_each(3, 1)


@cache
def grown(seed: int) -> Grid:
    """As many as on the paper's LAN, four of them gateways; registered in topics in turn."""
    grid = Grid(seed)
    grid.join_in_sequence(118)
    for peer in range(4, 118):
        grid.nodes[peer].register(TOPICS[peer % 12], 4, nobody_cares)
    grid.run(30)
    return grid


def test_whoever_joins_through_gateways_settles_at_a_full_path_with_references_for_each_level() -> (
    None
):
    grid = grown(1)

    for node in grid.nodes.values():
        assert node.settled
        assert len(node.trie.path) == node.maxl == 4
        for level, known in enumerate(node.trie.references, 1):
            assert known
            for peer in known:
                other = grid.nodes[peer].trie.path
                assert other[: level - 1] == node.trie.path[: level - 1]
                assert other[level - 1] != node.trie.path[level - 1]
    assert grid.exchange.errors == []


def test_all_who_share_a_path_hold_the_same_registrations_and_every_one_of_them() -> None:
    grid = grown(1)

    for topic in TOPICS:
        registered = {peer for peer in range(4, 118) if TOPICS[peer % 12] == topic}
        holders = [n for n in grid.nodes.values() if n.is_responsible(key_of(topic))]
        assert len(holders) >= 2
        for node in holders:
            assert set(node.registrations.living(topic, grid.exchange.now)) == registered


def test_the_gateways_are_registered_nowhere() -> None:
    grid = grown(1)

    found = [grid.find(50, topic, 1000)[1] for topic in TOPICS]

    assert not {peer for peers in found for peer in peers} & {0, 1, 2, 3}


# Sampling


CHI_SQUARED_999 = {29: 58.30}
"""The 99.9 % quantile, by degrees of freedom."""


def test_whom_a_search_finds_is_uniform_among_those_registered() -> None:
    grid = Grid(7)
    grid.join_in_sequence(40)
    for peer in range(4, 34):
        grid.nodes[peer].register(".t", 4, nobody_cares)
    grid.run(20)
    askers = [0, 1, 2, 3, 34, 35, 36, 37, 38, 39]
    found: Counter[PeerId] = Counter()

    for number in range(1500):
        for holder in grid.nodes:  # so that any of those who hold the topic may answer
            grid.nodes[askers[number % 10]].lookups.forget_holder(holder)
        registered, peers = grid.find(askers[number % 10], ".t", 4)
        assert registered == 30
        assert len(set(peers)) == 4
        found.update(peers)

    assert set(found) == set(range(4, 34))
    expected = found.total() / 30
    # Four different ones a time vary less than single draws do, by (30 - 4) / (30 - 1).
    statistic = sum((count - expected) ** 2 / expected for count in found.values()) * 29 / 26
    assert statistic < CHI_SQUARED_999[29]


# Crashes


class Answers:
    """What comes of it when everybody searches for every topic, remembering nobody who answered."""

    def __init__(self, grid: Grid) -> None:
        self.began_at = grid.exchange.now
        self.found: dict[tuple[PeerId, str], set[PeerId]] = {}
        self.took_ns: dict[tuple[PeerId, str], int] = {}
        self.living = set(grid.nodes)
        for asker, node in grid.nodes.items():
            for holder in range(118):
                node.lookups.forget_holder(holder)
            for topic in TOPICS:
                node.search_peers(topic, 1000, partial(self._on_found, grid, asker, topic))
        grid.run(9)

    def _on_found(
        self, grid: Grid, asker: PeerId, topic: str, registered: int, peers: Sequence[PeerId]
    ) -> None:
        assert registered == len(peers)
        self.took_ns[asker, topic] = grid.exchange.now - self.began_at
        self.found[asker, topic] = set(peers)

    @property
    def share(self) -> float:
        return len(self.found) / (len(self.living) * len(TOPICS))

    @property
    def share_of_quick(self) -> float:
        """Of those that did not wait for anybody dead."""
        quick = [time for time in self.took_ns.values() if time < ns(0.4)]
        return len(quick) / (len(self.living) * len(TOPICS))

    @property
    def exact(self) -> bool:
        """Whether each names all who live, and nobody else."""
        return all(
            peers == {p for p in self.living - {asker} if p >= 4 and TOPICS[p % 12] == topic}
            for (asker, topic), peers in self.found.items()
        )


@pytest.mark.parametrize(("seed", "gateways"), [(2, ()), (3, (1,)), (4, (0, 1, 2, 3))])
def test_after_three_in_ten_crash_searches_go_round_the_dead_and_all_is_well_within_five_refreshes(
    seed: int, gateways: Sequence[PeerId]
) -> None:
    grid = grown(seed)
    for victim in (*gateways, *sample(range(4, 118), 35, stream(seed, "crash").random)):
        grid.kill(victim)
    crashed_at = grid.exchange.now

    at_once = Answers(grid)
    grid.exchange.run_until(crashed_at + 5 * ns(10))
    later = Answers(grid)

    assert at_once.share > 0.8
    assert (later.share, later.exact) == (1.0, True)
    assert later.share_of_quick > 0.98
    references = [p for n in grid.nodes.values() for level in n.trie.references for p in level]
    assert sum(peer not in grid.nodes for peer in references) < 0.02 * len(references)
    grid.run(100)
    for node in grid.nodes.values():
        for level in node.trie.references:
            assert level
            assert set(level) <= set(grid.nodes)


def test_where_all_who_held_a_topic_crash_it_is_held_by_others_within_ten_refreshes() -> None:
    grid = grown(5)
    topic = TOPICS[0]
    holders = [p for p, node in grid.nodes.items() if node.is_responsible(key_of(topic))]
    assert len(holders) >= 2
    for holder in holders:
        grid.kill(holder)
    asker = max(grid.nodes)

    assert grid.find(asker, topic, 1000) is None
    grid.run(100)
    registered, peers = grid.find(asker, topic, 1000)

    living = {p for p in grid.nodes if p >= 4 and p % 12 == 0 and p != asker}
    assert registered == len(living)
    assert set(peers) == living


def test_who_comes_back_after_a_crash_finds_a_place_and_is_found_again() -> None:
    grid = Grid(6)
    grid.join_in_sequence(30)
    grid.nodes[20].register(".t", 4, nobody_cares)
    grid.run(5)
    grid.kill(20)
    grid.run(40)
    assert grid.find(10, ".t", 5) == (0, [])

    node = grid.start(20, (0, 1, 2, 3), size=30)
    node.register(".t", 4, nobody_cares)
    grid.run(5)

    assert node.settled
    assert grid.find(10, ".t", 5) == (1, [20])


def test_who_deregisters_is_found_no_more_by_whomever_one_asks() -> None:
    grid = Grid(8)
    grid.join_in_sequence(30)
    grid.nodes[20].register(".t", 4, nobody_cares)
    grid.nodes[21].register(".t", 4, nobody_cares)
    grid.run(5)

    grid.nodes[20].deregister(".t")
    grid.run(0.5)

    found = [grid.find(asker, ".t", 5) for asker in sorted(grid.nodes) if asker != 21]
    assert found == [(1, [21])] * 29


@pytest.mark.parametrize("loss", [0.15, 0.3])
def test_with_messages_lost_all_come_in_and_are_found(loss: float) -> None:
    grid = Grid(9)
    random = stream(9, "loss").random
    grid.exchange.drop = lambda *_: random() < loss
    grid.join_in_sequence(40)
    for peer in range(4, 40):
        grid.nodes[peer].register(".t", 4, nobody_cares)
    grid.run(60)
    grid.exchange.drop = None
    grid.run(30)

    assert all(node.settled for node in grid.nodes.values())
    assert sorted(grid.find(0, ".t", 100)[1]) == list(range(4, 40))


def test_those_who_were_parted_from_the_start_come_together() -> None:
    grid = Grid(10)
    grid.exchange.drop = lambda sender, to, _: (sender < 10) != (to < 10)
    for peer in range(20):
        grid.start(peer, [gateway for gateway in (0, 10) if gateway < peer], size=20)
        grid.run(0.5)
    grid.nodes[5].register(".t", 4, nobody_cares)
    grid.nodes[15].register(".t", 4, nobody_cares)
    grid.run(20)
    assert {tuple(grid.find(peer, ".t", 9)[1]) for peer in (1, 11)} == {(5,), (15,)}

    grid.exchange.drop = None
    grid.run(100)

    assert {tuple(sorted(grid.find(peer, ".t", 9)[1])) for peer in (1, 11)} == {(5, 15)}


# Rest


def test_an_idle_node_sends_a_few_messages_a_second_at_the_most() -> None:
    grid = grown(11)
    before = grid.exchange.carried

    grid.run(60)

    assert (grid.exchange.carried - before) / 118 / 60 < 4
