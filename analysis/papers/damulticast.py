"""daMulticast (Baehni, Eugster, Guerraoui), section VII: Figures 8 to 11.

The text takes "reliability" and "reception probability" for the same: Fig. 10, called reliability,
"depicts the probability for all processes to receive an event", of which it says that "the reception
probability depends on the overall probability of a process having failed". Both are drawn and judged.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.papers import crashed
from analysis.papers.claims import Claims
from analysis.papers.crashed import Sweep
from analysis.papers.items import Claim, Item, Measured
from analysis.theory import crashes

if TYPE_CHECKING:
    from analysis.job import Result

STILLBORN = Sweep(
    experiment="damulticast-figs-8-10",
    axis="failed",
    crashed="failed",
    communities=(".t0.t1.t2", ".t0.t1", ".t0"),
    names=("T2", "T1", "T0"),
    forecast=crashes.stillborn,
)
WEAKLY = replace(STILLBORN, experiment="damulticast-fig-11", forecast=crashes.weakly_consistent)
ALL, ABOVE = (0, 1, 2), (1, 2)
"""Groups by their place on the way up."""
METRICS = {"reception": "reception probability", "reliability": "reliability"}


def _figure_8(result: Result) -> list[Claim]:
    run = Measured(result, STILLBORN.experiment)
    claims = Claims("da-8", run)
    return [
        *crashed.of_the_order_of_n_ln_n(claims, STILLBORN, run),
        *crashed.good_reliability_by_what_is_sent(claims, STILLBORN, run),
    ]


def _figure_9(result: Result) -> list[Claim]:
    run = Measured(result, STILLBORN.experiment)
    claims = Claims("da-9", run)
    return [
        *crashed.one_goes_up_with_almost_half_crashed(claims, STILLBORN, run),
        crashed.enough_for_those_above(claims, STILLBORN, run),
    ]


def _figure_10(result: Result) -> list[Claim]:
    run = Measured(result, STILLBORN.experiment)
    claims = Claims("da-10", run)
    larger = (
        "that all receive it is least likely where there are most; taken as the probability for "
        "one process to receive it, the sentence holds"
    )
    return [
        crashed.falls_as_more_crash(claims, STILLBORN, run, "reception"),
        crashed.smaller_further_up(claims, STILLBORN, run, "reception"),
        crashed.smaller_further_up(claims, STILLBORN, run, "reliability", if_not=larger),
    ]


def _figure_11(result: Result) -> list[Claim]:
    before, after = (Measured(result, sweep.experiment) for sweep in (STILLBORN, WEAKLY))
    claims, sweeps = Claims("da-11", before, after), ((STILLBORN, before), (WEAKLY, after))
    return [
        # In the publication's group nearly all receive it either way: there is nothing to gain.
        *crashed.better_when_weakly_consistent(claims, *sweeps, "reception", ABOVE),
        *crashed.better_when_weakly_consistent(claims, *sweeps, "reliability", ALL),
    ]


ITEMS = (
    Item(
        "da-8",
        "damulticast",
        "Fig. 8, events sent in each group, stillborn processes",
        "sim",
        (STILLBORN.experiment,),
        50,
        _figure_8,
        (
            STILLBORN.figure(
                "damulticast-fig-8", "Fig. 8. Events sent in each group", "sent", "events sent"
            ),
        ),
    ),
    Item(
        "da-9",
        "damulticast",
        "Fig. 9, intergroup events, stillborn processes",
        "sim",
        (STILLBORN.experiment,),
        50,
        _figure_9,
        (
            STILLBORN.figure(
                "damulticast-fig-9", "Fig. 9. Intergroup events", "upward_sent", "events sent up"
            ),
        ),
    ),
    Item(
        "da-10",
        "damulticast",
        "Fig. 10, reliability, stillborn processes",
        "sim",
        (STILLBORN.experiment,),
        50,
        _figure_10,
        tuple(
            STILLBORN.figure(
                f"damulticast-fig-10-{metric}",
                f"Fig. 10. Stillborn processes: {title}",
                metric,
                title,
            )
            for metric, title in METRICS.items()
        ),
    ),
    Item(
        "da-11",
        "damulticast",
        "Fig. 11, reliability, dynamically failed processes",
        "sim",
        (STILLBORN.experiment, WEAKLY.experiment),
        150,
        _figure_11,
        tuple(
            WEAKLY.figure(
                f"damulticast-fig-11-{metric}",
                f"Fig. 11. Dynamically failed processes: {title}",
                metric,
                title,
            )
            for metric, title in METRICS.items()
        ),
    ),
)
