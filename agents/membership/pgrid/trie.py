"""A peer's place in P-Grid's binary trie, and what a meeting does to the places of two.

A place is a path of bits and, for each level of it, references to peers whose paths agree up to
there and then go the other way. A key is as long as the longest path: a peer is responsible for the
keys that begin with its path.

"P-Grid: A Self-Organizing Access Structure for P2P Information Systems" (Aberer), Fig. 3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b

from agents.core.draw import sample
from agents.core.messages import PeerId
from agents.membership.pgrid.messages import KEY_BITS, MAX_REFERENCES

RECURSIVE_MEETINGS = 2
"""How many of the other's references one meets at the most."""


def key_of(topic: str) -> str:
    """The bits under which a topic's processes are registered."""
    return bits(int.from_bytes(blake2b(topic.encode(), digest_size=KEY_BITS // 8).digest()))


def bits(key: int) -> str:
    return f"{key:0{KEY_BITS}b}"


def packed(path: str) -> int:
    """A path for the wire."""
    return int("1" + path, 2)


def unpacked(path: int) -> str:
    return f"{path:b}"[1:]


def opposite(bit: str) -> str:
    return "1" if bit == "0" else "0"


def common_length(one: str, other: str) -> int:
    """How many bits two paths begin with that are the same."""
    for position, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return position
    return min(len(one), len(other))


@dataclass(slots=True)
class Outcome:
    """What a meeting means for the one who asked for it, and who meets whom next."""

    path: str
    references: dict[int, list[PeerId]] = field(default_factory=dict)
    """At the levels that changed, from 1."""
    its_meetings: list[PeerId] = field(default_factory=list)
    our_meetings: list[PeerId] = field(default_factory=list)


class Trie:
    """One peer's place."""

    __slots__ = ("_random", "me", "path", "references", "refmax")

    def __init__(self, me: PeerId, refmax: int, random: Callable[[], float]) -> None:
        self.me = me
        self.refmax = refmax
        self.path = ""
        self.references: list[list[PeerId]] = []
        """The first is level 1's: of those whose first bit is not ours."""
        self._random = random

    def covers(self, key: str) -> bool:
        return key.startswith(self.path)

    def towards(self, key: str) -> list[PeerId]:
        """References at the level at which the key leaves our path, in random order."""
        level = common_length(self.path, key)
        return self._some(self.references[level]) if level < len(self.path) else []

    def known(self) -> list[PeerId]:
        """All references, in random order."""
        return self._some(list(dict.fromkeys(p for level in self.references for p in level)))

    def key_across(self, level: int) -> str:
        """A random key on the other side of that level, from 1."""
        return self.key_under(self.path[: level - 1] + opposite(self.path[level - 1]))

    def key_under(self, path: str) -> str:
        """A random key that begins with the path."""
        return path + "".join(
            "0" if self._random() < 0.5 else "1" for _ in range(KEY_BITS - len(path))
        )

    def extend(self, bit: str, references: Sequence[PeerId]) -> None:
        self.path += bit
        self.references.append([])
        self.set_level(len(self.path), references)

    def retreat(self, level: int) -> None:
        """Give up that level and those below it: be responsible for both of its sides again."""
        del self.references[level - 1 :]
        self.path = self.path[: level - 1]

    def set_level(self, level: int, references: Sequence[PeerId]) -> None:
        others = [peer for peer in dict.fromkeys(references) if peer != self.me]
        self.references[level - 1] = others[: self.refmax]

    def note(self, peer: PeerId, path: str) -> None:
        """That is where the peer is now: refer to it at that level and no other, if there is room."""
        level = common_length(self.path, path)
        beside = level < len(self.path) and level < len(path)
        for number, known in enumerate(self.references):
            if peer in known and not (beside and number == level):
                known.remove(peer)
        if beside and peer != self.me:
            here = self.references[level]
            if peer not in here and len(here) < self.refmax:
                here.append(peer)

    def drop(self, peer: PeerId) -> None:
        for known in self.references:
            if peer in known:
                known.remove(peer)

    def meet(
        self,
        other: PeerId,
        path: str,
        references: Sequence[Sequence[PeerId]],
        *,
        maxl: int,
        further: bool,
    ) -> Outcome:
        """EXCHANGE with another, whose place is given, and take our part of what comes of it.

        With `further`, two who have long parted are to meet each other's references: those of each
        that lie on the other's side.
        """
        mine, length = self.path, common_length(self.path, path)
        outcome = Outcome(path)
        if length:
            both = [*self.references[length - 1], *references[length - 1]]
            union = list(dict.fromkeys(p for p in both if p not in (self.me, other)))
            self.references[length - 1] = self._some(union, self.refmax)
            outcome.references[length] = self._some(union, self.refmax)
        at_end, other_at_end = length == len(mine), length == len(path)
        if at_end and other_at_end:
            if length < maxl:
                bit = "0" if self._random() < 0.5 else "1"
                self.extend(opposite(bit), [other])
                outcome.path += bit
                outcome.references[length + 1] = [self.me]
        elif other_at_end:
            outcome.path += opposite(mine[length])
            outcome.references[length + 1] = [self.me]
            here = self.references[length]
            self.references[length] = self._some([p for p in here if p != other] + [other])
            del self.references[length][self.refmax :]
        elif at_end:
            self.extend(opposite(path[length]), [other])
            theirs = [p for p in references[length] if p not in (self.me, other)]
            outcome.references[length + 1] = self._some([*theirs, self.me], self.refmax)
        elif further:
            theirs = [p for p in references[length] if p not in (self.me, other)]
            outcome.our_meetings = self._some(theirs, RECURSIVE_MEETINGS)
            ours = [p for p in self.references[length] if p not in (self.me, other)]
            outcome.its_meetings = self._some(ours, RECURSIVE_MEETINGS)
        return outcome

    def _some(self, peers: Sequence[PeerId], count: int = MAX_REFERENCES) -> list[PeerId]:
        return sample(peers, count, self._random)
