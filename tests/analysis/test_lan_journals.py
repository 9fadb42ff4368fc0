"""Journals of the LAN, made by hand: a file for each agent and life, and one of what was done to them.

Two communities, four agents. Agent 0 publishes event `0-1` of `.a` at 1 s; agent 2 crashes at 2 s,
lives again at 3 s, and is there for event `0-2` at 4 s, of which the network drops a copy unseen.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from agents.core.journal import Header, Record
from analysis.job import Result, analyse_with
from analysis.runs import read_run, read_runs
from tests.analysis import plain

Analyse = Callable[[Path], Result]
S, MS = 1_000_000_000, 1_000_000


def copy(
    event: str, sender: int, to: int, at: int, took: int, hop: int, **more: Any
) -> dict[str, list[Record]]:
    """A send in one file, and a receive in the other, by the same clock."""
    both: dict[str, Any] = {"event": event, "hop": hop, "message": "Copy", "size": 40}
    upward = bool(more.get("upward"))
    send = Record(
        time=at, kind="send", agent=sender, peer=to, community=".a", upward=upward, **both
    )
    there = {"community": "." if upward else ".a", **more, **both}
    receive = Record(time=at + took, kind="receive", agent=to, peer=sender, **there)
    return {"send": [send], "receive": [receive]}


def joined(agent: int, community: str, time: int) -> Record:
    return Record(time=time, kind="join", agent=agent, community=community)


def delivered(agent: int, event: str, time: int, community: str = ".a") -> Record:
    return Record(time=time, kind="deliver", agent=agent, event=event, community=community)


def files() -> dict[str, list[Record]]:
    one = copy("0-1", 0, 1, 1 * S, 5 * MS, 1)
    two = copy("0-1", 0, 2, 1 * S, 9 * MS, 1)
    again = copy("0-1", 1, 2, 1 * S + 6 * MS, 5 * MS, 2, duplicate=True)
    up = copy("0-1", 1, 3, 1 * S + 6 * MS, 20 * MS, 2, upward=True)
    late = copy("0-2", 0, 2, 4 * S, 7 * MS, 1)
    lost = copy("0-2", 0, 1, 4 * S, 0, 1)["send"]
    control = Record(time=2 * S + 1, kind="send", agent=1, peer=2, message="Ping", size=9)
    return {
        "agent-000-0": [
            joined(0, ".a", 10),
            Record(
                time=1 * S, kind="publish", agent=0, community=".a", event="0-1", topic=".a", size=8
            ),
            delivered(0, "0-1", 1 * S),
            *one["send"],
            *two["send"],
            Record(
                time=4 * S, kind="publish", agent=0, community=".a", event="0-2", topic=".a", size=8
            ),
            delivered(0, "0-2", 4 * S),
            *late["send"],
            *lost,
            Record(time=5 * S, kind="table", agent=0, community=".a", message="members", size=2),
        ],
        "agent-001-0": [
            joined(1, ".a", 20),
            *one["receive"],
            delivered(1, "0-1", 1 * S + 5 * MS),
            *again["send"],
            *up["send"],
            control,
            Record(time=5 * S, kind="table", agent=1, community=".a", message="members", size=1),
        ],
        "agent-002-0": [
            joined(2, ".a", 30),
            *two["receive"],
            delivered(2, "0-1", 1 * S + 9 * MS),
            *again["receive"],
        ],
        "agent-002-1": [
            Record(time=3 * S, kind="restart", agent=2),
            joined(2, ".a", 3 * S + 1),
            *late["receive"],
            delivered(2, "0-2", 4 * S + 7 * MS),
        ],
        "agent-003-0": [
            joined(3, ".", 40),
            *up["receive"],
            delivered(3, "0-1", 1 * S + 26 * MS, "."),
        ],
        # Whose copies the network dropped it did not see; the ping was for one who was down.
        "lan": [
            Record(time=2 * S, kind="crash", agent=2),
            Record(time=2 * S + 2, kind="drop", agent=2, peer=1, message="Ping", cause="crashed"),
            Record(time=5 * S, kind="drop", agent=-1, cause="loss", copies=1),
        ],
    }


EXPERIMENT = {
    "root": ".",
    "topics": {},
    "communities": {".": 1, ".a": 3},
    "agents": [],
    "network": {"loss": 0.1},
    "faults": [],
    "title": "",
    "transport": "udp",
    "expect": [],
}


def write(folder: Path, repetitions: int = 1) -> Path:
    (folder / "journal").mkdir(parents=True)
    names = {}
    for repetition in range(repetitions):
        header = Header(
            level="full", engine="lan", run="made", seed=repetition, repetition=repetition
        )
        for name, records in files().items():
            path = folder / "journal" / f"p0000-r{repetition:04}-{name}.jsonl"
            lines = [msgspec.json.encode(line) for line in (header, *records)]
            path.write_bytes(b"\n".join(lines) + b"\n")
            names[path.name] = ""
    manifest = {"status": "done", "experiment": "made", "engine": "lan", "journals": names}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    points = [{"index": 0, "labels": {}, "experiment": EXPERIMENT}]
    (folder / "points.json").write_text(json.dumps(points))
    return folder


@pytest.fixture
def analyse(spark: SparkSession) -> Analyse:
    return lambda path: analyse_with(spark, read_runs([path]))


def test_the_files_of_a_repetition_are_one_journal(analyse: Analyse, tmp_path: Path) -> None:
    result = analyse(write(tmp_path / "made", repetitions=2))
    assert result.problems == ()
    found = {(m.point, m.community, m.name): m.value for m in result.metrics}
    assert {value.n for value in found.values()} == {2}
    assert {place: value.mean for place, value in found.items()} == pytest.approx(
        plain.means(tmp_path / "made")
    )
    worked_out = {
        # Who crashed between the events is a living member for the second alone, and agent 1,
        # which lives, did not get that.
        (".a", "members"): (2 + 3) / 2,
        (".a", "reception"): (2 / 2 + 2 / 3) / 2,
        (".a", "reliability"): 1 / 2,
        (".", "reception"): 1 / 2,
        (".a", "sent"): (3 + 2) / 2,
        (".a", "received"): (3 + 1) / 2,
        (".a", "efficiency"): 3 / 4,
        (".a", "upward_sent"): 1 / 2,
        (".", "upward_received"): 1 / 2,
        (".a", "first_ms"): (5 + 7) / 2,
        (".a", "last_ms"): (9 + 7) / 2,
        (".", "last_ms"): 26,
        (".", "rounds"): 2,
        ("*", "control Ping"): 1,
        (".a", "table members"): 1.5,
    }
    for (community, name), value in worked_out.items():
        assert found[0, community, name].mean == pytest.approx(value), name


def test_messages_are_conserved_across_files(analyse: Analyse, tmp_path: Path) -> None:
    (row,) = analyse(write(tmp_path / "made", repetitions=2)).conservation
    none = dict.fromkeys(("partition", "suspected", "overflow"), 0)
    assert row == {
        **{"folder": 0, "point": 0, "repetitions": 2, "sent": 14, "received": 10},
        **{"loss": 2, "crashed": 2, "remainder": 0, **none},
    }


def test_a_drop_stands_for_as_many_as_were_counted(analyse: Analyse, tmp_path: Path) -> None:
    run = write(tmp_path / "made")
    full = Record(time=6 * S, kind="drop", agent=1, cause="overflow", copies=40)
    with (run / "journal/p0000-r0000-lan.jsonl").open("ab") as file:
        file.write(msgspec.json.encode(full) + b"\n")
    (row,) = analyse(run).conservation
    assert (row["overflow"], row["loss"], row["remainder"]) == (40, 1, -40)


def test_a_missing_agents_file_is_counted_and_said(analyse: Analyse, tmp_path: Path) -> None:
    run = write(tmp_path / "made")
    (run / "journal/p0000-r0000-agent-001-0.jsonl").unlink()
    (run / "journal/p0000-r0000-agent-002-1.jsonl").unlink()
    result = analyse(run)
    assert result.problems == (
        f"{run}: 2 journals are missing: p0000-r0000-agent-001-0.jsonl, "
        "p0000-r0000-agent-002-1.jsonl",
    )
    (row,) = result.conservation
    assert (row["sent"], row["received"]) == (4, 3)


def test_the_line_that_a_killed_agent_was_writing_costs_only_itself(
    analyse: Analyse, tmp_path: Path
) -> None:
    run = write(tmp_path / "made")
    before = analyse(run)
    path = run / "journal/p0000-r0000-agent-002-0.jsonl"
    path.write_bytes(path.read_bytes() + b'{"time":2000000000,"kind":"se')
    after = analyse(run)
    assert after.problems == (f"{path}: 1 line is torn and left out",)
    assert (after.metrics, after.conservation) == (before.metrics, before.conservation)


def test_what_was_noticed_while_it_ran_is_said(tmp_path: Path) -> None:
    run = write(tmp_path / "made")
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["problems"] = ["point 0, repetition 0: 1 agent did not take part"]
    (run / "manifest.json").write_text(json.dumps(manifest))
    assert read_run(run).problems == (f"{run}: point 0, repetition 0: 1 agent did not take part",)


FACTS = [
    {
        **{"what": "rate, h001", "asked": 100, "achieved": 63.25},
        **{"unit": "Mbit/s", "bound": 5, "ok": False},
    },
    {"what": "lag", "asked": None, "achieved": 2, "unit": "ms", "bound": 100, "ok": True},
]


def test_what_the_machine_achieved_is_read_and_warned_of(tmp_path: Path) -> None:
    run = write(tmp_path / "made")
    (run / "fidelity.json").write_text(json.dumps(FACTS))
    found = read_run(run)
    assert [fact.what for fact in found.fidelity] == ["rate, h001", "lag"]
    assert found.warnings == (
        f"{run}: not as asked: rate, h001: 63.25 Mbit/s, asked for 100 Mbit/s, bound 5 Mbit/s",
    )
    assert found.problems == ()


def test_a_run_that_was_asked_nothing_of_a_machine_has_no_warnings(tmp_path: Path) -> None:
    found = read_run(write(tmp_path / "made"))
    assert found.fidelity == found.warnings == found.problems == ()


@pytest.mark.parametrize("data", [b"", b"{", b"{}", b"[1]", b'[{"what":"rate"}]', b"\xff"])
def test_what_was_achieved_and_cannot_be_read_is_said(tmp_path: Path, data: bytes) -> None:
    run = write(tmp_path / "made")
    (run / "fidelity.json").write_bytes(data)
    assert read_run(run).problems == (
        f"{run}: fidelity.json cannot be read: what the machine achieved is not known",
    )
