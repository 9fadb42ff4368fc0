"""P-Grid nodes alone, with no membership and no protocol on top, on an exchange or on lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agents.core.messages import PeerId, ns
from agents.core.overlay import OVERLAY
from agents.core.port import Port
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.pgrid import PGrid
from agents.membership.pgrid.node import PGridNode
from tests.support.ports import Exchange

NOTHING: Mapping[str, Any] = {}


def setting_of(
    contacts: Sequence[PeerId] = (), parameters: Mapping[str, Any] = NOTHING, size: int = 0
) -> Setting:
    topics = Topics()
    directory = Directory(topics, {".": range(size)})
    return Setting(topics, directory, PGrid, parameters, contacts={OVERLAY: contacts})


def node_on(
    port: Port, contacts: Sequence[PeerId] = (), size: int = 0, **parameters: Any
) -> PGridNode:
    return PGridNode(port, setting_of(contacts, parameters, size))


class Grid:
    """Nodes at one exchange, a millisecond from each other."""

    def __init__(self, seed: int = 1, **parameters: Any) -> None:
        self.exchange = Exchange(seed, delay_ns=1_000_000)
        self.parameters = parameters
        self.nodes: dict[PeerId, PGridNode] = {}

    def start(self, peer: PeerId, contacts: Sequence[PeerId] = (), size: int = 0) -> PGridNode:
        node: PGridNode = self.exchange.host(
            peer, lambda port: node_on(port, contacts, size, **self.parameters)
        )
        self.nodes[peer] = node
        node.start()
        return node

    def join_in_sequence(self, count: int, gateways: int = 4, spacing_s: float = 0.1) -> None:
        """The gateways first, one through the other; then the others, through the gateways."""
        for peer in range(count):
            known = range(min(peer, gateways))
            self.start(peer, known, size=count)
            self.run(spacing_s)

    def kill(self, peer: PeerId) -> None:
        self.exchange.kill(peer)
        del self.nodes[peer]

    def run(self, seconds: float) -> None:
        self.exchange.run_until(self.exchange.now + ns(seconds))

    def find(self, asker: PeerId, topic: str, count: int, patience_s: float = 20.0) -> Any:
        """How many are registered and who was found; nothing if nobody could be reached."""
        found: list[tuple[int, Sequence[PeerId]]] = []
        self.nodes[asker].search_peers(topic, count, lambda n, peers: found.append((n, peers)))
        until = self.exchange.now + ns(patience_s)
        while not found and self.exchange.now < until:
            self.run(0.01)
        return found[0] if found else None
