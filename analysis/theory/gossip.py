"""One community on its own: fanout, and how far infect-and-die gossip gets.

The paper has ln N + c and e^(-e^-c), for no loss and no crash. What loss does is ours, and becomes
the paper's where nothing is lost and N is large. In it `hit` is the probability that a copy of a
given sender reaches a given other member, and `others` how many others there are to be reached.
"""

import math

from analysis.theory.checks import at_least, finite, probability


def targets(size: float, c: float) -> float:
    """ln N + c: to how many a process sends, and how many its table holds (2.2, 4.3.1, 4.4.1)."""
    return math.log(at_least(1, "size", size)) + finite("c", c)


def fanout(size: int, c: float) -> int:
    """floor(ln N + c), at most everybody else.

    Fig. 8 l.9 prints `j = 0; j <= ln N + c`, one more; Table 2 comes out only with the floor.
    """
    return max(0, min(math.floor(targets(size, c)), size - 1))


def reliability(c: float) -> float:
    """e^(-e^-c): all N receive the event, in the limit of large N (2.2, 4.5.1; from [24])."""
    # Below -700 the inner power overflows, and the result has long been 0.
    return math.exp(-math.exp(min(700.0, -finite("c", c))))


# With loss (ours)


def hit(size: int, c: float, arrival: float) -> float:
    """Ours: floor(ln N + c) of the N - 1 others are drawn, and a copy arrives with `arrival`."""
    probability("arrival", arrival)
    if size == 1:
        at_least(1, "size", size)
        return 0.0
    return fanout(size, c) / (size - 1) * arrival


def reliability_with_loss(others: float, hit: float, seeds: float = 1) -> float:
    """Ours: all others receive, exp(-(others + 1 - seeds) · (1 - hit)^others).

    Nobody is left out if everybody is hit by someone, but for the `seeds`, who have it to begin with;
    how many are not is close to Poisson, as it is in [24]. With one seed and hit = (ln N + c)/N the
    mean is N·e^-(ln N + c) = e^-c for large N, and this is e^(-e^-c).
    """
    at_least(0, "others", others)
    at_least(1, "seeds", seeds)
    return math.exp(-max(0.0, others + 1 - seeds) * (1 - probability("hit", hit)) ** others)


def different(arrivals: float, members: float) -> float:
    """Ours: how many different members so many copies arrive at, each at any of them."""
    at_least(0, "arrivals", arrivals)
    at_least(1, "members", members)
    return members * (1 - (1 - 1 / members) ** arrivals)


def share_reached(others: float, hit: float, seeds: float = 1) -> float:
    """Ours: pi, the share of the others that receive an event that took hold (open in 4.5.1).

    The root r of r = 1 - (1 - hit)^(seeds + others·r): not to be reached is not to be hit by any of
    those who were, each of which sends once.
    """
    at_least(0, "others", others)
    probability("hit", hit)
    at_least(0, "seeds", seeds)
    if hit == 1:
        return 1.0 if seeds > 0 else 0.0
    # The right side grows with r: from 1 downwards the first root met is the largest.
    share = 1.0
    for _ in range(10_000):
        following = -math.expm1((seeds + others * share) * math.log1p(-hit))
        if abs(share - following) < 1e-15:
            break
        share = following
    return share


def dies_out(fanout: int, arrival: float) -> float:
    """Ours: the probability that one process's event dies out before it takes hold.

    The least q = (1 - arrival + arrival·q)^fanout: a branching process in which each of `fanout`
    copies makes one more sender with `arrival`.
    """
    at_least(0, "fanout", fanout)
    probability("arrival", arrival)
    if fanout * arrival <= 1 and (fanout, arrival) != (1, 1):
        return 1.0
    # From 0 upwards the first root met is the least.
    extinct = 0.0
    for _ in range(10_000):
        following = (1 - arrival + arrival * extinct) ** fanout
        if abs(following - extinct) < 1e-15:
            break
        extinct = following
    return extinct
