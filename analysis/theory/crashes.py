"""Figs 13 to 18: what is to be expected as more processes are crashed.

The papers have no formula with the crashed share f in it, only that psucc "depends on the
availability of the processes" (4.3.1) and that pi is the share that can pass the event up (4.5.1).

Put into the papers' formulas (the ideal curves): a stillborn process neither sends nor receives, so
that pi = 1 - f and psucc becomes psucc·(1 - f).

The model (`stillborn`, `weakly_consistent`) is ours. It follows an event from community to
community with the finite fanout, with loss inside communities as well (6.1.1 has 0.85 for every
message), with processes that draw for themselves, and with the chance that an event dies out among
its first receivers. It leaves out what an event that dies out has sent by then.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from analysis.theory import gossip, messages, upward
from analysis.theory.checks import probability
from analysis.theory.communities import Community, Hierarchy

# The papers' formulas, with the living share put in


def ideal_sent(community: Community, crashed: float) -> float:
    """(1 - f) · N · floor(ln N + c): the living send, to crashed ones as well (Fig. 13)."""
    return (1 - probability("crashed", crashed)) * messages.in_community_expected(community)


def ideal_upward_sent(community: Community, crashed: float) -> float:
    """(1 - f) · N · psel · pa · z (Fig. 14): g·a·(1 - f), 2.5 with half of them crashed."""
    return upward.sent(community, 1 - probability("crashed", crashed))


def ideal_upward_arrived(community: Community, crashed: float) -> float:
    """(1 - f)² · N · psel · pa · z · psucc: of these, what a living process receives."""
    return upward.arrived(_half_deaf(community, crashed), 1 - crashed)


def ideal_pit(community: Community, crashed: float) -> float:
    """Eq. (6) with pi = 1 - f and psucc·(1 - f)."""
    return upward.pit(_half_deaf(community, crashed), 1 - crashed)


def _half_deaf(community: Community, crashed: float) -> Community:
    return replace(community, psucc=community.psucc * (1 - probability("crashed", crashed)))


# The model


@dataclass(frozen=True)
class Outlook:
    """What is to be expected of one event in one community."""

    reached: float
    """The probability that a living process of the community receives it."""
    took_hold: float
    """The probability that it does not die out there."""
    reception: float
    """The probability that a given living process receives it (Figs 15 and 17)."""
    reliability: float
    """The probability that all living processes receive it (Figs 16 and 18)."""
    sent: float
    """Messages inside the community (Fig. 13)."""
    upward_sent: float
    """Messages to the super-community (Fig. 14); 0 at the root."""
    upward_arrived: float
    """Those of them that a living process receives."""


def stillborn(hierarchy: Hierarchy, crashed: float) -> tuple[Outlook, ...]:
    """Ours: the share `crashed` of each community is down from the start (Figs 13 to 16).

    Tables are not repaired (6.1.1). The publisher lives, and in every community somebody does.
    """
    living = 1 - probability("crashed", crashed)
    return _follow(
        hierarchy,
        living=[max(1.0, living * community.size) for community in hierarchy.communities],
        arrival_inside=1.0,
        arrival_upward=living,
    )


def weakly_consistent(hierarchy: Hierarchy, crashed: float) -> tuple[Outlook, ...]:
    """Ours: all live, but the share `crashed` appears crashed to any one process (Figs 17, 18).

    A pair is used at most once for an event, so that it makes no difference to a further loss.
    """
    seen_alive = 1 - probability("crashed", crashed)
    return _follow(
        hierarchy,
        living=[community.size for community in hierarchy.communities],
        arrival_inside=seen_alive,
        arrival_upward=seen_alive,
    )


def _follow(
    hierarchy: Hierarchy,
    living: Sequence[float],
    arrival_inside: float,
    arrival_upward: float,
) -> tuple[Outlook, ...]:
    """The event's way up. `arrival_inside` is of a copy to a living member, beside psucc."""
    outlooks: list[Outlook] = []
    below: _Below | None = None
    for position, (community, alive) in enumerate(zip(hierarchy.communities, living, strict=True)):
        hit = gossip.hit(community.size, community.c, community.psucc * arrival_inside)
        dies_out = _dies_out(community, alive - 1, hit)
        if below is None:
            reached, took_hold, seeds = 1.0, 1 - dies_out, 1.0
        else:
            reached = below.took_hold * (1 - below.none_arrives(0))
            took_hold = below.took_hold * (1 - below.none_arrives(dies_out))
            arrivals = below.arrived / reached if reached else 1.0
            seeds = max(1.0, gossip.different(arrivals, alive))
        others = alive - seeds
        share = (seeds + others * gossip.share_reached(others, hit, seeds)) / alive
        senders = took_hold * share * alive / community.size
        at_root = position == hierarchy.x - 1
        below = _Below(
            community, took_hold, share * alive / community.size, community.psucc * arrival_upward
        )
        outlooks.append(
            Outlook(
                reached=reached,
                took_hold=took_hold,
                reception=took_hold * share + (reached - took_hold) * seeds / alive,
                reliability=took_hold * gossip.reliability_with_loss(alive - 1, hit, seeds),
                sent=senders * messages.in_community_expected(community),
                upward_sent=0.0 if at_root else upward.sent(community, senders),
                upward_arrived=0.0 if at_root else below.arrived,
            )
        )
    return tuple(outlooks)


@dataclass(frozen=True)
class _Below:
    """The community that an event comes from."""

    community: Community
    took_hold: float
    received: float
    """The share of the community, crashed ones included, that can pass it up if it took hold."""
    psucc: float

    @property
    def arrived(self) -> float:
        return self.took_hold * upward.sent(self.community, self.received) * self.psucc

    def none_arrives(self, wasted: float) -> float:
        """If it took hold here."""
        return upward.none_arrives_by_chance(self.community, self.received, wasted, self.psucc)


def _dies_out(community: Community, others: float, hit: float) -> float:
    """The chance that one receiver's copies lead nowhere; where nobody else lives, none need."""
    if others <= 0:
        return 0.0
    if not community.fanout:
        return 1.0
    return gossip.dies_out(community.fanout, min(1.0, hit * others / community.fanout))
