"""`expect:` lines: what a file may say, at which points it says it, and how mistakes are told."""

import subprocess
import sys
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.model import Expectation, ExperimentError, ExperimentFile, parse

REPOSITORY = Path(__file__).parents[2]

SMALL = """\
name: small
protocol: gossip-broadcast
communities: {.a: 10, .a.b: 5, .a.c: 0}
workload: [{topic: .a}]
"""
SWEPT = (
    SMALL
    + """\
network: {loss: $loss}
repetitions: 1
sweep:
  loss: [0, 0.15]
"""
)
CASES = """\
name: small
protocol: gossip-broadcast
communities: $size.communities
workload: [{topic: .a}]
sweep:
  size:
    flat: {communities: {.a: 3}}
    deep: {communities: {.a: 3, .a.b: 3}}
    5: {communities: {.a: 5}}
"""


def with_lines(text: str, *lines: str) -> str:
    return text + "".join(["expect:\n", *(f"  - {line}\n" for line in lines)])


def expected_at(file: ExperimentFile) -> list[list[tuple[str, str]]]:
    """Metric and community of each line, by point."""
    return [
        [(line.metric, line.community) for line in point.experiment.expect] for point in file.points
    ]


# What can be said.


def test_a_line_has_its_defaults() -> None:
    (line,) = parse(with_lines(SMALL, "{metric: rounds, at_most: 9}")).points[0].experiment.expect
    assert line == Expectation(metric="rounds", community="*", at_most=9.0)
    assert (line.at_least, line.equals, line.within, line.where) == (None, None, None, {})


@pytest.mark.parametrize(
    "line",
    [
        "{metric: reception, community: .a, at_least: 1}",
        "{metric: efficiency, equals: 0.5, within: 0.1}",
        "{metric: sent, community: '*', at_most: 1000000}",
        "{metric: parasites, equals: 0}",
        "{metric: table view, community: .a.b, at_most: 12.5}",
        "{metric: control Heartbeat, at_most: 100}",
        "{metric: median_ms, community: .a, at_most: 100}",
    ],
)
def test_what_is_measured_can_be_expected_and_comes_back_from_the_document(line: str) -> None:
    experiment = parse(with_lines(SMALL, line)).points[0].experiment
    document = experiment.model_dump(mode="json")
    assert len(document["expect"]) == 1
    assert parse(document).points[0].experiment == experiment


def test_a_number_can_be_a_variable_of_the_sweep() -> None:
    file = parse(with_lines(SWEPT, "{metric: dropped, at_least: $loss}"))
    assert [point.experiment.expect[0].at_least for point in file.points] == [0, 0.15]


# At which points.


def test_a_line_is_at_every_point_or_at_those_that_it_names() -> None:
    lines = (
        "{metric: sent, at_most: 5}",
        "{metric: rounds, at_most: 5, where: {loss: 0.15}}",
        "{metric: dropped, equals: 0, where: {loss: 0.0}}",
    )
    assert expected_at(parse(with_lines(SWEPT, *lines))) == [
        [("sent", "*"), ("dropped", "*")],
        [("sent", "*"), ("rounds", "*")],
    ]


def test_at_its_points_a_line_says_no_more_where_it_is_meant_for() -> None:
    file = parse(with_lines(SWEPT, "{metric: rounds, at_most: 5, where: {loss: 0.15}}"))
    document = file.points[1].experiment.model_dump(mode="json")
    assert document["expect"][0]["where"] == {}
    assert parse(document).points[0].experiment == file.points[1].experiment


def test_of_several_axes_those_that_are_not_named_do_not_matter() -> None:
    text = SWEPT + "  bytes: [1, 2]\n"
    text = text.replace("{topic: .a}", "{topic: .a, bytes: $bytes}")
    line = "{metric: sent, at_most: 5, where: {bytes: 2}}"
    assert [len(lines) for lines in expected_at(parse(with_lines(text, line)))] == [0, 1, 0, 1]
    line = "{metric: sent, at_most: 5, where: {bytes: 2, loss: 0}}"
    assert [len(lines) for lines in expected_at(parse(with_lines(text, line)))] == [0, 1, 0, 0]


def test_a_case_is_named_by_its_text_be_it_a_number() -> None:
    lines = (
        "{metric: sent, at_most: 5, where: {size: deep}}",
        "{metric: rounds, at_most: 5, where: {size: 5}}",
    )
    found = expected_at(parse(with_lines(CASES, *lines)))
    assert found == [[], [("sent", "*")], [("rounds", "*")]]


def test_true_and_false_are_labels_too(folder: Path) -> None:
    text = SWEPT.replace("gossip-broadcast", "{name: mine.py:Mine, eager: $eager}")
    text = text.replace("network: {loss: $loss}\n", "").replace("loss: [0, 0.15]", "eager: [true]")
    file = parse(with_lines(text, "{metric: sent, at_most: 5, where: {eager: true}}"), folder / "f")
    assert expected_at(file) == [[("sent", "*")]]


def test_a_community_has_to_be_there_only_where_the_line_is_meant_for() -> None:
    line = "{metric: sent, community: .a.b, at_most: 5, where: {size: deep}}"
    assert expected_at(parse(with_lines(CASES, line))) == [[], [("sent", ".a.b")], []]
    with pytest.raises(ExperimentError) as caught:
        parse(with_lines(CASES, line.replace(", where: {size: deep}", "")), Path("f"))
    assert caught.value.problems == (
        "f:11:31: expect[0].community: topic .a.b is not among the communities: "
        "there are . and .a (with size = flat)",
    )


