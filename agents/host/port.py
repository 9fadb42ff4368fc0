"""The port of a protocol in a process of its own: messages by a transport, timers by the loop."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol as Structural

from agents.core.draw import stream
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.recorder import Clock


class Outlet(Structural):
    """Who does what the port is asked for."""

    def transmit(self, peers: Sequence[PeerId], message: Message) -> None: ...
    def on_timer(self, timer: Timer) -> None: ...
    def on_deliver(self, event: Event, community: str) -> None: ...
    def on_joined(self, community: str) -> None: ...
    def on_left(self, community: str) -> None: ...


class HostPort(Port):
    """One life of one agent. The draws are those that the simulator would make."""

    __slots__ = ("_call_later", "_clock", "_outlet")

    def __init__(self, peer: PeerId, life: int, seed: int, clock: Clock, outlet: Outlet) -> None:
        self.peer = peer
        self.rng = stream(seed, "peer", peer, life)
        self._clock = clock
        self._outlet = outlet
        self._call_later: Callable[..., object] = asyncio.get_running_loop().call_later

    @property
    def now(self) -> int:
        return self._clock.now

    def send(self, to: PeerId, message: Message) -> None:
        self._outlet.transmit((to,), message)

    def send_all(self, peers: Sequence[PeerId], message: Message) -> None:
        self._outlet.transmit(peers, message)

    def after(self, delay_ns: int, timer: Timer) -> None:
        self._call_later(delay_ns / 1e9, self._outlet.on_timer, timer)

    def deliver(self, event: Event, community: str = "") -> None:
        self._outlet.on_deliver(event, community)

    def joined(self, community: str) -> None:
        self._outlet.on_joined(community)

    def left(self, community: str) -> None:
        self._outlet.on_left(community)
