"""SCAMP alone, with no protocol on top: one membership on lists, or a group at an exchange."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import mean
from typing import Any

from agents.core.draw import sample, stream
from agents.core.membership import Population
from agents.core.messages import Message, PeerId, ScopedMessage, ScopedTimer, ns
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.scamp import Scamp, ScampHeartbeat, Welcome
from tests.support.ports import Exchange, ListCarrier, ListPort, Scripted

S = ".s"
ME = 0
EPOCH = 1 << 52
QUIET = {"lease_s": 0, "heartbeat_s": 0}
LEASE: dict[str, Any] = {"lease_s": 100}
BEATS: dict[str, Any] = {"heartbeat_s": 5, "isolation_s": 20}
TOPICS = Topics()


def setting(contacts: Sequence[PeerId], parameters: dict[str, Any]) -> Setting:
    parameters = {**QUIET, **parameters}
    directory = Directory(TOPICS, {})
    return Setting(TOPICS, directory, Scamp, parameters, contacts={S: contacts})


class Peer:
    """One membership on a list port. Parameters that are not given: no leases, no heartbeats."""

    def __init__(self, contacts: Sequence[PeerId] = (), news: bytes = b"", **knobs: Any) -> None:
        self.port = ListPort(ME)
        self.carrier = ListCarrier(news)
        self.scamp = Scamp(self.port, setting(contacts, knobs), S, Population((), 0), self.carrier)

    def join(self, *draws: float) -> Peer:
        self.draws(0.5, *draws)  # the epoch
        self.scamp.join()
        return self

    def draws(self, *draws: float) -> None:
        self.port.rng = Scripted(draws)

    def hear(self, sender: PeerId, message: ScopedMessage) -> list[tuple[PeerId, Message]]:
        """What is sent because of the message."""
        self.port.sent.clear()
        self.scamp.on_message(sender, message)
        return self.port.take_sent()

    def fire(self, timer: ScopedTimer) -> list[tuple[PeerId, Message]]:
        """What is sent because of the timer."""
        self.port.sent.clear()
        self.scamp.on_timer(timer)
        return self.port.take_sent()

    @property
    def view(self) -> list[PeerId]:
        return list(self.scamp.members)

    @property
    def in_view(self) -> list[PeerId]:
        return list(self.scamp.in_members)


def member(
    view: Iterable[PeerId] = (), in_view: Iterable[PeerId] = (), first_beat: float = 0, **knobs: Any
) -> Peer:
    """A member with these views, of which nothing is under way."""
    peer = Peer(**knobs)
    peer.join(*([first_beat] if knobs.get("heartbeat_s") else []))
    for other in view:
        peer.scamp.on_message(other, Welcome(S, False))
    for other in in_view:
        peer.scamp.on_message(other, ScampHeartbeat(S))
    assert peer.port.take_sent() == []
    peer.port.take_timers()
    peer.draws()
    return peer


class Group:
    """Many members at an exchange. The n-th to join asks one who joined before it."""

    def __init__(self, seed: int = 0, delay_ns: int = 0, **knobs: Any) -> None:
        self.exchange = Exchange(seed, delay_ns)
        self.knobs = knobs
        self.random = stream(seed, "contacts").random
        self.carriers: dict[PeerId, ListCarrier] = {}

    def join(self, peer: PeerId, contacts: Sequence[PeerId]) -> Scamp:
        carrier = self.carriers[peer] = ListCarrier()
        place = setting(contacts, self.knobs)

        def make(port: Any) -> Scamp:
            return Scamp(port, place, S, Population((), 0), carrier)

        scamp: Scamp = self.exchange.host(peer, make)
        scamp.join()
        return scamp

    def grow(self, count: int, settle_s: float | None = None) -> Group:
        """One after the other, each when the one before has settled."""
        for peer in range(count):
            self.join(peer, [int(self.random() * peer)] if peer else [])
            if settle_s is None:
                self.exchange.deliver_mail()
            else:
                self.wait(settle_s)
        return self

    def leave(self, peers: Iterable[PeerId]) -> None:
        for peer in peers:
            self[peer].leave()
            self.exchange.kill(peer)
            self.exchange.deliver_mail()

    def wait(self, seconds: float) -> None:
        self.exchange.run_until(self.exchange.now + ns(seconds))

    def half(self) -> list[PeerId]:
        everyone = list(self.exchange.nodes)
        return sample(everyone, len(everyone) // 2, stream(self.exchange.seed, "half").random)

    def __getitem__(self, peer: PeerId) -> Scamp:
        scamp = self.exchange.nodes[peer]
        assert isinstance(scamp, Scamp)
        return scamp

    @property
    def views(self) -> dict[PeerId, list[PeerId]]:
        return {peer: list(self[peer].members) for peer in self.exchange.nodes}

    @property
    def mean_view(self) -> float:
        return mean(map(len, self.views.values()))

    def pieces(self) -> int:
        """Into how many parts the overlay falls, an edge joining both its ends."""
        views = self.views
        root = {peer: peer for peer in views}

        def find(peer: PeerId) -> PeerId:
            while root[peer] != peer:
                root[peer] = peer = root[root[peer]]
            return peer

        for peer, view in views.items():
            for other in view:
                if other in root:
                    root[find(other)] = find(peer)
        return len({find(peer) for peer in views})

    def check_in_views(self) -> None:
        """Every in-view says who has its owner in view, and nothing else."""
        having: dict[PeerId, list[PeerId]] = {peer: [] for peer in self.exchange.nodes}
        for peer, view in self.views.items():
            for other in view:
                having[other].append(peer)
        assert {p: sorted(self[p].in_members) for p in having} == {
            p: sorted(peers) for p, peers in having.items()
        }
