"""How far a transfer has come, on the terminal if there is one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[int], None]]:
    """Called with the number of bytes that were added."""
    console = Console(stderr=True)
    with Progress(
        TextColumn(what),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal or not total,
        transient=True,
    ) as bar:
        task = bar.add_task("", total=total)
        yield lambda count: bar.advance(task, count)
