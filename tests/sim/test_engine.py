"""The engine: what is due when, in which order, and where time stands in the end."""

from __future__ import annotations

from heapq import heappop, heappush

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.sim.engine import RING, Engine, Entry
from tests.support.properties import steady

FAR = 10**12


class Hearing:
    """An engine, and everything that it handed over, with the tick at which it did."""

    def __init__(self) -> None:
        self.engine = Engine(self._process)
        self.heard: list[tuple[int, object]] = []
        self.lists = 0
        self.replies: dict[object, list[tuple[int, object]]] = {}
        """By entry: the delays and names of what is appended when it is handed over."""

    def _process(self, entries: list[Entry]) -> None:
        self.lists += 1
        for _, _, name in entries:
            self.heard.append((self.engine.tick, name))
            for delay, reply in self.replies.get(name, ()):
                self.append(delay, reply)

    def append(self, delay: int, name: object) -> None:
        self.engine.slot(delay).append((0, 0, name))

    def run(self, until: int) -> None:
        self.engine.run(until, lambda: False)


@pytest.fixture
def hearing() -> Hearing:
    return Hearing()


def test_what_is_due_at_one_tick_is_handed_over_at_once_in_the_order_of_its_appends(
    hearing: Hearing,
) -> None:
    for name in "abc":
        hearing.append(3, name)
    hearing.append(2, "d")

    hearing.run(10)

    assert hearing.heard == [(2, "d"), (3, "a"), (3, "b"), (3, "c")]
    assert hearing.lists == 2


def test_what_was_appended_from_afar_comes_before_what_was_appended_late(hearing: Hearing) -> None:
    hearing.append(RING + 5, "first")
    hearing.append(6, "between")
    hearing.replies["between"] = [(RING - 1, "last")]

    hearing.run(2 * RING)

    assert hearing.heard == [(6, "between"), (RING + 5, "first"), (RING + 5, "last")]


@pytest.mark.parametrize("delay", [1, RING - 1, RING, RING + 1, 2 * RING, 3 * RING + 7, FAR])
def test_an_entry_comes_exactly_after_its_delay(hearing: Hearing, delay: int) -> None:
    hearing.append(5, "begin")
    hearing.replies["begin"] = [(delay, "end")]

    hearing.run(2 * FAR)

    assert hearing.heard == [(5, "begin"), (5 + delay, "end")]


def test_far_entries_come_in_the_order_of_their_ticks_whatever_the_order_of_appends(
    hearing: Hearing,
) -> None:
    for tick in (9 * RING, 5 * RING, FAR, 7 * RING, 5 * RING):
        hearing.append(tick, tick)

    hearing.run(FAR)

    assert hearing.heard == [(t, t) for t in (5 * RING, 5 * RING, 7 * RING, 9 * RING, FAR)]


def test_a_jump_over_an_empty_stretch_misses_nothing_that_is_appended_behind_it(
    hearing: Hearing,
) -> None:
    hearing.append(FAR, "woken")
    hearing.replies["woken"] = [(1, "next"), (RING - 1, "soon"), (FAR, "again")]

    hearing.run(3 * FAR)

    assert hearing.heard == [
        (FAR, "woken"),
        (FAR + 1, "next"),
        (FAR + RING - 1, "soon"),
        (2 * FAR, "again"),
    ]


@pytest.mark.parametrize("until", [6, RING, 3 * RING, FAR - 1])
def test_it_stops_at_until_and_goes_on_from_there(hearing: Hearing, until: int) -> None:
    hearing.append(6, "due")
    hearing.append(FAR, "far")

    hearing.run(5)
    assert (hearing.engine.tick, hearing.heard) == (5, [])
    hearing.run(until)
    assert (hearing.engine.tick, hearing.heard) == (until, [(6, "due")])
    hearing.append(1, "later")
    hearing.run(FAR)

    assert hearing.engine.tick == FAR
    assert sorted(hearing.heard[1:], key=str) == sorted(
        [(until + 1, "later"), (FAR, "far")], key=str
    )


