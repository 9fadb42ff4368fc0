"""Bad files, and the very lines that each gets."""

from pathlib import Path

import pytest

from testbed.model import ExperimentError, load_experiment, parse

NAME = "name: small"
PROTOCOL = "protocol: gossip-broadcast"
COMMUNITIES = "communities: {.a: 10, .a.b: 5, .a.c: 0}"
WORKLOAD = "workload: [{topic: .a}]"
GOOD = (NAME, PROTOCOL, COMMUNITIES, WORKLOAD)

NOT_A_NAME = (
    "is no topic name: write '.' for the root, or dotted parts of letters, digits, '_' and '-' "
    "behind a first dot, such as '.soccer.italy'"
)
DECLARED = "there are ., .a, .a.b and .a.c"
DISTRIBUTIONS = "{fixed: 1ms}, {uniform: [20ms, 70ms]}, {exponential: 50ms} or {list: [1ms, 2ms]}"


def problems(text: str, path: Path = Path("f")) -> list[str]:
    with pytest.raises(ExperimentError) as caught:
        parse(text, path)
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


def with_lines(*lines: str) -> str:
    """The good file, with those of its lines replaced whose keys are given."""
    keys = {line.partition(":")[0]: line for line in lines}
    kept = [keys.pop(line.partition(":")[0], line) for line in GOOD]
    return "\n".join([*kept, *keys.values()])


def test_the_good_file_is_good() -> None:
    assert parse(with_lines()).name == "small"


