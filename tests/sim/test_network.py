"""The simulated network: how long messages take, and what share of them arrives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import exp
from statistics import mean
from typing import Any

import pytest
from pydantic import TypeAdapter

from agents.core.draw import stream
from testbed.model.distributions import Distribution
from testbed.sim.network import Network, latency_in_ticks

MS = 1_000_000
MANY = 20_000
READ: TypeAdapter[Any] = TypeAdapter(Distribution)


def network(latency: dict[str, Any] | None = None, **knobs: Any) -> Network:
    return Network(
        latency=READ.validate_python(latency or {"fixed": "1ms"}),
        tick_ns=MS,
        rng=stream(7, "network"),
        **knobs,
    )


def draws(latency: dict[str, Any], tick_ns: int = MS, count: int = MANY) -> list[int]:
    draw = latency_in_ticks(READ.validate_python(latency), tick_ns, stream(7, "latency"))
    return [draw() for _ in range(count)]


def share(network: Network, sender: int, to: int, cause: str) -> float:
    return mean(network.obstacle(sender, to) == cause for _ in range(MANY))


# Latency


def test_a_fixed_latency_is_always_the_same() -> None:
    assert set(draws({"fixed": "20ms"})) == {20}


def test_a_latency_of_less_than_a_tick_takes_one() -> None:
    assert set(draws({"fixed": "1us"})) == {1}
    assert min(draws({"exponential": "1ms"})) == 1


def test_a_latency_is_rounded_to_the_nearest_tick() -> None:
    assert set(draws({"fixed": "26ms"}, tick_ns=10 * MS)) == {3}
    assert set(draws({"fixed": "24ms"}, tick_ns=10 * MS)) == {2}


def test_uniform_latencies_fill_the_range_evenly_and_do_not_leave_it() -> None:
    found = Counter(draws({"uniform": ["10ms", "20ms"]}))

    assert sorted(found) == list(range(10, 21))
    for ticks, count in found.items():
        expected = MANY / 10 / (2 if ticks in (10, 20) else 1)  # half of what rounds to an end
        assert count == pytest.approx(expected, rel=0.15)


def test_exponential_latencies_have_their_mean_and_their_tail() -> None:
    found = draws({"exponential": "100ms"})

    assert mean(found) == pytest.approx(100, rel=0.03)
    for ticks in (50, 100, 300):
        assert mean(value > ticks for value in found) == pytest.approx(exp(-ticks / 100), rel=0.1)


def test_listed_latencies_are_drawn_equally_often_and_as_often_as_they_are_listed() -> None:
    found = Counter(draws({"list": ["1ms", "5ms", "9ms", "9ms"]}))

    assert sorted(found) == [1, 5, 9]
    assert found[1] == pytest.approx(MANY / 4, rel=0.05)
    assert found[5] == pytest.approx(MANY / 4, rel=0.05)
    assert found[9] == pytest.approx(MANY / 2, rel=0.05)


@pytest.mark.parametrize(
    "latency", [{"uniform": ["1ms", "9ms"]}, {"exponential": "5ms"}, {"list": ["1ms", "2ms"]}]
)
def test_the_same_stream_gives_the_same_latencies(latency: dict[str, Any]) -> None:
    assert draws(latency, count=100) == draws(latency, count=100)


# Loss


def test_without_impairments_everything_arrives() -> None:
    assert share(network(group_of=[0, 0]), 0, 1, "") == 1


@pytest.mark.parametrize("loss", [0.0, 0.15, 0.5, 1.0])
def test_the_global_loss_is_the_share_that_is_lost(loss: float) -> None:
    found = share(network(loss=loss, group_of=[0, 0]), 0, 1, "loss")

    assert found == (loss if loss in (0, 1) else pytest.approx(loss, abs=0.015))


def test_a_pair_of_groups_has_its_own_loss_in_its_own_direction() -> None:
    # Agents 0 and 1 are in group 0, agent 2 is in group 1, agent 3 in group 2.
    between = network(loss=0.1, losses={(0, 1): 0.6, (2, 2): 0.0}, group_of=[0, 0, 1, 2])

    assert share(between, 0, 2, "loss") == pytest.approx(0.6, abs=0.015)
    assert share(between, 1, 2, "loss") == pytest.approx(0.6, abs=0.015)
    assert share(between, 2, 0, "loss") == pytest.approx(0.1, abs=0.015)
    assert share(between, 0, 1, "loss") == pytest.approx(0.1, abs=0.015)
    assert share(between, 3, 3, "loss") == 0


def test_losses_can_be_changed_for_everybody_and_for_a_pair() -> None:
    between = network(losses={(0, 1): 0.6}, group_of=[0, 1])

    between.set_loss(1.0)
    between.set_loss(0.0, (0, 1))

    assert share(between, 1, 0, "loss") == 1
    assert share(between, 0, 1, "loss") == 0


# Partitions


def test_a_partition_cuts_groups_on_different_sides_off_and_nobody_else() -> None:
    cut = network(group_of=[0, 1, 2, 3])  # agent n is in group n

    cut.partition({0: 0, 1: 0, 2: 1})

    reaches = {(a, b) for a in range(4) for b in range(4) if not cut.obstacle(a, b)}
    assert {(a, b) for a in range(4) for b in range(4)} - reaches == {
        (0, 2),
        (2, 0),
        (1, 2),
        (2, 1),
    }
    assert cut.obstacle(0, 2) == "partition"


def test_a_new_partition_takes_the_place_of_the_one_before_and_healing_ends_it() -> None:
    cut = network(group_of=[0, 1, 2])
    cut.partition({0: 0, 1: 1})

    cut.partition({1: 0, 2: 1})
    assert [cut.obstacle(0, 1), cut.obstacle(1, 2)] == ["", "partition"]
    cut.heal()

    assert [cut.obstacle(0, 1), cut.obstacle(1, 2)] == ["", ""]


def test_what_a_partition_cuts_off_draws_no_loss() -> None:
    cut, free = (network(loss=0.5, group_of=[0, 1]) for _ in range(2))

    cut.partition({0: 0, 1: 1})
    assert share(cut, 0, 1, "partition") == 1
    cut.heal()

    assert [cut.obstacle(0, 1) for _ in range(50)] == [free.obstacle(0, 1) for _ in range(50)]


# Weakly consistent failures


def suspicions(probability: float, agents: Sequence[int], seed: int = 7) -> set[tuple[int, int]]:
    wary = Network(
        latency=READ.validate_python({"fixed": "1ms"}),
        tick_ns=MS,
        rng=stream(seed, "network"),
        group_of=[0] * (max(agents) + 1),
    )
    wary.suspect(probability)
    return {(a, b) for a in agents for b in agents if wary.obstacle(a, b) == "suspected"}


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_the_right_share_of_pairs_is_suspected_as_seen_from_each_end(probability: float) -> None:
    agents = range(200)
    found = suspicions(probability, agents)

    assert len(found) / 200**2 == pytest.approx(probability, abs=0.01)
    by_sender, by_receiver = Counter(a for a, _ in found), Counter(b for _, b in found)
    for agent in agents:  # five standard deviations of 200 draws
        bound = 5 * (probability * (1 - probability) / 200) ** 0.5
        assert by_sender[agent] / 200 == pytest.approx(probability, abs=bound)
        assert by_receiver[agent] / 200 == pytest.approx(probability, abs=bound)


def test_who_is_suspected_stays_so_for_good() -> None:
    wary = network(group_of=[0] * 50)
    wary.suspect(0.3)
    pairs = [(a, b) for a in range(50) for b in range(50)]

    first = [wary.obstacle(a, b) for a, b in pairs]

    assert {"", "suspected"} == set(first)
    assert all([wary.obstacle(a, b) for a, b in pairs] == first for _ in range(5))


def test_suspicion_is_not_mutual() -> None:
    found = suspicions(0.5, range(100))
    mutual = mean((b, a) in found for a, b in found if a != b)

    assert mutual == pytest.approx(0.5, abs=0.05)


def test_with_a_greater_probability_the_same_pairs_and_more_are_suspected() -> None:
    assert suspicions(0.2, range(50)) < suspicions(0.4, range(50))


def test_another_seed_suspects_other_pairs() -> None:
    first, second = (suspicions(0.3, range(60), seed) for seed in (1, 2))

    both = len(first & second) / 60**2
    assert both == pytest.approx(0.09, abs=0.02)


# The short way


def test_the_short_way_is_taken_only_where_one_delay_and_one_loss_hold_for_all() -> None:
    assert network().plain
    assert network(loss=0.5).plain
    assert not network({"uniform": ["1ms", "2ms"]}).plain
    assert not network(losses={(0, 0): 0.5}, group_of=[0]).plain

    changing = network(group_of=[0, 1])
    changing.partition({0: 0, 1: 1})
    assert not changing.plain
    changing.heal()
    assert changing.plain
    changing.suspect(0.1)
    assert not changing.plain
    changing.suspect(0)
    assert changing.plain
    changing.set_loss(0.5)
    assert changing.plain
    changing.set_loss(0.5, (0, 1))
    assert not changing.plain
