"""How many messages one event costs, in CAMCAST and in what it is compared with (4.3)."""

import math

from analysis.theory import upward
from analysis.theory.checks import at_least, finite
from analysis.theory.communities import Community, Hierarchy
from analysis.theory.gossip import targets

# CAMCAST and daMulticast


def in_community(community: Community) -> float:
    """N · (ln N + c), an upper bound (4.3.1; daMulticast VI-B)."""
    return community.size * community.targets


def in_community_expected(community: Community) -> int:
    """N · floor(ln N + c): what is sent if everybody receives the event (Figs 8 and 13)."""
    return community.size * community.fanout


def in_all(hierarchy: Hierarchy) -> float:
    """Eq. (1): from the publication's community up to the root's (daMulticast VI-B).

    The upward sum is printed from x-2 to 0, which leaves out the publication's community and counts
    the root's. Meant is every community but the root's, as the sentence below it says. It counts
    what is sent inside communities, but of the upward messages those that arrive.
    """
    inside = sum(in_community(community) for community in hierarchy.communities)
    return inside + sum(upward.arrived(community) for community in hierarchy.below_the_root)


def bound(hierarchy: Hierarchy) -> float:
    """Eq. (2): x·Nmax·(ln Nmax + cmax) + x·Nmax·ln Nmax·zmax (daMulticast VI-B).

    "As Nmax > 1" it bounds eq. (1); it takes ln Nmax >= 1, so that Nmax must be 3 at least.
    """
    n_max = _large_enough(hierarchy)
    log = math.log(n_max)
    return hierarchy.x * n_max * (log + hierarchy.c_max + log * hierarchy.z_max)


def looser_bound(hierarchy: Hierarchy) -> float:
    """Eq. (3): x·Nmax·ln Nmax·(1 + cmax + zmax), for cmax >= 0 (daMulticast VI-B)."""
    n_max = _large_enough(hierarchy)
    factor = 1 + at_least(0, "c_max", hierarchy.c_max) + hierarchy.z_max
    return hierarchy.x * n_max * math.log(n_max) * factor


def _large_enough(hierarchy: Hierarchy) -> int:
    if hierarchy.n_max < 3:
        raise ValueError(f"n_max must be at least 3 for ln n_max >= 1, is {hierarchy.n_max}")
    return hierarchy.n_max


# (a) Gossip broadcast


def broadcast(n: int, c: float) -> float:
    """n · (c + ln n) (4.3.2 (a); daMulticast eq. 7)."""
    return n * targets(at_least(1, "n", n), c)


# (b) Gossip multicast


def multicast(hierarchy: Hierarchy) -> float:
    """Eq. (4): the sum of N·(c + ln N) over all communities (daMulticast eq. 3).

    This is one gossip for each community, the second alternative of 3.1 without CAMCAST's links.
    The first alternative, which 4.2 says is meant, is `multicast_in_joint_group`.
    """
    return sum(in_community(community) for community in hierarchy.communities)


def multicast_bound(hierarchy: Hierarchy) -> float:
    """x·Nmax·(cmax + ln Nmax), which bounds eq. (4) (4.3.2 (b); daMulticast eq. 4)."""
    n_max = hierarchy.n_max
    return hierarchy.x * n_max * (hierarchy.c_max + math.log(n_max))


def multicast_in_joint_group(hierarchy: Hierarchy) -> float:
    """Ours: the first alternative of 3.1, M·(ln M + c) with M all on the way to the root.

    Whoever is interested in a super-topic is in the group of the publication's topic too, and the
    event goes round in that group alone.
    """
    return hierarchy.n * targets(hierarchy.n, hierarchy.communities[0].c)


# (c) Hierarchical gossip broadcast


def hierarchical(clusters: int, m: int, c1: float, c2: float) -> float:
    """Eq. (5): C·m·(c1 + c2 + ln C + ln m), C clusters of m processes (daMulticast eq. 10)."""
    at_least(1, "clusters", clusters)
    at_least(1, "m", m)
    tables = finite("c1", c1) + finite("c2", c2) + math.log(clusters) + math.log(m)
    return clusters * m * tables


def hierarchical_bound(clusters: int, n_max: int, c1: float, c2: float) -> float:
    """C·Nmax·(c1 + c2 + ln C + ln Nmax) (4.3.2 (c); daMulticast eq. 11).

    It bounds eq. (5) for m <= Nmax only, which the paper takes for granted.
    """
    at_least(1, "n_max", n_max)
    return hierarchical(clusters, n_max, c1, c2)


def hierarchical_looser_bound(clusters: int, n_max: int, c1: float, c2: float) -> float:
    """C·Nmax·(2·ln Nmax + c1 + c2), if C < Nmax (daMulticast eq. 12)."""
    at_least(1, "clusters", clusters)
    if clusters >= n_max:
        raise ValueError(f"clusters must be fewer than n_max, are {clusters} of {n_max}")
    return clusters * n_max * (2 * math.log(n_max) + finite("c1", c1) + finite("c2", c2))
