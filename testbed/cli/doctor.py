"""`testbed doctor`: what this computer can do, and how to mend what it cannot."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from testbed.cli.lan import Json

if TYPE_CHECKING:  # other commands have to run where the LAN's packages are not
    from testbed.doctor import Check

STYLES = {"ok": "green", "missing": "red", "unknown": "yellow"}


def doctor(as_json: Json = False) -> None:
    """Try everything that a LAN needs; say what is missing and the command that mends it."""
    from testbed.doctor import checks, is_fit

    found = checks()
    fit = is_fit(found)
    if as_json:
        print(json.dumps({"fit": fit, "checks": [asdict(check) for check in found]}, indent=1))
    else:
        console = Console(highlight=False)
        console.print(_table(found))
        console.print(_verdict(found))
    if not fit:
        raise typer.Exit(1)


def _table(found: list[Check]) -> Table:
    table = Table("", "", "found", "to mend it", box=None, pad_edge=False)
    for check in found:
        cells = (check.name, check.state, check.detail, check.remedy)
        styles = ("", STYLES[check.state], "", "")
        table.add_row(*map(Text, cells, styles))
    return table


def _verdict(found: list[Check]) -> str:
    lacking = [check.name for check in found if check.needed and not check.ok]
    if lacking:
        return f"No LAN can be made here yet, for want of {', '.join(lacking)}."
    without = [check.name for check in found if not check.ok]
    return f"A LAN can be made here{', without ' + ', '.join(without) if without else ''}."
