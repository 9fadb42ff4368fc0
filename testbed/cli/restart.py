"""`testbed restart`: agents and machines that crashed come back."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from testbed.cli.lan import DEFAULT, Agents, Hosts, Json, Name, on_cluster

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster


def restart(
    agents: Agents = None, host: Hosts = None, name: Name = DEFAULT, as_json: Json = False
) -> None:
    """Start agents again that are down, with their machines if these are; all if none is named."""
    from testbed.bootstrap import Bootstrap
    from testbed.lan.playing import restart as bring_back

    async def act(cluster: Cluster) -> list[int]:
        bootstrap = Bootstrap(cluster.experiment, cluster.standing.seed)
        wanted = list(agents or ())
        for one in host or ():
            wanted += cluster.agents_on.get(cluster.host_named(one), ())
        if not agents and not host:
            wanted = list(range(cluster.size))
        for agent in wanted:
            cluster.interests(agent)  # says it if there is no such agent
        await cluster.restart_hosts(sorted({cluster.host_of(agent) for agent in wanted}))
        return await bring_back(cluster, bootstrap, wanted)

    back = on_cluster(name, act)
    if as_json:
        print(json.dumps({"restarted": back}))
    else:
        print(f"restarted: {', '.join(map(str, back)) if back else 'nobody, all were up'}")
