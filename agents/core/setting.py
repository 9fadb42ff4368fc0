"""What a peer is told when it starts: the hierarchy, whom it can turn to, and its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agents.core.messages import PeerId
from agents.core.topics import Topics

if TYPE_CHECKING:
    from agents.core.membership import Membership
    from agents.core.overlay import Overlay


class Directory:
    """Who is in which community, known in advance: what static tables are drawn from."""

    def __init__(self, topics: Topics, communities: Mapping[str, Sequence[PeerId]]) -> None:
        self._topics = topics
        self._communities = communities
        self._audiences: dict[tuple[str, ...], tuple[PeerId, ...]] = {}
        self.everyone = tuple(sorted({p for peers in communities.values() for p in peers}))

    def community(self, topic: str) -> Sequence[PeerId]:
        """The processes that named this very topic."""
        return self._communities.get(topic, ())

    def audience(self, topic: str) -> Sequence[PeerId]:
        """The processes whose topics include this one, so that its events interest them."""
        including = (topic, *self._topics.ancestors(topic))  # these may grow
        known = self._audiences.get(including)
        if known is None:
            known = tuple(sorted({peer for name in including for peer in self.community(name)}))
            self._audiences[including] = known
        return known


@dataclass(frozen=True, slots=True)
class Setting:
    """One peer's own; parts that are alike are shared between peers."""

    topics: Topics
    directory: Directory
    membership: type[Membership]
    membership_parameters: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """For every topic."""
    topic_parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What single topics have otherwise."""
    contacts: Mapping[str, Sequence[PeerId]] = field(default_factory=dict)
    """By scope: members who can be asked to let this peer join (gateways, CAMCAST 5.2.1)."""
    super_contacts: Mapping[str, Sequence[PeerId]] = field(default_factory=dict)
    """By topic: members whom a peer below it may be given to begin with (CAMCAST 3.3)."""
    neighbourhood: Sequence[PeerId] = ()
    """Processes near by, of any interest (CAMCAST 3.3, footnote 3)."""
    overlay: Overlay | None = None
    """What all memberships of this peer stand on, where they need it."""