FIELDS = [
    # The top
    ("name: Small One", "1:7: name: must be 1 to 100 of the letters a-z, digits and '-', is 'Small One'"),
    ("name: 7", "1:7: name: must be text, is 7: put it in quotes"),
    ("title: [x]", "5:8: title: must be text, is a list"),
    ('title: "a\\nb"', "5:8: title: must be one line of at most 200 characters"),
    ("engine: simm", "5:9: engine: must be sim or lan, is 'simm'; did you mean sim?"),
    ("sed: 4", "5:1: sed: is not known here; did you mean seed?"),
    (
        "colour: red",
        "5:1: colour: is not known here; there are name, title, engine, topology, transport, "
        "protocol, membership, root, topics, communities, agents, network, bootstrap, workload, faults, "
        "warm_up, duration, repetitions, seed, journal and 2 more",
    ),
    ("seed: -1", "5:7: seed: must be at least 0, is -1"),
    ("seed: 9223372036854775808", "5:7: seed: must be less than 9223372036854775808, is 9223372036854775808"),
    ("seed: 1.5", "5:7: seed: must be a whole number, is 1.5"),
    ("seed: true", "5:7: seed: must be a whole number, is true"),
    ("repetitions: 0", "5:14: repetitions: must be at least 1, is 0"),
    ("journal: no", "5:10: journal: must be full or counts, is 'no'"),
    ("duration: 30", "5:11: duration: 30 has no unit: write 30s or 30ms"),
    ("duration: 0s", "5:11: duration: must be more than 0s"),
    ("root: a", f"5:7: root: 'a' {NOT_A_NAME}"),
    ("root: .5", "5:7: root: must be text, is 0.5: put it in quotes"),
    ("faults:", "5:8: faults: must be a list, is empty: give a value, or remove the key"),
    ("<<: {a: 1}", "5:1: [<<]: is not known here; there are"),
    # Layers
    ("protocol: {c: 5}", "2:11: protocol.name: is missing"),
    ("protocol: 5", "2:11: protocol: must be a mapping (key: value), is 5"),
    ("protocol: ''", "2:11: protocol: must not be empty"),
    ("protocol: gossip-broadcst", "2:11: protocol: no protocol is called 'gossip-broadcst'; there are "),
    ("membership: {name: nobody}", "5:20: membership.name: no membership is called 'nobody'; there are "),
    ("protocol: {name: gossip-broadcast, c: lots}", "2:39: protocol.c: must be a number, is 'lots'"),
    ("protocol: {name: gossip-broadcast, c: 51}", "2:39: protocol.c: must be at most 50, is 51"),
    ("protocol: {name: gossip-broadcast, d: 5}", "2:36: protocol.d: is no parameter of gossip-broadcast; there is c"),
    ("membership: {name: static, c: 5}", "5:28: membership.c: is no parameter of static, which has none"),
    ("topics: {.a: {parameters: {c: x}}}", "5:27: topics[.a].parameters: gossip-broadcast has the same parameters for every topic"),
    # Topics and agents
    ("topics: {.a.x: {}}", f"5:10: topics[.a.x]: topic .a.x is not among the communities: {DECLARED}; did you mean .a.c?"),
    ("topics: {.a: {parents: [.x]}}", f"5:25: topics[.a].parents[0]: topic .x is not among the communities: {DECLARED}"),
    ("topics: {.a: {parents: [.a.b]}}", "5:25: topics[.a].parents[0]: topic '.a.b' cannot be a parent of '.a', which includes it: a cycle"),
    ("topics: {.a: {parnts: []}}", "5:15: topics[.a].parnts: is not known here; did you mean parents?"),
    ("topics: {.a: }", "5:14: topics[.a]: must be a mapping (key: value), is empty: give a value, or remove the key"),
    ("root: .a.b", "3:15: communities[.a]: topic '.a' does not lie under the root '.a.b'"),
    ("communities: {}", "3:14: communities: must have at least 1 item, has 0"),
    ("communities: {.a: 0}", "3:14: communities: has no agents at all: give a community at least 1"),
    ("communities: {.a: -1}", "3:19: communities[.a]: must be at least 0, is -1"),
    ("communities: {.a: }", "3:19: communities[.a]: must be a whole number, is empty: give a value, or remove the key"),
    ("communities: {.a: 2, soccer: 1}", f"3:22: communities.soccer: 'soccer' {NOT_A_NAME}"),
    ("communities: {.a: 1, .a: 2}", "3:22: communities[.a]: is there twice, first in line 3: remove one"),
    ("communities: {.a: 999999, .b: 2}", "3:14: communities: has 1000001 agents with those under agents, at most 1000000 can be"),
    ("communities: [.a, .b]", "3:14: communities: must be a mapping (key: value), is a list"),
    ("agents: [{topics: [.a, .x], count: 1}]", f"5:24: agents[0].topics[1]: topic .x is not among the communities: {DECLARED}"),
    ("agents: [{topics: [.a, .a], count: 1}]", "5:10: agents[0]: names a topic twice in topics"),
    ("agents: [{topics: [], count: 1}]", "5:19: agents[0].topics: must have at least 1 item, has 0"),
    # Network and bootstrap
    ("network: {latency: 5ms}", f"5:20: network.latency: must be rounds, {DISTRIBUTIONS}, is '5ms'"),
    ("network: {latency: {fixd: 5ms}}", f"5:20: network.latency: must be rounds, {DISTRIBUTIONS}, is a mapping"),
    ("network: {latency: {fixed: 5}}", "5:28: network.latency.fixed: 5 has no unit: write 5s or 5ms"),
    ("network: {latency: {fixed: 5us}}", "5:20: network.latency: must be at least the tick of 1ms, is 5us"),
    ("network: {latency: {list: [5ms, 5us]}}", "5:20: network.latency: must be at least the tick of 1ms, is 5us"),
    ("network: {tick: 2ms}", "5:10: network.latency: must be at least the tick of 2ms, is 1ms"),
    ("network: {tick: 5ns}", "5:17: network.tick: must be at least 1us, is 5ns"),
    ("network: {latency: {uniform: [2ms]}}", "5:30: network.latency.uniform: must have 2 items, has 1"),
    ("network: {latency: {uniform: [2ms, 1ms]}}", "5:30: network.latency.uniform: must go from the least to the greatest: [1ms, 2ms]"),
    ("network: {loss: 1.2}", "5:17: network.loss: must be at most 1, is 1.2"),
    ("network: {loss: 15%}", "5:17: network.loss: must be a number, is '15%'"),
    ("network: {losses: [{from: .x, to: .a, loss: 0}]}", f"5:27: network.losses[0].from: topic .x is not among the communities: {DECLARED}"),
    (
        "network: {losses: [{from: .a, to: .a, loss: 0}, {from: .a, to: .a, loss: 1}]}",
        "5:49: network.losses[1]: the loss from .a to .a was given before",
    ),
    ("bootstrap: {spacing: 10}", "5:22: bootstrap.spacing: 10 has no unit: write 10s or 10ms"),
    ("bootstrap: {contacts: 2}", "5:23: bootstrap.contacts: static tables need nobody to ask: leave it out"),
    ("bootstrap: {gateways: 3}", "5:23: bootstrap.gateways: static tables need nobody to ask: leave it out"),
    ("bootstrap: {overlay_gateways: -1}", "5:31: bootstrap.overlay_gateways: must be at least 0, is -1"),
    ("bootstrap: {contact: 1}", "5:13: bootstrap.contact: is not known here; did you mean contacts?"),
    # Workload
    ("workload: []", "4:11: workload: must have at least 1 item, has 0"),
    ("workload: [{at: 1s}]", "4:12: workload[0].topic: is missing"),
    ("workload: [{topic: .x}]", f"4:20: workload[0].topic: topic .x is not among the communities: {DECLARED}"),
    ("workload: [{topic: .a.c}]", "4:20: workload[0].topic: nobody is in .a.c, so name a publisher"),
    ("workload: [{topic: .}]", "4:20: workload[0].topic: nobody is in ., so name a publisher"),
    ("workload: [{topic: .a, publisher: 15}]", "4:35: workload[0].publisher: there is no agent 15: they are numbered 0 to 14"),
    ("workload: [{topic: .a, publisher: anyone}]", "4:35: workload[0].publisher: must be random or an agent's number, is 'anyone'"),
    ("workload: [{topic: .a, bytes: 60000}]", "4:31: workload[0].bytes: must be at most 59000, is 60000"),
    ("workload: [{topic: .a, psel: 0.5}]", "4:30: workload[0].psel: gossip-broadcast passes nothing up: leave it out"),
    ("workload: [{topic: .a, psel: 2}]", "4:30: workload[0].psel: must be at most 1, is 2"),
    ("workload: [{topic: .a, count: 0}]", "4:31: workload[0].count: must be at least 1, is 0"),
    # Faults
    ("faults: [5]", "5:10: faults[0]: must be a mapping with a kind, is 5"),
    ("faults: [{at: 1s}]", "5:10: faults[0].kind: is missing; there are stillborn, weakly-consistent, crash, freeze, crash-host, restart, partition, loss, link, configure and churn"),
    ("faults: [{kind: crsh}]", "5:17: faults[0].kind: 'crsh' is no kind of fault; did you mean crash?"),
    ("faults: [{kind: crash, count: 1}]", "5:10: faults[0].at: is missing"),
    ("faults: [{kind: crash, at: 1s}]", "5:10: faults[0]: needs exactly one of fraction, count and agents, has none of them"),
    ("faults: [{kind: stillborn, count: 1, fraction: 0.5}]", "5:10: faults[0]: needs exactly one of fraction, count and agents, has fraction and count"),
    ("faults: [{kind: stillborn, agents: [1], communities: [.a]}]", "5:10: faults[0]: has agents, which says who: leave out communities"),
    ("faults: [{kind: stillborn, agents: [1, 1]}]", "5:10: faults[0]: names an agent twice in agents"),
    ("faults: [{kind: stillborn, agents: [1, 15]}]", "5:40: faults[0].agents[1]: there is no agent 15: they are numbered 0 to 14"),
    ("faults: [{kind: stillborn, count: 6, communities: [.a.b]}]", "5:35: faults[0].count: must be at most 5, the agents in .a.b, is 6"),
    ("faults: [{kind: stillborn, count: 16}]", "5:35: faults[0].count: must be at most 15, the agents at all, is 16"),
    ("faults: [{kind: crash, at: 1s, count: 1, for: 0s}]", "5:10: faults[0]: must stay down for some time: for must be more than 0s"),
    ("faults: [{kind: crash, at: 1s, count: 1, for_: 5s}]", "5:42: faults[0].for_: is not known here; did you mean for?"),
    ("faults: [{kind: restart, at: 1s, communities: [.x]}]", f"5:48: faults[0].communities[0]: topic .x is not among the communities: {DECLARED}"),
    ("faults: [{kind: partition, at: 1s, groups: [[.a]]}]", "5:10: faults[0]: needs at least two groups: between them no message passes"),
    ("faults: [{kind: partition, at: 1s, groups: [[.a], [.a.b, .a]]}]", "5:10: faults[0]: has .a twice in groups: a community can be in one only"),
    ("faults: [{kind: partition, at: 2s, until: 1s, groups: [[.a], [.a.b]]}]", "5:10: faults[0]: must end after it begins: until is 1s, at is 2s"),
    ("faults: [{kind: partition, at: 2s, groups: [[.a], [.x]]}]", f"5:52: faults[0].groups[1][0]: topic .x is not among the communities: {DECLARED}"),
    ("faults: [{kind: loss, at: 2s, loss: 0.5, from: .a}]", "5:10: faults[0]: needs both of from and to, or neither"),
    ("faults: [{kind: loss, at: 2s, loss: 0.5, from: .a, to: .x}]", f"5:56: faults[0].to: topic .x is not among the communities: {DECLARED}"),
    ("faults: [{kind: configure, at: 2s, topic: .a, parameters: {}}]", "5:59: faults[0].parameters: must have at least 1 item, has 0"),
    ("faults: [{kind: configure, at: 2s, topic: .a, parameters: {c: x}}]", "5:63: faults[0].parameters.c: must be a number, is 'x'"),
    ("faults: [{kind: churn, on: {fixed: 1s}, off: {fixed: 1s}}]", "5:10: faults[0].until: is missing"),
    ("faults: [{kind: churn, until: 5s, on: {fixed: 0s}, off: {fixed: 1s}}]", "5:39: faults[0].on: must be more than 0s"),
    ("faults: [{kind: churn, until: 5s, on: rounds, off: {fixed: 1s}}]", f"5:39: faults[0].on: must be {DISTRIBUTIONS}, is 'rounds'"),
    ("faults: [{kind: churn, until: 5s, from: 6s, on: {fixed: 1s}, off: {fixed: 1s}}]", "5:10: faults[0]: must end after it begins: until is 5s, from is 6s"),
    # Sweeps
    ("sweep: [1]", "5:8: sweep: must be a mapping of axes, such as `crashed: [0, 0.1]`"),
    ("duration: $d", "5:11: duration: $d is not defined: there is no sweep"),
    ("duration: ${d}", "5:11: duration: '${d}' is no variable: write $axis or $axis.variable"),
    ("sweep: {d: [1]}", "5:9: sweep.d: nothing uses $d: use it, or remove the axis"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), FIELDS, ids=[line for line, _ in FIELDS])
