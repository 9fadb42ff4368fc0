"""How many rounds an event takes (4.6).

For a hierarchy, the rounds are those until the last community of it has the event, given that it
gets there; `hierarchy.up_to(k)` for another than the root's. `constant` is the O(1) of eq. (12),
which the paper leaves open.
"""

import math

from analysis.theory.checks import at_least, finite
from analysis.theory.communities import Hierarchy


def rounds(size: int, constant: float = 0) -> float:
    """Eq. (12): R_N = ln N / ln ln N + O(1), in one community (from [29]).

    For large N. It is not defined below 3, and falls up to N = e^e, about 15, before it grows. With
    n for N it is gossip broadcast's (4.6.2).
    """
    at_least(3, "size", size)
    return math.log(size) / math.log(math.log(size)) + finite("constant", constant)


def best(hierarchy: Hierarchy, constant: float = 0) -> float:
    """(j - i) + R of the last: the event is passed up at once everywhere (4.6.1, best case)."""
    return hierarchy.x - 1 + rounds(hierarchy.communities[-1].size, constant)


def worst(hierarchy: Hierarchy, constant: float = 0) -> float:
    """The sum of all R + (j - i): it is passed up when all have it (4.6.1, worst case)."""
    return sum(_all_rounds(hierarchy, constant)) + hierarchy.x - 1


def average_as_printed(hierarchy: Hierarchy, constant: float = 0) -> float:
    """The sum of all R/2 + (j - i): it is passed up after half of the rounds (4.6.1, average case).

    This halves the last community's rounds as well, although the event has nowhere further to go.
    In a single community it is half of the best case.
    """
    return sum(_all_rounds(hierarchy, constant)) / 2 + hierarchy.x - 1


def average(hierarchy: Hierarchy, constant: float = 0) -> float:
    """Ours: the average case with all the rounds of the last community."""
    *passed, last = _all_rounds(hierarchy, constant)
    return sum(passed) / 2 + last + hierarchy.x - 1


def best_bound(hierarchy: Hierarchy, constant: float = 0) -> float:
    """x - 1 + Rmax (4.6.1).

    Rmax is the greatest R. The paper takes that of the largest community; the two are the same
    where no community is smaller than e^e.
    """
    return hierarchy.x - 1 + max(_all_rounds(hierarchy, constant))


def worst_bound(hierarchy: Hierarchy, constant: float = 0) -> float:
    """x·(Rmax + 1) (4.6.1)."""
    return hierarchy.x * (max(_all_rounds(hierarchy, constant)) + 1)


def average_bound(hierarchy: Hierarchy, constant: float = 0) -> float:
    """x·(Rmax/2 + 1), for the average as printed (4.6.1)."""
    return hierarchy.x * (max(_all_rounds(hierarchy, constant)) / 2 + 1)


def _all_rounds(hierarchy: Hierarchy, constant: float) -> list[float]:
    return [rounds(community.size, constant) for community in hierarchy.communities]
