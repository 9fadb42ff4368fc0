"""What CAMCAST has to be set to for the reliability of the others, and when it is smaller then.

4.5.2 with its proofs, daMulticast VI-E.3 and appendix 2. All communities are alike: N, z, c1 and
pit are the same everywhere. Equal reliability means in all three cases

    e^-c1 - ln pit = weight · e^-c

with c of the other algorithm, c1 of CAMCAST, and the weight 1/x against (a) gossip broadcast, 1
against (b) gossip multicast, (C + 1)/x against (c) hierarchical gossip broadcast. Hence
c1 = c - ln(weight + e^c · ln pit), which is what the papers print when x is taken out of the
logarithm. (CAMCAST's proof of (a) has e^(c ln pit) in places; e^c · ln pit is meant, as in its
statement and in daMulticast.)

x communities have x - 1 passages upwards; the papers count x (see
`reliability.camcast_as_printed`), so that CAMCAST set to this c1 is a little better than the other.
"""

import math
from dataclasses import dataclass

from analysis.theory.checks import at_least, finite, possible


@dataclass(frozen=True)
class Range:
    """The c of the other algorithm that CAMCAST can equal: low <= c < high.

    The papers print c <= high, but there c1 is infinite: their own condition (1) has c < high.
    """

    low: float
    high: float

    def __contains__(self, c: float) -> bool:
        return self.low <= c < self.high


# (a) Gossip broadcast


def broadcast_range(x: int, pit: float) -> Range:
    """0 <= c < -ln(-x · ln pit) (4.5.2 (a), eqs 7, 8; daMulticast eqs 20 to 22).

    Empty if pit is too small. "Iff" is too much said of c >= 0: c1 >= 0 down to
    c = -ln(x·(1 - ln pit)), which is below 0.
    """
    return Range(0.0, _high(1 / at_least(1, "x", x), pit))


def broadcast_c1(c: float, x: int, pit: float) -> float:
    """c1 = c - ln(1 + x·e^c·ln pit) + ln x (4.5.2 (a); daMulticast eq. 23)."""
    return _c1(c, 1 / at_least(1, "x", x), pit, broadcast_range(x, pit))


def broadcast_z(n: int, size: int, c: float, x: int, pit: float) -> float:
    """CAMCAST keeps less iff z <= ln n + ln(1 + x·e^c·ln pit) - ln N - ln x (4.5.2 (a); daMulticast
    eqs 24, 25)."""
    logs = math.log(at_least(1, "n", n)) - math.log(at_least(1, "size", size))
    return logs + c - broadcast_c1(c, x, pit)


# (b) Gossip multicast


def multicast_range(pit: float) -> Range:
    """0 <= c < -ln(-ln pit) (4.5.2 (b), eqs 9, 10; daMulticast eqs 14 to 16)."""
    return Range(0.0, _high(1, pit))


def multicast_c1(c: float, pit: float) -> float:
    """c1 = c - ln(1 + e^c·ln pit) (4.5.2 (b), eq. 11, whose left side is ln e^-c1; daMulticast
    eq. 16)."""
    return _c1(c, 1, pit, multicast_range(pit))


def multicast_z(size: int, c: float, x: int, pit: float) -> float:
    """CAMCAST keeps less iff z <= (x-1)·(ln N + c) + ln(1 + e^c·ln pit) (4.5.2 (b);
    daMulticast eqs 17 to 19)."""
    other_tables = (at_least(1, "x", x) - 1) * (math.log(at_least(1, "size", size)) + c)
    return other_tables + c - multicast_c1(c, pit)


# (c) Hierarchical gossip broadcast


def hierarchical_range(clusters: int, x: int, pit: float) -> Range:
    """-ln(x·(1 - ln pit)/(C+1)) <= c < -ln(-x·ln pit/(C+1)) (4.5.2 (c); daMulticast eqs 26, 27).

    c stands for both c1 and c2 of the hierarchical algorithm.
    """
    weight = _hierarchical_weight(clusters, x)
    return Range(math.log(weight / (1 - math.log(possible("pit", pit)))), _high(weight, pit))


def hierarchical_c1(c: float, clusters: int, x: int, pit: float) -> float:
    """c_t = ln x + c - ln(x·e^c·ln pit + C + 1) (4.5.2 (c); daMulticast eq. 28)."""
    limits = hierarchical_range(clusters, x, pit)
    return _c1(c, _hierarchical_weight(clusters, x), pit, limits)


def hierarchical_z(c: float, clusters: int, x: int, pit: float) -> float:
    """CAMCAST keeps less iff z <= c + ln C + ln(C + 1 + x·e^c·ln pit) - ln x (4.5.2 (c);
    daMulticast eqs 29, 30).

    For clusters as large as communities, m = N: the paper cancels ln m against ln N unsaid.
    """
    equal = hierarchical_c1(c, clusters, x, pit)
    return c + math.log(clusters) + c - equal


def _hierarchical_weight(clusters: int, x: int) -> float:
    return (at_least(1, "clusters", clusters) + 1) / at_least(1, "x", x)


def _high(weight: float, pit: float) -> float:
    """Where e^-c1 = weight·e^-c + ln pit becomes 0."""
    lost = -math.log(possible("pit", pit))
    return math.log(weight / lost) if lost else math.inf


def _c1(c: float, weight: float, pit: float, limits: Range) -> float:
    if finite("c", c) not in limits:
        raise ValueError(f"c must be from {limits.low} to below {limits.high}, is {c}")
    if pit == 1:  # e^c may be beyond a float, and nothing is to be subtracted
        return c - math.log(weight)
    return c - math.log(weight + math.exp(c) * math.log(pit))
