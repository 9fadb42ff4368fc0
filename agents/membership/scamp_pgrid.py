"""SCAMP's tables, contacts from P-Grid: CAMCAST's semi-structured version (5.2.2), V2.

The topic table is SCAMP's. Whom a newcomer subscribes through, and the processes of other topics
that the layer above asks for, are looked up in P-Grid, where every member is registered under its
topic; no community has gateways.

State: as SCAMP's, and the contacts that P-Grid named last. See `scamp` and `pgrid` for the rest.

Messages. SCAMP's: `Subscription`, `ForwardedSubscription`, `Welcome`, `SubscriptionKept`,
`ScampHeartbeat`, `Unsubscription`. P-Grid's: `Ask`, `Directions`, `Meet`, `Met`, `Declined`,
`Register`, `Find`, `Listing`, `Deregister`, `Replicate`. Timers: those of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from agents.core.membership import Carrier, Found, Population
from agents.core.messages import PeerId
from agents.core.port import Port
from agents.core.protocol import Parameters
from agents.core.registry import memberships
from agents.core.setting import Setting
from agents.membership.pgrid import node_of
from agents.membership.pgrid.messages import Maxl, PGridParameters, Recmax, Refmax, Seconds
from agents.membership.pgrid.node import PGridNode
from agents.membership.scamp import Scamp, ScampParameters, Subscription

CONTACTS = 3
"""Asked for at a time. Ours: two of them may be dead and still registered."""

FOUNDERS_REFRESHES = 2
"""Until one who was told that nobody is registered subscribes through somebody who is by now. Ours:
earlier, among few, one more subscription makes all later views larger."""

_PGRID = PGridParameters()


class ScampPGridParameters(ScampParameters, frozen=True):
    """Those of SCAMP, and those of P-Grid as they stand there: records have one base."""

    maxl: Maxl = _PGRID.maxl
    refmax: Refmax = _PGRID.refmax
    recmax: Recmax = _PGRID.recmax
    refresh_s: Seconds = _PGRID.refresh_s
    registration_lease_s: Seconds = _PGRID.registration_lease_s
    answer_timeout_s: Seconds = _PGRID.answer_timeout_s

    def __post_init__(self) -> None:
        ScampParameters.__post_init__(self)
        own = PGridParameters.__struct_fields__
        PGridParameters(**{name: getattr(self, name) for name in own})


class ScampPGrid(Scamp):
    name = "scamp+pgrid"
    Parameters: ClassVar[type[Parameters]] = ScampPGridParameters
    messages = (*Scamp.messages, *PGridNode.messages)
    overlay = PGridNode
    looks_up = True

    def __init__(
        self, port: Port, setting: Setting, scope: str, population: Population, carrier: Carrier
    ) -> None:
        super().__init__(port, setting, scope, population, carrier)
        self._node = node_of(setting)
        self._named: Sequence[PeerId] = ()
        self._begun = False
        self._founder = 0
        """For how many refreshes we go without subscribing, having begun alone; 0 if we did not."""
        self._left = False

    def look_up(self, topics: Sequence[str], count: int, found: Found) -> None:
        for topic in topics:
            self._node.search_peers(topic, count, partial(self._on_found, topic, found))

    def leave(self) -> None:
        super().leave()
        self._begun, self._left = False, True
        self._node.deregister(self.scope)

    def begin(self) -> None:
        self._left = False
        # Whoever was registered before is asked, and holds the answer until it is a member itself:
        # so no two begin alone.
        self._node.register(self.scope, CONTACTS, self._on_listing)

    def look_up_contacts(self) -> list[PeerId]:
        return list(self._named)

    def _on_listing(self, _registered: int, peers: Sequence[PeerId]) -> None:
        self._named = peers
        if not self._begun or not (peers or self._ready):
            # At first, or since those whom we waited for were dead and are registered no more.
            self._begun, self._awaiting = True, False
            self._founder = 0 if peers else FOUNDERS_REFRESHES
            super().begin()
        elif peers and self._founder:
            self._founder -= 1
            if not self._founder:
                # If two began alone, each told by another holder that there was nobody, this joins
                # what they founded.
                again = Subscription(self.scope, self.port.peer, 0, 0.0)
                self.port.send(peers[0], again)

    def _on_found(
        self, topic: str, found: Found, _registered: int, peers: Sequence[PeerId]
    ) -> None:
        if peers and not self._left:
            found(topic, peers)  # once: SCAMP's news and CAMCAST's upkeep do the rest


memberships.register(ScampPGrid)
