"""`testbed logs`: what a machine's supervisor and agents printed."""

from __future__ import annotations

from typing import Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.lan import DEFAULT, Name
from testbed.lan.state import folder_of, require_root


def logs(
    hosts: Annotated[
        list[str] | None, typer.Argument(metavar="[HOST…]", help="All, if none is named.")
    ] = None,
    name: Name = DEFAULT,
) -> None:
    """Print the logs of machines; whoever broke down left its trace there."""
    require_root("reading logs")
    folder = folder_of(name) / "hosts"
    there = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    if not there:
        raise LocalError(f"there is no LAN called {name}: `testbed up` makes one")
    for host in hosts or there:
        if host not in there:
            raise LocalError(f"no host is called {host!r}: they are {there[0]} … {there[-1]}")
        log = folder / host / "log.txt"
        text = log.read_text(errors="backslashreplace") if log.exists() else ""
        for line in text.splitlines():
            print(f"{host}: {line}")
