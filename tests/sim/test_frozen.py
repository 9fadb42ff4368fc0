"""Frozen peers: whatever comes waits until they are thawed, and is lost only with their life."""

from __future__ import annotations

import pytest

from agents.core.errors import LocalError
from testbed.sim.world import World
from tests.support.world import (
    CHESS,
    MS,
    SOCCER,
    Alarm,
    Nonsense,
    Ping,
    Spreading,
    make,
    notes,
    protocol,
    publishing,
)


def test_a_frozen_peer_handles_nothing_until_it_is_thawed_and_then_all_in_order(
    world: World,
) -> None:
    frozen = protocol(world, 1)
    frozen.port.after(6 * MS, Alarm(1))
    world.freeze(1)
    world.freeze(1)
    protocol(world, 0).port.send(1, Ping(1))
    world.run(7 * MS)
    protocol(world, 2).port.send(1, Ping(2))
    world.run(20 * MS)

    assert world.is_up(1)
    assert not world.can_publish(1)
    assert frozen.calls == []
    assert (world.received, world.in_flight) == (0, 2)

    world.thaw(1)

    late = 20 * MS
    assert frozen.calls == [(late, 0, Ping(1)), (late, Alarm(1)), (late, 2, Ping(2))]
    assert protocol(world, 1) is frozen
    assert (world.received, world.in_flight) == (2, 0)
    assert notes(world)[-2:] == [("received", 1, 0, Ping(1)), ("received", 1, 2, Ping(2))]


def test_a_thawed_peer_goes_on_as_before(world: World) -> None:
    world.freeze(1)
    world.thaw(1)
    world.thaw(1)
    protocol(world, 0).port.send(1, Ping(1))
    world.run(5 * MS)

    assert protocol(world, 1).calls == [(5 * MS, 0, Ping(1))]


def test_others_do_not_notice_who_is_frozen(world: World) -> None:
    world.freeze(1)
    protocol(world, 0).port.send_all((1, 2), Ping(1))
    world.run(5 * MS)

    assert protocol(world, 2).calls == [(5 * MS, 0, Ping(1))]


def test_who_crashes_while_frozen_loses_what_waited(world: World) -> None:
    protocol(world, 1).port.after(MS, Alarm(1))
    world.freeze(1)
    protocol(world, 0).port.send(1, Ping(1))
    world.run(9 * MS)
    world.crash(1)

    assert (world.lost, world.in_flight, world.dropped) == (1, 0, {"crashed": 1})
    assert notes(world)[-2:] == [("crashed", 1), ("dropped", 1, 0, Ping(1), "crashed")]
    world.thaw(1)
    assert not world.is_up(1)
    world.restart(1)
    assert protocol(world, 1).calls == ["start", ("subscribe", SOCCER)]


def test_who_is_down_cannot_be_frozen(world: World) -> None:
    world.crash(1)
    world.freeze(1)
    assert not world.is_up(1)
    world.start(1)
    assert world.can_publish(1)


def test_what_is_asked_of_a_frozen_peer_waits_too(world: World) -> None:
    frozen = protocol(world, 1)
    world.freeze(1)
    world.subscribe(1, CHESS)
    world.unsubscribe(1, SOCCER)
    assert frozen.calls == []

    world.thaw(1)

    assert frozen.calls == [("subscribe", CHESS), ("unsubscribe", SOCCER)]
    assert world.actions_left == 0


def test_a_frozen_peer_is_thawed_to_leave_in_good_order(world: World) -> None:
    frozen = protocol(world, 1)
    world.freeze(1)
    protocol(world, 0).port.send(1, Ping(1))
    world.run(5 * MS)
    world.stop(1)

    assert frozen.calls == [(5 * MS, 0, Ping(1)), "stop"]
    assert not world.is_up(1)


def test_a_frozen_peer_cannot_publish(world: World) -> None:
    world.freeze(1)
    with pytest.raises(LocalError, match="agent 1 is frozen and cannot publish"):
        world.publish(1, ".soccer")


def test_nonsense_that_waited_is_refused_when_it_is_handled(world: World) -> None:
    world.freeze(1)
    protocol(world, 0).port.send(1, Nonsense())
    world.run(5 * MS)
    assert world.dropped == {}
    world.thaw(1)
    assert (world.received, world.dropped) == (1, {"refused": 1})


def test_a_run_does_not_end_while_copies_wait_for_a_thaw() -> None:
    world = make(5, Spreading)
    for peer in range(5):
        world.start(peer)
    world.at(MS, publishing(world))
    world.at(2 * MS, lambda: world.freeze(2))
    world.at(500 * MS, lambda: world.thaw(2))

    world.run()

    assert [call for call in protocol(world, 4).calls if isinstance(call, tuple)][-1][0] == 510 * MS
    assert world.in_flight == 0
