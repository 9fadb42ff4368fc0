"""What a figure shows, before it is drawn: measured points by series, and theory's curves.

A paper's figure is found in the result by its experiment and labels. A run that no paper speaks of
gets figures of its own: each metric that most ask for against each axis of its sweep.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.intervals import Estimate
from analysis.job import Result
from analysis.metrics import SHARES
from analysis.papers.items import Curve, Figure, Series
from analysis.per_event import EVERYWHERE

MOST_SERIES = 6
"""As many as can be told apart by colour and shape."""
MOST_FIGURES = 12
"""Of one run that no paper speaks of; the tables have the rest."""

GENERIC = (
    ("reception", "Reception probability"),
    ("reliability", "Reliability"),
    ("sent", "Messages sent per event"),
    ("efficiency", "Efficiency"),
    ("rounds", "Hops until the last member"),
)


@dataclass(frozen=True)
class Point:
    series: str
    x: float | str
    value: Estimate


@dataclass(frozen=True)
class Drawing:
    """One figure with all that is needed to draw it."""

    id: str
    title: str
    source: str
    """Which run it was measured in."""
    x_title: str
    y_title: str
    points: tuple[Point, ...]
    curves: tuple[Curve, ...] = ()
    x_is_share: bool = False
    y_is_share: bool = False
    logarithmic: bool = False

    @property
    def series(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(point.series for point in self.points))

    @property
    def x_is_number(self) -> bool:
        return all(isinstance(point.x, int | float) for point in self.points)

    def series_of(self, curve: Curve) -> str | None:
        """The series that the curve is about, if its label names one."""
        named = [name for name in self.series if _names(curve.label, name)]
        return max(named, key=len, default=None)

    @property
    def description(self) -> str:
        """For those who do not see it."""
        drawn = f"{self.title}. {self.y_title} against {self.x_title}, measured"
        theory = f"; theory: {_list(curve.label for curve in self.curves)}" if self.curves else ""
        return f"{drawn} for {_list(self.series)}{theory}. The table below has the values."


def of_paper(result: Result, figure: Figure) -> Drawing | None:
    """The paper's figure with what was measured; none where nothing was."""
    # Whoever gives an older run too has it in the tables.
    folder_of = {run.name: number for number, run in enumerate(result.runs)}
    drawn = [series for series in figure.series if series.experiment in folder_of]
    points = tuple(
        Point(series.label, x, value)
        for series in drawn
        for index, x in _along(
            result, folder_of[series.experiment], figure.axis, dict(series.where)
        )
        if (value := _found(result, folder_of, series, index, figure.metric)) is not None
    )
    if not points:
        return None
    within_one = all(isinstance(p.x, int | float) and 0 <= p.x <= 1 for p in points)
    asked = figure.percent or "%" in figure.axis_title
    return Drawing(
        id=_file_name(figure.id),
        title=figure.title,
        source=_list(
            dict.fromkeys(result.runs[folder_of[one.experiment]].path.name for one in drawn)
        ),
        x_title=figure.axis_title,
        y_title=figure.metric_title,
        points=points,
        curves=tuple(figure.theory()) if figure.theory else (),
        x_is_share=asked and within_one and not figure.logarithmic,
        y_is_share=figure.percent,
        logarithmic=figure.logarithmic,
    )


def _found(
    result: Result, folder_of: Mapping[str, int], series: Series, index: int, metric: str
) -> Estimate | None:
    return result.find(folder_of[series.experiment], index, series.community, metric)


def of_run(result: Result, folder: int) -> tuple[list[Drawing], int]:
    """Figures of a run that no paper speaks of, and how many more there would be."""
    labels = [point["labels"] for point in result.runs[folder].points]
    axes = list(dict.fromkeys(axis for one in labels for axis in one))
    # What has the most values says the most in a figure, and comes before what has to be left out.
    axes.sort(key=lambda axis: -len({_key(one.get(axis)) for one in labels}))
    if not axes:
        drawn = [_by_community(result, folder)]
    else:
        drawn = [one for axis in axes for one in _by_axis(result, folder, axis, axes)]
    found = [drawing for drawing in drawn if drawing is not None]
    return found[:MOST_FIGURES], max(0, len(found) - MOST_FIGURES)


def _by_community(result: Result, folder: int) -> Drawing | None:
    """Where nothing was varied, the communities are side by side."""
    run = result.runs[folder]
    points = tuple(
        Point(title, community, value)
        for name, title in GENERIC
        if name in SHARES
        for community in _communities(result, folder)
        if (value := result.find(folder, 0, community, name)) is not None
    )
    if not points:
        return None
    place = _file_name(f"run-{folder + 1}-communities")
    title = f"{run.name}: how events fared in each community"
    source = run.path.name
    return Drawing(place, title, source, "Community", "Share", points, y_is_share=True)


def _by_axis(result: Result, folder: int, axis: str, axes: Sequence[str]) -> Iterator[Drawing]:
    run = result.runs[folder]
    values = {_key(point["labels"].get(axis)) for point in run.points}
    if len(values) < 2:
        return
    others = [other for other in axes if other != axis]
    settings: dict[tuple[str, ...], dict[str, str]] = {}
    for point in run.points:
        held = {other: str(point["labels"].get(other)) for other in others}
        settings.setdefault(tuple(held.values()), held)
    communities = _communities(result, folder)[:MOST_SERIES]
    for held in settings.values():
        for metric, metric_title in GENERIC:
            points = tuple(
                Point(community, x, value)
                for community in communities
                for index, x in _along(result, folder, axis, held)
                if (value := result.find(folder, index, community, metric)) is not None
            )
            if points:
                where = ", ".join(f"{key} {value}" for key, value in held.items())
                parts = [f"run-{folder + 1}", axis, *held.values(), metric]
                yield Drawing(
                    id=_file_name("-".join(parts)),
                    title=f"{run.name}: {metric_title.lower()}" + (f" ({where})" if where else ""),
                    source=run.path.name,
                    x_title=axis,
                    y_title=metric_title,
                    points=points,
                    y_is_share=metric in SHARES,
                )


def _along(
    result: Result, folder: int, axis: str, where: Mapping[str, str]
) -> Iterator[tuple[int, float | str]]:
    """The points of a sweep that have these labels, each with its place on the axis."""
    for point in result.runs[folder].points:
        labels = point["labels"]
        if axis in labels and all(str(labels.get(key)) == value for key, value in where.items()):
            yield int(point["index"]), _key(labels[axis])


def _key(value: Any) -> float | str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number else str(value)


def _communities(result: Result, folder: int) -> list[str]:
    """Those that events were meant for, from the root down."""
    found = {
        metric.community
        for metric in result.metrics
        if metric.folder == folder and metric.name == "reception"
    }
    return sorted(found - {EVERYWHERE}, key=lambda name: (name.rstrip(".").count("."), name))


def _names(label: str, name: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(name)}(?![\w.])", label) is not None


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def _file_name(text: str) -> str:
    return re.sub(r"[^\w.-]+", "-", text).strip("-.") or "figure"
