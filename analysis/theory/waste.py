"""Copies that are of no use: parasite events (Table 2) and duplicates (6.2.2)."""

from analysis.theory.checks import at_least, probability
from analysis.theory.gossip import fanout


def broadcast_parasites(n: int, interested: int, c: float, psucc: float) -> float:
    """n · floor(ln n + c) · psucc · (n - interested)/n: Table 2, row (2).

    The paper prints values only: 11216, 1699 and 3739. This formula is ours; it gives 11220, 1700
    and 3740. CAMCAST has none (row 1).
    """
    at_least(1, "n", n)
    if not 0 <= interested <= n:
        raise ValueError(f"interested must be from 0 to n = {n}, is {interested}")
    return fanout(n, c) * probability("psucc", psucc) * (n - interested)


def efficiency(useful: float, duplicates: float) -> float:
    """useful / (duplicates + useful), of the messages received (6.2.2, no number).

    Where nothing was received there is none.
    """
    at_least(0, "useful", useful)
    at_least(0, "duplicates", duplicates)
    if not useful + duplicates:
        raise ValueError("useful and duplicates must not both be 0")
    return useful / (duplicates + useful)


def expected_efficiency(size: int, c: float, psucc: float, from_below: float = 0) -> float:
    """Ours: everybody receives the event and sends it on, `from_below` upward messages arrive.

    In the publication's community one process has the event without a message, which is left out
    of account. At most 1: where less arrives than there are members, not everybody can have it.
    """
    inside = size * fanout(size, c) * probability("psucc", psucc)
    received = inside + at_least(0, "from_below", from_below)
    return efficiency(size, max(0.0, received - size))
