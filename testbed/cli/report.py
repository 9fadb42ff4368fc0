"""`testbed report`: a page of figures, tables and verdicts from run folders."""

from pathlib import Path
from typing import Annotated

import typer

from agents.core.errors import LocalError
from testbed.cli.progress import bars


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN…", help="Run folders.")],
    out: Annotated[Path, typer.Option(help="The folder that the page goes to.")] = Path("report"),
    master: Annotated[str, typer.Option(help="Spark's master.")] = "local[*]",
) -> None:
    """Analyse runs, and write one HTML file with the papers' figures and claims beside them."""
    # Spark and altair take seconds to import, which the other commands need not wait for.
    from analysis.job import analyse
    from analysis.papers.registry import ITEMS
    from analysis.report import write

    if out.exists() and not out.is_dir():
        raise LocalError(f"{out} is not a folder: the report cannot be written there")
    with bars() as watcher:
        result = analyse(runs, master, watcher.begin("analysing"))
    names = list(dict.fromkeys(run.name for run in result.runs))
    print(f"report: {write(result, out, ITEMS, ', '.join(names))}")
