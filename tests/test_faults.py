"""The schedule of faults: who is hit when, drawn once from the seed."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from statistics import mean
from typing import Any

import pytest

from agents.core.draw import stream
from testbed.faults import (
    Configure,
    Crash,
    CrashHost,
    Freeze,
    Loss,
    Partition,
    Relink,
    Restart,
    RestartHost,
    Schedule,
    Thaw,
    schedule,
)
from testbed.model.files import parse
from testbed.model.lan_parts import Link

S = 1_000_000_000
MEMBERS = {".a": list(range(10)), ".a.b": list(range(10, 110)), ".a.c": list(range(100, 120))}
"""The last ten of `.a.b` are in `.a.c`, too."""


def made(*faults: Mapping[str, Any], seed: int = 1) -> Schedule:
    document = {
        "name": "faults",
        "protocol": "gossip-multicast",
        "root": ".a",
        "communities": {".a": 10, ".a.b": 90, ".a.c": 10},
        "agents": [{"topics": [".a.b", ".a.c"], "count": 10}],
        "workload": [{"topic": ".a"}],
        "faults": list(faults),
    }
    return schedule(parse(document).points[0].experiment, MEMBERS, stream(seed, "faults"))


def crash(**how: Any) -> dict[str, Any]:
    return {"kind": "crash", "at": "2s", **how}


def hit(made: Schedule) -> tuple[int, ...]:
    (_, step), *_ = made.steps
    assert isinstance(step, Crash)
    return step.agents


def test_without_faults_there_is_nothing_to_do() -> None:
    assert made() == Schedule(frozenset(), 0.0, ())


# Who


def test_agents_that_are_named_are_those_that_are_hit() -> None:
    assert hit(made(crash(agents=[7, 3, 119]))) == (7, 3, 119)


@pytest.mark.parametrize(("fraction", "count"), [(0, 0), (0.1, 12), (0.5, 60), (1, 120)])
def test_a_fraction_is_that_share_of_everybody(fraction: float, count: int) -> None:
    agents = hit(made(crash(fraction=fraction)))

    assert len(set(agents)) == len(agents) == count
    assert set(agents) <= set(range(120))


def test_a_count_is_drawn_from_the_communities_in_which_an_agent_counts_once() -> None:
    assert len(hit(made(crash(count=5, communities=[".a"])))) == 5
    everybody = hit(made(crash(fraction=1, communities=[".a.b", ".a.c"])))
    assert everybody == tuple(range(10, 120))


def test_those_drawn_are_in_order_and_each_is_drawn_as_often() -> None:
    drawn = [hit(made(crash(count=5, communities=[".a"]), seed=seed)) for seed in range(400)]

    assert all(list(agents) == sorted(agents) for agents in drawn)
    for agent in range(10):
        assert mean(agent in agents for agents in drawn) == pytest.approx(0.5, abs=0.1)


# What


def test_a_crash_for_some_time_ends_with_the_restart_of_the_same_agents() -> None:
    steps = made(crash(count=3, **{"for": "5s"})).steps

    (first, down), (second, up) = steps
    assert (first, second) == (2 * S, 7 * S)
    assert isinstance(down, Crash)
    assert up == Restart(down.agents)


def test_a_crash_without_an_end_has_no_restart() -> None:
    assert len(made(crash(count=3)).steps) == 1


def test_a_restart_is_of_those_chosen_or_of_all_who_are_down() -> None:
    steps = made(
        {"kind": "restart", "at": "4s"},
        {"kind": "restart", "at": "5s", "agents": [2]},
        {"kind": "restart", "at": "6s", "fraction": 0, "communities": [".a"]},
    ).steps

    assert steps == ((4 * S, Restart(None)), (5 * S, Restart((2,))), (6 * S, Restart(())))


def test_the_stillborn_are_drawn_and_several_faults_add_up() -> None:
    found = made(
        {"kind": "stillborn", "fraction": 0.5, "communities": [".a"]},
        {"kind": "stillborn", "agents": [0, 50]},
    )

    assert found.steps == ()
    assert {0, 50} <= found.stillborn
    assert len(found.stillborn - {0, 50} | (found.stillborn & {0})) in (5, 6)
    assert found.stillborn - {50} <= set(range(10))


def test_suspicions_of_several_faults_are_independent_of_each_other() -> None:
    weak = {"kind": "weakly-consistent", "fraction": 0.5}

    assert made(weak).suspicion == 0.5
    assert made(weak, weak).suspicion == 0.75
    assert made(weak, {**weak, "fraction": 1}).suspicion == 1


def test_a_partition_names_sides_and_ends() -> None:
    cut = {"kind": "partition", "at": "1s", "groups": [[".a"], [".a.b", ".a.c"]]}
    sides = {".a": 0, ".a.b": 1, ".a.c": 1}

    assert made(cut).steps == ((S, Partition(sides)),)
    assert made({**cut, "until": "3s"}).steps == ((S, Partition(sides)), (3 * S, Partition({})))


def test_a_freeze_ends_with_the_thaw_of_the_same_agents() -> None:
    fault = {"kind": "freeze", "at": "2s", "for": "3s", "fraction": 0.5, "communities": [".a"]}
    (first, frozen), (second, thawed) = made(fault).steps

    assert (first, second) == (2 * S, 5 * S)
    assert isinstance(frozen, Freeze)
    assert len(frozen.agents) == 5
    assert thawed == Thaw(frozen.agents)


# Machines


def on_smoke(*faults: Mapping[str, Any], engine: str = "sim", seed: int = 1) -> Schedule:
    """Agents 0 to 11 on hosts 1 to 6, two each: 0 and 6 on the first."""
    document = {
        "name": "faults",
        "engine": engine,
        "protocol": "gossip-multicast",
        "topology": "smoke",
        "workload": [{"topic": ".a"}],
        "faults": list(faults),
    }
    experiment = parse(document).points[0].experiment
    members = {".a.d.g": range(6), ".a.d": range(6, 10), ".a": range(10, 12)}
    return schedule(experiment, members, stream(seed, "faults"))


def test_a_host_that_crashes_takes_its_agents_with_it() -> None:
    fault = {"kind": "crash-host", "at": "2s", "for": "5s", "hosts": ["pc1", "pc4"]}

    assert on_smoke(fault).steps == (
        (2 * S, CrashHost((1, 4), (0, 3, 6, 9))),
        (7 * S, RestartHost((1, 4), (0, 3, 6, 9))),
    )


def test_hosts_are_drawn_each_as_often() -> None:
    drawn: list[int] = []
    for seed in range(300):
        ((_, step),) = on_smoke({"kind": "crash-host", "at": "2s", "count": 2}, seed=seed).steps
        assert isinstance(step, CrashHost)
        assert step.hosts == tuple(sorted(set(step.hosts)))
        assert len(step.agents) == 4
        drawn += step.hosts
    for host in range(1, 7):
        assert drawn.count(host) / 300 == pytest.approx(1 / 3, abs=0.1)


def test_no_agent_starts_on_a_host_that_is_down() -> None:
    steps = on_smoke(
        {"kind": "crash-host", "at": "2s", "for": "5s", "hosts": ["pc1"]},
        {"kind": "crash", "at": "1s", "agents": [0, 1], "for": "2s"},
        {"kind": "crash", "at": "1s", "agents": [6], "for": "3s"},
    ).steps

    assert [(time // S, step) for time, step in steps] == [
        (1, Crash((0, 1))),
        (1, Crash((6,))),
        (2, CrashHost((1,), (0, 6))),
        (3, Restart((1,))),
        (7, RestartHost((1,), (0, 6))),
    ]


def test_a_restart_of_all_brings_the_hosts_back_too() -> None:
    steps = on_smoke(
        {"kind": "crash-host", "at": "1s", "hosts": ["pc1"]},
        {"kind": "restart", "at": "2s"},
        {"kind": "restart", "at": "3s", "agents": [0]},
    ).steps

    assert [step for _, step in steps[1:]] == [Restart(None), Restart((0,))]


def test_links_change_in_what_is_said_and_the_changes_add_up() -> None:
    steps = on_smoke(
        {"kind": "link", "at": "2s", "hosts": ["pc2", "pc3"], "loss": 0.1},
        {"kind": "link", "at": "1s", "groups": ["pc"], "rate": "10mbit"},
        {"kind": "link", "at": "3s", "hosts": ["pc3"], "rate": "unlimited"},
        engine="lan",
    ).steps

    slow = Link.model_validate({"rate": "10mbit"})
    lossy = Link.model_validate({"rate": "10mbit", "loss": 0.1})
    assert steps == (
        (S, Relink(dict.fromkeys(range(1, 7), slow))),
        (2 * S, Relink({2: lossy, 3: lossy})),
        (3 * S, Relink({3: Link.model_validate({"loss": 0.1})})),
    )


def test_a_link_change_without_hosts_is_of_all() -> None:
    ((_, step),) = on_smoke({"kind": "link", "at": "1s", "loss": 1}, engine="lan").steps
    assert isinstance(step, Relink)
    assert list(step.links) == list(range(1, 7))


def test_losses_are_everywhere_or_between_two_communities() -> None:
    steps = made(
        {"kind": "loss", "at": "1s", "loss": 0.25},
        {"kind": "loss", "at": "2s", "loss": 0.5, "from": ".a", "to": ".a.b"},
    ).steps

    assert steps == ((S, Loss(0.25, None)), (2 * S, Loss(0.5, (".a", ".a.b"))))


def test_parameters_change_for_one_topic() -> None:
    change = {"kind": "configure", "at": "1s", "topic": ".a.b", "parameters": {"c": 3}}

    assert made(change).steps == ((S, Configure(".a.b", {"c": 3})),)


# Churn


def lives(made: Schedule) -> dict[int, list[tuple[int, bool]]]:
    """By agent: when it goes down and when it comes up again."""
    found: dict[int, list[tuple[int, bool]]] = {}
    for time, step in made.steps:
        assert isinstance(step, Crash | Restart)
        assert step.agents is not None
        (agent,) = step.agents
        found.setdefault(agent, []).append((time, isinstance(step, Restart)))
    return found


def test_churn_with_fixed_times_is_as_regular_as_a_clock() -> None:
    churn = {
        "kind": "churn",
        "from": "1s",
        "until": "10s",
        "on": {"fixed": "2s"},
        "off": {"fixed": "3s"},
        "communities": [".a"],
    }

    expected = [(3 * S, False), (6 * S, True), (8 * S, False), (11 * S, True)]
    assert lives(made(churn)) == dict.fromkeys(range(10), expected)


def test_churn_by_distribution_has_the_means_that_were_asked_for() -> None:
    churn = {
        "kind": "churn",
        "from": "5s",
        "until": "2000s",
        "on": {"exponential": "20s"},
        "off": {"uniform": ["2s", "6s"]},
        "communities": [".a.b"],
    }
    found = lives(made(churn))
    ups, downs = [], []
    for steps in found.values():
        assert [up for _, up in steps] == [False, True] * (len(steps) // 2)
        times = [5 * S, *(time for time, _ in steps)]
        spans = [later - earlier for earlier, later in pairwise(times)]
        assert min(spans) >= 1
        ups += spans[::2]
        downs += spans[1::2]

    assert found.keys() == set(MEMBERS[".a.b"])
    assert mean(ups) == pytest.approx(20 * S, rel=0.05)
    assert mean(downs) == pytest.approx(4 * S, rel=0.05)
    assert 2 * S <= min(downs) <= max(downs) <= 6 * S


def test_nobody_goes_down_after_the_churn_and_everybody_comes_back() -> None:
    churn = {
        "kind": "churn",
        "until": "50s",
        "on": {"list": ["1s", "7s"]},
        "off": {"exponential": "30s"},
    }
    found = lives(made(churn))

    assert len(found) == 120
    for steps in found.values():
        assert all(time < 50 * S for time, up in steps if not up)
        assert steps[-1][1]
    assert any(time >= 50 * S for steps in found.values() for time, _ in steps)


def test_churn_that_takes_no_time_still_goes_on() -> None:
    churn = {
        "kind": "churn",
        "until": "1us",
        "on": {"list": ["0s", "1us"]},
        "off": {"list": ["0s", "1us"]},
        "communities": [".a"],
    }

    for steps in lives(made(churn)).values():
        times = [time for time, _ in steps]
        assert times == sorted(set(times))


# As a whole

EVERYTHING: list[dict[str, Any]] = [
    {"kind": "stillborn", "fraction": 0.2},
    {
        "kind": "churn",
        "until": "30s",
        "on": {"exponential": "9s"},
        "off": {"uniform": ["1s", "2s"]},
    },
    {"kind": "crash", "at": "20s", "fraction": 0.3, "for": "3s"},
    {"kind": "loss", "at": "3s", "loss": 0.1},
    {"kind": "restart", "at": "25s", "count": 4, "communities": [".a.c"]},
    {"kind": "configure", "at": "3s", "topic": ".a", "parameters": {"c": 2}},
    {"kind": "partition", "at": "3s", "until": "20s", "groups": [[".a"], [".a.b", ".a.c"]]},
]


def test_steps_are_in_the_order_of_their_times_and_else_in_that_of_the_file() -> None:
    steps = made(*EVERYTHING).steps
    times = [time for time, _ in steps]

    assert times == sorted(times)
    assert [type(step) for time, step in steps if time == 3 * S] == [Loss, Configure, Partition]
    assert [type(step) for time, step in steps if time == 20 * S] == [Crash, Partition]


def test_the_same_seed_draws_the_same_and_another_draws_otherwise() -> None:
    first, again, other = made(*EVERYTHING), made(*EVERYTHING), made(*EVERYTHING, seed=2)

    assert first == again
    assert first.stillborn != other.stillborn
    assert hit_at(first, 20 * S) != hit_at(other, 20 * S)
    assert lives_only(first) != lives_only(other)


def hit_at(made: Schedule, at: int) -> tuple[int, ...]:
    return next(s.agents for time, s in made.steps if time == at and isinstance(s, Crash))


def lives_only(made: Schedule) -> list[int]:
    return [time for time, step in made.steps if isinstance(step, Crash) and len(step.agents) == 1]
