"""The two levels of a journal say the same numbers.

Every number of the counts is computed a second time here: from the lines of the full journal, in
plain Python, by the definitions in `agents/core/journal.py` alone. What topics lie above an event's
is taken from the experiment.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import mean, median_low
from typing import Any

import msgspec
import pytest

from agents.core.interest import Topic
from agents.core.journal import Record
from testbed.model.experiment import Experiment
from testbed.model.files import parse
from testbed.sim.count_recorder import CountRecorder
from testbed.sim.full_recorder import FullRecorder
from testbed.sim.scenario import Scenario
from testbed.sim.several_recorders import SeveralRecorders
from tests.support.registered import PAIRS

Line = dict[str, Any]
DEFAULTS = {
    field.name: field.default
    for field in msgspec.structs.fields(Record)
    if field.default is not msgspec.NODEFAULT
}


@dataclass(frozen=True)
class Run:
    """One run, recorded at both levels at once."""

    experiment: Experiment
    records: list[Line]
    counts: list[Line]
    total: Line


def run(document: Mapping[str, object], seed: int = 1) -> Run:
    experiment = parse(document).points[0].experiment
    scenario = Scenario(experiment, seed)
    full: list[bytes] = []
    counts: list[bytes] = []
    scenario.world.recorder = SeveralRecorders(
        FullRecorder(scenario.world, scenario.topics, scenario.codec, full.append),
        CountRecorder(scenario.world, scenario.topics, counts.append),
    )
    scenario.run()
    lines = [json.loads(line) for line in b"".join(counts).splitlines()]
    records = [DEFAULTS | json.loads(line) for line in b"".join(full).splitlines()]
    assert [line["record"] for line in lines] == ["count"] * (len(lines) - 1) + ["total"]
    return Run(experiment, records, lines[:-1], lines[-1])


# The second computation


def members(records: Iterable[Line]) -> dict[str, dict[int, int]]:
    """By community that anybody ever joined: who is in it in the end, and since when."""
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for record in records:
        community, agent = record["community"], record["agent"]
        match record["kind"]:
            case "join":
                found[community].setdefault(agent, record["time"])
            case "leave":
                found[community].pop(agent, None)
            case "crash":
                for agents in found.values():
                    agents.pop(agent, None)
    return found


def counts_by_definition(run: Run) -> dict[tuple[str, str], Line]:
    communities, topics = members(run.records), run.experiment.topics()
    by_event: dict[str, list[Line]] = defaultdict(list)
    for record in run.records:
        if record["event"]:
            by_event[record["event"]].append(record)
    found = {}
    for event, records in by_event.items():
        published = records[0]
        assert published["kind"] == "publish"
        above = (published["topic"], *topics.ancestors(published["topic"]))
        named = {record["community"] for record in records} | {published["topic"]}
        for community in named | (communities.keys() & set(above)):
            there = communities.get(community, {}) if community in above else {}
            found[event, community] = count_by_definition(
                published,
                community,
                [record for record in records if record["community"] == community],
                [agent for agent, since in there.items() if since <= published["time"]],
                {record["agent"] for record in records if record["kind"] == "deliver"},
            )
    return found


def count_by_definition(
    published: Line, community: str, records: list[Line], living: list[int], reached: set[int]
) -> Line:
    kinds: dict[str, list[Line]] = defaultdict(list)
    for record in records:
        kinds[record["kind"]].append(record)
    sends, receptions = kinds["send"], kinds["receive"]
    at_home = community in (published["topic"], published["community"])
    had = {published["agent"]} if at_home else set()
    first: list[Line] = []
    for reception in receptions:
        assert reception["duplicate"] is (reception["agent"] in had)
        if reception["agent"] not in had:
            had.add(reception["agent"])
            first.append(reception)
    times = [record["time"] - published["time"] for record in first]
    hops = [record["hop"] for record in first]
    return {
        "record": "count",
        "point": 0,
        "repetition": 0,
        "event": published["event"],
        "topic": published["topic"],
        "community": community,
        "published": published["time"],
        "sent": sum(not record["upward"] for record in sends),
        "received": len(receptions),
        "duplicates": len(receptions) - len(first),
        "parasites": sum(record["parasite"] for record in receptions),
        "dropped": sum(record["cause"] != "refused" for record in kinds["drop"]),
        "upward_sent": sum(record["upward"] for record in sends),
        "upward_senders": len({record["agent"] for record in sends if record["upward"]}),
        "upward_received": sum(record["upward"] for record in receptions),
        "delivered": len(kinds["deliver"]),
        "members": len(living),
        "reached": len(reached.intersection(living)),
        "first_hop": min(hops, default=0),
        "last_hop": max(hops, default=0),
        "first_ns": min(times, default=0),
        "median_ns": median_low(times) if times else 0,
        "last_ns": max(times, default=0),
    }


def total_by_definition(run: Run) -> Line:
    kinds = Counter(record["kind"] for record in run.records)
    dropped = Counter(record["cause"] for record in run.records if record["kind"] == "drop")
    control = Counter(
        record["message"]
        for record in run.records
        if record["kind"] == "send" and not record["event"]
    )
    sizes: dict[str, list[int]] = defaultdict(list)
    for record in run.records:
        if record["kind"] == "table":
            sizes[f"{record['community']}/{record['message']}"].append(record["size"])
    lost = dropped.total() - dropped["refused"]
    return {
        "record": "total",
        "point": 0,
        "repetition": 0,
        "time": max(record["time"] for record in run.records),
        "sent": kinds["send"],
        "received": kinds["receive"],
        "in_flight": kinds["send"] - kinds["receive"] - lost,
        "dropped": {cause: count for cause, count in dropped.items() if count},
        "control_sent": control.total(),
        "control_by_kind": dict(control),
        "tables": {
            name: [len(found), pytest.approx(mean(found)), min(found), max(found)]
            for name, found in sizes.items()
        },
    }


def by_place(counts: Iterable[Line]) -> dict[tuple[str, str], Line]:
    counts = list(counts)
    found = {(line["event"], line["community"]): line for line in counts}
    assert len(found) == len(counts)  # one line for each event and community
    return found


def check_all(run: Run) -> None:
    assert by_place(run.counts) == counts_by_definition(run)
    assert run.total == total_by_definition(run)
    check_conservation(run)


def check_conservation(run: Run) -> None:
    """Each copy and each message is somewhere."""
    total, on_its_way = run.total, Counter[tuple[Any, ...]]()
    lost = sum(count for cause, count in total["dropped"].items() if cause != "refused")
    assert total["sent"] == total["received"] + total["in_flight"] + lost
    assert total["in_flight"] >= 0
    for record in run.records:
        message = (record["event"], record["hop"], record["message"], record["size"])
        if record["kind"] == "send":
            on_its_way[record["agent"], record["peer"], *message] += 1
        elif record["kind"] == "receive" or (
            record["kind"] == "drop" and record["cause"] != "refused"
        ):
            on_its_way[record["peer"], record["agent"], *message] -= 1
            # No message arrives or is dropped that was not sent before.
            assert on_its_way[record["peer"], record["agent"], *message] >= 0
    assert on_its_way.total() == total["in_flight"]


# Many experiments

COMMUNITIES: dict[str, object] = {
    "root": ".a",
    "communities": {".a": 5, ".a.d": 12, ".a.d.g": 30, ".a.x": 6},
    "agents": [{"topics": [".a.d.g", ".a.x"], "count": 4}],
}
WORKLOAD = [
    {"topic": ".a.d.g", "at": "6s", "count": 3, "every": "2s"},
    {"topic": ".a.d", "at": "7s", "count": 2, "every": "3s", "bytes": 0},
    {"topic": ".a.x", "at": "8s", "publisher": 20},  # who is in another community
]
DRAMA = [
    {"kind": "crash", "at": "7s", "for": "3s", "fraction": 0.3},
    {"kind": "crash", "at": "9s", "count": 2, "communities": [".a"]},
    {"kind": "partition", "at": "8s", "until": "9s", "groups": [[".a", ".a.d"], [".a.x"]]},
    {"kind": "loss", "at": "10s", "loss": 0.5, "from": ".a.d.g", "to": ".a.d"},
    {
        "kind": "churn",
        "from": "5s",
        "until": "12s",
        "on": {"exponential": "20s"},
        "off": {"uniform": ["100ms", "2s"]},
        "communities": [".a.d.g"],
    },
]
CIRCUMSTANCES: dict[str, dict[str, object]] = {
    "calm": {},
    "rounds": {"network": {"latency": "rounds"}},
    "loss": {"network": {"loss": 0.2, "latency": {"uniform": ["1ms", "40ms"]}}},
    "pair losses": {
        "network": {
            "loss": 0.05,
            "losses": [{"from": ".a.d.g", "to": ".a.d", "loss": 0.8}],
            "latency": {"exponential": "30ms"},
        }
    },
    "stillborn": {"faults": [{"kind": "stillborn", "fraction": 0.4}]},
    "suspicion": {"faults": [{"kind": "weakly-consistent", "fraction": 0.3}]},
    "drama": {"network": {"loss": 0.1, "latency": {"list": ["2ms", "90ms"]}}, "faults": DRAMA},
    "cut short": {
        "network": {"latency": {"fixed": "700ms"}},
        "duration": "9s",
        "faults": DRAMA[:1],
    },
}


def document(protocol: str, membership: str, circumstances: str) -> dict[str, object]:
    parameters: dict[str, object] = {"name": protocol}
    if protocol in ("camcast", "damulticast"):
        parameters |= {"maintain_every_s": 2, "c": 2, "tau": 2}
    bootstrap = {"spacing": "20ms", "contacts": 2} if membership == "scamp" else {}
    found: dict[str, object] = {
        "name": "both-levels",
        "protocol": parameters,
        "membership": {"name": membership, "heartbeat_s": 1, "lease_s": 20}
        if membership == "scamp"
        else membership,
        "bootstrap": bootstrap,
        "workload": WORKLOAD,
        "duration": "16s",
        **COMMUNITIES,
        **CIRCUMSTANCES[circumstances],
    }
    if circumstances == "cut short":
        found["workload"] = [{"topic": ".a.d.g", "at": "6s", "count": 9, "every": "300ms"}]
    return found


NAMES = [(protocol.name, membership.name) for protocol, membership in PAIRS]


@pytest.mark.parametrize("circumstances", CIRCUMSTANCES)
@pytest.mark.parametrize(("protocol", "membership"), NAMES)
def test_both_levels_say_the_same_numbers(
    protocol: str, membership: str, circumstances: str
) -> None:
    found = run(document(protocol, membership, circumstances))

    assert found.counts
    check_all(found)


@pytest.mark.parametrize("seed", range(2, 6))
def test_both_levels_say_the_same_numbers_whatever_the_seed(seed: int) -> None:
    check_all(run(document("camcast", "scamp", "drama"), seed))


def test_the_experiments_above_have_everything_that_is_compared() -> None:
    """Numbers that are zero everywhere would agree without saying anything."""
    runs = [
        run(document("camcast", "scamp", "drama")),
        run(document("gossip-broadcast", "static", "suspicion")),
        run(document("gossip-broadcast", "static", "cut short")),
    ]
    causes: Counter[str] = Counter()
    for found in runs:
        causes.update(found.total["dropped"])
    kinds = {record["kind"] for found in runs for record in found.records}

    # `leave` is for those who stop in good order, which no fault of an experiment does.
    assert kinds == {
        *("publish", "send", "receive", "deliver", "drop", "join"),
        *("crash", "restart", "table", "impairment"),
    }
    assert causes.keys() >= {"loss", "partition", "suspected", "crashed"}
    assert runs[2].total["in_flight"] > 0
    for field in runs[0].counts[0].keys() - {"record", "point", "repetition", "event"}:
        assert any(line[field] for found in runs for line in found.counts), field


def test_what_is_refused_is_in_both_levels_a_reception_that_was_dropped() -> None:
    # Agent 20 joins `.a.x` only to publish there. In its next life it does not know of that, while
    # others still have it in their tables.
    found = run(
        document("gossip-multicast", "scamp", "calm")
        | {
            "workload": [
                {"topic": ".a.x", "at": "6s", "publisher": 20},
                {"topic": ".a.x", "at": "9s", "count": 9, "every": "100ms"},
            ],
            "faults": [{"kind": "crash", "at": "8s", "for": "500ms", "agents": [20]}],
        }
    )

    refused = [record for record in found.records if record["cause"] == "refused"]
    assert refused
    assert {(record["kind"], record["agent"]) for record in refused} == {("drop", 20)}
    check_all(found)


def test_without_an_end_nothing_of_an_event_is_left_on_its_way() -> None:
    endless = document("camcast", "static", "rounds")
    del endless["duration"]
    found = run(endless)

    check_all(found)
    sends = Counter(r["event"] for r in found.records if r["kind"] == "send" and r["event"])
    receptions = Counter(r["event"] for r in found.records if r["kind"] == "receive" and r["event"])
    assert sends == receptions


# The records themselves


def test_an_agent_of_many_groups_is_said_to_come_once_and_to_go_once_by_both_levels() -> None:
    below = {"topic": ".x", "at": "5s", "publisher": 0}
    experiment = {
        "name": "leaving",
        "protocol": "gossip-multicast",
        "communities": {".a": 4, ".a.b": 2, ".a.b.c": 2, ".x": 2},
        "workload": [{"topic": ".a.b.c", "at": "9s", "publisher": 1}, below],
        "duration": "10s",
    }
    scenario = Scenario(parse(experiment).points[0].experiment, 1)
    world, full, counts = scenario.world, list[bytes](), list[bytes]()
    world.recorder = SeveralRecorders(
        FullRecorder(world, scenario.topics, scenario.codec, full.append),
        CountRecorder(world, scenario.topics, counts.append),
    )
    # Agent 0 publishes to a group that is not its own, and leaves it; agent 3 stops altogether.
    world.at(6_000_000_000, lambda: world.unsubscribe(0, Topic(".x")))
    world.at(6_000_000_000, lambda: world.stop(3))
    scenario.run()

    records = [DEFAULTS | json.loads(line) for line in b"".join(full).splitlines()]
    moves = [(r["kind"], r["agent"], r["community"]) for r in records]
    assert moves.count(("join", 0, ".a")) == 1
    assert [move for move in moves if move[0] == "leave"] == [
        ("leave", 0, ".x"),
        ("leave", 3, ".a"),
    ]
    lines = [json.loads(line) for line in b"".join(counts).splitlines()]
    (count,) = (
        line for line in lines if line.get("topic") == ".a.b.c" and line["community"] == ".a"
    )
    assert (count["members"], count["reached"]) == (3, 3)


def test_a_record_leaves_out_what_has_its_default_and_says_the_rest() -> None:
    scenario = Scenario(parse(document("camcast", "static", "calm")).points[0].experiment, 1)
    lines: list[bytes] = []
    scenario.world.recorder = FullRecorder(
        scenario.world, scenario.topics, scenario.codec, lines.append
    )
    scenario.run()

    first = next(json.loads(line) for line in lines if b'"publish"' in line)
    assert first.keys() == {"time", "kind", "agent", "community", "event", "topic", "size"}
    for line in lines:
        assert line.endswith(b"\n")
        assert line.count(b"\n") == 1
        fields = json.loads(line)
        assert not any(
            fields[name] == default for name, default in DEFAULTS.items() if name in fields
        )
        assert msgspec.json.encode(msgspec.json.decode(line, type=Record)) + b"\n" == line


def test_a_messages_size_is_that_of_its_bytes_on_the_wire() -> None:
    small = document("gossip-broadcast", "static", "calm")
    large = small | {"workload": [{"topic": ".a.d.g", "at": "6s", "bytes": 1000}]}
    small["workload"] = [{"topic": ".a.d.g", "at": "6s", "bytes": 10}]
    sizes = []
    for found in (run(small), run(large)):
        here = {record["size"] for record in found.records if record["kind"] == "send"}
        sizes.append(here)
        assert here == {r["size"] for r in found.records if r["kind"] == "receive"}

    # A longer length takes two bytes more in MessagePack's `bin 16` than in its `bin 8`: one.
    assert sizes[1] == {size + 990 + 1 for size in sizes[0]}


def test_in_rounds_a_hop_is_the_round_since_the_publication() -> None:
    found = run(document("camcast", "static", "rounds"))
    published = {r["event"]: r["time"] for r in found.records if r["kind"] == "publish"}

    receptions = [r for r in found.records if r["kind"] == "receive" and r["event"]]
    assert receptions
    for record in receptions:
        assert record["time"] - published[record["event"]] == record["hop"] * 10**9
    for line in found.counts:
        assert line["last_ns"] <= line["last_hop"] * 10**9


def test_impairments_are_noted_when_they_begin_and_when_they_change() -> None:
    found = run(
        document("camcast", "static", "drama")
        | {
            "network": {"loss": 0.1, "losses": [{"from": ".a", "to": ".a.d", "loss": 0.2}]},
            "faults": [*DRAMA, {"kind": "weakly-consistent", "fraction": 0.25}],
        }
    )

    assert [
        (r["time"] // 10**9, r["cause"], r["value"], r["community"], r["topic"])
        for r in found.records
        if r["kind"] == "impairment"
    ] == [
        (0, "loss", 0.1, "", ""),
        (0, "loss", 0.2, ".a", ".a.d"),
        (0, "suspected", 0.25, "", ""),
        (8, "partition", 0, ".a", ""),
        (8, "partition", 0, ".a.d", ""),
        (8, "partition", 1, ".a.x", ""),
        (9, "partition", -1, "", ""),
        (10, "loss", 0.5, ".a.d.g", ".a.d"),
    ]
