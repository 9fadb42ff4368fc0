"""Every metric against a second computation, over real journals of several protocols."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.intervals import t_975
from analysis.job import Metric, Result, analyse_with
from analysis.runs import read_runs
from tests.analysis import plain
from tests.analysis.folders import simulated

CASES: dict[str, Mapping[str, object]] = {
    "camcast": {
        "protocol": {"name": "camcast", "c": 1, "g": 3, "maintain_every_s": 2, "a": 2},
        "membership": "scamp",
        "communities": {".": 3, ".a": 4, ".a.b": 8, ".c": 4},
        "topics": {".a.b": {"parents": [".c"]}},
        "agents": [{"topics": [".a", ".c"], "count": 2}, {"topics": [".a.b", "."], "count": 1}],
        "network": {"latency": {"uniform": ["1ms", "30ms"]}, "loss": "$loss"},
        "bootstrap": {"spacing": "10ms"},
        "workload": [
            {"topic": ".a.b", "at": "2s", "count": 3, "every": "1s"},
            {"topic": ".c", "at": "2500ms"},
        ],
        "faults": [
            {"kind": "crash", "at": "3s", "for": "1s", "fraction": 0.3, "communities": [".", ".a"]},
            {
                "kind": "churn",
                "from": "2s",
                "until": "5s",
                "on": {"exponential": "2s"},
                "off": {"exponential": "300ms"},
                "communities": [".a.b"],
            },
        ],
        "duration": "6s",
        "sweep": {"loss": [0, 0.3]},
    },
    "damulticast": {
        "protocol": {"name": "damulticast", "c": 0, "g": 2, "maintain_every_s": 0},
        "communities": {".": 3, ".a": 6, ".a.b": 12},
        "network": {"latency": "rounds", "loss": 0.3},
        "workload": [{"topic": ".a.b", "count": 3}, {"topic": ".a", "at": "4s"}],
        "faults": [{"kind": "weakly-consistent", "fraction": 0.3}],
    },
    "gossip-broadcast": {
        "protocol": {"name": "gossip-broadcast", "c": 0},
        "communities": {".": 3, ".a": 5, ".b": 5},
        "agents": [{"topics": [".a", ".b"], "count": 2}],
        "network": {"latency": "rounds", "loss": 0.4},
        "workload": [{"topic": ".a", "count": 3}],
        "faults": [{"kind": "stillborn", "fraction": 0.2}],
    },
    "gossip-multicast": {
        "protocol": {"name": "gossip-multicast", "c": 1},
        "communities": {".": 3, ".a": 5, ".a.b": 7},
        "network": {"latency": "rounds", "loss": 0.1},
        "workload": [{"topic": ".a.b", "at": "3s", "count": 4, "every": "2s"}],
        # Crashes and restarts that fall into the same round.
        "faults": [
            {
                "kind": "churn",
                "from": "1s",
                "until": "15s",
                "on": {"exponential": "3s"},
                "off": {"exponential": "500ms"},
            }
        ],
        "duration": "20s",
    },
    "hierarchical-gossip": {
        "protocol": {"name": "hierarchical-gossip", "c1": 1, "c2": 1},
        "communities": {".": 6, ".a": 9},
        "network": {"latency": "rounds", "loss": 0.2},
        "workload": [{"topic": ".a", "count": 2}],
    },
}


@dataclass(frozen=True)
class Analysed:
    result: Result
    """Of every case at both levels, the full ones first."""
    paths: tuple[Path, ...]

    def of(self, case: str, level: str) -> list[Metric]:
        folder = list(CASES).index(case) + (0 if level == "full" else len(CASES))
        return [metric for metric in self.result.metrics if metric.folder == folder]

    def conserved(self, case: str, level: str) -> list[dict[str, object]]:
        folder = list(CASES).index(case) + (0 if level == "full" else len(CASES))
        rows = [row for row in self.result.conservation if row["folder"] == folder]
        return [{name: row[name] for name in row if name != "folder"} for row in rows]

    def path(self, case: str) -> Path:
        return self.paths[list(CASES).index(case)]


@pytest.fixture(scope="module")
def analysed(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Analysed:
    runs = tmp_path_factory.mktemp("runs")
    paths = [
        simulated(runs, case, name=name, journal=level, repetitions=3)
        for level in ("full", "counts")
        for name, case in CASES.items()
    ]
    return Analysed(analyse_with(spark, read_runs(paths)), tuple(paths))


def by_place(metrics: list[Metric]) -> dict[tuple[int, str, str], Metric]:
    return {(metric.point, metric.community, metric.name): metric for metric in metrics}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", ["full", "counts"])
def test_every_metric_is_what_its_definition_says(
    analysed: Analysed, case: str, level: str
) -> None:
    found = by_place(analysed.of(case, level))
    assert {place: metric.value.mean for place, metric in found.items()} == pytest.approx(
        plain.means(analysed.path(case)), rel=1e-9
    )


@pytest.mark.parametrize("case", CASES)
def test_an_estimate_is_of_the_repetitions_beside_it(analysed: Analysed, case: str) -> None:
    for metric in analysed.of(case, "full"):
        each = metric.by_repetition
        assert len(each) == metric.value.n
        assert set(each) <= {0, 1, 2}
        assert sum(each.values()) / len(each) == pytest.approx(metric.value.mean)


@pytest.mark.parametrize("case", CASES)
def test_intervals_are_students_and_shares_stay_within_0_and_1(
    analysed: Analysed, case: str
) -> None:
    deviations = plain.deviations(analysed.path(case))
    checked = 0
    for place, metric in by_place(analysed.of(case, "full")).items():
        value = metric.value
        if value.n < 2:
            assert (value.low, value.high) == (None, None)
            continue
        half = t_975(value.n - 1) * deviations[place] / math.sqrt(value.n)
        low, high = value.mean - half, value.mean + half
        if metric.name in ("reception", "reliability", "efficiency", "upward_share"):
            low, high = max(low, 0), min(high, 1)
        assert (value.low, value.high) == pytest.approx((low, high), abs=1e-9)
        checked += 1
    assert checked


@pytest.mark.parametrize("case", CASES)
def test_both_levels_give_the_same(analysed: Analysed, case: str) -> None:
    full, counts = (by_place(analysed.of(case, level)) for level in ("full", "counts"))
    assert full.keys() == counts.keys()
    for place, metric in full.items():
        value, other = metric.value, counts[place].value
        assert value.n == other.n
        assert (value.mean, value.low, value.high) == pytest.approx(
            (other.mean, other.low, other.high), abs=1e-9
        )


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("level", ["full", "counts"])
def test_messages_are_conserved(analysed: Analysed, case: str, level: str) -> None:
    expected = plain.conservation(analysed.path(case))
    assert analysed.conserved(case, level) == [
        {
            "point": point,
            "repetitions": 3,
            "sent": counted["send"],
            "received": counted["receive"],
            **{c: counted[c] for c in ("loss", "partition", "suspected", "crashed", "overflow")},
            "remainder": 2 * counted["send"] - counted.total(),
        }
        for point, counted in sorted(expected.items())
    ]


def test_the_cases_have_something_of_everything(analysed: Analysed) -> None:
    """Else what was compared above may have been nothing but zeros."""
    seen = {metric.name for metric in analysed.result.metrics if metric.value.mean > 0}
    assert seen >= {
        *("reception", "reliability", "members", "sent", "received", "useful", "duplicates"),
        *("dropped", "efficiency", "upward_sent", "upward_received", "upward_share", "parasites"),
        *("first_hops", "rounds", "first_ms", "median_ms", "last_ms"),
    }
    partial = [m for m in analysed.result.metrics if m.name == "reception" and m.value.mean < 1]
    assert partial
    for cause in ("loss", "suspected", "crashed"):
        assert any(row[cause] for row in analysed.result.conservation)
    assert analysed.result.problems == ()
