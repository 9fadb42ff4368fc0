"""The world: peers that live, crash and come back, and the messages between them.

It is to the simulator what a machine's kernel and network are to a container: it makes protocols,
hands them what is due, and lets a recorder see every message. It knows no protocol.
"""

from collections.abc import Callable, Sequence
from typing import Protocol as Structural

from agents.core.draw import stream
from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Interest
from agents.core.journal import Cause
from agents.core.messages import Event, EventMessage, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.protocol import Protocol
from testbed.sim.engine import Engine, Entry
from testbed.sim.frozen import Frozen
from testbed.sim.network import Network

FOREVER = 1 << 62


class Recorder(Structural):
    """Who sees what happens. Times are read off the world."""

    def sent(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None: ...
    def received(self, to: PeerId, sender: PeerId, message: Message) -> None: ...
    def dropped(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None: ...
    def published(self, agent: PeerId, event: Event) -> None: ...
    def delivered(self, agent: PeerId, event: Event, community: str) -> None: ...
    def joined(self, agent: PeerId, community: str) -> None: ...
    def left(self, agent: PeerId, community: str) -> None: ...
    def crashed(self, agent: PeerId) -> None: ...
    def restarted(self, agent: PeerId) -> None: ...
    def impaired(self, cause: Cause, value: float, community: str, towards: str) -> None: ...
    def finish(self) -> None: ...


class Listener(Structural):
    """An application on top of one peer."""

    def on_deliver(self, event: Event, community: str) -> None: ...
    def on_joined(self, community: str) -> None: ...


class SimPort(Port):
    """One life of one peer."""

    __slots__ = ("_life", "_world")

    def __init__(self, world: "World", peer: PeerId, life: int) -> None:
        self.peer = peer
        self.rng = stream(world.seed, "peer", peer, life)
        self._world = world
        self._life = life

    @property
    def now(self) -> int:
        return self._world.now

    def send(self, to: PeerId, message: Message) -> None:
        self._world.transmit(self.peer, (to,), message)

    def send_all(self, peers: Sequence[PeerId], message: Message) -> None:
        self._world.transmit(self.peer, peers, message)

    def after(self, delay_ns: int, timer: Timer) -> None:
        world = self._world
        ticks = max(1, round(delay_ns / world.tick_ns))
        world.engine.slot(ticks).append((self.peer, -1 - self._life, timer))

    def deliver(self, event: Event, community: str = "") -> None:
        world = self._world
        if world.recorder is not None:
            world.recorder.delivered(self.peer, event, community)
        listener = world.listeners.get(self.peer)
        if listener is not None:
            listener.on_deliver(event, community)

    def joined(self, community: str) -> None:
        world = self._world
        if world.recorder is not None:
            world.recorder.joined(self.peer, community)
        world.enroll(self.peer, community)
        listener = world.listeners.get(self.peer)
        if listener is not None:
            listener.on_joined(community)

    def left(self, community: str) -> None:
        world = self._world
        if world.recorder is not None:
            world.recorder.left(self.peer, community)
        world.strike_off(self.peer, community)


class World:
    """All peers of one run. Peers are numbered in the order in which they are added."""

    def __init__(
        self,
        *,
        seed: int,
        tick_ns: int,
        network: Network,
        make_protocol: Callable[[Port], Protocol],
    ) -> None:
        self.seed = seed
        self.tick_ns = tick_ns
        self.network = network
        self.engine = Engine(self._process)
        self.recorder: Recorder | None = None
        self.listeners: dict[PeerId, Listener] = {}
        self.joined: dict[str, list[PeerId]] = {}
        """Who joined what, in order; those who crashed since are still there."""
        self._enrolled: set[tuple[str, PeerId]] = set()
        self.protocols: list[Protocol | None] = []
        self.kinds: list[tuple[Interest, ...]] = []
        """The different interests that peers have."""
        self.kind_of: list[int] = []
        """Which of them each peer has."""
        self.sent = self.received = self.lost = 0
        self.copies_in_flight = 0
        """Of events; control messages do not count."""
        self.dropped: dict[Cause, int] = {}
        self.actions_left = 0
        self._make_protocol = make_protocol
        self._handlers: list[Callable[[PeerId, Message], None] | None] = []
        self._lives: list[int] = []
        self._kind_numbers: dict[tuple[Interest, ...], int] = {}
        self._published: dict[PeerId, int] = {}

    @property
    def now(self) -> int:
        return self.engine.tick * self.tick_ns

    @property
    def in_flight(self) -> int:
        """Messages that were sent and have neither arrived nor been dropped."""
        return self.sent - self.received - self.lost

    def add(self, *interests: Interest) -> PeerId:
        """A new peer, which does nothing until it is started."""
        self.protocols.append(None)
        self._handlers.append(None)
        self.kind_of.append(self._kind(interests))
        self._lives.append(-1)
        return len(self.protocols) - 1

    def interests(self, peer: PeerId) -> tuple[Interest, ...]:
        """What the peer subscribes to whenever it starts."""
        return self.kinds[self.kind_of[peer]]

    def subscribe(self, peer: PeerId, interest: Interest) -> None:
        had = self.interests(peer)
        if interest not in had:
            self.kind_of[peer] = self._kind((*had, interest))
            protocol = self.protocols[peer]
            if protocol is not None:
                protocol.subscribe(interest)

    def unsubscribe(self, peer: PeerId, interest: Interest) -> None:
        """Leave what the interest asks for, be it that the peer only published there."""
        kept = tuple(part for part in self.interests(peer) if part != interest)
        self.kind_of[peer] = self._kind(kept)
        protocol = self.protocols[peer]
        if protocol is not None:
            protocol.unsubscribe(interest)

    def is_up(self, peer: PeerId) -> bool:
        return self.protocols[peer] is not None

    def has_lived(self, peer: PeerId) -> bool:
        """Whether it was ever started."""
        return self._lives[peer] >= 0

    def start(self, peer: PeerId) -> None:
        """Begin a life: the first, or the next one after a crash."""
        if self.is_up(peer):
            return
        self._lives[peer] += 1
        if self._lives[peer] and self.recorder is not None:
            self.recorder.restarted(peer)
        protocol = self._make_protocol(SimPort(self, peer, self._lives[peer]))
        self.protocols[peer] = protocol
        self._handlers[peer] = protocol.on_message
        protocol.start()
        for interest in self.interests(peer):
            protocol.subscribe(interest)

    def restart(self, peer: PeerId) -> None:
        """Begin the next life; who never had one does not get its first in this way."""
        if self.has_lived(peer):
            self.start(peer)

    def crash(self, peer: PeerId) -> None:
        """End a life without a word to anybody."""
        protocol = self.protocols[peer]
        if protocol is not None:
            self._bury(peer)
            if self.recorder is not None:
                self.recorder.crashed(peer)
            if isinstance(protocol, Frozen):
                for to, source, body in protocol.waiting:
                    if source >= 0:
                        self._drop(to, source, body, "crashed")

    def can_publish(self, peer: PeerId) -> bool:
        """Whether it is up, and not frozen."""
        return self._handlers[peer] is not None

    def freeze(self, peer: PeerId) -> None:
        """Let it do nothing until it is thawed, if it is up."""
        protocol = self.protocols[peer]
        if protocol is not None and not isinstance(protocol, Frozen):
            self.protocols[peer] = Frozen(protocol, peer, self._lives[peer])
            self._handlers[peer] = None  # so that only messages to such peers take longer

    def thaw(self, peer: PeerId) -> None:
        """Let it go on, if it is frozen, with what has come in the meantime."""
        frozen = self.protocols[peer]
        if isinstance(frozen, Frozen):
            self.protocols[peer] = frozen.protocol
            self._handlers[peer] = frozen.protocol.on_message
            self.actions_left += sum(to < 0 for to, _, _ in frozen.waiting)
            self._process(frozen.waiting)

    def stop(self, peer: PeerId) -> None:
        """End a life in good order, for which who is frozen is thawed."""
        self.thaw(peer)
        protocol = self.protocols[peer]
        if protocol is not None:
            protocol.stop()
            self._bury(peer)

    def publish(
        self, peer: PeerId, topic: str, data: bytes = b"", psel: float | None = None
    ) -> Event:
        protocol = self.protocols[peer]
        if protocol is None:
            raise LocalError(f"agent {peer} is down and cannot publish")
        if isinstance(protocol, Frozen):
            raise LocalError(f"agent {peer} is frozen and cannot publish")
        number = self._published[peer] = self._published.get(peer, -1) + 1
        event = Event(f"{peer}.{self._lives[peer]}.{number}", topic, data, None, psel)
        if self.recorder is not None:
            self.recorder.published(peer, event)
        protocol.publish(event)
        return event

    def enroll(self, peer: PeerId, community: str) -> None:
        if (community, peer) not in self._enrolled:
            self._enrolled.add((community, peer))
            self.joined.setdefault(community, []).append(peer)

    def strike_off(self, peer: PeerId, community: str) -> None:
        if (community, peer) in self._enrolled:
            self._enrolled.remove((community, peer))
            self.joined[community].remove(peer)

    def note_impairment(
        self, cause: Cause, value: float, community: str = "", towards: str = ""
    ) -> None:
        if self.recorder is not None:
            self.recorder.impaired(cause, value, community, towards)

    def at(self, time_ns: int, action: Callable[[], None]) -> None:
        """Do something at a time; at the earliest, in the next tick."""
        self.actions_left += 1
        delay = max(1, round(time_ns / self.tick_ns) - self.engine.tick)
        self.engine.slot(delay).append((-1, -1, action))

    def run(self, until_ns: int | None = None) -> None:
        """Go on until that time; without one, until all actions are done and no
        copy of an event is on its way."""
        if until_ns is None:
            self.engine.run(FOREVER, self._quiet)
        else:
            until = round(until_ns / self.tick_ns)  # as `at` has it: what is due by then is done
            self.engine.run(until, _never)
            self.engine.tick = max(self.engine.tick, until)  # time passes where nothing is due, too

    def transmit(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None:
        if not peers:
            return  # nobody sent anything, and no recorder is to count a sender
        self.sent += len(peers)
        if isinstance(message, EventMessage):
            self.copies_in_flight += len(peers)
        recorder = self.recorder
        if recorder is not None:
            recorder.sent(sender, peers, message)
        network = self.network
        if not network.plain:
            self._transmit_one_by_one(sender, peers, message)
        elif network.loss:
            append = self.engine.slot(network.fixed_delay).append
            loss, random = network.loss, network.random
            for to in peers:
                if random() >= loss:
                    append((to, sender, message))
                else:
                    self._drop(to, sender, message, "loss")
        else:
            self.engine.slot(network.fixed_delay).extend([(to, sender, message) for to in peers])

    def _transmit_one_by_one(
        self, sender: PeerId, peers: Sequence[PeerId], message: Message
    ) -> None:
        network, slot = self.network, self.engine.slot
        for to in peers:
            cause = network.obstacle(sender, to)
            if cause:
                self._drop(to, sender, message, cause)
            else:
                slot(network.latency()).append((to, sender, message))

    def _process(self, entries: list[Entry]) -> None:
        handlers, recorder, received, copies = self._handlers, self.recorder, 0, 0
        for to, source, body in entries:
            if source >= 0:
                handler = handlers[to]
                if handler is None:
                    self._not_handled(to, source, body)
                    continue
                received += 1
                if isinstance(body, EventMessage):
                    copies += 1
                if recorder is not None:
                    recorder.received(to, source, body)
                try:
                    handler(source, body)
                except RemoteError:
                    self._refuse(to, source, body)
            elif to < 0:
                self.actions_left -= 1
                body()
            elif self._lives[to] == -1 - source:
                protocol = self.protocols[to]
                if protocol is not None:
                    protocol.on_timer(body)
        self.received += received
        self.copies_in_flight -= copies

    def _not_handled(self, to: PeerId, sender: PeerId, message: Message) -> None:
        """Nobody handles it now: its receiver is frozen, or down."""
        frozen = self.protocols[to]
        if frozen is None:
            self._drop(to, sender, message, "crashed")
        else:
            frozen.on_message(sender, message)

    def _drop(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        """It will not arrive."""
        self.lost += 1
        if isinstance(message, EventMessage):
            self.copies_in_flight -= 1
        self._note_drop(to, sender, message, cause)

    def _refuse(self, to: PeerId, sender: PeerId, message: Message) -> None:
        """It did arrive, and its receiver must not act on it."""
        self._note_drop(to, sender, message, "refused")

    def _note_drop(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        self.dropped[cause] = self.dropped.get(cause, 0) + 1
        if self.recorder is not None:
            self.recorder.dropped(to, sender, message, cause)

    def _kind(self, interests: tuple[Interest, ...]) -> int:
        if interests not in self._kind_numbers:
            self._kind_numbers[interests] = len(self.kinds)
            self.kinds.append(interests)
        return self._kind_numbers[interests]

    def _bury(self, peer: PeerId) -> None:
        self.protocols[peer] = None
        self._handlers[peer] = None

    def _quiet(self) -> bool:
        return not self.actions_left and not self.copies_in_flight


def _never() -> bool:
    return False
