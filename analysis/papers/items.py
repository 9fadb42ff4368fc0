"""The shape of an item: a table or a group of figures of a paper, and what it claims.

An item says which experiments it takes, how its figures are drawn from their metrics, and which of
the paper's sentences and numbers are judged by them. It runs nothing and draws nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from analysis.intervals import Estimate

if TYPE_CHECKING:  # what lists items need not wait for Spark
    from analysis.job import Metric, Result
    from analysis.runs import Run

Verdict = Literal["holds", "differs", "unclear", "not measured"]
"""`unclear` is what was measured, with intervals that allow the one and the other."""
Label = str | int | float | bool


@dataclass(frozen=True)
class Curve:
    """What a closed form says along a figure's horizontal axis."""

    label: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Series:
    """Measured points that belong together."""

    label: str
    """What it is called in the figure: a community's name in the paper, or a membership's."""
    experiment: str
    """The experiment's name, whose run it is drawn from."""
    community: str
    where: tuple[tuple[str, str], ...] = ()
    """Further labels of the sweep that a point must have, such as (("algorithm", "camcast"),)."""


@dataclass(frozen=True)
class Figure:
    """One figure of a paper: a metric against an axis of experiments' sweeps."""

    id: str
    """The paper and its number there, such as `camcast-fig-13`; no two items' are the same."""
    title: str
    series: tuple[Series, ...]
    axis: str
    """The sweep's label on the horizontal axis."""
    axis_title: str
    metric: str
    metric_title: str
    theory: Callable[[], Sequence[Curve]] | None = None
    percent: bool = False
    """Shares are shown as percentages, the horizontal axis too where it is one."""
    logarithmic: bool = False
    """The horizontal axis."""


@dataclass(frozen=True)
class Claim:
    """One number or sentence of a paper beside what was measured."""

    item: str
    text: str
    """What is claimed, in one line."""
    printed: str
    measured: str
    interval: str
    """The measurement's 95 % confidence interval; empty where there is none."""
    deviation: str
    """Of the measured from the printed number, such as `+2.1 %`; empty where it is no number."""
    verdict: Verdict
    note: str = ""
    """Where they differ: why, as far as is known. And what else a reader must know."""
    rule: str = ""
    """When it holds, and why then; ours, where the paper has only a sentence."""
    ours: bool = False
    """The sentence itself is ours, and of no paper."""


@dataclass(frozen=True)
class Item:
    """One row of what can be reproduced."""

    id: str
    """Such as `cam-t2`."""
    paper: str
    """Such as `camcast`."""
    title: str
    engine: Literal["sim", "lan"]
    experiments: tuple[str, ...]
    """Names of files in `experiments/`."""
    seconds: int
    """How long it takes, on two cores; ours, measured."""
    judge: Callable[[Result], Sequence[Claim]]
    """The item's claims, given the analysis of runs of all of its experiments, whichever other
    runs are in it too."""
    figures: tuple[Figure, ...] = ()


class Measured:
    """The metrics of one experiment's run in a result, found by the sweep's labels.

    Of several runs of the experiment it is the one that was given last.
    """

    def __init__(self, result: Result, experiment: str) -> None:
        self.experiment = experiment
        self._result = result
        self._folders = [n for n, run in enumerate(result.runs) if run.name == experiment]
        self._metrics = {
            (metric.point, metric.community, metric.name): metric
            for metric in result.metrics
            if self.there and metric.folder == self._folders[-1]
        }

    @property
    def there(self) -> bool:
        return bool(self._folders)

    @property
    def repetitions(self) -> int:
        """Of each point; 0 where it is not known."""
        return int(self._run.manifest.get("repetitions", 0)) if self.there else 0

    def at(self, community: str, metric: str, **labels: Label) -> Estimate | None:
        """At the first point that has these labels."""
        found = self._at(community, metric, labels)
        return found.value if found is not None else None

    def each(self, community: str, metric: str, **labels: Label) -> Mapping[int, float]:
        """By repetition, at the first point that has these labels; nothing where none has a value."""
        found = self._at(community, metric, labels)
        return found.by_repetition if found is not None else {}

    def along(
        self, axis: str, community: str, metric: str, **labels: Label
    ) -> list[tuple[float, Estimate]]:
        """By the label on that axis, in the sweep's order; points without a value are left out."""
        found = []
        for index in self._points(labels):
            metric_there = self._metrics.get((index, community, metric))
            place = self._run.labels(index).get(axis)
            if metric_there is not None and isinstance(place, int | float):
                found.append((float(place), metric_there.value))
        return found

    def _at(self, community: str, metric: str, labels: dict[str, Label]) -> Metric | None:
        for index in self._points(labels):
            return self._metrics.get((index, community, metric))
        return None

    @property
    def _run(self) -> Run:
        return self._result.runs[self._folders[-1]]

    def _points(self, labels: dict[str, Label]) -> list[int]:
        if not self.there:
            return []
        return [
            int(point["index"])
            for point in self._run.points
            if all(point["labels"].get(name) == value for name, value in labels.items())
        ]
