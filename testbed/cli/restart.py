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
    """Start agents again that are down, with nothing remembered; all of them if none is named."""
    from testbed.bootstrap import Bootstrap
    from testbed.lan.playing import restart as bring_back

    async def act(cluster: Cluster) -> list[int]:
        bootstrap = Bootstrap(cluster.experiment, cluster.standing.seed)
        machines = [cluster.host_named(one) for one in host or ()]
        await cluster.restart_hosts(machines)
        on_machines = [agent for machine in machines for agent in cluster.agents_on[machine]]
        return await bring_back(cluster, bootstrap, on_machines or agents or range(cluster.size))

    back = on_cluster(name, act)
    if as_json:
        print(json.dumps({"restarted": back}))
    else:
        print(f"restarted: {', '.join(map(str, back)) if back else 'nobody, all were up'}")
