"""P-Grid gives both tables: CAMCAST's structured version (5.2.3), V3.

"P-Grid: A Self-Organizing Access Structure for P2P Information Systems" (Aberer). A process is
registered under the hash of its topic with whoever is responsible for that key. Its topic table is
a uniform sample of those registered, as large as the layer above wants it for so many, drawn anew
at every refresh; so are the processes of other topics that it is asked to look up. Where fewer are
listed than at the refresh before, the earlier ones fill the table up once more: whoever left is known
for a refresh longer, and nobody is alone because a holder has only begun to hear of the living.

State: the table with the last listing, and for whom of other topics it was asked; and, once for each
peer (`node`), its path with references for each level (`trie`), the registrations that it holds
(`registrations`), its own (`lookups`), meetings to come (`meetings`), and questions that wait for
answers (`requests`, `search`).

Messages, all of the overlay. `Ask` who is responsible for a key, answered by `Directions`. `Meet`,
answered by `Met` or `Declined`. `Register` and `Find`, answered by `Listing` or `Declined`;
`Deregister`. `Replicate` takes registrations to others who hold them.

Timers. `AnswerDue`: a question has waited long enough. `RefreshDue`: renew, meet, look after
references.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from agents.core.errors import LocalError, RemoteError
from agents.core.membership import Carrier, Found, Membership, Population
from agents.core.messages import PeerId, ScopedMessage
from agents.core.overlay import Overlay
from agents.core.port import Port
from agents.core.registry import memberships
from agents.core.setting import Setting
from agents.membership.pgrid.messages import PGridParameters
from agents.membership.pgrid.node import PGridNode


def node_of(setting: Setting) -> PGridNode:
    """The peer's own part in the overlay, which the host has made."""
    overlay: Overlay | None = setting.overlay
    if not isinstance(overlay, PGridNode):
        raise LocalError("P-Grid needs its overlay: make the peer with `make_peer`")
    return overlay


class PGrid(Membership):
    name = "pgrid"
    Parameters = PGridParameters
    messages = PGridNode.messages
    overlay = PGridNode
    looks_up = True

    def __init__(
        self, port: Port, setting: Setting, scope: str, population: Population, carrier: Carrier
    ) -> None:
        super().__init__(port, setting, scope, population, carrier)
        self._node = node_of(setting)
        self._table: Sequence[PeerId] = ()
        self._listed: tuple[int, Sequence[PeerId]] = (0, ())
        """The last listing: how many were registered, and whom of them it named."""
        self._ready = False
        self._looked_up: dict[str, tuple[int, Found]] = {}
        """By topic: how many were asked for, and who wants to know."""

    @property
    def members(self) -> Sequence[PeerId]:
        return self._table

    def join(self) -> None:
        self._node.register(self.scope, self.population.size, self._on_listing)

    def leave(self) -> None:
        self._looked_up.clear()
        self._table = ()
        self._listed = (0, ())
        self._ready = False
        self._node.deregister(self.scope)

    def resize(self, size: int) -> None:
        super().resize(size)
        self._table = self._table[:size]
        self._node.lookups.resize(self.scope, size)

    def look_up(self, topics: Sequence[str], count: int, found: Found) -> None:
        for topic in topics:
            self._looked_up[topic] = (count, found)
            self._search(topic)

    def on_message(self, sender: PeerId, message: ScopedMessage) -> None:
        raise RemoteError(f"pgrid takes no {type(message).__name__}")

    def _on_listing(self, registered: int, peers: Sequence[PeerId]) -> None:
        # Who has just begun to answer for a topic hears of those registered within a refresh. So
        # that nobody sends to few or none until then, the listing before this one counts as well.
        registered_before, peers_before = self._listed
        self._listed = (registered, peers)
        self._table = list(dict.fromkeys((*peers, *peers_before)))[: self.population.size]
        renewed, self._ready = self._ready, True
        self.on_size(max(registered, registered_before) + 1)
        for topic in list(self._looked_up) if renewed else ():
            self._search(topic)
        if not renewed:
            self.carrier.membership_ready()

    def _search(self, topic: str) -> None:
        count, _ = self._looked_up[topic]
        self._node.search_peers(topic, count, partial(self._on_found, topic))

    def _on_found(self, topic: str, _registered: int, peers: Sequence[PeerId]) -> None:
        if topic in self._looked_up and not self._looked_up[topic][1](topic, peers):
            del self._looked_up[topic]


memberships.register(PGrid)
