"""Lives in the world: how they begin, end and begin again, and the interests that outlast them."""

from __future__ import annotations

from agents.core.draw import stream
from testbed.sim.world import World
from tests.support.world import CHESS, MS, SOCCER, make, notes, protocol

# Lives


def test_a_peer_that_was_added_does_nothing_until_it_is_started() -> None:
    world = make()
    assert not world.is_up(0)

    world.run(7 * MS)
    world.start(0)

    assert world.is_up(0)
    assert protocol(world, 0).calls == ["start", ("subscribe", SOCCER)]
    assert notes(world) == []


def test_to_start_who_is_up_changes_nothing(world: World) -> None:
    before = protocol(world, 1)

    world.start(1)

    assert protocol(world, 1) is before
    assert before.calls == []


def test_a_crash_ends_a_life_without_a_word_and_a_restart_begins_another(world: World) -> None:
    before = protocol(world, 1)

    world.crash(1)
    assert not world.is_up(1)
    world.run(10 * MS)
    world.restart(1)

    assert before.calls == []
    assert protocol(world, 1) is not before
    assert protocol(world, 1).calls == ["start", ("subscribe", SOCCER)]
    assert notes(world) == [("crashed", 1), ("restarted", 1)]


def test_each_life_draws_from_a_stream_of_its_own(world: World) -> None:
    first = protocol(world, 1).port.rng.random()
    world.crash(1)
    world.start(1)

    assert protocol(world, 1).port.rng.random() != first
    assert first == stream(3, "peer", 1, 0).random()


def test_to_crash_who_is_down_changes_nothing(world: World) -> None:
    world.crash(1)
    world.crash(1)

    assert notes(world) == [("crashed", 1)]


def test_who_never_lived_cannot_live_again() -> None:
    world = make()

    world.restart(0)

    assert not world.is_up(0)


def test_who_stops_leaves_in_good_order_and_is_down(world: World) -> None:
    before = protocol(world, 1)
    before.port.joined(".soccer")

    world.stop(1)
    world.stop(1)

    assert before.calls == ["stop"]
    assert not world.is_up(1)
    assert world.joined == {".soccer": []}
    assert notes(world) == [("joined", 1, ".soccer"), ("left", 1, ".soccer")]


def test_those_who_joined_are_listed_once_in_order_even_when_they_crashed_since(
    world: World,
) -> None:
    for peer in (2, 0, 2):
        protocol(world, peer).port.joined(".soccer")
    world.crash(2)

    assert world.joined == {".soccer": [2, 0]}


# Interests


def test_interests_are_remembered_for_the_next_life(world: World) -> None:
    world.subscribe(1, CHESS)
    world.subscribe(1, CHESS)
    assert protocol(world, 1).calls == [("subscribe", CHESS)]
    world.crash(1)
    world.start(1)
    assert protocol(world, 1).calls == ["start", ("subscribe", SOCCER), ("subscribe", CHESS)]

    world.unsubscribe(1, SOCCER)

    assert protocol(world, 1).calls[3:] == [("unsubscribe", SOCCER)]
    assert world.interests(1) == (CHESS,)
    assert world.interests(0) == (SOCCER,)


def test_who_is_down_can_change_its_interests(world: World) -> None:
    world.crash(1)
    world.subscribe(1, CHESS)
    world.unsubscribe(1, SOCCER)

    world.start(1)

    assert protocol(world, 1).calls == ["start", ("subscribe", CHESS)]
