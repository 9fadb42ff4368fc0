"""Results written by hand, so that a judgement is about numbers one can see."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from analysis.intervals import Estimate
from analysis.job import Metric, Result
from analysis.papers.items import Claim
from analysis.runs import Run

Values = Mapping[tuple[str, str], Estimate | float]
"""By community and metric; a plain number has an interval of no width."""


def measured(value: float, half: float = 0.0) -> Estimate:
    return Estimate(100, value, value - half, value + half)


def built(
    *runs: tuple[str, Sequence[tuple[Mapping[str, Any], Values]]], repetitions: int = 100
) -> Result:
    """For each run its experiment's name, and at each point the labels and values."""
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
            Metric(
                folder,
                point,
                community,
                metric,
                value if isinstance(value, Estimate) else measured(value),
            )
            for folder, (_, points) in enumerate(runs)
            for point, (_, values) in enumerate(points)
            for (community, metric), value in values.items()
        ),
        conservation=(),
        problems=(),
    )


def verdicts(claims: Sequence[Claim]) -> list[str]:
    return [claim.verdict for claim in claims]


def about(claims: Sequence[Claim], words: str) -> Claim:
    """The one claim whose text has these words."""
    (found,) = [claim for claim in claims if words in claim.text]
    return found
