"""What both papers show of crashed processes, and say of it in nearly the same words.

CAMCAST Figs 13 to 18 (6.1.2) and daMulticast Figs 8 to 11 (VII-B): three communities of 1000, 100
and 10 processes, an event published in the largest, a share of the processes crashed. Which share a
sentence is judged at is ours, where the paper does not say.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from analysis.intervals import Estimate
from analysis.papers.claims import (
    Claims,
    average,
    by_name,
    decimal,
    difference,
    everything,
    interval,
    percent,
    percent_interval,
    points,
    points_interval,
)
from analysis.papers.items import Claim, Curve, Figure, Measured, Series
from analysis.theory import crashes
from analysis.theory.communities import Hierarchy

SIZES = (1000, 100, 10)
"""From the publication's community to the root's (CAMCAST 6.1.1, daMulticast VII-A)."""
C = 5
HIERARCHY = Hierarchy.of_sizes(SIZES)
ALMOST_HALF = 0.4
"""The share swept that is next below one half."""
YARDSTICK = 0.3
"""The share of which CAMCAST's abstract speaks."""
MUCH = 0.1
"""Ours: what "much better" is at least, on average over `COMPARED`. The mean of 100 runs that reach
nearly all or nobody has a standard error of at most 0.05."""
COMPARED = (0.1, 0.5)
"""Ours: the shares over which curves are compared. With nobody crashed there is nothing to compare,
and beyond one half hardly anything gets up."""
GOOD = 0.9
"""Ours: what "good" and "enough" are at least."""

Forecast = Callable[[Hierarchy, float], Sequence[crashes.Outlook]]


@dataclass(frozen=True)
class Sweep:
    """One experiment over crashed shares, in the words of its paper."""

    experiment: str
    axis: str
    crashed: str
    """What the paper calls it: crashed, failed."""
    communities: tuple[str, ...]
    """From the publication's to the root's."""
    names: tuple[str, ...]
    """Theirs in the paper."""
    forecast: Forecast
    algorithm: str = ""
    """Where several were run beside each other."""

    @property
    def labels(self) -> dict[str, str]:
        return {"algorithm": self.algorithm} if self.algorithm else {}

    def at(self, run: Measured, share: float, community: str, metric: str) -> Estimate | None:
        where: dict[str, Any] = {self.axis: share, **self.labels}
        return run.at(community, metric, **where)

    def along(self, run: Measured, community: str, metric: str) -> list[tuple[float, Estimate]]:
        return run.along(self.axis, community, metric, **self.labels)

    def over_compared(self, run: Measured, community: str, metric: str) -> Estimate | None:
        """A curve's mean height where curves are compared."""
        low, high = COMPARED
        line = self.along(run, community, metric)
        return average([value for share, value in line if low <= share <= high])

    def figure(self, id: str, title: str, metric: str, metric_title: str) -> Figure:
        """A metric against the crashed share, with the model's curves."""
        shown = list(zip(self.communities, self.names, strict=True))
        if metric == "upward_sent":
            shown.pop()  # nothing is above the root
        return Figure(
            id=id,
            title=title,
            series=tuple(
                Series(name, self.experiment, community, tuple(self.labels.items()))
                for community, name in shown
            ),
            axis=self.axis,
            axis_title=f"{self.crashed} processes, %",
            metric=metric,
            metric_title=metric_title,
            theory=lambda: self._curves(metric, [name for _, name in shown]),
            percent=metric in ("reception", "reliability"),
        )

    def _curves(self, metric: str, names: Sequence[str]) -> list[Curve]:
        shares = [step / 50 for step in range(46)]
        outlooks = [self.forecast(HIERARCHY, share) for share in shares]
        return [
            Curve(
                f"{name}, model",
                tuple(
                    (share, float(getattr(outlook[place], metric)))
                    for share, outlook in zip(shares, outlooks, strict=True)
                ),
            )
            for place, name in enumerate(names)
        ]


# Messages


