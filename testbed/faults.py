"""Faults as a schedule: what happens to whom at what time, drawn once from the run's seed.

The same schedule can be played by either engine; this module knows neither.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from agents.core.draw import sample
from agents.core.messages import PeerId
from testbed.model import faults as model
from testbed.model.distributions import drawing
from testbed.model.experiment import Experiment


@dataclass(frozen=True, slots=True)
class Crash:
    agents: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    agents: tuple[PeerId, ...] | None
    """`None` for all that are down at that time."""


@dataclass(frozen=True, slots=True)
class Partition:
    sides: Mapping[str, int]
    """By community. Communities on different sides cannot reach each other; none: all can."""


@dataclass(frozen=True, slots=True)
class Loss:
    loss: float
    between: tuple[str, str] | None
    """From one community to another; `None` for everywhere."""


@dataclass(frozen=True, slots=True)
class Configure:
    topic: str
    parameters: Mapping[str, Any]


Step = Crash | Restart | Partition | Loss | Configure


@dataclass(frozen=True, slots=True)
class Schedule:
    stillborn: frozenset[PeerId]
    """Never to be started."""
    suspicion: float
    """With what probability a sender takes another agent for crashed."""
    steps: tuple[tuple[int, Step], ...]
    """With their times in nanoseconds, in order."""


def schedule(
    experiment: Experiment, members: Mapping[str, Sequence[PeerId]], rng: Random
) -> Schedule:
    """Who is hit when. `members` are the agents of each community."""
    stillborn: dict[PeerId, None] = {}
    suspicion = 0.0
    steps: list[tuple[int, Step]] = []
    for fault in experiment.faults:
        match fault:
            case model.Stillborn():
                stillborn.update(dict.fromkeys(_chosen(fault, members, rng.random)))
            case model.WeaklyConsistent():
                suspicion = 1 - (1 - suspicion) * (1 - fault.fraction)
            case model.Crash():
                hit = _chosen(fault, members, rng.random)
                steps.append((fault.at, Crash(hit)))
                if fault.for_ is not None:
                    steps.append((fault.at + fault.for_, Restart(hit)))
            case model.Restart():
                steps.append((fault.at, Restart(_back(fault, members, rng.random))))
            case model.Partition():
                sides = {name: side for side, group in enumerate(fault.groups) for name in group}
                steps.append((fault.at, Partition(sides)))
                if fault.until is not None:
                    steps.append((fault.until, Partition({})))
            case model.Loss():
                between = (fault.from_, fault.to) if fault.from_ and fault.to else None
                steps.append((fault.at, Loss(fault.loss, between)))
            case model.Configure():
                steps.append((fault.at, Configure(fault.topic, fault.parameters)))
            case model.Churn():
                steps.extend(_churn(fault, members, rng))
    steps.sort(key=lambda step: step[0])
    return Schedule(frozenset(stillborn), suspicion, tuple(steps))


def _chosen(
    choice: model.Chosen, members: Mapping[str, Sequence[PeerId]], random: Callable[[], float]
) -> tuple[PeerId, ...]:
    if choice.agents is not None:
        return choice.agents
    pool = _pool(choice.communities, members)
    count = choice.count if choice.count is not None else round((choice.fraction or 0) * len(pool))
    return tuple(sorted(sample(pool, count, random)))


def _back(
    fault: model.Restart, members: Mapping[str, Sequence[PeerId]], random: Callable[[], float]
) -> tuple[PeerId, ...] | None:
    if not fault.fraction is fault.count is fault.agents is None:
        return _chosen(fault, members, random)
    return None if fault.communities is None else tuple(_pool(fault.communities, members))


def _pool(
    communities: Iterable[str] | None, members: Mapping[str, Sequence[PeerId]]
) -> list[PeerId]:
    names = members if communities is None else communities
    return sorted({agent for name in names for agent in members.get(name, ())})


def _churn(
    fault: model.Churn, members: Mapping[str, Sequence[PeerId]], rng: Random
) -> list[tuple[int, Step]]:
    """Who is down when `until` comes still comes back in its own time."""
    steps: list[tuple[int, Step]] = []
    up, down = drawing(fault.on, rng.random), drawing(fault.off, rng.random)
    for agent in _pool(fault.communities, members):
        time = fault.from_ + round(up())
        while time < fault.until:
            steps.append((time, Crash((agent,))))
            time += max(1, round(down()))
            steps.append((time, Restart((agent,))))
            time += max(1, round(up()))
    return steps
