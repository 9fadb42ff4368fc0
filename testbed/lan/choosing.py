"""Which agents a command means."""

from collections.abc import Sequence
from random import Random, SystemRandom

from agents.core.draw import sample
from agents.core.errors import LocalError
from agents.core.messages import PeerId
from testbed.lan.cluster import Cluster


async def chosen(
    cluster: Cluster,
    *,
    agents: Sequence[PeerId] = (),
    count: int | None = None,
    fraction: float | None = None,
    communities: Sequence[str] = (),
    seed: int | None = None,
) -> list[PeerId]:
    """By number, or drawn from those who are up in some communities, or anywhere."""
    ways = [bool(agents), count is not None, fraction is not None]
    if sum(ways) != 1:
        raise LocalError("say whom you mean: agents by number, or one of --count and --fraction")
    if agents:
        if communities:
            raise LocalError("agents by number say who is meant: leave out --community")
        for agent in agents:
            cluster.interests(agent)  # says it if there is no such agent
        return list(dict.fromkeys(agents))
    statuses = await cluster.statuses()
    pool = [agent for agent in pool_of(cluster, communities) if statuses[agent]]
    if count is None:
        count = round((fraction or 0) * len(pool))
    if count > len(pool):
        raise LocalError(f"only {len(pool)} agents are up to draw {count} from")
    rng = SystemRandom() if seed is None else Random(seed)
    return sorted(sample(pool, count, rng.random))


def pool_of(cluster: Cluster, communities: Sequence[str] = ()) -> list[PeerId]:
    for topic in communities:
        require_community(cluster, topic)
    wanted = set(communities)
    return [
        agent
        for agent in range(cluster.size)
        if (topics := cluster.interests(agent)) and (not wanted or wanted & set(topics))
    ]


def require_community(cluster: Cluster, topic: str) -> str:
    known = list(dict.fromkeys(t for topics, _ in cluster.experiment.groups() for t in topics))
    if topic not in known:
        raise LocalError(f"nobody is in {topic}: the communities are {', '.join(known)}")
    return topic
