"""`testbed crash`: SIGKILL of agents, or of whole machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from agents.core.errors import LocalError
from testbed.cli.lan import (
    DEFAULT,
    Agents,
    Community,
    Count,
    Fraction,
    Hosts,
    Json,
    Name,
    Seed,
    on_cluster,
)

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster


def crash(
    agents: Agents = None,
    count: Count = None,
    fraction: Fraction = None,
    community: Community = None,
    host: Hosts = None,
    seed: Seed = None,
    name: Name = DEFAULT,
    as_json: Json = False,
) -> None:
    """Kill agents without a warning, or machines with all that run on them."""
    from testbed.lan.choosing import chosen

    async def act(cluster: Cluster) -> list[int]:
        if host:
            if agents or count is not None or fraction is not None or community:
                raise LocalError("--host says what is meant: leave out agents and what draws them")
            hit = []
            for machine in [cluster.host_named(one) for one in host]:
                hit += await cluster.crash_host(machine)
            return hit
        meant = await chosen(
            cluster,
            agents=agents or (),
            count=count,
            fraction=fraction,
            communities=community or (),
            seed=seed,
        )
        return await cluster.crash(meant)

    hit = on_cluster(name, act)
    if as_json:
        print(json.dumps({"crashed": hit}))
    else:
        print(f"crashed: {', '.join(map(str, hit)) if hit else 'nobody, they were down already'}")
