"""Ports for tests: one whose effects are a list, and an exchange that joins many peers.

The exchange is for tests of what lies below any engine: it knows no latency model and writes no
journal. Messages arrive in the order in which they were sent, at once or a fixed delay later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from heapq import heappop, heappush
from random import Random
from typing import Any, Protocol

from agents.core.draw import stream
from agents.core.errors import RemoteError
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.port import Port


class _ListingPort(Port):
    """What the application would see is appended to lists, for a test to read."""

    __slots__ = ("delivered", "joined_communities", "left_communities")

    def __init__(self, peer: PeerId, seed: int) -> None:
        self.peer = peer
        self.rng = stream(seed, peer)
        self.delivered: list[tuple[Event, str]] = []
        self.joined_communities: list[str] = []
        self.left_communities: list[str] = []

    def deliver(self, event: Event, community: str = "") -> None:
        self.delivered.append((event, community))

    def joined(self, community: str) -> None:
        self.joined_communities.append(community)

    def left(self, community: str) -> None:
        self.left_communities.append(community)


class ListPort(_ListingPort):
    """All effects are appended to lists; time stands still unless it is set."""

    __slots__ = ("_now", "sent", "timers")

    def __init__(self, peer: PeerId = 0, seed: int = 0) -> None:
        super().__init__(peer, seed)
        self._now = 0
        self.sent: list[tuple[PeerId, Message]] = []
        self.timers: list[tuple[int, Timer]] = []

    @property
    def now(self) -> int:
        return self._now

    @now.setter
    def now(self, time: int) -> None:
        self._now = time

    def send(self, to: PeerId, message: Message) -> None:
        self.sent.append((to, message))

    def send_all(self, peers: Sequence[PeerId], message: Message) -> None:
        self.sent.extend((peer, message) for peer in peers)

    def after(self, delay_ns: int, timer: Timer) -> None:
        self.timers.append((delay_ns, timer))

    def take_sent(self) -> list[tuple[PeerId, Message]]:
        sent, self.sent = self.sent, []
        return sent

    def take_timers(self) -> list[tuple[int, Timer]]:
        timers, self.timers = self.timers, []
        return timers


class Scripted(Random):
    """Draws the given numbers, one after the other, and fails when there are no more."""

    def __init__(self, draws: Iterable[float]) -> None:
        super().__init__(0)
        self.draws = deque(draws)

    def random(self) -> float:
        assert self.draws, "one draw more than the test expects"
        return self.draws.popleft()


class ListCarrier:
    """A layer above that remembers what it was told."""

    def __init__(self, news: bytes = b"") -> None:
        self.news = news
        self.heard: list[tuple[PeerId, bytes]] = []
        self.ready = 0

    def outgoing_news(self) -> bytes:
        return self.news

    def incoming_news(self, sender: PeerId, news: bytes) -> None:
        self.heard.append((sender, news))

    def membership_ready(self) -> None:
        self.ready += 1


class Node(Protocol):
    """What an exchange hosts: a membership or a protocol."""

    def on_message(self, sender: PeerId, message: Any) -> None: ...

    def on_timer(self, timer: Any) -> None: ...


class ExchangePort(_ListingPort):
    """One life of one peer at an exchange, which has its messages, its timers and its clock."""

    __slots__ = ("_exchange",)

    def __init__(self, exchange: Exchange, peer: PeerId) -> None:
        super().__init__(peer, exchange.seed)
        self._exchange = exchange

    @property
    def now(self) -> int:
        return self._exchange.now

    def send(self, to: PeerId, message: Message) -> None:
        exchange = self._exchange
        exchange.mail.append((exchange.now + exchange.delay_ns, to, self.peer, message))

    def send_all(self, peers: Sequence[PeerId], message: Message) -> None:
        exchange, me = self._exchange, self.peer
        at = exchange.now + exchange.delay_ns
        exchange.mail.extend([(at, to, me, message) for to in peers])

    def after(self, delay_ns: int, timer: Timer) -> None:
        self._exchange.set_timer(self, delay_ns, timer)


class Exchange:
    """Carries messages and timers between the peers it hosts, always in the same order."""

    def __init__(self, seed: int = 0, delay_ns: int = 0) -> None:
        self.seed = seed
        self.delay_ns = delay_ns
        self.now = 0
        self.nodes: dict[PeerId, Node] = {}
        self.ports: dict[PeerId, ExchangePort] = {}
        self.mail: deque[tuple[int, PeerId, PeerId, Message]] = deque()
        self.drop: Callable[[PeerId, PeerId, Message], bool] | None = None
        """Given sender, receiver and message: whether it is lost."""
        self.carried = 0
        self.errors: list[tuple[PeerId, RemoteError]] = []
        self._timers: list[tuple[int, int, ExchangePort, Timer]] = []
        self._timers_set = 0

    def host(self, peer: PeerId, make: Callable[[ExchangePort], Node]) -> Any:
        """Begin a life of the peer; one that it had ends, and so do its timers."""
        port = self.ports[peer] = ExchangePort(self, peer)
        self.nodes[peer] = make(port)
        return self.nodes[peer]

    def kill(self, peer: PeerId) -> None:
        """From now on nothing reaches the peer."""
        del self.nodes[peer], self.ports[peer]

    def set_timer(self, port: ExchangePort, delay_ns: int, timer: Timer) -> None:
        self._timers_set += 1
        heappush(self._timers, (self.now + delay_ns, self._timers_set, port, timer))

    def deliver_mail(self) -> None:
        """Carry messages until none is under way, letting no timer fire."""
        mail, nodes, drop = self.mail, self.nodes, self.drop
        while mail:
            self.now, to, sender, message = mail.popleft()
            self._deliver(nodes, drop, to, sender, message)

    def run_until(self, time: int) -> None:
        """All messages and timers up to that time, messages first where they meet."""
        mail, timers = self.mail, self._timers
        while True:
            next_timer = timers[0][0] if timers else None
            if mail and (next_timer is None or mail[0][0] <= next_timer):
                if mail[0][0] > time:
                    break
                self.now, to, sender, message = mail.popleft()
                self._deliver(self.nodes, self.drop, to, sender, message)
            elif next_timer is not None and next_timer <= time:
                self.now, _order, port, timer = heappop(timers)
                if self.ports.get(port.peer) is port:
                    self.nodes[port.peer].on_timer(timer)
            else:
                break
        self.now = time

    def _deliver(
        self,
        nodes: dict[PeerId, Node],
        drop: Callable[[PeerId, PeerId, Message], bool] | None,
        to: PeerId,
        sender: PeerId,
        message: Message,
    ) -> None:
        self.carried += 1
        node = nodes.get(to)
        if node is None or (drop is not None and drop(sender, to, message)):
            return
        try:
            node.on_message(sender, message)
        except RemoteError as error:
            self.errors.append((to, error))
