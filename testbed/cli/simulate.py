"""`testbed simulate`: an experiment in the simulator."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, TextIO

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from agents.core.errors import LocalError
from testbed.cli.progress import bars
from testbed.model import ExperimentFile, find_experiment, load_experiment
from testbed.runs import read_manifest
from testbed.sim.batch import Finished
from testbed.sim.batch import simulate as run_batch
from testbed.summary import Row, summarise

EXPERIMENTS = Path(__file__).resolve().parent.parent.parent / "experiments"
MOST_ROWS = 60
"""Of the printed table; a sweep may have thousands."""
_WIDE = Console(width=10_000)


def simulate(
    experiment: Annotated[str, typer.Argument(help="A file, or the name of one of ours.")],
    out: Annotated[Path, typer.Option(help="Where run folders go.")] = Path("runs"),
    seed: Annotated[int | None, typer.Option(help="In place of the file's.")] = None,
    repetitions: Annotated[int | None, typer.Option(help="In place of the file's.")] = None,
    journal: Annotated[str | None, typer.Option(help="full or counts; else the file's.")] = None,
    protocol: Annotated[
        str | None, typer.Option(help="In place of the file's: a name, or path/to/file.py:Name.")
    ] = None,
    membership: Annotated[
        str | None, typer.Option(help="In place of the file's, as `testbed protocols` lists them.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, help="Processes; as many as there are cores by default.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run it twice and compare the journals.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Run an experiment, or a sweep over parameters and seeds, in the deterministic simulator."""
    overrides = {
        "seed": seed,
        "repetitions": repetitions,
        "journal": journal,
        "protocol": protocol,
        "membership": membership,
    }
    path = find_experiment(experiment, EXPERIMENTS)
    file = load_experiment(path, overrides)
    if file.points[0].experiment.engine != "sim":
        raise LocalError(f"{path} is for the LAN (engine: lan); the simulator runs engine: sim")
    count = workers or len(os.sched_getaffinity(0))
    with bars() as watcher:
        finished = run_batch(file, out, count, watcher.begin("simulating"))
    rows = summarise(count for outcome in finished.outcomes for count in outcome.counts)
    if as_json:
        print(json.dumps({"run": str(finished.path), "rows": [asdict(row) for row in rows]}))
    else:
        print_rows(file, rows)
        print_end(finished)
    if check:
        # With --json the standard output is the summary's alone.
        _check(finished, path, overrides, sys.stderr if as_json else sys.stdout)


def print_rows(file: ExperimentFile, rows: list[Row]) -> None:
    axes = list(file.axes)
    table = Table(box=None, pad_edge=False)
    for column in (*axes, "community"):
        table.add_column(Text(column))
    columns = ("members", "reception", "reliability", "sent", "efficiency", "upward")
    for column in (*columns, "parasites", "rounds"):
        table.add_column(column, justify="right")
    for row in rows[:MOST_ROWS]:
        labels = file.points[row.point].labels
        table.add_row(
            *(Text(str(labels[axis])) for axis in axes),
            Text(row.community),
            _number(row.members),
            _share(row.reception),
            _share(row.reliability),
            _number(row.sent),
            _share(row.efficiency),
            _number(row.upward),
            _number(row.parasites),
            _number(row.rounds),
        )
    print(file.title or file.name)
    # As wide as the table is: a number that is cut off to fit a narrow terminal says nothing.
    Console(width=Measurement.get(_WIDE, _WIDE.options, table).maximum).print(table)
    if len(rows) > MOST_ROWS:
        print(f"… and {len(rows) - MOST_ROWS} more rows; --json prints them all")


def print_end(finished: Finished) -> None:
    unpublished = sum(outcome.unpublished for outcome in finished.outcomes)
    if unpublished:
        print(f"{unpublished} events were not published: nobody who could was up at their time")
    print(f"journals: {finished.path}")


def _number(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if value == round(value) or value >= 1000 else f"{value:.2f}"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"


def _check(finished: Finished, path: Path, overrides: Mapping[str, object], output: TextIO) -> None:
    """Again, in a process of its own with another hash seed and one worker."""
    environment = os.environ | {"PYTHONHASHSEED": str(1 + os.getpid() % 1000)}
    with tempfile.TemporaryDirectory(prefix="testbed-check-") as folder:
        command = [sys.executable, "-m", "testbed", "simulate", str(path.absolute())]
        command += ["--out", folder, "--workers", "1", "--json"]
        for name, value in overrides.items():
            if value is not None:
                command += [f"--{name}", str(value)]
        again = subprocess.run(command, env=environment, capture_output=True, text=True)
        if again.returncode:
            reason = again.stderr.strip().removeprefix("testbed: ")
            print(f"check: the second run failed: {reason}", file=output)
            raise typer.Exit(1)
        second = read_manifest(Path(json.loads(again.stdout)["run"]))["journals"]
    differing = [name for name in finished.digests if finished.digests[name] != second.get(name)]
    if differing:
        names = ", ".join(differing[:5]) + (", …" if len(differing) > 5 else "")
        print(f"check: {len(differing)} of {len(second)} journals differ: {names}", file=output)
        raise typer.Exit(1)
    print(f"check: a second run gave the same {len(second)} journals, byte for byte", file=output)
