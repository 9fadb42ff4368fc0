"""How a LAN is: per community who is up and knows whom, and what the network does."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from testbed.lan.cluster import Cluster, Status
from testbed.lan.fidelity import MS
from testbed.model.rates import format_rate


@dataclass
class CommunityStatus:
    """One community; its agents may be in others, too."""

    community: str
    agents: int = 0
    up: int = 0
    joined: int = 0
    tables: dict[str, list[int]] = field(default_factory=dict)
    """By table: the sizes that its living members have."""
    delivered: int = 0
    """Deliveries to its members, of all events so far."""

    def as_data(self) -> dict[str, Any]:
        return {
            "community": self.community,
            "agents": self.agents,
            "up": self.up,
            "joined": self.joined,
            "delivered": self.delivered,
            "tables": {
                name: {
                    "mean": sum(sizes) / len(sizes),
                    "least": min(sizes),
                    "greatest": max(sizes),
                }
                for name, sizes in sorted(self.tables.items())
            },
        }


@dataclass
class LanStatus:
    name: str
    topology: str
    runtime: str
    protocol: str
    membership: str
    transport: str
    machines: int
    communities: list[CommunityStatus]
    published: int
    sent: int
    received: int
    refused: int
    overflow: int
    lag_max_ms: float
    memory_mb: float
    rates: dict[str, int]
    """How many machines' links were asked for each rate."""
    loss: float
    """Of all messages, as it was asked for; `losses` are between groups of agents."""
    losses: list[dict[str, float]]
    partition: list[int]
    """How many agents are on each side; none, if there is no partition."""
    dropped: dict[str, int]
    """By cause: what the network dropped so far."""
    down: list[int]
    """Agents that do not answer: crashed, or frozen."""

    def as_data(self) -> dict[str, Any]:
        return vars(self) | {"communities": [c.as_data() for c in self.communities]}


async def status_of(cluster: Cluster) -> LanStatus:
    statuses = await cluster.statuses()
    communities: dict[str, CommunityStatus] = {}
    for agent, status in statuses.items():
        for topic in cluster.interests(agent) or ("(overlay gateways)",):
            _count(communities.setdefault(topic, CommunityStatus(topic)), topic, status)
    answers = [status for status in statuses.values() if status]
    experiment, impairments = cluster.experiment, cluster.network.impairments

    def total(what: str) -> int:
        return sum(status[what] for status in answers)

    return LanStatus(
        name=cluster.standing.name,
        topology=cluster.topology.name,
        runtime=cluster.standing.runtime,
        protocol=experiment.protocol.name,
        membership=experiment.membership.name,
        transport=experiment.transport,
        machines=len(cluster.hosts),
        communities=list(communities.values()),
        published=total("published"),
        sent=total("sent"),
        received=total("received"),
        refused=total("refused"),
        overflow=total("overflow"),
        lag_max_ms=round(max((s["lag_max_ns"] for s in answers), default=0) / MS, 3),
        memory_mb=round(total("rss_kb") / 1024, 1),
        rates=dict(
            Counter(
                "no bound" if rate is None else format_rate(rate)
                for rate in (
                    impairments.link(cluster.network.plan, host).rate for host in cluster.hosts
                )
            )
        ),
        loss=impairments.loss,
        losses=[
            {"from": len(one.senders), "to": len(one.receivers), "loss": one.loss}
            for one in impairments.between
        ],
        partition=[len(side) for side in impairments.sides],
        dropped=_by_cause(cluster),
        down=[agent for agent, status in statuses.items() if status is None],
    )


def _by_cause(cluster: Cluster) -> dict[str, int]:
    found: Counter[str] = Counter()
    for (cause, _, _), packets in cluster.network.dropped_between().items():
        found[cause] += packets
    return dict(found)


def _count(community: CommunityStatus, topic: str, status: Status | None) -> None:
    community.agents += 1
    if status is None:
        return
    community.up += 1
    community.joined += topic in status["joined"] or "" in status["joined"]
    community.delivered += status["delivered"]
    for name, size in status["tables"].items():
        home, _, table = name.rpartition("/")
        if home in (topic, ""):
            community.tables.setdefault(table, []).append(size)
