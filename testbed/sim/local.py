"""A simulated network for applications: managers on peers that share one virtual time.

Time stands still while the application runs, and goes on while it waits: for a community to be
joined, or for `SimulatedNetwork.run`. When a callback was called, whatever it started has its turn
before time goes on.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

from agents.api import CommunityManager
from agents.core.draw import stream
from agents.core.errors import LocalError
from agents.core.interest import AnyOf, Topic, topics_of
from agents.core.messages import Event, PeerId, ns
from agents.core.overlay import make_peer
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.core.registry import memberships, protocols
from agents.core.setting import Directory, Setting
from agents.core.topics import ROOT, Topics
from testbed.contacts import Contacts
from testbed.model.distributions import Fixed
from testbed.sim.network import Network
from testbed.sim.world import World

JOIN_AT_MOST_S = 600.0
"""Ours: whoever has not joined by then never will."""
_SUPER_CONTACTS = 3
"""CAMCAST's z (6.1.1): whoever publishes as soon as it has joined reaches the super-community."""
_TICK_NS = 1_000_000


class SimulatedNetwork:
    """A hierarchy of topics and whoever comes. The same seed gives the same run."""

    def __init__(
        self,
        topics: Iterable[str] = (),
        *,
        root: str = ROOT,
        protocol: str = "camcast",
        parameters: Mapping[str, Any] | None = None,
        membership: str = "scamp",
        membership_parameters: Mapping[str, Any] | None = None,
        loss: float = 0.0,
        seed: int = 1,
    ) -> None:
        self.topics = Topics(root)
        for topic in topics:
            self.topics.add_path(topic)
        self._protocol = protocols.load(protocol)
        self._membership = memberships.load(membership)
        if self._membership.instant:
            raise LocalError(f"{membership} tables need to know in advance who will come")
        can = self._protocol.memberships
        if can is not None and membership not in can:
            names = " or ".join(sorted(can))
            raise LocalError(f"{protocol} needs {names} as its membership, not {membership}")
        self._parameters = dict(parameters or {})
        self._membership_parameters = dict(membership_parameters or {})
        self._random = stream(seed, "bootstrap").random
        latency = Fixed.model_validate({"fixed": "1ms"})
        network = Network(latency=latency, tick_ns=_TICK_NS, rng=stream(seed, "network"), loss=loss)
        self.world = World(
            seed=seed, tick_ns=_TICK_NS, network=network, make_protocol=self._make_protocol
        )
        self._directory = _WhoeverCame(self.topics, self.world)
        self._application_called = False
        self._waits: list[tuple[int, Callable[[], bool]]] = []
        """Until which tick, and for what, the application's tasks are waiting."""

    def manager(self) -> CommunityManager:
        """A new process in the system."""
        return CommunityManager(SimulatedNode(self, self.world.add()))

    async def run(self, seconds: float) -> None:
        """Let that much virtual time pass."""
        await self._pass(seconds, lambda: False)

    async def run_until(self, condition: Callable[[], bool]) -> bool:
        """Let time pass until the condition holds; whether it came to hold."""
        await self._pass(JOIN_AT_MOST_S, condition)
        return condition()

    def note_call(self) -> None:
        """The application was called, and may want to do something before time goes on."""
        self._application_called = True

    async def _pass(self, at_most_s: float, finished: Callable[[], bool]) -> None:
        engine = self.world.engine
        until = (self.world.now + ns(at_most_s)) // self.world.tick_ns
        wait = (until, finished)
        self._waits.append(wait)
        try:
            while True:
                await asyncio.sleep(0)
                if finished() or engine.tick >= until:
                    return
                self._go_on()
        finally:
            self._waits.remove(wait)

    def _go_on(self) -> None:
        """Let time pass until any of the application's tasks may have something to do."""
        engine, until = self.world.engine, min(tick for tick, _ in self._waits)
        self._application_called = False

        def somebodys_turn() -> bool:
            return self._application_called or any(finished() for _, finished in self._waits)

        if not somebodys_turn() and engine.tick < until:
            engine.run(until, somebodys_turn)
            if not somebodys_turn():
                engine.tick = until  # nothing is due any more, and time passes all the same

    def _make_protocol(self, port: Port) -> Protocol:
        setting = Setting(
            topics=self.topics,
            directory=self._directory,
            membership=self._membership,
            membership_parameters=self._membership_parameters,
            parameters=self._parameters,
            contacts=Contacts(self.world, port.peer, 1, self._random, overlay=self._everybody),
            super_contacts=Contacts(self.world, port.peer, _SUPER_CONTACTS, self._random),
            neighbourhood=_Neighbours(self.world, port.peer),
        )
        return make_peer(self._protocol, port, setting)

    def _everybody(self) -> Sequence[PeerId]:
        return range(len(self.world.protocols))


