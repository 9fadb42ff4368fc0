"""The probability that every process of a community receives an event (4.5)."""

import math
from collections.abc import Callable, Sequence

from analysis.theory import gossip, upward
from analysis.theory.checks import at_least, finite, probability
from analysis.theory.communities import Community, Hierarchy


def camcast(hierarchy: Hierarchy, pit: Callable[[Community], float] = upward.pit) -> float:
    """The product of e^(-e^-c) · pit (4.5.1; daMulticast eq. 1), for the last community.

    The printed product takes pit of the last community too, whose event has nowhere further to go
    and, at the root, cannot: here it is over the communities below only. `hierarchy.up_to(k)` for
    another than the root. `pit` may be `upward.pit_by_chance`.
    """
    inside = math.prod(gossip.reliability(community.c) for community in hierarchy.communities)
    return inside * math.prod(pit(community) for community in hierarchy.below_the_root)


def camcast_as_printed(cs: Sequence[float], pits: Sequence[float]) -> float:
    """The product of e^(-e^-c) · pit with as many pit as communities (4.5.1; daMulticast eq. 1).

    The trade-offs of 4.5.2 stand on it. It is never above what `camcast` says.
    """
    if len(cs) != len(pits):
        raise ValueError(f"pits must be as many as cs, are {len(pits)} and {len(cs)}")
    return math.prod(
        gossip.reliability(c) * probability("pits", pit) for c, pit in zip(cs, pits, strict=True)
    )


def broadcast(c: float) -> float:
    """(a): e^(-e^-c) (4.5.2; daMulticast VI-E.3)."""
    return gossip.reliability(c)


def multicast(cs: Sequence[float]) -> float:
    """(b): the product of e^(-e^-c) (4.5.2; daMulticast VI-E.3)."""
    return math.prod(gossip.reliability(c) for c in cs)


def hierarchical(clusters: int, c1: float, c2: float) -> float:
    """(c): e^(-C·e^-c1 - e^-c2), C clusters (4.5.2, from [24]; daMulticast VI-E.3)."""
    at_least(1, "clusters", clusters)
    # As in gossip.reliability: beyond 700 the powers overflow.
    exponents = (min(700.0, -finite("c1", c1)), min(700.0, -finite("c2", c2)))
    return math.exp(-clusters * math.exp(exponents[0]) - math.exp(exponents[1]))
