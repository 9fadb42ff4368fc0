"""Sweeps: what the points are, and who is to blame where a point is wrong."""

import pytest

from testbed.model import ExperimentError, parse

BASE = """\
name: swept
protocol: gossip-broadcast
communities: {.a: 10, .a.b: 20}
workload: [{topic: .a.b}]
"""

HIERARCHIES = """\
name: swept
protocol: {name: $protocol, c: $c}
communities: $hierarchy.communities
workload: [{topic: $hierarchy.topic}]
sweep:
  protocol: [gossip-broadcast, gossip-multicast]
  c: [3, 5]
  hierarchy:
    10-1: {communities: {.a: 1, .a.b: 10}, topic: .a.b}
    5: {communities: {.z: 5}, topic: .z}
"""


def problems(text: str) -> list[str]:
    with pytest.raises(ExperimentError) as caught:
        parse(text)
    return [line.removeprefix("experiment.yaml:") for line in caught.value.problems]


def test_without_a_sweep_there_is_one_point() -> None:
    file = parse(BASE)
    assert [(point.index, point.labels) for point in file.points] == [(0, {})]
    assert file.axes == {}


def test_an_axis_of_values_makes_a_point_of_each() -> None:
    file = parse(BASE + "network: {loss: $loss}\nsweep: {loss: [0, .1, 0.25]}")
    assert [point.experiment.network.loss for point in file.points] == [0, 0.1, 0.25]
    assert [point.labels for point in file.points] == [{"loss": 0}, {"loss": 0.1}, {"loss": 0.25}]
    assert file.axes == {"loss": (0, 0.1, 0.25)}


def test_all_combinations_of_all_axes_are_points_and_the_last_axis_changes_fastest() -> None:
    file = parse(HIERARCHIES)
    assert len(file.points) == 8
    assert [point.index for point in file.points] == list(range(8))
    assert file.points[0].labels == {"protocol": "gossip-broadcast", "c": 3, "hierarchy": "10-1"}
    assert file.points[1].labels == {"protocol": "gossip-broadcast", "c": 3, "hierarchy": "5"}
    assert file.points[-1].labels == {"protocol": "gossip-multicast", "c": 5, "hierarchy": "5"}


def test_the_variables_of_a_case_change_together() -> None:
    first, second = (point.experiment for point in parse(HIERARCHIES).points[:2])
    assert (first.communities, first.workload[0].topic) == ({".a": 1, ".a.b": 10}, ".a.b")
    assert (second.communities, second.workload[0].topic) == ({".z": 5}, ".z")


def test_a_variable_can_stand_for_a_whole_mapping_or_list_anywhere() -> None:
    file = parse(
        BASE + "network: {latency: $net.latency}\nfaults: $net.faults\nsweep:\n  net:\n"
        "    slow: {latency: {fixed: 1s}, faults: [{kind: restart, at: 1s}]}\n"
        "    round: {latency: rounds, faults: []}\n"
    )
    assert [len(point.experiment.faults) for point in file.points] == [1, 0]
    assert file.points[1].experiment.network.latency == "rounds"


def test_a_title_may_speak_of_dollars() -> None:
    assert parse(BASE + "title: $5").title == "$5"


def test_truth_values_are_labelled_by_their_words() -> None:
    text = BASE.replace("gossip-broadcast", "{name: gossip-broadcast, c: $x}")
    lines = problems(text + "sweep: {x: [true]}")
    assert lines == ["5:13: protocol.c: must be a number, is true (with x = true)"]


# Who is to blame


def test_a_bad_value_is_told_where_it_stands_and_with_its_name() -> None:
    text = BASE + "network: {loss: $loss}\nsweep:\n  loss: [0, 1.2]\n"
    assert problems(text) == ["7:13: network.loss: must be at most 1, is 1.2 (with loss = 1.2)"]


def test_a_bad_value_that_is_used_twice_is_told_for_both_fields() -> None:
    text = BASE + "network: {loss: $x}\nfaults: [{kind: weakly-consistent, fraction: $x}]\n"
    assert problems(text + "sweep: {x: [2]}") == [
        "7:13: faults[0].fraction: must be at most 1, is 2 (with x = 2)",
        "7:13: network.loss: must be at most 1, is 2 (with x = 2)",
    ]


def test_a_mistake_that_no_value_changes_is_told_once_and_blames_nobody() -> None:
    text = HIERARCHIES.replace("topic: $hierarchy.topic", "topic: $hierarchy.topic, at: 5")
    assert problems(text) == ["4:42: workload[0].at: 5 has no unit: write 5s or 5ms"]


def test_what_only_some_cases_get_wrong_blames_their_axis_alone() -> None:
    text = HIERARCHIES.replace("workload: [", "workload: [{topic: .a.b}, ")
    assert problems(text) == [
        "4:20: workload[0].topic: topic .a.b is not among the communities: there are . and .z "
        "(with hierarchy = 5)"
    ]


