"""One journal out of many, and the books closed over copies that nobody received."""

from pathlib import Path
from typing import Any

import msgspec

from agents.core.journal import Header, Record
from testbed.lan.collecting import close_books, read, write

HEADER = Header(level="full", engine="lan", run="r", seed=1)
SECOND = 1_000_000_000


def record(time: float, kind: Any, agent: int, **fields: Any) -> Record:
    return Record(time=round(time * SECOND), kind=kind, agent=agent, **fields)


def send(time: float, agent: int, peer: int, **fields: Any) -> Record:
    return record(time, "send", agent, peer=peer, event="e", hop=1, message="Spread", **fields)


def receive(time: float, agent: int, peer: int) -> Record:
    return record(time, "receive", agent, peer=peer, event="e", hop=1, message="Spread")


def joined(*agents: int) -> list[Record]:
    return [record(0, "join", agent, community=".a") for agent in agents]


def file_with(path: Path, *records: Record, tail: bytes = b"") -> Path:
    lines = [msgspec.json.encode(line) + b"\n" for line in (HEADER, *records)]
    path.write_bytes(b"".join(lines) + tail)
    return path


def test_records_of_all_files_are_laid_together_in_the_order_of_their_times(tmp_path: Path) -> None:
    first = file_with(tmp_path / "a.jsonl", send(1, 0, 1), send(3, 0, 1))
    second = file_with(tmp_path / "b.jsonl", receive(2, 1, 0))

    write(tmp_path / "all.jsonl", HEADER, read([first, second]))

    header, *rest = (tmp_path / "all.jsonl").read_bytes().splitlines()
    assert msgspec.json.decode(header, type=Header) == HEADER
    times = [msgspec.json.decode(line, type=Record).time for line in rest]
    assert times == [SECOND, 2 * SECOND, 3 * SECOND]


def test_a_torn_last_line_is_kept_for_the_analysis_to_count(tmp_path: Path) -> None:
    torn = b'{"time":99,"kind":"se'
    file = file_with(tmp_path / "a.jsonl", send(1, 0, 1), tail=torn)

    found = read([file])

    assert (len(found.records), found.torn) == (1, [torn])


def test_a_journal_that_should_be_there_and_is_not_is_named(tmp_path: Path) -> None:
    there = file_with(tmp_path / "a.jsonl")

    found = read([there], expected=[there, tmp_path / "b.jsonl"])

    assert found.missing == ["b.jsonl"]


def test_what_everybody_received_leaves_nothing_to_explain() -> None:
    records = [*joined(0, 1), send(1, 0, 1), receive(1.1, 1, 0)]

    assert close_books(records, {}) == []


def test_a_copy_to_one_that_was_down_was_lost_to_its_crash() -> None:
    records = [*joined(0, 1), record(1, "crash", 1), send(2, 0, 1, community=".a")]

    (drop,) = close_books(records, {})

    assert (drop.kind, drop.cause, drop.agent, drop.peer) == ("drop", "crashed", 1, 0)
    assert (drop.community, drop.event, drop.time) == (".a", "e", 2 * SECOND)


def test_a_copy_that_arrived_just_before_the_crash_may_have_died_unread_with_the_agent() -> None:
    records = [*joined(0, 1), send(0.9, 0, 1), record(1, "crash", 1)]

    assert len(close_books(records, {})) == 1


def test_a_copy_long_before_the_crash_or_after_the_restart_is_not_explained_by_it() -> None:
    lives = [*joined(0, 1), record(5, "crash", 1), record(6, "restart", 1)]

    assert close_books([*lives, send(1, 0, 1)], {}) == []
    assert close_books([*lives, send(7, 0, 1)], {}) == []


def test_a_copy_to_one_that_never_came_up_was_lost_to_that() -> None:
    assert len(close_books([*joined(0), send(1, 0, 7)], {})) == 1


def test_what_the_network_counted_is_not_put_down_to_a_crash_as_well() -> None:
    lost_by_the_network = record(9, "drop", 1, peer=0, cause="loss", copies=2)
    records = [
        *joined(0, 1, 2),
        record(1, "crash", 1),
        *(send(2 + 0.1 * number, 0, 1) for number in range(3)),
        lost_by_the_network,
    ]

    assert len(close_books(records, {})) == 1


def test_what_the_network_dropped_between_others_explains_nothing_here() -> None:
    lost_elsewhere = record(9, "drop", 2, peer=0, cause="loss", copies=2)
    records = [*joined(0, 1, 2), record(1, "crash", 1), send(2, 0, 1), lost_elsewhere]

    assert len(close_books(records, {})) == 1


def test_an_upward_copy_is_put_down_to_its_receivers_community() -> None:
    records = [*joined(0, 1), record(1, "crash", 1), send(2, 0, 1, community=".a.b", upward=True)]

    (drop,) = close_books(records, {1: ".a"})

    assert (drop.community, drop.upward) == (".a", True)


def test_a_drop_that_names_its_copy_is_an_explanation() -> None:
    refused_by_the_queue = record(
        2, "drop", 1, peer=0, event="e", hop=1, message="Spread", cause="overflow"
    )
    records = [*joined(0, 1), record(1, "crash", 1), send(2, 0, 1), refused_by_the_queue]

    assert close_books(records, {}) == []
