"""A search for whoever is responsible for a key, one peer asked after the other.

The one who searches asks a random reference at the level where the key leaves its own path, then
one of those that it names, and so on; who does not answer is passed over, and when all whom a peer
named are dead the search goes back to those named before. It ends with the first who says that it
is responsible, or when there is nobody left to ask.
"""

from collections.abc import Callable, Sequence

from agents.core.messages import PeerId

MOST_STEPS = 64
"""Ours: several times the longest way that there is among 10,000 peers of whom half are dead."""


class Search:
    """Whom to ask next. It sends nothing itself."""

    __slots__ = ("_asked", "_stack", "avoid", "done", "heard", "key")

    def __init__(
        self,
        key: str,
        me: PeerId,
        avoid: PeerId | None,
        start: Sequence[PeerId],
        done: Callable[["Search", PeerId | None], None],
    ) -> None:
        self.key = key
        self.avoid = avoid
        self.done = done
        """Called once, with the one who is responsible or with nobody."""
        self.heard: list[tuple[PeerId, str]] = []
        """Who answered, and its path."""
        self._asked: dict[PeerId, None] = {me: None}
        self._stack: list[PeerId] = []
        self.add(start)

    def add(self, peers: Sequence[PeerId]) -> None:
        """These may know more; the first of them is asked next."""
        self._stack.extend(reversed(peers))

    @property
    def all_answered(self) -> bool:
        """If not, there may be somebody although nobody was found."""
        return len(self.heard) == len(self._asked) - 1

    def near(self, path: str) -> PeerId | None:
        """Somebody who answered and has keys in common with that path, and is not responsible for
        them yet."""
        for peer, its_path in self.heard:
            if its_path.startswith(path) or path.startswith(its_path):
                return peer
        return None

    def next(self) -> PeerId | None:
        while self._stack and len(self._asked) <= MOST_STEPS:
            peer = self._stack.pop()
            if peer not in self._asked and peer != self.avoid:
                self._asked[peer] = None
                return peer
        return None
