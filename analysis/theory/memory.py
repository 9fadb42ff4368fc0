"""How many entries a process keeps in its tables (4.4)."""

import math

from analysis.theory.checks import at_least, finite
from analysis.theory.communities import Community, Hierarchy
from analysis.theory.gossip import targets


def at_the_root(community: Community) -> float:
    """ln N + c: the topic table alone, the lower bound (4.4.1; daMulticast VI-C)."""
    return community.targets


def below_the_root(community: Community) -> float:
    """ln N + c + z: with the super-topic table, the upper bound (4.4.1; daMulticast VI-C)."""
    return community.targets + community.z


def of_unrelated_topics(communities: tuple[Community, ...]) -> float:
    """2k tables for k topics that do not include each other, none of them a root (3.6, 4.4.2)."""
    return sum(below_the_root(community) for community in communities)


def damulticast_topic_table(size: int, b: float) -> float:
    """(b + 1)·ln S: the topic table that daMulticast really has (V-A.1, VII-A).

    Its analysis has ln S + c (VI-C), which is how many of the entries an event is sent to.
    """
    return (at_least(0, "b", b) + 1) * math.log(at_least(1, "size", size))


def damulticast(size: int, b: float, z: int) -> float:
    """Ours: (b + 1)·ln S + z, both tables with the size of the topic table as it is."""
    return damulticast_topic_table(size, b) + at_least(1, "z", z)


def broadcast(n: int, c: float) -> float:
    """(a): ln n + c, n all processes (4.3.2, 4.4.2; daMulticast eq. 6)."""
    return targets(at_least(1, "n", n), c)


def multicast(hierarchy: Hierarchy) -> float:
    """(b): the sum of ln N + c, a table for each topic (4.4.2; daMulticast VI-E.2, eq. 2).

    For a process of the last community of `hierarchy`, whose topic includes all the others. For one
    of the first it is one table; CAMCAST, with z more, is not "always smaller" (4.4.2) then.
    """
    return sum(community.targets for community in hierarchy.communities)


def hierarchical(clusters: int, m: int, c1: float, c2: float) -> float:
    """(c): ln m + ln C + c1 + c2, C clusters of m processes (4.3.2, 4.4.2; daMulticast eq. 9)."""
    at_least(1, "clusters", clusters)
    at_least(1, "m", m)
    return math.log(m) + math.log(clusters) + finite("c1", c1) + finite("c2", c2)
