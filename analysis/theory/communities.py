"""What the closed forms are about: communities, from the publication's up to the root."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from analysis.theory import gossip
from analysis.theory.checks import at_least, finite, probability


@dataclass(frozen=True)
class Community:
    """The community of one topic, and how it is tied to its super-community.

    The defaults are those of the simulations (CAMCAST 6.1.1, daMulticast VII-A).
    """

    size: int
    """N: how many processes."""
    c: float = 5.0
    """Each sends an event to ln N + c others (3.5)."""
    g: float = 5.0
    """How many of them try to pass it up: psel = g/N (3.5)."""
    a: float = 1.0
    """To how many super-processes each of these sends it: pa = a/z (3.5)."""
    z: int = 3
    """The size of a super-topic table (3.2.1)."""
    psucc: float = 0.85
    """The probability that a message arrives (4.3.1, 6.1.1)."""

    def __post_init__(self) -> None:
        at_least(1, "size", self.size)
        finite("c", self.c)
        at_least(0, "g", self.g)
        at_least(0, "a", self.a)
        at_least(1, "z", self.z)
        probability("psucc", self.psucc)

    @property
    def psel(self) -> float:
        """psel = g/N (3.5); in a very small community "all processes propagate" (4.5.1)."""
        return min(1.0, self.g / self.size)

    @property
    def pa(self) -> float:
        """pa = a/z (3.5), for 1 <= a <= z; no more than all of the table."""
        return min(1.0, self.a / self.z)

    @property
    def targets(self) -> float:
        """ln N + c, as the analysis has it."""
        return gossip.targets(self.size, self.c)

    @property
    def fanout(self) -> int:
        """How many that is in practice."""
        return gossip.fanout(self.size, self.c)


@dataclass(frozen=True)
class Hierarchy:
    """The communities that an event passes: the publication's first, the root's last.

    The papers number them from the root's, t_0, down to the publication's, t_{x-1}: a sum "from
    i = x-1 to 0" goes through them in our order.
    """

    communities: tuple[Community, ...]

    def __post_init__(self) -> None:
        if not self.communities:
            raise ValueError("communities must not be empty")

    @classmethod
    def of_sizes(cls, sizes: Iterable[int], like: Community | None = None) -> Hierarchy:
        """Communities of these sizes that have all else from `like`, or the defaults."""
        if like is None:
            return cls(tuple(Community(size) for size in sizes))
        return cls(tuple(replace(like, size=size) for size in sizes))

    @property
    def x(self) -> int:
        """How many communities (4.1)."""
        return len(self.communities)

    @property
    def n(self) -> int:
        """All processes. 4.4.2 prints the sum of N_max; the sum of N_{t_i} is meant."""
        return sum(community.size for community in self.communities)

    @property
    def n_max(self) -> int:
        return max(community.size for community in self.communities)

    @property
    def c_max(self) -> float:
        return max(community.c for community in self.communities)

    @property
    def z_max(self) -> int:
        return max(community.z for community in self.communities)

    @property
    def below_the_root(self) -> tuple[Community, ...]:
        """Those that pass events up."""
        return self.communities[:-1]

    def up_to(self, position: int) -> Hierarchy:
        """The way to the community at this position, 0 being the publication's.

        An event's fate there depends on nothing above.
        """
        if not 0 <= position < self.x:
            raise ValueError(f"position must be from 0 to {self.x - 1}, is {position}")
        return Hierarchy(self.communities[: position + 1])
