"""`testbed analyze`: run folders in, the papers' metrics out."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from testbed.cli.progress import bars

if TYPE_CHECKING:  # the other commands have to run where Spark is not installed
    from analysis.intervals import Estimate
    from analysis.job import Result

COLUMNS = {
    "members": "members",
    "reception": "recep-\ntion %",
    "reliability": "relia-\nbility %",
    "sent": "sent",
    "efficiency": "effi-\nciency %",
    "upward_sent": "upward",
    "parasites": "para-\nsites",
    "rounds": "rounds",
}
"""The metrics that are shown, and how they are headed; --json has all."""
MOST_ROWS = 60
"""Of a run's table; a sweep may have thousands."""
_WIDE = Console(width=10_000)


def analyze(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.")],
    master: Annotated[
        str, typer.Option(help="Spark's: spark://HOST:PORT, or local[N] for N cores of this one.")
    ] = "local[*]",
    as_json: Annotated[bool, typer.Option("--json", help="Print every metric as JSON.")] = False,
    junit: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write what was expected as JUnit XML.")
    ] = None,
) -> None:
    """Compute the papers' metrics from run folders, and judge what their experiments expect."""
    from analysis.job import analyse

    with bars() as watcher:
        result = analyse(runs, master, watcher.begin("analysing"))
    if not show(result, as_json, junit):
        raise typer.Exit(1)


def show(result: Result, as_json: bool, junit: Path | None) -> bool:
    """Print what was found, and what of it was expected otherwise; whether nothing was."""
    from analysis.expectations import judge
    from analysis.junit import write

    judged = judge(result)
    if as_json:
        print(json.dumps(result.as_data()))
    else:
        _print_result(result)
    sys.stdout.flush()
    for sentence in (*result.problems, *result.warnings):
        print(f"testbed: {sentence}", file=sys.stderr)
    if junit is not None:
        write(junit, judged)
    failing = [expectation for expectation in judged if not expectation.holds]
    for expectation in failing:
        print(f"testbed: {expectation.sentence}", file=sys.stderr)
    return not failing


def _print_result(result: Result) -> None:
    for number, run in enumerate(result.runs):
        print(f"{run.name}: {run.path}")
        _print_metrics(result, number)
        print(_balance(result, number))
        if number + 1 < len(result.runs):
            print()


def _print_metrics(result: Result, run: int) -> None:
    places = list(
        dict.fromkeys(
            (metric.point, metric.community)
            for metric in result.metrics
            if metric.folder == run and metric.name in COLUMNS
        )
    )
    if not places:
        return
    axes = list(dict.fromkeys(axis for p, _ in places for axis in result.runs[run].labels(p)))
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for column in (*axes, "community"):
        table.add_column(Text(column), vertical="bottom")
    for heading in COLUMNS.values():
        table.add_column(heading, justify="right", vertical="bottom")
    for point, community in places[:MOST_ROWS]:
        labels = result.runs[run].labels(point)
        values = {name: result.find(run, point, community, name) for name in COLUMNS}
        table.add_row(
            *(Text(str(labels.get(axis, "-"))) for axis in axes),
            Text(community),
            *(_cell(value, 100 if "%" in COLUMNS[name] else 1) for name, value in values.items()),
        )
    # As wide as the table is: a number that is cut off to fit a narrow terminal says nothing.
    Console(width=Measurement.get(_WIDE, _WIDE.options, table).maximum).print(table)
    if len(places) > MOST_ROWS:
        print(f"… and {len(places) - MOST_ROWS} more rows; --json prints them all")


def _cell(value: Estimate | None, unit: int) -> str:
    """The mean, and how far its 95 % interval goes on the wider side."""
    if value is None:
        return "-"
    mean = value.mean * unit
    half = 0.0
    if value.low is not None and value.high is not None:
        half = max(value.high - value.mean, value.mean - value.low) * unit
    if mean >= 1000 or half >= 10 or (half == 0 and mean == round(mean)):
        digits = 0
    else:
        digits = 1 if half >= 1 or mean >= 100 else 2
    return f"{mean:.{digits}f}" + (f"±{half:.{digits}f}" if half else "")


def _balance(result: Result, run: int) -> str:
    """Where the messages went, over all points and repetitions."""
    rows = [row for row in result.conservation if row["folder"] == run]
    if not rows:
        return "conservation: nothing was counted"
    names = [name for name in rows[0] if name not in ("folder", "point", "repetitions")]
    sums = {name: sum(row[name] for row in rows) for name in names}
    causes = [name for name in names if name not in ("sent", "received", "remainder")]
    parts = [f"{sums['received']} received", *_dropped(sums, causes)]
    return f"conservation: {sums['sent']} sent = {' + '.join(parts)} + {sums['remainder']} neither"


def _dropped(sums: dict[str, int], causes: Sequence[str]) -> list[str]:
    return [f"{sums[cause]} dropped ({cause})" for cause in causes if sums[cause]]