def test_one_mistake_gets_one_line(line: str, expected: str) -> None:
    first, *more = problems(with_lines(line))
    if expected.endswith("there are ") or expected.endswith("there are"):
        assert first.startswith(f"f:{expected}")
    else:
        assert first == f"f:{expected}"
    if line != "root: .a.b":
        assert more == []


def test_every_mistake_of_a_file_is_told_at_once_in_the_files_order() -> None:
    text = """\
nam: small
protocol: {name: gossip-broadcast, c: 99, d: 1}
communities: {.a: 10, .b: -1, .b: 2}
network: {latency: 5, losses: [{from: .a, to: .x, loss: 2}, {from: .a, to: .x, loss: 1}]}
workload:
  - {topic: .a, at: 5}
  - {topic: .c}
  - {topic: .a, publisher: 99}
faults:
  - {kind: crash, at: 1s, agents: [3], extra: 1, communities: [.c]}
  - {kind: loss, at: 1s, los: 1}
duration: 5
"""
    assert problems(text) == [
        "f:1:1: nam: is not known here; did you mean name?",
        "f:1:1: name: is missing",
        "f:2:39: protocol.c: must be at most 50, is 99",
        "f:2:43: protocol.d: is no parameter of gossip-broadcast; there is c",
        "f:3:27: communities[.b]: must be at least 0, is -1",
        "f:3:31: communities[.b]: is there twice, first in line 3: remove one",
        f"f:4:20: network.latency: must be rounds, {DISTRIBUTIONS}, is 5",
        "f:4:57: network.losses[0].loss: must be at most 1, is 2",
        "f:4:76: network.losses[1].to: topic .x is not among the communities: there are ., .a and .b",
        "f:6:21: workload[0].at: 5 has no unit: write 5s or 5ms",
        "f:7:13: workload[1].topic: topic .c is not among the communities: there are ., .a and .b",
        "f:10:5: faults[0]: has agents, which says who: leave out communities",
        "f:10:40: faults[0].extra: is not known here; there are fraction, count, agents, "
        "communities, kind, at and for",
        "f:11:5: faults[1].loss: is missing",
        "f:11:26: faults[1].los: is not known here; did you mean loss?",
        "f:12:11: duration: 5 has no unit: write 5s or 5ms",
    ]