def of_the_order_of_n_ln_n(claims: Claims, sweep: Sweep, run: Measured) -> list[Claim]:
    """ "The message complexity is of an order of N · ln N as expected." """
    found = []
    for community, name, size in zip(sweep.communities, sweep.names, SIZES, strict=True):
        text = f"events sent within {name} are of the order of N·ln N"
        low, high = size * math.log(size), size * (math.log(size) + C)
        printed = f"{decimal(low)} to {decimal(high)}"
        sent = sweep.at(run, 0, community, "sent")
        if sent is None:
            found.append(claims.not_measured(text, printed))
            continue
        found.append(
            claims.sentence(
                text,
                printed,
                decimal(sent.mean),
                low <= sent.mean <= high,
                rule=f"from N·ln N to N·(ln N + c), with nobody {sweep.crashed}",
                interval=interval(sent),
            )
        )
    return found


def good_reliability_by_what_is_sent(claims: Claims, sweep: Sweep, run: Measured) -> list[Claim]:
    """ "We can also notice that a good reliability is achieved despite process failures": who got
    the event sends it, so that the figure shows how many of the living did."""
    found = []
    for place, (community, name) in enumerate(zip(sweep.communities, sweep.names, strict=True)):
        text = f"a good reliability is achieved in {name} despite failures"
        sent = sweep.at(run, YARDSTICK, community, "sent")
        if sent is None:
            found.append(claims.not_measured(text, "good"))
            continue
        all_send = crashes.ideal_sent(HIERARCHY.communities[place], YARDSTICK)
        share = Estimate(
            sent.n, sent.mean / all_send, _part(sent.low, all_send), _part(sent.high, all_send)
        )
        found.append(
            claims.sentence(
                text,
                "good",
                percent(share.mean),
                share.mean >= GOOD,
                rule=f"at {_share(YARDSTICK)} {sweep.crashed}, at least {_share(GOOD)} of what is "
                "sent if all the living have the event",
                interval=percent_interval(share),
                if_not="tables are not repaired: the event often does not get up here at all",
            )
        )
    return found


# Upward messages


def one_goes_up_with_almost_half_crashed(
    claims: Claims, sweep: Sweep, run: Measured
) -> list[Claim]:
    """ "Even if almost half of the processes fail, at least one event is sent to the community of
    processes participating in the super-community." """
    found = []
    pairs = zip(sweep.communities, sweep.names, sweep.names[1:], strict=False)
    for community, name, above in pairs:
        text = f"with almost half {sweep.crashed}, at least one event goes from {name} to {above}"
        sent = sweep.at(run, ALMOST_HALF, community, "upward_sent")
        if sent is None:
            found.append(claims.not_measured(text, "at least 1"))
            continue
        found.append(
            claims.sentence(
                text,
                "at least 1",
                decimal(sent.mean),
                (sent.mean if sent.low is None else sent.low) >= 1,
                rule=f"the mean's whole interval, at {_share(ALMOST_HALF)} {sweep.crashed}",
                interval=interval(sent),
                note="on average: some runs have none",
            )
        )
    return found


def enough_for_those_above(claims: Claims, sweep: Sweep, run: Measured) -> Claim:
    """ "This is enough for disseminating the event to the upper communities." """
    text = f"this is enough for disseminating the event to {' and '.join(sweep.names[1:])}"
    values = everything(
        sweep.at(run, ALMOST_HALF, community, "reception") for community in sweep.communities[1:]
    )
    if values is None:
        return claims.not_measured(text, "enough")
    return claims.sentence(
        text,
        "enough",
        by_name(sweep.names[1:], [percent(value.mean) for value in values]),
        all(value.mean >= GOOD for value in values),
        rule=f"at {_share(ALMOST_HALF)} {sweep.crashed}, the living above receive it with at least "
        f"{_share(GOOD)}",
        if_not=f"a mean of some messages is not one in each run, and of those sent "
        f"{_share(1 - 0.85 * (1 - ALMOST_HALF))} are lost or go to a process that has "
        f"{sweep.crashed}",
    )


