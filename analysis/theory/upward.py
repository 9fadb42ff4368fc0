"""From a community to its super-community: how many messages, and whether one arrives.

`received` is the paper's pi: the share of the community that has the event and can pass it up.
"""

from analysis.theory.checks import probability
from analysis.theory.communities import Community


def susceptible(community: Community, received: float = 1) -> float:
    """nbSuscProc = N · psel · pi: who may pass the event up (4.5.1; daMulticast VI-D)."""
    return community.size * community.psel * probability("received", received)


def sent(community: Community, received: float = 1) -> float:
    """N · psel · pi · pa · z: upward messages sent (4.3.1 without psucc; Fig. 14).

    With pi = 1 and g <= N, a <= z this is g · a.
    """
    return susceptible(community, received) * community.pa * community.z


def arrived(community: Community, received: float = 1) -> float:
    """nbUpwardMsg = N · psel · pa · z · psucc (4.3.1; daMulticast VI-B, nbSuperMsg): those of them
    that are "effectively received". The paper has pi = 1 here."""
    return sent(community, received) * community.psucc


def none_arrives(community: Community, received: float = 1) -> float:
    """pbNoUpwardMsg = (1 - psucc)^(nbSuscProc · pa · z) (4.5.1; daMulticast VI-D).

    The exponent is the expected number of messages where the number itself is random, so that this
    is too small a probability (Jensen): see `none_arrives_by_chance`.
    """
    return float((1 - community.psucc) ** sent(community, received))


def pit(community: Community, received: float = 1) -> float:
    """pit = 1 - pbNoUpwardMsg: the event reaches the super-community (eq. 6; daMulticast VI-D)."""
    return 1 - none_arrives(community, received)


# Each process on its own (ours)


def none_arrives_by_chance(
    community: Community, received: float = 1, wasted: float = 0, psucc: float | None = None
) -> float:
    """Ours: no message arrives, when every process draws for itself as in Fig. 8.

    A process passes nothing up with 1 - psel + psel·(1 - pa·psucc)^z, and N·pi processes draw. With
    1000 processes, g = 5, a = 1, z = 3 and psucc = 0.85 this is 0.042; eq. (6) has 0.00008.

    An arriving message counts for nothing with probability `wasted`: what it starts dies out.
    `psucc` is given where fewer messages arrive than the community's own says.
    """
    arrival = community.psucc if psucc is None else probability("psucc", psucc)
    useful = community.pa * arrival * (1 - probability("wasted", wasted))
    one_process = 1 - community.psel + community.psel * (1 - useful) ** community.z
    return float(one_process ** (community.size * probability("received", received)))


def pit_by_chance(community: Community, received: float = 1) -> float:
    """Ours: eq. (6) with every process drawing for itself."""
    return 1 - none_arrives_by_chance(community, received)
