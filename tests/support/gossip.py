"""Gossip of either kind: one process on lists, or a whole system at an exchange."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.core.interest import Interest, Topic
from agents.core.membership import Membership
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.scamp import Scamp
from agents.membership.static import Static
from agents.protocols.gossip import GossipBroadcast, GossipMulticast
from tests.support.ports import Exchange, ListPort

ME = 0
NAMES = (".s", ".s.i", ".s.f", ".t")
COMMUNITIES: dict[str, list[PeerId]] = {
    ".": [0, 1],
    ".s": [2, 3],
    ".s.i": [4, 5, 6],
    ".t": [7],
}
ITALY = Event("e", ".s.i", b"Forza Azzurri")
SYSTEM = {".t": range(50), ".": range(50, 60), ".s.i": range(60, 160)}
Kind = type[GossipBroadcast] | type[GossipMulticast]


def hierarchy() -> Topics:
    topics = Topics()
    for name in NAMES:
        topics.add(name)
    return topics


class Peer:
    """One process on a list port, over static tables unless it is given contacts."""

    def __init__(
        self,
        protocol: type[GossipBroadcast] | type[GossipMulticast],
        communities: Mapping[str, Sequence[PeerId]] = COMMUNITIES,
        *,
        contacts: Mapping[str, Sequence[PeerId]] | None = None,
        topic_parameters: Mapping[str, Mapping[str, Any]] | None = None,
        peer: PeerId = ME,
        **parameters: Any,
    ) -> None:
        self.port = ListPort(peer)
        self.topics = hierarchy()
        membership: type[Membership] = Static if contacts is None else Scamp
        quiet = {} if contacts is None else {"lease_s": 0, "heartbeat_s": 0}
        setting = Setting(
            self.topics,
            Directory(self.topics, communities),
            membership,
            membership_parameters=quiet,
            parameters=parameters,
            topic_parameters=topic_parameters or {},
            contacts=contacts or {},
        )
        self.protocol = protocol(self.port, setting)
        self.protocol.start()

    def subscribe(self, *interests: Interest) -> Peer:
        for interest in interests:
            self.protocol.subscribe(interest)
        return self

    def publish(self, event: Event) -> list[tuple[PeerId, Message]]:
        """What is sent because of it, by receiver."""
        self.port.sent.clear()
        self.protocol.publish(event)
        return by_receiver(self.port.take_sent())

    def hear(self, sender: PeerId, message: Message) -> list[tuple[PeerId, Message]]:
        """What is sent because of the message, by receiver."""
        self.port.sent.clear()
        self.protocol.on_message(sender, message)
        return by_receiver(self.port.take_sent())

    def fire(self, timer: Timer) -> list[tuple[PeerId, Message]]:
        self.port.sent.clear()
        self.protocol.on_timer(timer)
        return by_receiver(self.port.take_sent())

    @property
    def delivered(self) -> list[tuple[Event, str]]:
        return self.port.delivered

    @property
    def joined(self) -> list[str]:
        return self.port.joined_communities

    @property
    def left(self) -> list[str]:
        return self.port.left_communities

    @property
    def tables(self) -> dict[str, list[PeerId]]:
        views = self.protocol.views()
        assert {name for _, name in views} <= {"table"}
        return {scope: sorted(peers) for (scope, _), peers in views.items()}


def by_receiver(sent: list[tuple[PeerId, Message]]) -> list[tuple[PeerId, Message]]:
    return sorted(sent, key=lambda item: item[0])


def to(peers: Sequence[PeerId], message: Message) -> list[tuple[PeerId, Message]]:
    return [(peer, message) for peer in peers]


def run(kind: Kind, communities: Mapping[str, Sequence[PeerId]], event: Event) -> Exchange:
    """Everybody over static tables; the last one publishes."""
    exchange, topics = Exchange(seed=1), hierarchy()
    setting = Setting(topics, Directory(topics, communities), Static)
    for topic, peers in communities.items():
        for peer in peers:
            node = exchange.host(peer, lambda port: kind(port, setting))
            node.start()
            node.subscribe(Topic(topic))
    node.publish(event)
    exchange.deliver_mail()
    assert exchange.errors == []
    return exchange


def receivers(exchange: Exchange) -> list[PeerId]:
    return [peer for peer, port in exchange.ports.items() for _ in port.delivered]