def test_what_two_axes_get_wrong_together_blames_both() -> None:
    text = (
        "name: swept\nprotocol: gossip-broadcast\ncommunities: {.a: $size}\n"
        "workload: [{topic: .a}]\nfaults: [{kind: stillborn, count: $dead}]\n"
        "sweep: {size: [5, 10], dead: [1, 7], seeds: [1, 2]}\nbootstrap: {neighbourhood: $seeds}\n"
    )
    assert problems(text) == [
        "6:34: faults[0].count: must be at most 5, the agents at all, is 7 (with size = 5, dead = 7)"
    ]


def test_a_whole_case_can_be_at_fault() -> None:
    text = HIERARCHIES.replace("{.z: 5}", "{.z: -5}")
    assert problems(text) == [
        "10:27: communities[.z]: must be at least 0, is -5 (with hierarchy = 5)"
    ]


# Variables and axes that do not fit each other

SWEPT = [
    (
        "duration: $lss\nsweep: {loss: [1s]}",
        [
            "5:11: duration: $lss is not defined: the sweep has loss; did you mean loss?",
            "6:9: sweep.loss: nothing uses $loss: use it, or remove the axis",
        ],
    ),
    (
        "duration: $d.x\nsweep: {d: [1s]}",
        ["5:11: duration: d is an axis without cases: write $d"],
    ),
    (
        "duration: $d\nsweep: {d: {short: {x: 1s}}}",
        [
            "5:11: duration: d is an axis of cases: write $d.x",
            "6:21: sweep.d.short.x: nothing uses $d.x: use it, or remove it",
        ],
    ),
    (
        "duration: $d.y\nsweep: {d: {short: {x: 1s}}}",
        [
            "5:11: duration: d has no y: write $d.x",
            "6:21: sweep.d.short.x: nothing uses $d.x: use it, or remove it",
        ],
    ),
    (
        "duration: $d.x\nsweep: {d: {short: {x: 1s, y: 2}, long: {x: 2s, y: 3}}}",
        ["6:28: sweep.d.short.y: nothing uses $d.y: use it, or remove it"],
    ),
    (
        "duration: $d.x\nsweep: {d: {short: {x: 1s}, long: {z: 2s}}}",
        ["6:29: sweep.d.long: all cases have the same variables: the first has x"],
    ),
    (
        "duration: $d.x\nsweep: {d: {short: 1s}}",
        ["6:20: sweep.d.short: a case must be a mapping of variables to their values"],
    ),
    ("duration: $d\nsweep: {d: []}", ["6:12: sweep.d: must be a list of values, or a mapping of cases"]),
    ("duration: $d\nsweep: {d: 1s}", ["6:12: sweep.d: must be a list of values, or a mapping of cases"]),
    (
        "duration: $d\nsweep: {d: [{x: 1}]}",
        ["6:13: sweep.d[0]: must be text or a number; a list or a mapping needs a name: write cases"],
    ),
    ("duration: $d\nsweep: {d: [1s, 1s]}", ["6:17: sweep.d[1]: '1s' is there twice: remove one"]),
    ("network: {loss: $d}\nsweep: {d: [1, 1.0]}", ["6:16: sweep.d[1]: 1.0 is there twice: remove one"]),
    (
        "duration: $d\nsweep: {d: [$e], e: [1s]}",
        [
            "6:13: sweep.d[0]: a value of a sweep cannot be a variable itself",
            "6:18: sweep.e: nothing uses $e: use it, or remove the axis",
        ],
    ),
    (
        "duration: $5\nsweep: {5: [1s]}",
        [
            "5:11: duration: '$5' is no variable: write $axis or $axis.variable",
            "6:9: sweep[5]: an axis is named by letters, digits, '_' and '-', beginning with a letter",
        ],
    ),
    (
        "seed: $s\nsweep: {s: [1]}",
        ["5:7: seed: is the same at every point of a sweep: it cannot be a variable"],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), SWEPT, ids=[text for text, _ in SWEPT])
def test_a_sweep_that_does_not_fit_is_told(text: str, expected: list[str]) -> None:
    assert problems(BASE + text) == expected


def test_too_many_points_or_runs_are_refused() -> None:
    axes = f"sweep: {{a: {list(range(101))}, b: {[n / 100 for n in range(100)]}}}\n"
    uses = "network: {loss: $b}\nbootstrap: {neighbourhood: $a}\n"
    assert problems(BASE + uses + axes) == [
        "7:8: sweep: has 10100 combinations, at most 10000 can be"
    ]
    axes = "sweep: {a: [1, 2, 3]}\nbootstrap: {neighbourhood: $a}\nrepetitions: 333334"
    assert problems(BASE + axes) == [
        "7:14: repetitions: 3 points with 333334 repetitions are more than 1000000 runs"
    ]
