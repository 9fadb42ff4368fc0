"""The world: lives that begin and end, messages between them, and timers of a life of their own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agents.core.draw import stream
from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Interest, Topic
from agents.core.journal import Cause
from agents.core.messages import Event, EventMessage, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from testbed.model.distributions import ONE_ROUND, Fixed
from testbed.sim.network import Network
from testbed.sim.world import World

MS = 1_000_000
SOCCER = Topic(".soccer")
CHESS = Topic(".chess")


class Ping(Message, frozen=True):
    number: int


class Nonsense(Message, frozen=True):
    pass


class Copy(EventMessage, frozen=True):
    pass


class Alarm(Timer, frozen=True):
    number: int


class Listening(Protocol):
    """Does nothing of itself, and writes down what it is called with."""

    name = "listening"
    messages = (Ping, Nonsense, Copy)

    def __init__(self, port: Port, setting: Setting) -> None:
        super().__init__(port, setting)
        self.calls: list[Any] = []

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")
        self.port.left(".soccer")

    def subscribe(self, interest: Interest) -> None:
        self.calls.append(("subscribe", interest))

    def unsubscribe(self, interest: Interest) -> None:
        self.calls.append(("unsubscribe", interest))

    def publish(self, event: Event) -> None:
        self.calls.append(("publish", event.id))

    def on_message(self, sender: PeerId, message: Message) -> None:
        if isinstance(message, Nonsense):
            raise RemoteError("makes no sense")
        self.calls.append((self.port.now, sender, message))

    def on_timer(self, timer: Timer) -> None:
        self.calls.append((self.port.now, timer))


class Spreading(Listening):
    """Passes each copy on, once, to the next peer."""

    def publish(self, event: Event) -> None:
        self.port.send(self.port.peer + 1, Copy(event, 1))

    def on_message(self, sender: PeerId, message: Message) -> None:
        super().on_message(sender, message)
        if isinstance(message, Copy) and self.port.peer < 4:
            self.port.send(self.port.peer + 1, Copy(message.event, message.hop + 1))


class Notes:
    """A recorder that writes down what it is told, as plain tuples."""

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def sent(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None:
        self.told.append(("sent", sender, tuple(peers), message))

    def received(self, to: PeerId, sender: PeerId, message: Message) -> None:
        self.told.append(("received", to, sender, message))

    def dropped(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        self.told.append(("dropped", to, sender, message, cause))

    def published(self, agent: PeerId, event: Event) -> None:
        self.told.append(("published", agent, event.id))

    def delivered(self, agent: PeerId, event: Event, community: str) -> None:
        self.told.append(("delivered", agent, event.id, community))

    def joined(self, agent: PeerId, community: str) -> None:
        self.told.append(("joined", agent, community))

    def left(self, agent: PeerId, community: str) -> None:
        self.told.append(("left", agent, community))

    def crashed(self, agent: PeerId) -> None:
        self.told.append(("crashed", agent))

    def restarted(self, agent: PeerId) -> None:
        self.told.append(("restarted", agent))

    def impaired(self, cause: Cause, value: float, community: str, towards: str) -> None:
        self.told.append(("impaired", cause, value, community, towards))

    def finish(self) -> None:
        self.told.append(("finish",))


class Ears:
    """An application."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, str]] = []

    def on_deliver(self, event: Event, community: str) -> None:
        self.heard.append((event.id, community))

    def on_joined(self, community: str) -> None:
        self.heard.append(("joined", community))


def make(
    peers: int = 3,
    kind: type[Listening] = Listening,
    latency: Fixed | None = None,
    tick_ns: int = MS,
    **knobs: Any,
) -> World:
    topics = Topics()
    setting = Setting(topics, Directory(topics, {}), Static)
    network = Network(
        latency=latency or Fixed.model_validate({"fixed": "5ms"}),
        tick_ns=tick_ns,
        rng=stream(3, "network"),
        group_of=[0] * peers,
        **knobs,
    )
    world = World(
        seed=3,
        tick_ns=tick_ns,
        network=network,
        make_protocol=lambda port: kind(port, setting),
    )
    world.recorder = Notes()
    for _ in range(peers):
        world.add(SOCCER)
    return world


@pytest.fixture
def world() -> World:
    """Three peers that are up; the calls of their start are forgotten."""
    world = make()
    for peer in range(3):
        world.start(peer)
        protocol(world, peer).calls.clear()
    return world


def protocol(world: World, peer: PeerId) -> Listening:
    found = world.protocols[peer]
    assert isinstance(found, Listening)
    return found


def publishing(world: World) -> Callable[[], None]:
    def publish() -> None:
        world.publish(0, ".soccer")

    return publish


def notes(world: World) -> list[tuple[Any, ...]]:
    assert isinstance(world.recorder, Notes)
    return world.recorder.told


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


# Frozen peers


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


def test_an_error_of_ours_stops_the_run(world: World) -> None:
    def fail() -> None:
        raise LocalError("ours")

    world.at(MS, fail)
    with pytest.raises(LocalError, match="ours"):
        world.run(5 * MS)


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


# Time


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


def test_impairments_are_noted(world: World) -> None:
    world.note_impairment("loss", 0.25, ".a", ".b")

    assert notes(world) == [("impaired", "loss", 0.25, ".a", ".b")]
