"""The job: run folders in, a table of metrics out. Also a program for `spark-submit`:

    PYTHONPATH=. spark-submit --master spark://HOST:PORT analysis/job.py RUN… > result.json

with the Python of the project's environment as PYSPARK_PYTHON. The driver alone runs Python, so that
the workers need none of it; they do need to find the run folders under the same paths.
"""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from msgspec import to_builtins
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from analysis.errors import AnalysisError
from analysis.hierarchy import audiences
from analysis.intervals import Estimate, estimate
from analysis.journals import KEY, read_journals
from analysis.metrics import of_events, of_runs
from analysis.metrics.conservation import conservation
from analysis.names import SHARES
from analysis.per_event import over_communities, per_event
from analysis.per_run import per_run
from analysis.runs import Run, read_runs
from analysis.session import LOCAL, said_in_a_sentence, session

Progress = Callable[[int, int], None]
STEPS = 4
MUCH = 2_000_000
"""Bytes of journals from which Spark computes for longer than it takes to start."""


@dataclass(frozen=True)
class Metric:
    """One number of one community at one point, over that point's repetitions."""

    folder: int
    """Which of the given run folders."""
    point: int
    community: str
    """`*` for all together."""
    name: str
    value: Estimate
    by_repetition: Mapping[int, float] = field(default_factory=dict)
    """What the estimate is of: repetitions of the same number have the same seed at every point, so
    that points can be compared pair by pair."""


@dataclass(frozen=True)
class Result:
    """All that the analysis found."""

    runs: tuple[Run, ...]
    metrics: tuple[Metric, ...]
    conservation: tuple[dict[str, Any], ...]
    """By folder and point: sums over its repetitions."""
    problems: tuple[str, ...]
    """What could not be read, a sentence each."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the machine did not do as the experiments asked, a sentence each."""
        return tuple(warning for run in self.runs for warning in run.warnings)

    def find(self, folder: int, point: int, community: str, name: str) -> Estimate | None:
        return self._by_place.get((folder, point, community, name))

    @cached_property
    def _by_place(self) -> dict[tuple[int, int, str, str], Estimate]:
        return {(m.folder, m.point, m.community, m.name): m.value for m in self.metrics}

    def as_data(self) -> dict[str, Any]:
        """What `--json` prints."""
        return {
            "runs": [_run_data(run) for run in self.runs],
            "problems": list(self.problems),
            "warnings": list(self.warnings),
            "conservation": list(self.conservation),
            "metrics": [
                {
                    "run": metric.folder,
                    "point": metric.point,
                    "labels": self.runs[metric.folder].labels(metric.point),
                    "community": metric.community,
                    "metric": metric.name,
                    **asdict(metric.value),
                }
                for metric in self.metrics
            ],
        }


def analyse(
    paths: Sequence[Path], master: str = LOCAL, progress: Progress = lambda done, total: None
) -> Result:
    """Start Spark, analyse, stop Spark."""
    runs = read_runs(paths)
    progress(0, STEPS)
    size = sum(path.stat().st_size for run in runs for path in run.journals)
    with session(master, is_short=size < MUCH) as spark:
        progress(1, STEPS)
        return analyse_with(spark, runs, progress)


def analyse_with(
    spark: SparkSession, runs: Sequence[Run], progress: Progress = lambda done, total: None
) -> Result:
    with said_in_a_sentence(), read_journals(spark, runs) as journals:
        progress(2, STEPS)
        found = _of_events(per_event(journals, audiences(spark, runs)))
        progress(3, STEPS)
        more, kept = _of_runs(per_run(journals))
        progress(4, STEPS)
    problems = [problem for run in runs for problem in run.problems] + list(journals.problems)
    metrics = sorted(found + more, key=lambda metric: (metric.folder, metric.point))
    return Result(tuple(runs), tuple(metrics), tuple(kept), tuple(problems))


def _of_events(events: DataFrame | None) -> list[Metric]:
    if events is None:
        return []
    # By what everything groups by from here on, so that it is moved no more.
    parts = events.sparkSession.sparkContext.defaultParallelism
    with _kept(events.repartition(parts, *KEY)) as kept:
        return _estimates(of_events(kept.unionByName(over_communities(kept))))


def _of_runs(things: DataFrame | None) -> tuple[list[Metric], list[dict[str, Any]]]:
    if things is None:
        return [], []
    with _kept(things) as kept:
        conserved = conservation(kept).orderBy("folder", "point").collect()
        return _estimates(of_runs(kept)), [row.asDict() for row in conserved]


@contextmanager
def _kept(frame: DataFrame) -> Iterator[DataFrame]:
    frame.persist()
    try:
        yield frame
    finally:
        frame.unpersist()


def _estimates(values: DataFrame) -> list[Metric]:
    rows = (
        values.where("value is not null")
        .groupBy("folder", "point", "community", "metric")
        .agg(
            F.count("value").alias("n"),
            F.avg("value").alias("mean"),
            F.stddev_samp("value").alias("deviation"),
            F.collect_list(F.struct("repetition", "value")).alias("values"),
        )
        .collect()
    )
    found = [_metric(row) for row in rows]
    found.sort(key=lambda metric: (metric.folder, metric.point, metric.community, metric.name))
    return found


def _metric(row: Row) -> Metric:
    name = row["metric"]
    value = estimate(row["n"], row["mean"], row["deviation"], is_share=name in SHARES)
    each = {pair["repetition"]: pair["value"] for pair in row["values"]}
    return Metric(row["folder"], row["point"], row["community"], name, value, each)


def _run_data(run: Run) -> dict[str, Any]:
    return {
        "path": str(run.path),
        "name": run.name,
        "manifest": {key: run.manifest[key] for key in run.manifest if key != "journals"},
        "points": [{"index": p["index"], "labels": p["labels"]} for p in run.points],
        "fidelity": [to_builtins(fact) for fact in run.fidelity],
    }


def main(arguments: Sequence[str]) -> int:
    """As `spark-submit` calls it, which has chosen the master already."""
    try:
        runs = read_runs([Path(path) for path in arguments])
        spark = SparkSession.builder.appName("testbed").getOrCreate()
        try:
            result = analyse_with(spark, runs)
        finally:
            spark.stop()
    except AnalysisError as error:
        print(f"testbed: {error}", file=sys.stderr)
        return 2
    print(json.dumps(result.as_data()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
