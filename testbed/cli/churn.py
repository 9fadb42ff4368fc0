"""`testbed churn`: agents come and go for a while."""

from __future__ import annotations

import asyncio
from random import Random, SystemRandom
from typing import TYPE_CHECKING, Annotated

import typer

from testbed.cli.lan import DEFAULT, Community, Name, Seed, standing_lan
from testbed.cli.progress import bars

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.churning import Churned
    from testbed.lan.up import Lan


def churn(
    on: Annotated[str, typer.Option(help="How long agents stay up, on average, such as 30s.")],
    off: Annotated[str, typer.Option(help="How long they stay down, on average.")],
    for_: Annotated[str, typer.Option("--for", help="How long it goes on.")] = "60s",
    community: Community = None,
    seed: Seed = None,
    name: Name = DEFAULT,
) -> None:
    """Crash and restart agents at random, up and down for exponential times; then all come back."""
    from testbed.bootstrap import Bootstrap
    from testbed.lan.churning import churn_for

    rng = SystemRandom() if seed is None else Random(seed)

    async def act(lan: Lan) -> Churned:
        async with lan.cluster() as cluster:
            bootstrap = Bootstrap(cluster.experiment, cluster.standing.seed)
            advance = watcher.begin("churning")
            return await churn_for(cluster, bootstrap, on, off, for_, community or (), rng, advance)

    with bars() as watcher, standing_lan(name) as lan:
        done = asyncio.run(act(lan))
    still = f"; still down: {', '.join(map(str, done.down))}" if done.down else "; all are up again"
    print(f"{done.crashes} crashes, {done.restarts} restarts{still}")