# Reception and reliability


def falls_as_more_crash(claims: Claims, sweep: Sweep, run: Measured, metric: str) -> Claim:
    """ "Not surprisingly, the reception probability depends on the average probability that a
    process crashes." """
    text = f"the {_words(metric)} depends on the share that has {sweep.crashed}"
    lines = [sweep.along(run, community, metric) for community in sweep.communities]
    if not all(len(line) > 1 for line in lines):
        return claims.not_measured(text, "depends")
    falls = [difference(line[0][1], line[-1][1]) for line in lines]
    return claims.sentence(
        text,
        "depends",
        by_name(
            sweep.names,
            [f"{percent(line[0][1].mean)} → {percent(line[-1][1].mean)}" for line in lines],
        ),
        all((fall.mean if fall.low is None else fall.low) > 0 for fall in falls),
        rule=f"everywhere less at {_share(lines[0][-1][0])} than at "
        f"{_share(lines[0][0][0])}, beyond chance",
    )


def smaller_further_up(
    claims: Claims, sweep: Sweep, run: Measured, metric: str, if_not: str = ""
) -> Claim:
    """ "Of course, the reception probability is smaller for processes interested in a as the
    reception of an event of topic g, by the community of a, depends on the success of the
    dissemination of this event in the community of g and d." """
    text = f"the {_words(metric)} is smaller the further up"
    printed = " < ".join(reversed(sweep.names))
    values = everything(
        sweep.over_compared(run, community, metric) for community in sweep.communities
    )
    if values is None:
        return claims.not_measured(text, printed)
    return claims.sentence(
        text,
        printed,
        by_name(sweep.names, [percent(value.mean) for value in values]),
        all(below.mean > above.mean for below, above in pairwise(values)),
        rule=f"on average over {_compared(sweep)}",
        if_not=if_not,
    )


def better_when_weakly_consistent(
    claims: Claims,
    stillborn: tuple[Sweep, Measured],
    weakly: tuple[Sweep, Measured],
    metric: str,
    places: Sequence[int],
) -> list[Claim]:
    """ "We achieve a much better reliability for a weakly connected system than in the preceding
    scenarios", in the communities at these places on the way up."""
    found = []
    for place in places:
        name = weakly[0].names[place]
        text = f"{_words(metric)} in {name}: much better when weakly consistent"
        before, after = (
            sweep.over_compared(run, sweep.communities[place], metric)
            for sweep, run in (stillborn, weakly)
        )
        if before is None or after is None:
            found.append(claims.not_measured(text, "much better"))
            continue
        gain = difference(after, before)
        found.append(
            claims.sentence(
                text,
                "much better",
                f"{percent(before.mean)} → {percent(after.mean)}",
                gain.mean >= MUCH,
                rule=f"at least {points(MUCH)} on average over {_compared(weakly[0])}",
                interval=points_interval(gain),
                note=points(gain.mean),
                if_not=_why_not_better(stillborn[0], weakly[0], metric, place),
            )
        )
    return found


def _why_not_better(stillborn: Sweep, weakly: Sweep, metric: str, place: int) -> str:
    expected = [
        percent(float(getattr(sweep.forecast(HIERARCHY, YARDSTICK)[place], metric)))
        for sweep in (stillborn, weakly)
    ]
    return (
        "as many can reach a given living process in both, but when weakly consistent more live "
        f"and all of them must be reached; at {_share(YARDSTICK)} the model expects "
        f"{expected[0]} → {expected[1]}"
    )


def _compared(sweep: Sweep) -> str:
    return f"{COMPARED[0] * 100:.0f} to {_share(COMPARED[1])} {sweep.crashed}"


def _part(value: float | None, of: float) -> float | None:
    return None if value is None else value / of


def _share(value: float) -> str:
    return f"{100 * value:.0f} %"


def _words(metric: str) -> str:
    return "reception probability" if metric == "reception" else metric
