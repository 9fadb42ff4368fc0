"""`expect:` lines against what was measured: by hand-made results, and by a run from end to end."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from analysis import metrics, names, per_event
from analysis.errors import AnalysisError
from analysis.expectations import Judged, judge
from analysis.intervals import Estimate
from analysis.job import Metric, Result, analyse_with
from analysis.runs import Run, read_run
from testbed.model import Expectation, parse
from testbed.sim.batch import simulate

RUN = Path("runs/x")


def line(metric: str, community: str = "*", **comparison: float) -> dict[str, Any]:
    """As `points.json` has it."""
    found = Expectation.model_validate({"metric": metric, "community": community, **comparison})
    return found.model_dump(mode="json")


def run(
    *lines: Mapping[str, Any],
    labels: Mapping[str, Any] | None = None,
    status: str = "done",
    path: Path = RUN,
) -> Run:
    point = {"index": 0, "labels": labels or {}, "experiment": {"expect": list(lines)}}
    return Run(path, {"status": status, "experiment": "small"}, [point], (), ())


def measured(mean: float, low: float | None = None, high: float | None = None) -> Estimate:
    return Estimate(3, mean, low, high)


def result(*runs: Run, **values: Estimate) -> Result:
    """The values of `.soccer` in the first point of the first run."""
    found = (Metric(0, 0, ".soccer", name, value) for name, value in values.items())
    return Result(runs, tuple(found), (), ())


def judged_by(expected: Mapping[str, Any], value: Estimate | None) -> Judged:
    values = {} if value is None else {expected["metric"]: value}
    (judged,) = judge(result(run(expected), **values))
    return judged


# What holds.


@pytest.mark.parametrize(
    ("comparison", "mean", "holds"),
    [
        ({"at_least": 0.95}, 0.96, True),
        ({"at_least": 0.95}, 0.95, True),
        ({"at_least": 0.95}, 0.949, False),
        ({"at_most": 0.5}, 0.4, True),
        ({"at_most": 0.5}, 0.5, True),
        ({"at_most": 0.5}, 0.501, False),
        ({"equals": 0.5}, 0.5, True),
        ({"equals": 0.5}, 0.51, False),
        ({"equals": 0}, 0.0, True),
        ({"equals": 0}, 1e-6, False),
        ({"equals": 0.5, "within": 0.1}, 0.41, True),
        ({"equals": 0.5, "within": 0.1}, 0.59, True),
        ({"equals": 0.5, "within": 0.1}, 0.39, False),
        ({"equals": 0.5, "within": 0.1}, 0.61, False),
        ({"equals": 0.5, "within": 0}, 0.5, True),
    ],
)
def test_a_line_holds_if_the_mean_does(
    comparison: dict[str, float], mean: float, holds: bool
) -> None:
    expected = line("reception", ".soccer", **comparison)
    assert judged_by(expected, measured(mean)).holds is holds


@pytest.mark.parametrize(
    ("comparison", "mean"),
    [
        ({"at_least": 0.3}, 0.1 * 3 - 1e-16),
        ({"at_most": 0.3}, 0.1 + 0.2),
        ({"equals": 0.3}, 0.1 + 0.2),
        ({"equals": 0.2, "within": 0.1}, 0.1 + 0.2),
        ({"equals": 0.4, "within": 0.1}, 0.4 - 0.1),
    ],
)
def test_what_adding_up_fractions_leaves_behind_fails_nobody(
    comparison: dict[str, float], mean: float
) -> None:
    assert judged_by(line("reception", ".soccer", **comparison), measured(mean)).holds


# What is said.


def test_a_failing_line_says_measured_interval_expected_run_and_labels() -> None:
    expected = line("reception", ".soccer", at_least=0.95)
    found = result(
        run(expected, labels={"loss": 0.15, "size": "deep"}), reception=measured(0.913, 0.88, 0.94)
    )
    assert judge(found) == (
        Judged(
            run=RUN,
            experiment="small",
            name="reception of .soccer: at least 0.95, loss = 0.15, size = deep",
            holds=False,
            sentence="reception of .soccer is 0.913 [0.88, 0.94], expected at least 0.95: "
            "runs/x, loss = 0.15, size = deep",
        ),
    )


@pytest.mark.parametrize(
    ("expected", "value", "sentence"),
    [
        (
            line("sent", ".soccer", at_most=11000),
            measured(10999.43, 10990.0, 11008.86),
            "sent of .soccer is 10999 [10990, 11009], expected at most 11000: runs/x",
        ),
        (
            line("rounds", ".soccer", equals=7, within=0.5),
            measured(7.25),
            "rounds of .soccer is 7.25, expected 7 within 0.5: runs/x",
        ),
        (
            line("parasites", ".soccer", equals=0),
            measured(0.0, 0.0, 0.0),
            "parasites of .soccer is 0 [0, 0], expected 0: runs/x",
        ),
        (
            line("reception", ".soccer", at_least=0.95),
            measured(0.9499999),
            "reception of .soccer is 0.9499999, expected at least 0.95: runs/x",
        ),
        (
            line("reception", ".soccer", at_least=1),
            measured(0.99999),
            "reception of .soccer is 0.99999, expected at least 1: runs/x",
        ),
        (
            line("rounds", ".soccer", equals=7, within=0.5),
            measured(7.50001),
            "rounds of .soccer is 7.50001, expected 7 within 0.5: runs/x",
        ),
        (
            line("sent", ".soccer", at_most=11000),
            measured(11000.3),
            "sent of .soccer is 11000.3, expected at most 11000: runs/x",
        ),
    ],
)
def test_numbers_have_as_many_digits_as_it_takes(
    expected: dict[str, Any], value: Estimate, sentence: str
) -> None:
    assert judged_by(expected, value).sentence == sentence


@pytest.mark.parametrize(
    ("expected", "sentence"),
    [
        (
            line("rounds", ".soccer", at_most=9),
            "rounds of .soccer was not measured, as no event came there, expected at most 9",
        ),
        (
            line("rounds", at_most=9),
            "rounds over all communities was not measured, as no event came to every community, "
            "expected at most 9",
        ),
        (
            line("reception", at_least=0.5),
            "reception over all communities was not measured, as no event came to anybody, "
            "expected at least 0.5",
        ),
        (
            line("table view", ".soccer", at_most=9),
            "table view of .soccer was not measured, as no process there has such a table, "
            "expected at most 9",
        ),
        (
            line("control Join", at_most=9),
            "control Join over all communities was not measured, as no such message was sent, "
            "expected at most 9",
        ),
    ],
)
def test_what_was_not_measured_fails_and_says_so(expected: dict[str, Any], sentence: str) -> None:
    judged = judged_by(expected, None)
    assert not judged.holds
    assert judged.sentence == f"{sentence}: runs/x"


# Runs and points.


def test_lines_come_in_the_order_of_runs_points_and_the_file() -> None:
    def points(*values: float) -> list[dict[str, Any]]:
        lines = [line("sent", at_most=1), line("rounds", at_most=2)]
        return [
            {"index": n, "labels": {"loss": value}, "experiment": {"expect": lines}}
            for n, value in enumerate(values)
        ]

    done = {"status": "done", "experiment": "small"}
    runs = (Run(RUN, done, points(0, 0.5), (), ()), Run(Path("runs/y"), done, points(0), (), ()))
    found = (Metric(0, 1, "*", "rounds", measured(1)), Metric(1, 0, "*", "sent", measured(1)))
    judged = judge(Result(runs, found, (), ()))
    assert [(str(j.run), j.name, j.holds) for j in judged] == [
        ("runs/x", "sent over all communities: at most 1, loss = 0", False),
        ("runs/x", "rounds over all communities: at most 2, loss = 0", False),
        ("runs/x", "sent over all communities: at most 1, loss = 0.5", False),
        ("runs/x", "rounds over all communities: at most 2, loss = 0.5", True),
        ("runs/y", "sent over all communities: at most 1, loss = 0", True),
        ("runs/y", "rounds over all communities: at most 2, loss = 0", False),
    ]


@pytest.mark.parametrize("status", ["failed", "interrupted", "running"])
def test_a_run_that_did_not_come_to_its_end_fails_whatever_it_measured(status: str) -> None:
    expected = line("sent", ".soccer", at_most=5)
    judged = judge(result(run(expected, status=status), run(status=status), sent=measured(1)))
    assert [j.holds for j in judged] == [False, True, False]
    assert judged[0].sentence == (f"the run is not complete, its manifest says '{status}': runs/x")


def test_a_run_without_lines_has_nothing_to_be_judged() -> None:
    before_there_were_any = Run(RUN, {"status": "done"}, [{"experiment": {}}], (), ())
    assert judge(result(run(), before_there_were_any)) == ()


def test_a_run_whose_points_are_lost_fails_as_nobody_knows_what_it_expected() -> None:
    (judged,) = judge(result(Run(RUN, {"status": "done"}, [], (), ())))
    assert not judged.holds
    assert judged.sentence == (
        "points.json cannot be read, so what was expected is not known: runs/x"
    )


@pytest.mark.parametrize(
    "torn",
    [
        {"metric": "sent"},
        5,
        {**line("sent", at_most=1), "at_most": None},
        {**line("sent", at_most=1), "at_most": "few"},
    ],
)
def test_a_line_that_somebody_tore_is_told_in_a_sentence(torn: Any) -> None:
    with pytest.raises(AnalysisError) as caught:
        judge(result(run(line("sent", at_most=1), torn)))
    assert str(caught.value) == (
        "runs/x: points.json has an expect line that cannot be read, number 1"
    )


# The whole way.

CRASHING = """\
name: crashing
protocol: {name: gossip-multicast, c: 5}
communities: {.: 3, .a: 12}
network: {latency: rounds, loss: $loss}
workload: [{topic: .a, count: 2, every: 40s}]
faults: [{kind: crash, at: 20s, fraction: 0.5, communities: [.a]}]
repetitions: 2
journal: counts
expect:
  - {metric: reception, community: .a, at_least: 0.9, where: {loss: 0}}
  - {metric: parasites, equals: 0}
  - {metric: reception, at_most: 0.5}
  - {metric: rounds, at_most: 9, where: {loss: 1}}
