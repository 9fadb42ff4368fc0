"""One journal out of many, and the books closed over copies that nobody received."""

from pathlib import Path
from typing import Any

import msgspec

from agents.core.journal import Header, Record
from testbed.lan.collecting import close_books, cut, last_tables, read, write

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


def test_a_copy_may_have_died_with_its_sender() -> None:
    lives = [*joined(0, 1), record(5, "crash", 0)]

    assert len(close_books([*lives, send(4.9, 0, 1)], {})) == 1
    assert close_books([*lives, send(4, 0, 1)], {}) == []


def test_what_waited_unread_for_one_that_was_frozen_died_with_it() -> None:
    lives = [*joined(0, 1), send(1, 0, 1), receive(1.1, 1, 0), record(9, "crash", 1)]

    assert len(close_books([*lives, send(3, 0, 1)], {})) == 1


def test_the_networks_count_goes_first_to_what_no_crash_explains() -> None:
    records = [
        *joined(0, 1),
        record(1, "crash", 1),
        send(2, 0, 1),
        record(3, "restart", 1),
        send(5, 0, 1),
        record(9, "drop", 1, peer=0, cause="loss", copies=1),
    ]

    (drop,) = close_books(records, {})

    assert (drop.cause, drop.time) == ("crashed", 2 * SECOND)


def test_over_tcp_what_is_sent_just_after_a_restart_may_go_to_the_life_before() -> None:
    records = [*joined(0, 1), record(1, "crash", 1), record(2, "restart", 1), send(3, 0, 1)]

    assert close_books(records, {}) == []
    assert len(close_books(records, {}, lingering_ns=10 * SECOND)) == 1


def test_only_copies_of_the_time_in_which_drops_were_counted_stay() -> None:
    from_before = receive(1.01, 1, 0)
    before = [send(0.9, 1, 0), receive(1.02, 0, 1)]
    within = [send(2, 0, 1), receive(2.1, 1, 0), send(2.9, 1, 0), receive(3.1, 0, 1)]
    after = [send(3.2, 0, 1), receive(3.3, 1, 0)]

    kept = cut([*joined(0, 1), from_before, *before, *within, *after], SECOND, 3 * SECOND)

    assert kept == [*joined(0, 1), *within]


def test_a_copy_of_one_who_has_turned_to_the_next_journal_is_none_of_this_one() -> None:
    from_the_next = receive(3.25, 1, 0)
    within = [send(2, 0, 1), receive(2.1, 1, 0)]

    assert cut([*joined(0, 1), *within, from_the_next], SECOND, 3 * SECOND) == [
        *joined(0, 1),
        *within,
    ]


def test_what_was_dropped_while_the_counts_were_read_is_taken_off() -> None:
    counted = record(4, "drop", 1, peer=0, cause="loss", copies=3)
    lost, lost_late = send(2, 0, 1), [send(3.1, 0, 1), send(3.2, 0, 1)]

    kept = cut([*joined(0, 1), lost, *lost_late, counted], 0, 3 * SECOND)

    assert [one.copies for one in kept if one.kind == "drop"] == [1]


def test_more_drops_than_copies_are_told_as_they_were_counted() -> None:
    counted = record(4, "drop", 1, peer=0, cause="loss", copies=3)

    kept = cut([*joined(0, 1), send(2, 0, 1), counted], 0, 3 * SECOND)

    assert kept[-1] == counted


def test_an_arrival_belongs_to_the_copy_that_was_just_sent_and_not_to_an_older_one() -> None:
    older, newer, arrival = send(0.5, 0, 1), send(2, 0, 1), receive(2.1, 1, 0)

    assert cut([older, newer, arrival], SECOND, 3 * SECOND) == [newer, arrival]


def test_what_one_got_after_a_short_crash_is_not_what_was_sent_to_it_in_between() -> None:
    records = [
        *joined(0, 1),
        record(1, "crash", 1),
        send(1.05, 0, 1),
        record(1.1, "restart", 1),
        send(1.15, 0, 1),
        receive(1.16, 1, 0),
    ]

    (drop,) = close_books(records, {})

    assert (drop.cause, drop.time) == ("crashed", 1.05 * SECOND)


def test_what_waited_for_a_frozen_one_all_belongs_to_what_was_sent() -> None:
    waiting = [send(time, 0, 1) for time in (1, 2, 3)]
    read_at_once = [receive(9 + time / 1000, 1, 0) for time in (1, 2, 3)]

    assert close_books([*joined(0, 1), *waiting, *read_at_once], {}) == []


def test_one_may_send_until_the_kill_that_was_written_down_has_come() -> None:
    lives = [*joined(0, 1), record(5, "crash", 0), record(6, "restart", 0)]

    assert len(close_books([*lives, send(5.01, 0, 1)], {})) == 1
    assert close_books([*lives, send(6.01, 0, 1)], {}) == []


def test_one_that_is_killed_again_before_it_was_started_was_down_all_the_time() -> None:
    crashes = [record(1, "crash", 1), record(5, "crash", 1), record(6, "restart", 1)]

    assert len(close_books([*joined(0, 1), *crashes, send(2, 0, 1)], {})) == 1


def test_of_tables_that_were_written_down_twice_the_last_stays() -> None:
    first = record(1, "table", 0, community=".a", message="topic", size=3)
    other = record(1, "table", 1, community=".a", message="topic", size=3)
    last = record(2, "table", 0, community=".a", message="topic", size=5)

    assert last_tables([first, other, last]) == [other, last]
