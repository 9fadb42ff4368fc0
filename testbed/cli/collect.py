"""`testbed collect`: the journals so far, as a run folder to analyse."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Annotated

import typer

from testbed.cli.lan import DEFAULT, Json, Name, standing_lan
from testbed.cli.progress import bars


def collect(
    out: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    name: Name = DEFAULT,
    as_json: Json = False,
) -> None:
    """Fetch the journals of a LAN that stands, as a run folder for `analyze` and `report`."""
    from testbed.lan.running import collect as collect_lan

    with bars() as watcher, standing_lan(name) as lan:
        watcher.begin("collecting journals")
        path, problems = asyncio.run(collect_lan(lan, out))
    if as_json:
        print(json.dumps({"run": str(path), "problems": problems}))
    else:
        for problem in problems:
            print(problem)
        print(f"journals: {path} (testbed analyze {path})")
