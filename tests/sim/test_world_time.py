"""Time in the world: timers, actions, and when a run ends."""

from __future__ import annotations

import pytest

from agents.core.errors import LocalError
from testbed.sim.world import World
from tests.support.world import MS, SOCCER, Alarm, Spreading, make, protocol, publishing

# Timers


def test_a_timer_comes_back_when_its_time_has_passed(world: World) -> None:
    for number, delay in enumerate((0, MS, 2 * MS + 1, 10_000 * MS)):
        protocol(world, 1).port.after(delay, Alarm(number))

    world.run(20_000 * MS)

    assert protocol(world, 1).calls == [
        (MS, Alarm(0)),
        (MS, Alarm(1)),
        (2 * MS, Alarm(2)),
        (10_000 * MS, Alarm(3)),
    ]


def test_a_timer_of_an_earlier_life_never_fires(world: World) -> None:
    protocol(world, 1).port.after(3 * MS, Alarm(1))
    world.crash(1)
    world.start(1)
    protocol(world, 1).port.after(4 * MS, Alarm(2))

    world.run(10 * MS)

    assert protocol(world, 1).calls[2:] == [(4 * MS, Alarm(2))]


def test_a_timer_of_somebody_who_is_down_is_nobodys(world: World) -> None:
    before = protocol(world, 1)
    before.port.after(3 * MS, Alarm(1))
    world.crash(1)
    world.run(10 * MS)
    world.start(1)
    world.run(20 * MS)

    assert before.calls == []
    assert protocol(world, 1).calls == ["start", ("subscribe", SOCCER)]


# Actions and the end


def test_time_passes_although_nothing_happens() -> None:
    world = make()

    world.run(100_000 * MS)
    assert world.now == 100_000 * MS
    world.run(50_000 * MS)

    assert world.now == 100_000 * MS


def test_actions_are_done_at_their_times_and_in_their_order(world: World) -> None:
    done: list[tuple[int, str]] = []
    for time, name in ((7 * MS, "a"), (3 * MS, "b"), (7 * MS, "c"), (0, "d")):
        world.at(time, lambda name=name: done.append((world.now, name)))  # type: ignore[misc]

    world.run(10 * MS)

    assert done == [(MS, "d"), (3 * MS, "b"), (7 * MS, "a"), (7 * MS, "c")]
    assert world.actions_left == 0


@pytest.mark.parametrize("end", [2_400_000, 2_500_000, 2_600_000, 3_500_000])
def test_what_is_to_be_done_at_the_very_end_is_done(end: int) -> None:
    world = make()
    done: list[int] = []
    world.at(end, lambda: done.append(world.now))

    world.run(end)

    assert done == [world.now]


def test_without_an_end_it_runs_until_actions_are_done_and_no_copy_is_on_its_way() -> None:
    world = make(5, Spreading)
    for peer in range(5):
        world.start(peer)
    protocol(world, 0).port.after(10_000 * MS, Alarm(1))
    world.at(100 * MS, publishing(world))

    world.run()

    assert world.now == (100 + 4 * 5) * MS
    assert world.copies_in_flight == world.in_flight == 0
    assert world.received == 4


def test_a_copy_that_was_lost_or_came_to_the_crashed_keeps_nobody_waiting() -> None:
    for loss in (0.0, 1.0):
        world = make(5, Spreading, loss=loss)
        world.start(0)
        world.at(MS, publishing(world))

        world.run()

        assert world.copies_in_flight == 0
        assert world.dropped == ({"loss": 1} if loss else {"crashed": 1})
        assert world.now == (MS if loss else 6 * MS)


def test_an_error_of_ours_stops_the_run(world: World) -> None:
    def fail() -> None:
        raise LocalError("ours")

    world.at(MS, fail)
    with pytest.raises(LocalError, match="ours"):
        world.run(5 * MS)
