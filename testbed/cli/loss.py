"""`testbed loss`: how many messages the LAN loses from now on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.lan import DEFAULT, Name, on_cluster

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster


def loss(
    share: Annotated[float, typer.Argument(min=0.0, max=1.0, help="0.15 for 15 %.")],
    from_: Annotated[str | None, typer.Option("--from", help="Only from this community…")] = None,
    to: Annotated[str | None, typer.Option(help="…to this one.")] = None,
    name: Name = DEFAULT,
) -> None:
    """Lose so much of all messages: everywhere, or from one community to another."""
    from testbed.lan.choosing import require_community

    if (from_ is None) != (to is None):
        raise LocalError("--from and --to go together")

    async def act(cluster: Cluster) -> int:
        between = None
        if from_ and to:
            between = require_community(cluster, from_), require_community(cluster, to)
        cluster.set_loss(share, between)
        return len(cluster.network.impairments.between)

    pairs = on_cluster(name, act)
    where = f"from {from_} to {to}" if from_ else "everywhere"
    print(f"losing {100 * share:g} % of messages {where}")
    if pairs and not from_:
        print(f"but for {pairs} from one community to another, which keep their own (see status)")
