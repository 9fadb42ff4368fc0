"""Bars for long steps, on the standard error where that is a terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[int, int], None]


class Bars:
    """A bar for each step. Steps without an end of their own are done when the next one begins."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars

    def begin(self, what: str) -> Advance:
        task = self._bars.add_task(what, total=None)
        return lambda done, total: self._bars.update(task, completed=done, total=total)


@contextmanager
def bars() -> Iterator[Bars]:
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    ) as progress:
        yield Bars(progress)
