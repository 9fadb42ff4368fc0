"""What the LAN's commands share: their options, and the LAN that they are about."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.cluster import Cluster
    from testbed.lan.up import Lan

T = TypeVar("T")

Name = Annotated[str, typer.Option("--name", help="Which LAN, where there are several.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Agents = Annotated[
    list[int] | None, typer.Argument(metavar="[AGENT…]", help="By number.", show_default=False)
]
Count = Annotated[int | None, typer.Option(min=1, help="So many, drawn at random.")]
Fraction = Annotated[
    float | None, typer.Option(min=0.0, max=1.0, help="So much of them, drawn at random.")
]
Community = Annotated[
    list[str] | None, typer.Option("--community", help="Whom to draw from; else everybody.")
]
Hosts = Annotated[list[str] | None, typer.Option("--host", help="A whole machine, by name.")]
Seed = Annotated[int | None, typer.Option(help="For what is drawn; else others each time.")]
DEFAULT = "lan"


@contextmanager
def standing_lan(name: str) -> Iterator[Lan]:
    """The LAN of that name, held by this command."""
    from testbed.lan.up import holding, open_lan

    with holding(name, made=True) as ledger:
        yield open_lan(name, ledger)


def on_cluster(name: str, act: Callable[[Cluster], Awaitable[T]]) -> T:
    """Do something to a LAN's machines and agents, alone."""
    with standing_lan(name) as lan:
        return asyncio.run(_acted(lan, act))


def with_agents(name: str, act: Callable[[Cluster], Awaitable[T]]) -> T:
    """Talk to a LAN's agents, be it that another command is at work on the LAN."""
    from testbed.lan.up import look_at

    return asyncio.run(_acted(look_at(name), act))


async def _acted(lan: Lan, act: Callable[[Cluster], Awaitable[T]]) -> T:
    async with lan.cluster() as cluster:
        return await act(cluster)
