"""What an experiment's `expect:` lines say, held against what was measured.

A run folder brings its lines with it, resolved, at each of its points. A line holds if the mean over
the point's repetitions does; the interval is told, and not judged by. What was not measured does not
hold, and neither does a run that did not come to its end. A crash that the experiment asked for is
part of what was measured.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis.errors import AnalysisError
from analysis.intervals import Estimate
from analysis.job import Result
from analysis.names import CONTROL, EVERYWHERE, TABLE
from analysis.runs import Run


@dataclass(frozen=True)
class Judged:
    """One line at one point of one run, and whether it holds."""

    run: Path
    experiment: str
    name: str
    """What was expected, and where in the sweep."""
    holds: bool
    sentence: str
    """What was measured, what was expected, and in which run."""


def judge(result: Result) -> tuple[Judged, ...]:
    """Every line of every point, in the order of the runs, the points and the file."""
    return tuple(
        judged for folder, run in enumerate(result.runs) for judged in _of_run(result, folder, run)
    )


@dataclass(frozen=True)
class _Line:
    """One line as `points.json` has it."""

    metric: str
    community: str
    at_least: float | None
    at_most: float | None
    equals: float | None
    within: float | None

    def holds(self, mean: float) -> bool:
        if self.at_least is not None:
            return mean > self.at_least or _equal(mean, self.at_least)
        if self.at_most is not None:
            return mean < self.at_most or _equal(mean, self.at_most)
        off, most = abs(mean - self.value), self.within or 0.0
        return off < most or _equal(mean, self.value + math.copysign(most, mean - self.value))

    @property
    def value(self) -> float:
        given = (self.at_least, self.at_most, self.equals)
        return next(value for value in given if value is not None)

    @property
    def subject(self) -> str:
        where = "over all communities" if self.community == EVERYWHERE else f"of {self.community}"
        return f"{self.metric} {where}"

    @property
    def wanted(self) -> str:
        value = _number(self.value)
        if self.equals is None:
            return f"at least {value}" if self.at_most is None else f"at most {value}"
        return value if self.within is None else f"{value} within {_number(self.within)}"

    @property
    def limits(self) -> tuple[float, ...]:
        """Where it ceases to hold."""
        most = self.within or 0.0
        return (self.value - most, self.value + most)

    @property
    def why_unmeasured(self) -> str:
        if self.metric.startswith(TABLE):
            return "no process there has such a table"
        if self.metric.startswith(CONTROL):
            return "no such message was sent"
        if self.community != EVERYWHERE:
            return "no event came there"
        if self.metric in ("rounds", "last_ms"):
            return "no event came to every community"
        return "no event came to anybody"


def _of_run(result: Result, folder: int, run: Run) -> Iterator[Judged]:
    status = run.manifest.get("status")
    if status != "done":
        sentence = f"the run is not complete, its manifest says {status!r}: {run.path}"
        yield Judged(run.path, run.name, "the run is complete", False, sentence)
    if not run.points:
        sentence = f"points.json cannot be read, so what was expected is not known: {run.path}"
        yield Judged(run.path, run.name, "the expectations are known", False, sentence)
    for number, point in enumerate(run.points):
        labels = _labels(point)
        for line in _lines(run, point):
            estimate = result.find(folder, point.get("index", number), line.community, line.metric)
            yield Judged(
                run.path,
                run.name,
                ", ".join([f"{line.subject}: {line.wanted}", *labels]),
                estimate is not None and line.holds(estimate.mean),
                f"{_found(line, estimate)}: {', '.join([str(run.path), *labels])}",
            )


def _found(line: _Line, estimate: Estimate | None) -> str:
    if estimate is None:
        told = f"was not measured, as {line.why_unmeasured}"
    elif estimate.low is None or estimate.high is None:
        told = f"is {_beside(estimate.mean, line)}"
    else:
        interval = f"[{_number(estimate.low)}, {_number(estimate.high)}]"
        told = f"is {_beside(estimate.mean, line)} {interval}"
    return f"{line.subject} {told}, expected {line.wanted}"


def _lines(run: Run, point: Mapping[str, Any]) -> Iterator[_Line]:
    # A run from before there were such lines has none.
    found = point.get("experiment", {}).get("expect", ())
    for number, data in enumerate(found):
        try:
            line = _Line(**{name: data[name] for name in _Line.__dataclass_fields__})
            line.holds(0.0)
        except (KeyError, TypeError, StopIteration):
            raise AnalysisError(
                f"{run.path}: points.json has an expect line that cannot be read, number {number}"
            ) from None
        yield line


def _labels(point: Mapping[str, Any]) -> list[str]:
    return [f"{axis} = {label}" for axis, label in point.get("labels", {}).items()]


def _equal(one: float, other: float) -> bool:
    """But for what adding up many fractions leaves behind."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-12)


def _beside(mean: float, line: _Line) -> str:
    """With as many digits as it takes to see on which side of a limit it lies."""
    for digits in range(4, 17):
        shown = _number(mean, digits)
        limits = [limit for limit in line.limits if not _equal(limit, mean)]
        if shown not in [_number(limit, digits) for limit in limits]:
            return shown
    return repr(mean)


def _number(value: float, digits: int = 4) -> str:
    """To that many digits that count, all those before the point in any case, and no exponent."""
    if value == 0 or not math.isfinite(value):
        return f"{value:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
