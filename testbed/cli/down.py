"""`testbed down`: everything that `up` made is removed."""

from __future__ import annotations

from typing import Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.lan import DEFAULT, Name
from testbed.cli.progress import bars
from testbed.lan.state import folder_of, names_of_lans, require_root


def down(
    name: Name = DEFAULT,
    every: Annotated[bool, typer.Option("--all", help="Every LAN that there is.")] = False,
) -> None:
    """Remove a LAN: its machines, links and folders, be it that they were left by a crash."""
    from testbed.lan.down import take_down
    from testbed.lan.up import holding

    require_root("taking a LAN down")
    if every and name != DEFAULT:
        raise LocalError("--all and --name exclude each other")
    names = names_of_lans() if every else [name] if folder_of(name).exists() else []
    if not names:
        print("there is no LAN" if every else f"there is no LAN called {name}")
    for one in names:
        with bars() as watcher, holding(one, made=True) as ledger:
            watcher.begin(f"taking {one} down")
            take_down(ledger)
        print(f"{one} is down")
