"""`testbed partition` and `testbed heal`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.lan import DEFAULT, Name, on_cluster

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster


def partition(
    groups: Annotated[
        list[str],
        typer.Argument(metavar="GROUP GROUP…", help="Communities, those of a group with commas."),
    ],
    name: Name = DEFAULT,
) -> None:
    """Let no message pass between groups of communities: `testbed partition .a,.a.d .a.d.g`."""
    from testbed.lan.choosing import require_community

    if len(groups) < 2:
        raise LocalError("a partition is between at least two groups, such as `.a .a.d`")

    async def act(cluster: Cluster) -> None:
        sides: dict[str, int] = {}
        for side, group in enumerate(groups):
            for topic in group.split(","):
                if sides.setdefault(require_community(cluster, topic), side) != side:
                    raise LocalError(f"{topic} cannot be on two sides")
        cluster.partition(sides)

    on_cluster(name, act)
    print(f"cut off from each other: {' | '.join(groups)}; `testbed heal` ends it")


def heal(name: Name = DEFAULT) -> None:
    """End a partition."""

    async def act(cluster: Cluster) -> None:
        cluster.partition({})

    on_cluster(name, act)
    print("healed: everybody can reach everybody")
