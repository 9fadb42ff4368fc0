"""What the world carries, messages and events: what arrives, what is lost, and who is told."""

from __future__ import annotations

import pytest

from agents.core.errors import LocalError
from agents.core.messages import Event
from testbed.model.distributions import ONE_ROUND
from testbed.sim.world import World
from tests.support.world import (
    MS,
    Ears,
    Nonsense,
    Ping,
    Spreading,
    make,
    notes,
    protocol,
    publishing,
)

# Messages


def test_a_message_arrives_after_the_latency(world: World) -> None:
    protocol(world, 0).port.send(1, Ping(1))

    world.run(4 * MS)
    assert protocol(world, 1).calls == []
    assert world.in_flight == 1
    world.run(5 * MS)

    assert protocol(world, 1).calls == [(5 * MS, 0, Ping(1))]
    assert (world.sent, world.received, world.lost, world.in_flight) == (1, 1, 0, 0)
    assert notes(world) == [("sent", 0, (1,), Ping(1)), ("received", 1, 0, Ping(1))]


def test_messages_of_one_tick_arrive_in_the_order_in_which_they_were_sent(world: World) -> None:
    protocol(world, 0).port.send_all((2, 1), Ping(1))
    protocol(world, 1).port.send(2, Ping(2))
    protocol(world, 0).port.send(2, Ping(3))

    world.run(5 * MS)

    assert [call[1:] for call in protocol(world, 2).calls] == [
        (0, Ping(1)),
        (1, Ping(2)),
        (0, Ping(3)),
    ]


def test_a_message_to_nobody_is_no_message(world: World) -> None:
    protocol(world, 0).port.send_all((), Ping(1))

    assert world.sent == 0
    assert notes(world) == []


def test_messages_to_the_crashed_are_dropped_for_that_cause(world: World) -> None:
    protocol(world, 0).port.send_all((1, 2), Ping(1))
    world.crash(1)

    world.run(5 * MS)

    assert world.dropped == {"crashed": 1}
    assert (world.sent, world.received, world.lost, world.in_flight) == (2, 1, 1, 0)
    assert ("dropped", 1, 0, Ping(1), "crashed") in notes(world)
    assert protocol(world, 2).calls == [(5 * MS, 0, Ping(1))]


def test_a_message_from_somebody_who_crashed_since_still_arrives(world: World) -> None:
    protocol(world, 0).port.send(1, Ping(1))
    world.crash(0)

    world.run(5 * MS)

    assert protocol(world, 1).calls == [(5 * MS, 0, Ping(1))]


def test_a_message_on_its_way_over_a_crash_reaches_the_next_life(world: World) -> None:
    protocol(world, 0).port.send(1, Ping(1))
    world.crash(1)
    world.start(1)

    world.run(5 * MS)

    assert protocol(world, 1).calls[2:] == [(5 * MS, 0, Ping(1))]


def test_what_is_refused_counts_as_received(world: World) -> None:
    protocol(world, 0).port.send(1, Nonsense())

    world.run(5 * MS)

    assert world.dropped == {"refused": 1}
    assert (world.sent, world.received, world.lost, world.in_flight) == (1, 1, 0, 0)
    assert notes(world)[1:] == [
        ("received", 1, 0, Nonsense()),
        ("dropped", 1, 0, Nonsense(), "refused"),
    ]


@pytest.mark.parametrize("pair", [False, True])
def test_the_lost_and_the_arrived_add_up_on_the_short_way_and_on_the_long_one(pair: bool) -> None:
    world = make(2, loss=0.0 if pair else 0.3, losses={(0, 0): 0.3} if pair else None)
    for peer in range(2):
        world.start(peer)
    for number in range(4000):
        protocol(world, 0).port.send(1, Ping(number))

    world.run(10 * MS)

    assert world.network.plain is not pair
    assert world.dropped == {"loss": world.lost}
    assert world.sent == 4000 == world.received + world.lost
    assert world.lost / 4000 == pytest.approx(0.3, abs=0.03)
    arrived = [message.number for _, _, message in protocol(world, 1).calls[2:]]
    assert arrived == sorted(arrived)
    assert len(arrived) == world.received


def test_both_ways_lose_the_same_messages() -> None:
    ways = make(2, loss=0.3), make(2, losses={(0, 0): 0.3})
    for world in ways:
        for peer in range(2):
            world.start(peer)
        for number in range(100):
            protocol(world, 0).port.send_all((1, 1), Ping(number))
        world.run(10 * MS)

    short, long = ways
    assert protocol(short, 1).calls == protocol(long, 1).calls
    assert notes(short) == notes(long)


def test_in_rounds_what_is_sent_in_one_arrives_in_the_next() -> None:
    second = ONE_ROUND.value
    world = make(5, Spreading, ONE_ROUND, tick_ns=second)
    for peer in range(5):
        world.start(peer)
    world.at(3 * second, publishing(world))

    world.run()

    for peer in range(1, 5):
        time, sender, copy = protocol(world, peer).calls[-1]
        assert (time, sender) == ((3 + peer) * second, peer - 1)
        assert copy.hop == peer  # the round, counted from the publication


# Events


def test_events_are_numbered_by_publisher_life_and_order(world: World) -> None:
    ids = [world.publish(1, ".soccer").id, world.publish(1, ".soccer").id]
    world.crash(1)
    world.start(1)
    ids.append(world.publish(1, ".soccer").id)

    assert ids == ["1.0.0", "1.0.1", "1.1.2"]
    assert ("published", 1, "1.1.2") in notes(world)


def test_who_is_down_cannot_publish(world: World) -> None:
    world.crash(1)

    with pytest.raises(LocalError, match="agent 1 is down"):
        world.publish(1, ".soccer")


def test_a_listener_hears_of_its_own_peer_only(world: World) -> None:
    ears = world.listeners[1] = Ears()
    event = Event("e")

    protocol(world, 0).port.deliver(event, ".soccer")
    protocol(world, 1).port.joined(".chess")
    protocol(world, 1).port.deliver(event, ".chess")

    assert ears.heard == [("joined", ".chess"), ("e", ".chess")]
    assert ("delivered", 0, "e", ".soccer") in notes(world)


def test_a_world_without_a_recorder_runs_the_same() -> None:
    seen = []
    for recorded in (True, False):
        world = make(5, Spreading, loss=0.1)
        if not recorded:
            world.recorder = None
        for peer in range(5):
            world.start(peer)
        world.publish(0, ".soccer")
        world.crash(4)
        world.note_impairment("loss", 0.1)
        world.run()
        seen.append((world.sent, world.received, world.dropped, world.now))

    assert seen[0] == seen[1]


def test_impairments_are_noted(world: World) -> None:
    world.note_impairment("loss", 0.25, ".a", ".b")

    assert notes(world) == [("impaired", "loss", 0.25, ".a", ".b")]
