"""`testbed run`: an experiment on the LAN, judged."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.analyze import show
from testbed.cli.lan import DEFAULT, Name
from testbed.cli.progress import bars
from testbed.cli.simulate import EXPERIMENTS
from testbed.lan.runtimes import RuntimeName
from testbed.lan.state import require_root
from testbed.model import find_experiment, load_experiment

if TYPE_CHECKING:  # the simulator's commands have to run where the LAN's packages are not
    from testbed.lan.running import Ran


def run(
    experiment: Annotated[str, typer.Argument(help="A file, or the name of one of ours.")],
    runtime: Annotated[
        RuntimeName,
        typer.Option(help="docker, namespace, or auto: docker where an engine answers."),
    ] = "auto",
    out: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    seed: Annotated[int | None, typer.Option(help="In place of the file's.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="In place of the file's.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="In place of the file's: a name, or path/to/file.py:Name.")
    ] = None,
    membership: Annotated[
        str | None, typer.Option(help="In place of the file's, as `testbed protocols` lists them.")
    ] = None,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was expected as JUnit XML.")
    ] = None,
    report: Annotated[bool, typer.Option(help="Write report.html into the run folder.")] = True,
    name: Name = DEFAULT,
) -> None:
    """Raise the LAN, play workload and faults, take it down, analyse, and judge what came out."""
    from testbed.lan.running import run as run_on_lan

    path = find_experiment(experiment, EXPERIMENTS)
    file = load_experiment(
        path,
        {"seed": seed, "repetitions": repetitions, "protocol": protocol, "membership": membership},
    )
    if file.points[0].experiment.engine != "lan":
        raise LocalError(f"{path} is for the simulator: `testbed simulate` runs it")
    require_root("running on a LAN")
    with bars() as watcher:
        ran = run_on_lan(file, name, runtime, out, watcher)
    _print_ran(ran)
    if not _judge(ran, junit, report):
        raise typer.Exit(1)


def _judge(ran: Ran, junit: Path | None, report: bool) -> bool:
    """Whether all is as the experiment expects."""
    # Only now: Spark and altair take seconds to import.
    from analysis.job import analyse
    from analysis.papers.registry import ITEMS
    from analysis.report import write

    with bars() as watcher:
        result = analyse([ran.path], progress=watcher.begin("analysing"))
    held = show(result, as_json=False, junit=junit)
    if report:
        print(f"report: {write(result, ran.path, ITEMS, result.runs[0].name)}")
    return held


def _print_ran(ran: Ran) -> None:
    for problem in ran.problems:
        print(f"testbed: {problem}", file=sys.stderr)
    if ran.unpublished:
        print(f"{ran.unpublished} events were not published: nobody who could was up at their time")
    print(f"journals: {ran.path}")
    sys.stdout.flush()