# Mistakes.

ONE_OF = "needs exactly one of at_least, at_most and equals"
TOGETHER = "measured over all communities together"

MISTAKES = [
    ("{metric: recption, at_least: 0.9}", "6:14: expect[0].metric: 'recption' is no metric; did you mean reception?"),
    (
        "{metric: colour, at_least: 0.9}",
        "6:14: expect[0].metric: 'colour' is no metric; there are reception, reliability, members, sent, "
        "received, useful, duplicates, dropped, efficiency, upward_sent, upward_received, upward_share, "
        "first_hops, rounds, first_ms, median_ms, last_ms, parasites, control KIND and table NAME",
    ),
    ("{metric: 5, at_least: 0.9}", "6:14: expect[0].metric: must be text, is 5: put it in quotes"),
    ("{at_least: 0.9}", "6:5: expect[0].metric: is missing"),
    ("reception", "6:5: expect[0]: must be a mapping (key: value), is 'reception'"),
    ("{metric: sent}", f"6:5: expect[0]: {ONE_OF}, has none of them"),
    ("{metric: sent, at_least: 1, at_most: 2}", f"6:5: expect[0]: {ONE_OF}, has at_least and at_most"),
    ("{metric: sent, at_most: 2, within: 1}", "6:5: expect[0]: has within, which goes with equals and not with at_most"),
    ("{metric: sent, at_most: -1}", "6:29: expect[0].at_most: must be at least 0, is -1"),
    ("{metric: sent, at_most: few}", "6:29: expect[0].at_most: must be a number, is 'few'"),
    ("{metric: sent, at_most: .inf}", "6:29: expect[0].at_most: must be a number, is '.inf'"),
    ("{metric: reception, at_least: 95}", "6:35: expect[0].at_least: must be at most 1, as reception is a share, is 95"),
    ("{metric: efficiency, equals: 0.5, within: 1.5}", "6:47: expect[0].within: must be at most 1, as efficiency is a share, is 1.5"),
    ("{metric: sent, community: .a.d, at_most: 5}", "6:31: expect[0].community: topic .a.d is not among the communities: there are ., .a, .a.b and .a.c; did you mean .a.c?"),
    ("{metric: sent, community: .a.c, at_most: 5}", "6:31: expect[0].community: nobody is in .a.c, so that nothing can be measured there"),
    ("{metric: table view, at_most: 5}", f"6:5: expect[0].community: table view is not {TOGETHER}: name one"),
    ("{metric: median_ms, at_most: 5}", f"6:5: expect[0].community: median_ms is not {TOGETHER}: name one"),
    ("{metric: control Join, community: .a, at_most: 5}", f"6:39: expect[0].community: control Join is {TOGETHER}: leave out community"),
    ("{metric: sent, at_most: 5, where: {loss: 0}}", "6:40: expect[0].where.loss: there is no sweep: leave out where"),
    ("{metric: sent, at_most: 5, where: loss}", "6:39: expect[0].where: must be a mapping (key: value), is 'loss'"),
    ("{metric: sent, at_most: 5, when: {}}", "6:32: expect[0].when: is not known here; did you mean where?"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), MISTAKES, ids=[line for line, _ in MISTAKES])
def test_one_mistake_gets_one_line_and_nothing_starts(line: str, expected: str) -> None:
    with pytest.raises(LocalError) as caught:
        parse(with_lines(SMALL, line), Path("f"))
    assert str(caught.value) == f"f:{expected}"


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("{los: 0}", "40: expect[0].where.los: is no axis of the sweep; did you mean loss?"),
        (
            "{loss: 0.2}",
            "46: expect[0].where.loss: 0.2 is not on the axis, which has 0 and 0.15",
        ),
        (
            "{loss: [0]}",
            "46: expect[0].where.loss: must be a value of the axis, or the name of a case, "
            "is a list",
        ),
    ],
)
def test_a_point_that_the_sweep_does_not_have_is_refused(where: str, expected: str) -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(with_lines(SWEPT, f"{{metric: sent, at_most: 5, where: {where}}}"), Path("f"))
    assert caught.value.problems == (f"f:10:{expected}",)


def test_nothing_is_said_of_an_axis_that_is_itself_wrong() -> None:
    text = SWEPT.replace("[0, 0.15]", "[0, 0]")
    with pytest.raises(ExperimentError) as caught:
        parse(with_lines(text, "{metric: sent, at_most: 5, where: {loss: 0.15}}"), Path("f"))
    assert caught.value.problems == ("f:8:13: sweep.loss[1]: 0 is there twice: remove one",)


def test_behind_one_wrong_line_the_others_are_still_checked() -> None:
    lines = ("{metric: sent}", "{metric: reception, at_least: 2}", "{metric: sent, equals: 1}")
    with pytest.raises(ExperimentError) as caught:
        parse(with_lines(SMALL, *lines), Path("f"))
    assert caught.value.problems == (
        f"f:6:5: expect[0]: {ONE_OF}, has none of them",
        "f:7:35: expect[1].at_least: must be at most 1, as reception is a share, is 2",
    )


def test_experiments_are_read_where_spark_is_not_installed() -> None:
    program = (
        "import sys; sys.modules['pyspark'] = None; import testbed.model;"
        "print(*sorted(name for name in sys.modules if name.startswith('analysis')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["analysis", "analysis.names"]