class _WhoeverCame(Directory):
    """Grows as peers join: here nobody is known in advance."""

    def __init__(self, topics: Topics, world: World) -> None:
        self._topics = topics
        self._world = world

    @property
    def everyone(self) -> Sequence[PeerId]:  # type: ignore[override]
        """Those who stopped are still counted."""
        return range(len(self._world.protocols))

    def community(self, topic: str) -> Sequence[PeerId]:
        return self._world.joined.get(topic, ())

    def audience(self, topic: str) -> Sequence[PeerId]:
        including = (topic, *self._topics.ancestors(topic))
        return tuple(dict.fromkeys(peer for name in including for peer in self.community(name)))


class _Neighbours(Sequence[PeerId]):
    """The next few peers by number, whoever is there at the time."""

    MOST = 8

    def __init__(self, world: World, peer: PeerId) -> None:
        self._world = world
        self._peer = peer

    def __len__(self) -> int:
        return min(self.MOST, len(self._world.protocols) - 1)

    @overload
    def __getitem__(self, position: int) -> PeerId: ...
    @overload
    def __getitem__(self, position: slice) -> Sequence[PeerId]: ...
    def __getitem__(self, position: int | slice) -> PeerId | Sequence[PeerId]:
        if isinstance(position, slice):
            return [self[n] for n in range(*position.indices(len(self)))]
        if not 0 <= position < len(self):
            raise IndexError(position)
        return (self._peer + 1 + position) % len(self._world.protocols)


class SimulatedNode:
    """One peer, as an application sees it."""

    def __init__(self, network: SimulatedNetwork, peer: PeerId) -> None:
        self._network = network
        self._world = network.world
        self._peer = peer
        self._entered: set[str] = set()
        self._on_event: Callable[[str, Event], None] | None = None
        self._world.listeners[peer] = self
        self._world.start(peer)

    async def join(self, topic: str) -> None:
        self._network.topics.require(topic)
        self._entered.add(topic)
        self._world.subscribe(self._peer, Topic(topic))
        await self._wait_for(topic)

    async def leave(self, topic: str) -> None:
        if topic in self._entered:
            self._entered.remove(topic)
            self._world.unsubscribe(self._peer, Topic(topic))

    async def publish(self, topic: str, data: bytes, psel: float | None) -> Event:
        self._network.topics.require(topic)
        self._entered.add(topic)
        event = self._world.publish(self._peer, topic, data, psel)
        await self._wait_for(topic)
        return event

    def listen(self, on_event: Callable[[str, Event], None]) -> None:
        self._on_event = on_event

    async def close(self) -> None:
        self._world.stop(self._peer)

    def on_deliver(self, event: Event, community: str) -> None:
        if self._on_event is not None:
            self._network.note_call()
            for topic in (community,) if community else self._topics_including(event):
                self._on_event(topic, event)

    def on_joined(self, community: str) -> None:
        pass  # the world keeps who joined what

    def _topics_including(self, event: Event) -> list[str]:
        """For protocols that know no communities."""
        mine = topics_of(AnyOf(self._world.interests(self._peer)))
        return [topic for topic in mine if self._network.topics.includes(topic, event.topic)]

    async def _wait_for(self, topic: str) -> None:
        def joined() -> bool:
            members = self._world.joined
            return any(self._peer in members.get(name, ()) for name in (topic, ""))

        if not await self._network.run_until(joined):
            raise LocalError(
                f"the community of {topic!r} could not be joined within {JOIN_AT_MOST_S:g} s"
            )
