"""Results written by hand, so that a judgement is about numbers one can see."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.intervals import Estimate
from analysis.job import Metric, Result
from analysis.names import is_metric
from analysis.papers.claims import mean_of
from analysis.papers.items import Claim
from analysis.runs import Run

Values = Mapping[tuple[str, str], Estimate | float | Sequence[float]]
"""By community and metric; a plain number has an interval of no width, and several are those of the
repetitions."""


def measured(value: float, half: float = 0.0) -> Estimate:
    return Estimate(100, value, value - half, value + half)


def built(
    *runs: tuple[str, Sequence[tuple[Mapping[str, Any], Values]]], repetitions: int = 100
) -> Result:
    """For each run its experiment's name, and at each point the labels and values."""
    for _, points in runs:
        for _, values in points:
            assert all(is_metric(metric) for _, metric in values), "there is no such metric"
    return Result(
        runs=tuple(
            Run(
                path=Path(f"/runs/{name}"),
                manifest={"experiment": name, "repetitions": repetitions},
                points=[{"index": n, "labels": dict(at)} for n, (at, _) in enumerate(points)],
                journals=(),
                problems=(),
            )
            for name, points in runs
        ),
        metrics=tuple(
            Metric(folder, point, community, metric, *_valued(value))
            for folder, (_, points) in enumerate(runs)
            for point, (_, values) in enumerate(points)
            for (community, metric), value in values.items()
        ),
        conservation=(),
        problems=(),
    )


def _valued(value: Estimate | float | Sequence[float]) -> tuple[Estimate, dict[int, float]]:
    if isinstance(value, Sequence):
        return mean_of(value), dict(enumerate(value))
    return (value if isinstance(value, Estimate) else measured(value)), {}


def verdicts(claims: Sequence[Claim]) -> list[str]:
    return [claim.verdict for claim in claims]


def about(claims: Sequence[Claim], words: str) -> Claim:
    """The one claim whose text has these words."""
    (found,) = [claim for claim in claims if words in claim.text]
    return found
