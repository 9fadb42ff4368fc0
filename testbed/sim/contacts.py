"""Whom a simulated peer is told of when it asks how to join a scope."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from agents.core.draw import choice
from agents.core.messages import PeerId
from testbed.sim.world import World

_TRIES = 8
"""For each contact that is wanted: enough to get past some that are down."""


class Contacts(Mapping[str, Sequence[PeerId]]):
    """Drawn anew each time, among those who joined the scope before and are up."""

    def __init__(
        self,
        world: World,
        peer: PeerId,
        count: int,
        random: Callable[[], float],
        gateways: Callable[[str], Sequence[PeerId]] | None = None,
    ) -> None:
        self._world = world
        self._peer = peer
        self._count = count
        self._random = random
        self._gateways = gateways

    def __getitem__(self, scope: str) -> Sequence[PeerId]:
        candidates = self._candidates(scope)
        found: list[PeerId] = []
        for _ in range(_TRIES * self._count if candidates else 0):
            peer = choice(candidates, self._random)
            if peer != self._peer and peer not in found and self._world.is_up(peer):
                found.append(peer)
                if len(found) == self._count:
                    break
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._world.joined)

    def __len__(self) -> int:
        return len(self._world.joined)

    def _candidates(self, scope: str) -> Sequence[PeerId]:
        if self._gateways is None:
            return self._world.joined.get(scope, ())
        return [peer for peer in self._gateways(scope) if self._world.is_enrolled(peer, scope)]
