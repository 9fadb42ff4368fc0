"""`testbed freeze` and `testbed thaw`: agents that stand still, and go on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.cli.lan import DEFAULT, Agents, Community, Count, Fraction, Name, Seed, on_cluster

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster


def freeze(
    agents: Agents = None,
    count: Count = None,
    fraction: Fraction = None,
    community: Community = None,
    seed: Seed = None,
    name: Name = DEFAULT,
) -> None:
    """Stop agents where they are: what is sent to them waits."""
    from testbed.lan.choosing import chosen

    async def act(cluster: Cluster) -> list[int]:
        meant = await chosen(
            cluster,
            agents=agents or (),
            count=count,
            fraction=fraction,
            communities=community or (),
            seed=seed,
        )
        return await cluster.freeze(meant)

    hit = on_cluster(name, act)
    print(f"frozen: {', '.join(map(str, hit)) if hit else 'nobody, none of them runs'}")


def thaw(agents: Agents = None, name: Name = DEFAULT) -> None:
    """Let frozen agents go on; all of them if none is named."""

    async def act(cluster: Cluster) -> list[int]:
        return await cluster.thaw(agents or range(cluster.size))

    thawed = on_cluster(name, act)
    print(f"thawed: {', '.join(map(str, thawed)) if thawed else 'nobody, none was frozen'}")
