"""Faults as a schedule: what happens to whom at what time, drawn once from the run's seed.

The same schedule can be played by either engine; this module knows neither.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pydantic import ValidationError

from agents.core.draw import sample
from agents.core.messages import PeerId
from testbed.model import faults as model
from testbed.model.distributions import drawing
from testbed.model.experiment import Experiment
from testbed.model.lan_parts import Link
from testbed.model.links import link_changes


@dataclass(frozen=True, slots=True)
class Crash:
    agents: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class Restart:
    agents: tuple[PeerId, ...] | None
    """`None` for all that are down at that time, and with them the machines that are. Others are on
    machines that stand."""


@dataclass(frozen=True, slots=True)
class Freeze:
    """Stop with all that they know; who is down is left alone."""

    agents: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class Thaw:
    """Let those go on who are frozen."""

    agents: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class CrashHost:
    """Whole machines, by number, and the agents that are on them."""

    hosts: tuple[int, ...]
    agents: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class RestartHost:
    """The machines, and all agents on them that ever lived."""

    hosts: tuple[int, ...]
    agents: tuple[PeerId, ...]


@dataclass(frozen=True, slots=True)
class Relink:
    links: Mapping[int, Link]
    """By host's number: what its link is like from now on."""


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


Step = (
    Crash
    | Restart
    | Freeze
    | Thaw
    | CrashHost
    | RestartHost
    | Relink
    | Partition
    | Loss
    | Configure
)


@dataclass(frozen=True, slots=True)
class Schedule:
    stillborn: frozenset[PeerId]
    """Never to be started."""
    suspicion: float
    """With what probability a sender takes another agent for crashed."""
    steps: tuple[tuple[int, Step], ...]
    """With their times in nanoseconds, in order."""

    @property
    def ever_down(self) -> frozenset[PeerId]:
        """Whoever is not up all the time."""
        crashes = [step for _, step in self.steps if isinstance(step, Crash | CrashHost)]
        return self.stillborn.union(*(step.agents for step in crashes))


def schedule(
    experiment: Experiment, members: Mapping[str, Sequence[PeerId]], rng: Random
) -> Schedule:
    """Who is hit when. `members` are the agents of each community."""
    stillborn: dict[PeerId, None] = {}
    suspicion = 0.0
    steps: list[tuple[int, Step]] = []
    machines = _Machines(experiment)
    for number, fault in enumerate(experiment.faults):
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
            case model.Freeze():
                hit = _chosen(fault, members, rng.random)
                steps.append((fault.at, Freeze(hit)))
                steps.append((fault.at + fault.for_, Thaw(hit)))
            case model.CrashHost():
                hosts = machines.chosen(fault, rng.random)
                steps.append((fault.at, CrashHost(hosts, machines.agents_on(hosts))))
                if fault.for_ is not None:
                    up = RestartHost(hosts, machines.agents_on(hosts))
                    steps.append((fault.at + fault.for_, up))
            case model.LinkChange():
                steps.append((fault.at, Relink(machines.changed_links(number))))
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
    return Schedule(frozenset(stillborn), suspicion, tuple(machines.possible(steps)))


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


class _Machines:
    """Where an experiment's agents are, if it says so, and what is done to whole machines."""

    def __init__(self, experiment: Experiment) -> None:
        topology = experiment.topology
        self._hosts = topology.host_list() if topology else []
        self._number_of = {host.name: host.number for host in self._hosts}
        self._host_of = [n for n, _ in topology.placement(experiment.size)] if topology else []
        self._links = dict(link_changes(experiment.faults, topology)) if topology else {}

    def chosen(self, fault: model.CrashHost, random: Callable[[], float]) -> tuple[int, ...]:
        if fault.hosts is not None:
            return tuple(self._number_of[name] for name in fault.hosts)
        numbers = [host.number for host in self._hosts]
        return tuple(sorted(sample(numbers, fault.count or 0, random)))

    def agents_on(self, hosts: tuple[int, ...]) -> tuple[PeerId, ...]:
        return tuple(agent for agent, host in enumerate(self._host_of) if host in hosts)

    def changed_links(self, number: int) -> Mapping[int, Link]:
        """What the links of the hosts that a change is about are like after it."""
        made = self._links[number]
        if isinstance(made, ValidationError):
            raise made
        return made

    def possible(self, steps: list[tuple[int, Step]]) -> Iterator[tuple[int, Step]]:
        """The steps, in which no agent starts on a machine that is down."""
        down: set[int] = set()
        for time, step in steps:
            match step:
                case CrashHost(hosts=hosts):
                    down.update(hosts)
                case RestartHost(hosts=hosts):
                    down.difference_update(hosts)
                case Restart(agents=None):
                    down.clear()
                case Restart(agents=tuple() as agents) if down:
                    able = tuple(agent for agent in agents if self._host_of[agent] not in down)
                    if not able:
                        continue
                    step = Restart(able)
            yield time, step


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