sweep: {loss: [0, 1]}
"""


def test_a_crash_that_was_asked_for_is_no_failure_and_what_is_wrong_is_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    folder = simulate(parse(CRASHING), tmp_path, 1, lambda done, total: None).path
    judged = judge(analyse_with(spark, [read_run(folder)]))
    assert [(j.name, j.holds) for j in judged] == [
        ("reception of .a: at least 0.9, loss = 0", True),
        ("parasites over all communities: 0, loss = 0", True),
        ("reception over all communities: at most 0.5, loss = 0", False),
        ("parasites over all communities: 0, loss = 1", True),
        ("reception over all communities: at most 0.5, loss = 1", True),
        ("rounds over all communities: at most 9, loss = 1", False),
    ]
    assert judged[2].sentence.startswith("reception over all communities is ")
    assert judged[2].sentence.endswith(f", expected at most 0.5: {folder}, loss = 0")
    assert judged[5].sentence == (
        "rounds over all communities was not measured, as no event came to every community, "
        f"expected at most 9: {folder}, loss = 1"
    )
    points = json.loads((folder / "points.json").read_text())
    assert [len(point["experiment"]["expect"]) for point in points] == [3, 3]


def test_the_names_are_those_of_the_metrics_that_are_computed(spark: SparkSession) -> None:
    assert spark.sparkContext is not None  # without which no column can be made
    computed = [name for metric in metrics.OF_EVENTS for name in metric()]
    assert sorted(computed) == sorted(names.OF_EVENTS)
    assert metrics.SHARES == names.SHARES
    assert per_event.EVERYWHERE == names.EVERYWHERE
