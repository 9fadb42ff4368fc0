"""What the page is about: the items that can be judged, their figures, and every run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.job import Result
from analysis.papers.items import Claim, Item
from analysis.report.drawings import Drawing, of_paper, of_run


@dataclass(frozen=True)
class ItemPart:
    item: Item
    claims: tuple[Claim, ...]
    drawings: tuple[Drawing, ...]


@dataclass(frozen=True)
class RunPart:
    folder: int
    drawings: tuple[Drawing, ...]
    """None where an item's figures already show it."""
    left_out: int
    """How many figures more there would have been."""


@dataclass(frozen=True)
class Report:
    result: Result
    items: tuple[ItemPart, ...]
    runs: tuple[RunPart, ...]
    incomplete: tuple[tuple[Item, tuple[str, ...]], ...]
    """Items of which some experiments were run, each with those that were not."""

    @property
    def claims(self) -> tuple[Claim, ...]:
        return tuple(claim for part in self.items for claim in part.claims)

    @property
    def drawings(self) -> tuple[Drawing, ...]:
        parts: tuple[ItemPart | RunPart, ...] = (*self.items, *self.runs)
        return tuple(drawing for part in parts for drawing in part.drawings)


def arrange(result: Result, items: Sequence[Item]) -> Report:
    there = {run.name for run in result.runs}
    shown = [item for item in items if there.issuperset(item.experiments)]
    spoken_of = {name for item in shown for name in item.experiments}
    taken: set[str] = set()
    parts = tuple(_item_part(result, item, taken) for item in shown)
    runs = tuple(
        RunPart(folder, (), 0) if run.name in spoken_of else _run_part(result, folder)
        for folder, run in enumerate(result.runs)
    )
    incomplete = tuple(
        (item, tuple(name for name in item.experiments if name not in there))
        for item in items
        if item not in shown and there.intersection(item.experiments)
    )
    return Report(result, parts, runs, incomplete)


def _item_part(result: Result, item: Item, taken: set[str]) -> ItemPart:
    found = (of_paper(result, figure) for figure in item.figures)
    drawings = []
    for drawing in found:
        if drawing is not None:
            # Two papers may both have a figure 11, and files are named by the figure.
            unique = f"{item.id}-{drawing.id}" if drawing.id in taken else drawing.id
            taken.add(unique)
            drawings.append(replace(drawing, id=unique))
    return ItemPart(item, tuple(item.judge(result)), tuple(drawings))


def _run_part(result: Result, folder: int) -> RunPart:
    drawings, left_out = of_run(result, folder)
    return RunPart(folder, tuple(drawings), left_out)