def test_events_past_the_end_are_refused_and_not_left_out() -> None:
    text = with_lines("workload: [{topic: .a, count: 3, every: 2s}]", "duration: 3s")
    last = "the last of 3 events would be at 4s, after the duration of 3s"

    assert problems(text) == [f"f:4:31: workload[0].count: {last}"]


def test_joining_takes_somebody_to_ask_and_time() -> None:
    scamp = ("membership: scamp", "bootstrap: {contacts: 0}", "duration: 9s")
    alone = (
        "f:6:23: bootstrap.contacts: must be at least 1: with scamp, who knows nobody stays alone"
    )

    assert problems(with_lines(*scamp)) == [alone]
    assert problems(with_lines("membership: scamp")) == [
        "f:1:1: duration: is missing: with scamp joining takes time, so say how long, such as 60s"
    ]


def test_agents_that_would_start_behind_the_end_are_refused() -> None:
    text = with_lines("bootstrap: {spacing: 1s}", "duration: 3s")
    last = "the last of 15 agents would start at 14s, after the duration of 3s"

    assert problems(text) == [f"f:5:22: bootstrap.spacing: {last}"]


def test_in_rounds_everything_happens_at_a_round() -> None:
    lines = problems(
        with_lines(
            "network: {latency: rounds, tick: 5ms}",
            "workload: [{topic: .a, at: 1500ms, every: 10ms}]",
        )
    )
    assert lines == [
        "f:4:28: workload[0].at: must be whole rounds of 1s, is 1500ms",
        "f:4:43: workload[0].every: must be whole rounds of 1s, is 10ms",
        "f:5:34: network.tick: a round is the tick of latency: rounds: leave it out",
    ]


