"""What counts come to."""

from __future__ import annotations

from typing import Any

from agents.core.journal import Count
from testbed.summary import Row, summarise


def count(**facts: Any) -> Count:
    return Count(**{"event": "0-1", "topic": ".a", "community": ".a", "published": 0, **facts})


def test_nothing_comes_to_nothing() -> None:
    assert summarise([]) == []


def test_a_row_is_the_mean_over_events_and_repetitions() -> None:
    first = count(
        members=10, reached=10, sent=30, received=20, duplicates=11, upward_sent=3, last_hop=4
    )
    second = count(
        repetition=1,
        members=8,
        reached=6,
        sent=20,
        received=10,
        duplicates=4,
        parasites=5,
        upward_sent=1,
        last_hop=7,
    )
    assert summarise([first, second]) == [
        Row(
            point=0,
            community=".a",
            members=9.0,
            reception=(1 + 6 / 8) / 2,
            reliability=0.5,
            sent=25.0,
            efficiency=15 / 30,
            upward=2.0,
            parasites=2.5,
            rounds=5.5,
        )
    ]


def test_rows_come_by_point_and_community_in_the_order_of_their_first_counts() -> None:
    places = [(0, ".b"), (0, "."), (1, "."), (0, ".b"), (1, ".b")]
    rows = summarise(count(point=point, community=name) for point, name in places)
    assert [(row.point, row.community) for row in rows] == [
        (0, ".b"),
        (0, "."),
        (1, "."),
        (1, ".b"),
    ]


def test_shares_of_nothing_are_left_open() -> None:
    (row,) = summarise([count(parasites=0, sent=4)])
    assert (row.reception, row.reliability, row.efficiency, row.rounds) == (None, None, None, None)
    assert (row.members, row.sent) == (0.0, 4.0)


def test_an_event_without_living_members_is_left_out_of_reception_alone() -> None:
    (row,) = summarise([count(members=4, reached=4, sent=8), count(members=0, sent=2)])
    assert (row.members, row.reception, row.reliability, row.sent) == (2.0, 1.0, 1.0, 5.0)


def test_rounds_are_over_the_events_that_got_there_at_all() -> None:
    (row,) = summarise([count(members=2, last_hop=6), count(members=2, last_hop=0)])
    assert row.rounds == 6.0
    assert row.reception == 0.0
