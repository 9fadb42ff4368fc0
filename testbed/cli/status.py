"""`testbed status`: what stands, and how it does."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from agents.core.errors import LocalError
from testbed.cli.lan import DEFAULT, Json, Name
from testbed.lan.state import folder_of, names_of_lans, require_root

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.status import LanStatus
    from testbed.lan.up import Lan

EVERY_S = 1.0


def status(
    name: Name = DEFAULT,
    watch: Annotated[bool, typer.Option("--watch", help="Go on showing it; Ctrl-C ends.")] = False,
    as_json: Json = False,
) -> None:
    """Show each community: who is up, what they know, what they have seen; and the network."""
    from testbed.lan.up import look_at

    require_root("looking at a LAN")
    if not folder_of(name).exists():
        others = names_of_lans()
        there = f"there are {', '.join(others)}" if others else "none stands"
        raise LocalError(f"there is no LAN called {name}, {there}: `testbed up` makes one")
    lan = look_at(name)
    if watch and as_json:
        raise LocalError("--watch is for people, --json for programs: take one")
    if watch:
        asyncio.run(_watch(lan))
        return
    found = asyncio.run(_status(lan))
    if as_json:
        print(json.dumps(found.as_data()))
    else:
        Console(highlight=False).print(_screen(found))


async def _status(lan: Lan) -> LanStatus:
    from testbed.lan.status import status_of

    async with lan.cluster() as cluster:
        return await status_of(cluster)


async def _watch(lan: Lan) -> None:
    from testbed.lan.status import status_of

    async with lan.cluster() as cluster:
        with Live(console=Console(highlight=False), auto_refresh=False) as live:
            while True:
                live.update(_screen(await status_of(cluster)), refresh=True)
                await asyncio.sleep(EVERY_S)


def _screen(found: LanStatus) -> Group:
    table = Table(box=None, pad_edge=False)
    for column in ("community", "up", "joined", "tables (mean, least to greatest)"):
        table.add_column(column, justify="left" if column[0] in "ct" else "right")
    table.add_column("delivered", justify="right")
    for row in found.communities:
        table.add_row(
            Text(row.community),
            f"{row.up}/{row.agents}",
            str(row.joined),
            Text(_tables(row.as_data()["tables"])),
            str(row.delivered),
        )
    head = (
        f"{found.name}: {found.topology}, {found.machines} machines ({found.runtime}), "
        f"{found.protocol} on {found.membership} over {found.transport}"
    )
    lines = [
        f"events published {found.published} · messages sent {found.sent}, received "
        f"{found.received}, refused {found.refused}, overflowed {found.overflow}",
        f"event-loop lag at most {found.lag_max_ms:g} ms · agents' memory {found.memory_mb:g} MB",
        *_network(found),
    ]
    if found.down:
        lines.append(f"no answer from agents {', '.join(map(str, found.down))}")
    return Group(Text(head, style="bold"), table, *(Text(line) for line in lines))


def _tables(tables: dict[str, dict[str, float]]) -> str:
    return " · ".join(
        f"{name} {size['mean']:.1f}, {size['least']} to {size['greatest']}"
        for name, size in tables.items()
    )


def _network(found: LanStatus) -> list[str]:
    rates = " · ".join(f"{count} links of {rate}" for rate, count in found.rates.items())
    lines = [rates, f"loss asked {100 * found.loss:g} %{_achieved(found)}"]
    lines += [
        f"loss asked {100 * one['loss']:g} % from {one['from']:g} agents to {one['to']:g}"
        for one in found.losses
    ]
    if found.partition:
        sides = " | ".join(f"{count} agents" for count in found.partition)
        lines.append(f"partition: {sides}")
    return lines


def _achieved(found: LanStatus) -> str:
    """The network counts datagrams; over TCP a loss is one more transmission."""
    if found.transport != "udp":
        return " (of packets, not counted over TCP)"
    return f" · lost so far {found.dropped.get('loss', 0)} messages, by the network's count"