def test_a_partition_within_another_is_refused() -> None:
    first = "{kind: partition, at: 1s, until: 5s, groups: [[.a], [.a.b]]}"
    second = "{kind: partition, at: 4s, groups: [[.a], [.a.b]]}"
    message = "begins before faults[0] ends: partitions come one after another"

    assert problems(with_lines(f"faults: [{first}, {second}]")) == [
        f"f:5:94: faults[1].at: {message}"
    ]


def test_a_topics_own_parameters_are_checked() -> None:
    text = with_lines("protocol: gossip-multicast", "topics: {.a: {parameters: {c: x}}}")

    assert problems(text) == ["f:5:31: topics[.a].parameters.c: must be a number, is 'x'"]


def test_what_cannot_change_while_it_runs_is_refused() -> None:
    change = "{kind: configure, at: 2s, topic: .a, parameters: {c1: 3}}"
    text = with_lines("protocol: hierarchical-gossip", f"faults: [{change}]")

    message = "hierarchical-gossip has no parameters that can change while it runs"
    assert problems(text) == [f"f:5:17: faults[0].kind: {message}"]


def test_what_lies_behind_the_end_is_refused() -> None:
    lines = problems(
        with_lines(
            "duration: 3s",
            "workload: [{topic: .a, at: 4s}]",
            "faults: [{kind: restart, at: 5s}, {kind: churn, from: 6s, until: 7s, on: {fixed: 1s}, "
            "off: {fixed: 1s}}]",
        )
    )
    assert lines == [
        "f:4:28: workload[0].at: must be at most the duration of 3s, is 4s",
        "f:6:30: faults[0].at: must be at most the duration of 3s, is 5s",
        "f:6:55: faults[1].from: must be at most the duration of 3s, is 6s",
    ]


def test_agents_in_two_groups_of_a_partition_are_refused() -> None:
    lines = problems(
        with_lines(
            "agents: [{topics: [.a, .a.b], count: 1}]",
            "faults: [{kind: partition, at: 1s, groups: [[.a], [.a.b]]}]",
        )
    )
    assert lines == ["f:6:44: faults[0].groups: agents[0] are in more than one of the groups"]


def test_a_hierarchy_that_is_too_deep_or_too_large_is_refused() -> None:
    deep = {f".t{n}": {"parents": [f".t{n + 1}"]} for n in range(2000)}
    communities = {f".t{n}": 1 for n in range(2001)}
    text = f"{NAME}\n{PROTOCOL}\ncommunities: {communities}\nworkload: [{{topic: .t1}}]\n"
    assert problems(text + f"topics: {deep}") == [
        "f:5:9: topics: makes a hierarchy of more than 200 levels"
    ]
    many = {f".t{n}": 1 for n in range(10_001)}
    assert problems(with_lines(f"communities: {many}")) == [
        "f:3:14: communities: makes more than 10000 topics"
    ]


