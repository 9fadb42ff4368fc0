"""How agents come in: one after the other, each told of some who came before it (CAMCAST 6.2.1)."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from agents.core.messages import NS_PER_S, PeerId
from testbed.bootstrap import Bootstrap
from testbed.lan.cluster import Cluster, Status

JOIN_PATIENCE_S = 20.0
"""How long one agent may take to join before the next one is started. Ours: a membership that
repeats its request once a second has had many tries by then."""
TABLES_PATIENCE_S = 30.0
"""How long tables may take to fill once all have joined. Ours: three rounds of upkeep."""
POLL_S = 0.02

Advance = Callable[[int, int], None]


@dataclass
class LanRoster:
    """Who takes part in what, as the agents' own words say."""

    joined: dict[str, list[PeerId]] = field(default_factory=dict)
    down: set[PeerId] = field(default_factory=set)

    def is_up(self, peer: PeerId) -> bool:
        return peer not in self.down

    def note(self, agent: PeerId, status: Status | None) -> None:
        """What an agent says of itself now; nothing, if it is down."""
        for scope, peers in self.joined.items():
            if agent in peers and (status is None or scope not in status["joined"]):
                peers.remove(agent)
        self.down.discard(agent)
        if status is None:
            self.down.add(agent)
            return
        for scope in status["joined"]:
            peers = self.joined.setdefault(scope, [])
            if agent not in peers:
                peers.append(agent)


async def roster_of(cluster: Cluster) -> LanRoster:
    roster = LanRoster()
    for agent, status in (await cluster.statuses()).items():
        roster.note(agent, status)
    return roster


async def join_all(
    cluster: Cluster,
    bootstrap: Bootstrap,
    stillborn: frozenset[PeerId] = frozenset(),
    advance: Advance = lambda done, total: None,
) -> LanRoster:
    """Start every agent, `spacing` apart; each has joined before the next one starts."""
    roster = LanRoster()
    order = [agent for agent in cluster.experiment.starting_order() if agent not in stillborn]
    roster.down.update(order, stillborn)
    spacing = cluster.experiment.bootstrap.spacing
    for number, agent in enumerate(order):
        await until(cluster, number * spacing)
        await join(cluster, bootstrap, roster, agent)
        advance(number + 1, len(order))
    return roster


async def join(cluster: Cluster, bootstrap: Bootstrap, roster: LanRoster, agent: PeerId) -> None:
    """Start one agent and wait until it takes part, for a while."""
    await cluster.start(agent, bootstrap.setting(agent, roster))
    give_up_at = time.monotonic() + JOIN_PATIENCE_S
    while True:
        status = await cluster.ask_agent(agent, "status")
        roster.note(agent, status)
        if takes_part(status, cluster.interests(agent)) or time.monotonic() > give_up_at:
            return
        await asyncio.sleep(POLL_S)


def takes_part(status: Status, interests: Sequence[str]) -> bool:
    """Whether an agent has joined all that it is interested in; "" is for everything at once."""
    joined = status["joined"]
    return "" in joined or all(topic in joined for topic in interests)


async def tables_filled(cluster: Cluster, roster: LanRoster) -> list[PeerId]:
    """Wait until everybody takes part and knows somebody in each of its tables; returns those of
    whom that cannot be said when patience is at an end."""
    give_up_at = time.monotonic() + TABLES_PATIENCE_S
    waiting = [agent for agent in range(cluster.size) if roster.is_up(agent)]
    while True:
        statuses = await asyncio.gather(*(cluster.ask_agent(a, "status") for a in waiting))
        for agent, status in zip(waiting, statuses, strict=True):
            roster.note(agent, status)
        waiting = [
            agent
            for agent, status in zip(waiting, statuses, strict=True)
            if not is_settled(cluster, roster, agent, status)
        ]
        if not waiting or time.monotonic() > give_up_at:
            return waiting
        await asyncio.sleep(0.2)


def is_settled(cluster: Cluster, roster: LanRoster, agent: PeerId, status: Status) -> bool:
    """Who is alone in its community has nobody to know."""
    if not takes_part(status, cluster.interests(agent)):
        return False
    for name, size in status["tables"].items():
        community = name.rpartition("/")[0]
        if not size and len(roster.joined.get(community, ())) > 1:
            return False
    return True


async def until(cluster: Cluster, time_ns: int) -> int:
    """Wait for a time of the run; returns how late it is, in nanoseconds."""
    while (left := time_ns - cluster.happenings.now) > 0:
        await asyncio.sleep(left / NS_PER_S)
    return -left
