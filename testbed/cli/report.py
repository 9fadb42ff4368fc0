"""`testbed report`: a page of figures, tables and verdicts from run folders."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

from agents.core.errors import LocalError


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
    console = Console(stderr=True)
    columns = (TextColumn("analysing"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns, console=console, disable=not console.is_terminal, transient=True
    ) as bar:
        task = bar.add_task("")
        result = analyse(
            runs, master, lambda done, total: bar.update(task, completed=done, total=total)
        )
    names = list(dict.fromkeys(run.name for run in result.runs))
    print(f"report: {write(result, out, ITEMS, ', '.join(names))}")
