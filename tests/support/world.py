"""A simulated world whose peers, recorder and application write down what they are told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from agents.core.draw import stream
from agents.core.errors import RemoteError
from agents.core.interest import Interest, Topic
from agents.core.journal import Cause
from agents.core.messages import Event, EventMessage, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from testbed.model.distributions import Fixed
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
