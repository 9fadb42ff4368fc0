"""A run's workload and faults, played on a LAN at their times.

The schedule is the one that the simulator plays, drawn from the same seed. What comes late, because
the machine is busy, is done late, and how late is remembered.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from functools import partial

from agents.core.draw import choice, stream
from agents.core.messages import NS_PER_S, PeerId
from testbed import faults
from testbed.bootstrap import Bootstrap
from testbed.lan.cluster import Cluster
from testbed.lan.joining import roster_of, until
from testbed.model.experiment import Publication

Action = Callable[[], Awaitable[None]]
Advance = Callable[[int, int], None]


@dataclass
class Played:
    """How it went."""

    unpublished: int = 0
    """Events of the workload that nobody was there to publish."""
    latest_ns: int = 0
    """How late the latest action was."""


class Player:
    """Plays one point of an experiment, once."""

    def __init__(self, cluster: Cluster, bootstrap: Bootstrap, schedule: faults.Schedule) -> None:
        self.cluster = cluster
        self.bootstrap = bootstrap
        self.schedule = schedule
        self.played = Played()
        self._workload_random = stream(cluster.standing.seed, "workload").random

    async def play(self, shift_ns: int = 0, advance: Advance = lambda done, total: None) -> Played:
        """All of it, every time later by `shift_ns`, and then on until the run's end."""
        timeline = self.timeline()
        for number, (time_ns, action) in enumerate(timeline):
            late = await until(self.cluster, time_ns + shift_ns)
            self.played.latest_ns = max(self.played.latest_ns, late)
            await action()
            advance(number + 1, len(timeline) + 1)
        await until(self.cluster, self.end_ns + shift_ns)
        advance(len(timeline) + 1, len(timeline) + 1)
        return self.played

    @property
    def end_ns(self) -> int:
        experiment = self.cluster.experiment
        if experiment.duration is not None:
            return experiment.duration
        return max((time for time, _ in self.timeline()), default=0) + 2 * NS_PER_S

    def timeline(self) -> list[tuple[int, Action]]:
        """Until the end that the experiment names; who would come back behind it stays down."""
        found: list[tuple[int, Action]] = [
            (time, partial(self._do, step)) for time, step in self.schedule.steps
        ]
        for line in self.cluster.experiment.workload:
            publish = partial(self._publish, line)
            found += [(line.at + number * line.every, publish) for number in range(line.count)]
        end = self.cluster.experiment.duration
        found = [entry for entry in found if end is None or entry[0] <= end]
        found.sort(key=lambda entry: entry[0])
        return found

    async def _publish(self, line: Publication) -> None:
        if line.publisher == "random":
            candidates = self.bootstrap.members[line.topic]
        else:
            candidates = [line.publisher]
        alive = await asyncio.gather(*(self.cluster.is_up(agent) for agent in candidates))
        up = [agent for agent, is_up in zip(candidates, alive, strict=True) if is_up]
        if not up:
            self.played.unpublished += 1
            return
        publisher = choice(up, self._workload_random)
        await self.cluster.publish(publisher, line.topic, bytes(line.bytes), line.psel)

    async def _do(self, step: faults.Step) -> None:
        cluster = self.cluster
        match step:
            case faults.Crash(agents):
                await cluster.crash(agents)
            case faults.CrashHost(hosts):
                for host in hosts:
                    await cluster.crash_host(host)
            case faults.Restart(agents):
                if agents is None:
                    await cluster.restart_hosts(cluster.hosts)
                await self._restart(range(cluster.size) if agents is None else agents)
            case faults.RestartHost(hosts, agents):
                await cluster.restart_hosts(hosts)
                await self._restart(agents)
            case faults.Freeze(agents):
                await cluster.freeze(agents)
            case faults.Thaw(agents):
                await cluster.thaw(agents)
            case faults.Relink(links):
                for host, link in links.items():
                    cluster.network.set_link(host, link)
            case faults.Partition(sides):
                cluster.partition(sides)
            case faults.Loss(loss, between):
                cluster.set_loss(loss, between)
            case faults.Configure(topic, parameters):
                await cluster.configure(topic, parameters)

    async def _restart(self, agents: Iterable[PeerId]) -> None:
        born = [agent for agent in agents if agent not in self.schedule.stillborn]
        # Nobody waits until they have joined: what is due meanwhile has to happen in time.
        await restart(self.cluster, self.bootstrap, born)


async def restart(cluster: Cluster, bootstrap: Bootstrap, agents: Iterable[PeerId]) -> list[PeerId]:
    """New lives for those of them who are down; returns these."""
    back = [agent for agent in agents if await cluster.respawn(agent)]
    if back:
        roster = await roster_of(cluster)
        for agent in back:
            await cluster.start(agent, bootstrap.setting(agent, roster))
    return back