def test_what_is_due_at_until_itself_is_still_handed_over(hearing: Hearing) -> None:
    hearing.append(RING * 2, "at the end")

    hearing.run(RING * 2)

    assert hearing.heard == [(RING * 2, "at the end")]


def test_it_ends_when_nothing_is_due_any_more(hearing: Hearing) -> None:
    hearing.append(7, "last")

    hearing.run(1 << 62)

    assert hearing.heard == [(7, "last")]
    assert 7 <= hearing.engine.tick <= 7 + 2 * RING


def test_it_ends_behind_the_tick_after_which_it_is_finished(hearing: Hearing) -> None:
    for tick in (1, 2, 3):
        hearing.append(tick, tick)

    hearing.engine.run(FAR, lambda: len(hearing.heard) >= 2)

    assert hearing.heard == [(1, 1), (2, 2)]
    assert hearing.engine.tick == 2
    hearing.run(FAR)
    assert hearing.heard[2:] == [(3, 3)]


def test_a_run_into_the_past_changes_nothing(hearing: Hearing) -> None:
    hearing.run(10)
    hearing.append(1, "next")
    before = hearing.engine.tick

    hearing.run(before - 1)

    assert (hearing.engine.tick, hearing.heard) == (before, [])


DELAYS = st.one_of(
    st.integers(1, 3),
    st.integers(RING - 2, RING + 2),
    st.integers(1, 3 * RING),
    st.integers(1, 50 * RING),
)
REPLIES = st.dictionaries(st.integers(0, 30), st.lists(DELAYS, max_size=4), max_size=12)


class Heap:
    """The plain way: a heap of (time, sequence)."""

    def __init__(self) -> None:
        self.tick = 0
        self.due: list[tuple[int, int, int]] = []
        self.heard: list[tuple[int, object]] = []
        self.sequence = 0

    def append(self, delay: int, name: int) -> None:
        self.sequence += 1
        heappush(self.due, (self.tick + delay, self.sequence, name))


@steady
@given(st.lists(DELAYS, min_size=1, max_size=12), REPLIES, st.lists(DELAYS, max_size=4))
def test_it_does_what_a_heap_of_times_and_sequence_numbers_does(
    first: list[int], replies: dict[int, list[int]], pauses: list[int]
) -> None:
    """Entry n appends `replies[n]`, whose entries have the next free numbers."""
    heap = Heap()
    numbers = 0

    def begin(delay: int) -> None:
        nonlocal numbers
        heap.append(delay, numbers)
        numbers += 1

    for delay in first:
        begin(delay)
    while heap.due:
        heap.tick, _, name = heappop(heap.due)
        heap.heard.append((heap.tick, name))
        for delay in replies.get(name, ()):
            begin(delay)

    count = 0
    heard: list[tuple[int, object]] = []

    def append(delay: int) -> None:
        nonlocal count
        engine.slot(delay).append((0, 0, count))
        count += 1

    def process(entries: list[Entry]) -> None:
        for _, _, name in entries:
            heard.append((engine.tick, name))
            for delay in replies.get(name, ()):
                append(delay)

    engine = Engine(process)
    for delay in first:
        append(delay)
    for pause in pauses:  # a run in pieces is the same run
        engine.run(engine.tick + pause, lambda: False)
    engine.run(1 << 62, lambda: False)

    assert heard == heap.heard
    assert count == numbers


def test_what_raised_does_not_come_round_again() -> None:
    handed_over: list[object] = []

    def process(entries: list[Entry]) -> None:
        handed_over.extend(name for _, _, name in entries)
        raise ArithmeticError

    engine = Engine(process)
    engine.slot(1).append((0, 0, "once"))
    with pytest.raises(ArithmeticError):
        engine.run(2 * RING, lambda: False)

    engine.run(2 * RING, lambda: False)

    assert handed_over == ["once"]
