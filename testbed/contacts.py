"""Whom a peer is told of when it asks how to join a scope."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Protocol

from agents.core.draw import choice
from agents.core.messages import PeerId
from agents.core.overlay import OVERLAY

_TRIES = 8
"""For each contact that is wanted: enough to get past some that are down."""


class Roster(Protocol):
    """Who takes part in what at this time, as an engine knows it."""

    @property
    def joined(self) -> Mapping[str, Sequence[PeerId]]:
        """By scope, in the order in which they joined; those who crashed since may be there."""

    def is_up(self, peer: PeerId) -> bool: ...


class Contacts(Mapping[str, Sequence[PeerId]]):
    """Drawn anew each time, among those who joined the scope before and are up."""

    def __init__(
        self,
        roster: Roster,
        peer: PeerId,
        count: int,
        random: Callable[[], float],
        gateways: int = 0,
        overlay: Callable[[], Sequence[PeerId]] = tuple,
    ) -> None:
        self._roster = roster
        self._peer = peer
        self._count = count
        self._random = random
        self._gateways = gateways
        """If more than 0, only the first so many of a scope let others in (CAMCAST 5.2.1)."""
        self._overlay = overlay
        """Who can let others into the overlay, once they are up: they join no scope there."""

    def __getitem__(self, scope: str) -> Sequence[PeerId]:
        candidates = self._candidates(scope)
        found: list[PeerId] = []
        for _ in range(_TRIES * self._count if candidates else 0):
            peer = choice(candidates, self._random)
            if peer != self._peer and peer not in found and self._roster.is_up(peer):
                found.append(peer)
                if len(found) == self._count:
                    break
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._roster.joined)

    def __len__(self) -> int:
        return len(self._roster.joined)

    def _candidates(self, scope: str) -> Sequence[PeerId]:
        if scope == OVERLAY:
            others = (peer for peer in self._overlay() if peer != self._peer)
            return [peer for peer in others if self._roster.is_up(peer)]
        joined = self._roster.joined.get(scope, ())
        if not self._gateways:
            return joined
        up = (peer for peer in sorted(joined) if self._roster.is_up(peer))
        return list(islice(up, self._gateways))