def test_overlay_gateways_count_as_agents_but_not_as_anybodys_members() -> None:
    gateways = "bootstrap: {overlay_gateways: 2}"
    assert parse(with_lines(gateways, "faults: [{kind: stillborn, agents: [16]}]")).name == "small"
    assert problems(with_lines(gateways, "faults: [{kind: stillborn, count: 16}]")) == [
        "f:6:35: faults[0].count: must be at most 15, the agents at all, is 16"
    ]
    assert problems(with_lines(gateways, "communities: {.a: 0}")) == [
        "f:3:14: communities: has no agents at all: give a community at least 1"
    ]


def test_of_very_many_problems_the_first_are_told() -> None:
    with pytest.raises(ExperimentError) as caught:
        parse(with_lines(f"workload: {['x'] * 500}"))
    assert len(caught.value.problems) == 500
    assert str(caught.value).splitlines()[-1] == "… and 400 more problems"


# Protocols of the user's own


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("{name: mine.py:Mine, low: -1}", "protocol.low: must be at least 0, is -1"),
        ("{name: mine.py:Mine, low: x}", "protocol.low: must be a whole number, is 'x'"),
        ("{name: mine.py:Mine, mode: poll}", "protocol.mode: must be push or pull, is 'poll'"),
        ("{name: mine.py:Mine, eager: no}", "protocol.eager: must be true or false, is 'no'"),
        (
            "{name: mine.py:Mine, name_of: x}",
            "protocol.name_of: must be of at least 2 in length, is 'x'",
        ),
        ("{name: mine.py:Mine, steps: 5}", "protocol.steps: must be a list, is 5"),
        ("{name: mine.py:Mine, steps: [x]}", "protocol.steps: must be a whole number at [0]"),
        ("{name: mine.py:Mine, lw: 1}", "protocol.lw: is no parameter of mine; did you mean low?"),
        (
            "{name: mine.py:Mine, low: 9}",
            "protocol: mine cannot have these parameters: low is 9, above high, which is 2",
        ),
        ("mine.py:Needy", "membership: needy needs pgrid or scamp as its membership, not static"),
        ("mine.py:Required", "protocol: is missing: required has no default for it"),
        (
            "{name: mine.py:Required}",
            "protocol.fanout: is missing: required has no default for it",
        ),
        ("mine.py:Odd", "protocol: the Parameters of odd are no subclass of Parameters"),
        (
            "{name: mine.py:Fragile, x: 0}",
            "protocol: fragile fails on these parameters: ZeroDivisionError: division by zero",
        ),
    ],
)
def test_a_protocol_of_ones_own_is_checked_the_same(
    folder: Path, protocol: str, expected: str
) -> None:
    path = folder / "f.yaml"
    path.write_text(with_lines(f"protocol: {protocol}"))
    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)
    (line,) = caught.value.problems
    assert line.removeprefix(f"{path}:").split(": ", 1)[1] == expected


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        ("none.py:Mine", "there is no file {folder}/none.py"),
        ("mine.py:Yours", "{folder}/mine.py has no class 'Yours'"),
        ("mine.py:NoProtocol", "{folder}/mine.py:NoProtocol is no subclass of Protocol"),
        ("torn.py:X", "{folder}/torn.py cannot be imported: SyntaxError: invalid syntax"),
    ],
)
def test_a_protocol_that_cannot_be_loaded_is_refused(
    folder: Path, protocol: str, expected: str
) -> None:
    path = folder / "f.yaml"
    path.write_text(with_lines(f"protocol: {protocol}"))
    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)
    assert caught.value.problems[0].startswith(
        f"{path}:2:11: protocol: {expected.format(folder=folder)}"
    )


def test_parameters_of_a_topic_are_checked_with_those_that_all_have(folder: Path) -> None:
    path = folder / "f.yaml"
    path.write_text(
        with_lines(
            "protocol: {name: mine.py:Mine, low: 5, high: 9}",
            "topics: {.a: {parameters: {high: 7}}, .a.b: {parameters: {high: 4}}}",
            "faults: [{kind: configure, at: 1s, topic: .a, parameters: {low: 8}}]",
        )
    )
    with pytest.raises(ExperimentError) as caught:
        load_experiment(path)
    said = "mine cannot have these parameters"
    assert list(caught.value.problems) == [
        f"{path}:5:58: topics[.a.b].parameters: {said}: low is 5, above high, which is 4",
        f"{path}:6:59: faults[0].parameters: {said}: low is 8, above high, which is 7",
    ]
