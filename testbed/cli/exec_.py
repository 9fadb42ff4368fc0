"""`testbed exec`: a program on one of the machines."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from testbed.cli.lan import DEFAULT, Name


def exec_(
    host: Annotated[str, typer.Argument(help="By name, such as pc3.")],
    command: Annotated[list[str], typer.Argument(help="What to run, behind `--`.")],
    name: Name = DEFAULT,
) -> None:
    """Run a program on a machine, with its agents' rights: `testbed exec pc3 -- python3 -V`."""
    from testbed.lan.up import look_at

    lan = look_at(name)
    done = lan.runtime.exec(lan.host_named(host), command)
    sys.stdout.buffer.write(done.stdout)
    sys.stderr.buffer.write(done.stderr)
    raise typer.Exit(done.returncode)
