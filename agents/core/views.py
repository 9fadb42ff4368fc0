"""Views: bounded sets of peers that remember no hash order."""

from collections.abc import Callable, Iterable, Iterator

from agents.core.draw import sample
from agents.core.messages import PeerId


class View:
    """At most `capacity` different peers. The order is that of the operations, so it is repeatable.

    Membership is looked up by scanning: views are of a few dozen, where a list beats a dictionary.
    """

    __slots__ = ("capacity", "peers")

    def __init__(self, capacity: int, peers: Iterable[PeerId] = ()) -> None:
        self.capacity = capacity
        self.peers: list[PeerId] = []
        for peer in peers:
            self.add(peer)

    def __len__(self) -> int:
        return len(self.peers)

    def __iter__(self) -> Iterator[PeerId]:
        return iter(self.peers)

    def __contains__(self, peer: object) -> bool:
        return peer in self.peers

    @property
    def full(self) -> bool:
        return len(self.peers) >= self.capacity

    def add(self, peer: PeerId) -> bool:
        """Whether the peer is new and there was room for it."""
        if peer in self.peers or self.full:
            return False
        self.peers.append(peer)
        return True

    def remove(self, peer: PeerId) -> bool:
        """Whether the peer was there. The last one takes its place."""
        try:
            position = self.peers.index(peer)
        except ValueError:
            return False
        last = self.peers.pop()
        if position < len(self.peers):
            self.peers[position] = last
        return True

    def replace(self, old: PeerId, new: PeerId) -> bool:
        """Put `new` where `old` was; whether `old` was there and `new` was not."""
        if new in self.peers or old not in self.peers:
            return False
        self.peers[self.peers.index(old)] = new
        return True

    def sample(self, count: int, random: Callable[[], float]) -> list[PeerId]:
        return sample(self.peers, count, random)


class Seen:
    """The last `capacity` ids that were added; the oldest are forgotten."""

    __slots__ = ("_ids", "_oldest", "_ring", "capacity")

    def __init__(self, capacity: int = 65_536) -> None:
        self.capacity = capacity
        self._ids: dict[str, None] = {}
        # Only once it is full, so that the many that never are stay small. Finding the oldest in
        # the dictionary would mean to step over all that were deleted before it.
        self._ring: list[str] = []
        self._oldest = 0

    def __len__(self) -> int:
        return len(self._ids)

    def __contains__(self, key: object) -> bool:
        return key in self._ids

    def add(self, key: str) -> bool:
        """Whether the id is new."""
        ids = self._ids
        if key in ids:
            return False
        if len(ids) < self.capacity:
            ids[key] = None
        elif self.capacity > 0:
            self._put_in_place_of_oldest(key)
        return True

    def _put_in_place_of_oldest(self, key: str) -> None:
        ids, position = self._ids, self._oldest
        ring = self._ring = self._ring or list(ids)
        del ids[ring[position]]
        ids[key] = None
        ring[position] = key
        self._oldest = (position + 1) % len(ring)
