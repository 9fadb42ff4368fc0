"""Beyond CAMCAST's section 6.2: its sweep on the LAN under loss, crashes and churn.

Its authors measured over TCP with nobody crashed. These are no claims of theirs: each sentence here is
ours, and says what a reader of the paper would expect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from analysis.intervals import Estimate
from analysis.papers.camcast_lan import VERSIONS, A, D, Place
from analysis.papers.claims import Claims, by_name, everything, percent
from analysis.papers.items import Claim, Figure, Item, Measured, Series

if TYPE_CHECKING:
    from analysis.job import Result

PAPER = "camcast-beyond"
LOSS, CRASHED, CHURN = "camcast-lan-loss", "camcast-lan-crashed", "camcast-lan-churn"
LOSSES = (0, 0.05, 0.15, 0.3)
CHURN_PSELS = (0.05, 0.2, 1)
UPKEEPS = ("kept-up", "left-alone")
REPETITIONS = 3
COSTS_LITTLE = 0.05
"""What 15 % loss may take of the reception at psel 1: with two upward messages of every process below
and ln N copies of every one beside it, one in seven missing is made up for."""
MOST_LIVING = 0.7
"""What is to be reached of the living with 30 % crashed, as Fig. 15's simulation has it for Π_d."""


def _claims(item: str, run: Measured) -> Claims:
    return Claims(item, run, papers_repetitions=REPETITIONS)


# Loss


def _loss(result: Result) -> list[Claim]:
    run = Measured(result, LOSS)
    claims = _claims("cam-loss", run)
    return [_costs_little(claims, run, place) for place in (D, A)]


def _costs_little(claims: Claims, run: Measured, place: Place) -> Claim:
    text = f"at psel 1, losing 15 % of messages costs {place.name} little"
    without, under = (
        _of_versions(run, place, "reception", psel=1, loss=loss) for loss in (0, 0.15)
    )
    if without is None or under is None:
        return claims.not_measured(text, "little (ours)")
    pairs = list(zip(without, under, strict=True))
    return claims.sentence(
        text,
        "little (ours)",
        by_name(VERSIONS, [f"{percent(a.mean)} → {percent(b.mean)}" for a, b in pairs]),
        all(a.mean - b.mean <= COSTS_LITTLE for a, b in pairs),
        rule="at most 5 points of the reception, with each membership",
    )


def _loss_figure(version: str) -> Figure:
    return Figure(
        id=f"camcast-beyond-loss-{version}",
        title=f"Reception in Π_a over UDP, {version}, by loss",
        series=tuple(
            Series(
                f"{100 * loss:g} % lost",
                LOSS,
                A.community,
                (("membership", version), ("loss", str(loss))),
            )
            for loss in LOSSES
        ),
        axis="psel",
        axis_title="psel (logarithmic)",
        metric="reception",
        metric_title="reception probability",
        percent=True,
        logarithmic=True,
    )


# Crashes


def _crashed(result: Result) -> list[Claim]:
    run = Measured(result, CRASHED)
    claims = _claims("cam-crashed", run)
    text = "with 30 % crashed just before the event, most of the living of Π_d get it"
    values = _of_versions(run, D, "reception", psel=1, crashed=0.3)
    if values is None:
        return [claims.not_measured(text, "most (ours)")]
    return [
        claims.sentence(
            text,
            "most (ours)",
            by_name(VERSIONS, [percent(value.mean) for value in values]),
            all(value.mean >= MOST_LIVING for value in values),
            rule="at psel 1, at least 70 % with each membership",
        )
    ]


def _crashed_figure(place: Place) -> Figure:
    return Figure(
        id=f"camcast-beyond-crashed-{place.community.strip('.')}",
        title=f"Reception in {place.name} among the living, by crashed share",
        series=tuple(
            Series(
                f"{version}, psel {psel}",
                CRASHED,
                place.community,
                (("membership", version), ("psel", psel)),
            )
            for psel in ("0.1", "1")
            for version in VERSIONS
        ),
        axis="crashed",
        axis_title="crashed processes, %",
        metric="reception",
        metric_title="reception probability",
        percent=True,
    )


# Churn


def _churn(result: Result) -> list[Claim]:
    run = Measured(result, CHURN)
    claims = _claims("cam-churn", run)
    return [_finds_the_living(claims, run), _raises_reception(claims, run)]


def _finds_the_living(claims: Claims, run: Measured) -> Claim:
    """What KEEP_TABLE_UPDATED is for: an entry that is dead takes an upward message with it."""
    text = "under churn, upkeep of super-topic tables lets more of Π_d's messages to Π_a arrive"
    kept, left = (_arrived(run, upkeep) for upkeep in UPKEEPS)
    if kept is None or left is None:
        return claims.not_measured(text, "more (ours)")
    return _compared(
        claims,
        text,
        "more (ours)",
        left,
        kept,
        rule="of all upward messages at any psel, a larger share is received, with each membership",
    )


def _arrived(run: Measured, upkeep: str) -> Sequence[float] | None:
    """By version: of what Π_d sent upward, the share that Π_a received."""
    shares = []
    for version in VERSIONS:
        sent, received = (
            everything(
                run.at(place.community, metric, membership=version, upkeep=upkeep, psel=psel)
                for psel in CHURN_PSELS
            )
            for place, metric in ((D, "upward"), (A, "upward_received"))
        )
        if sent is None or received is None:
            return None
        in_all = sum(value.mean for value in sent)
        shares.append(sum(value.mean for value in received) / in_all if in_all else 0.0)
    return shares


def _raises_reception(claims: Claims, run: Measured) -> Claim:
    text = "under churn, upkeep of super-topic tables raises the reception in Π_a"
    kept, left = (_mean_reception(run, A, upkeep) for upkeep in UPKEEPS)
    if kept is None or left is None:
        return claims.not_measured(text, "raises (ours)")
    return _compared(
        claims,
        text,
        "raises (ours)",
        left,
        kept,
        rule="on average over psel, the mean with it is above that without it, with each membership",
        if_not="who comes back has its address again, so that a dead entry lives again in a while, "
        "and one upward message in time is enough",
    )


def _mean_reception(run: Measured, place: Place, upkeep: str) -> Sequence[float] | None:
    """By version."""
    means = []
    for version in VERSIONS:
        labels = {"membership": version, "upkeep": upkeep}
        found = everything(
            run.at(place.community, "reception", **labels, psel=psel) for psel in CHURN_PSELS
        )
        if found is None:
            return None
        means.append(sum(value.mean for value in found) / len(found))
    return means


def _compared(
    claims: Claims,
    text: str,
    printed: str,
    left: Sequence[float],
    kept: Sequence[float],
    rule: str,
    if_not: str = "",
) -> Claim:
    """Of the two by version: what is kept up has to be above what is left alone."""
    pairs = list(zip(left, kept, strict=True))
    return claims.sentence(
        text,
        printed,
        by_name(VERSIONS, [f"{percent(a)} → {percent(b)}" for a, b in pairs]),
        all(b > a for a, b in pairs),
        rule=rule,
        if_not=if_not,
    )


def _churn_figure(version: str) -> Figure:
    return Figure(
        id=f"camcast-beyond-churn-{version}",
        title=f"Reception under churn, {version}",
        series=tuple(
            Series(
                f"{place.name}, {label}",
                CHURN,
                place.community,
                (("membership", version), ("upkeep", upkeep)),
            )
            for place in (D, A)
            for upkeep, label in zip(UPKEEPS, ("upkeep", "none"), strict=True)
        ),
        axis="psel",
        axis_title="psel (logarithmic)",
        metric="reception",
        metric_title="reception probability",
        percent=True,
        logarithmic=True,
    )


def _of_versions(
    run: Measured, place: Place, metric: str, **labels: float | str
) -> Sequence[Estimate] | None:
    return everything(
        run.at(place.community, metric, membership=version, **labels) for version in VERSIONS
    )


ITEMS = (
    Item(
        "cam-loss",
        PAPER,
        "Figs 19 to 28's sweep over UDP, with 0 to 30 % of messages lost",
        "lan",
        (LOSS,),
        1300,
        _loss,
        tuple(_loss_figure(version) for version in VERSIONS),
    ),
    Item(
        "cam-crashed",
        PAPER,
        "Figs 19 to 28's sweep, with 10 to 50 % crashed before the event",
        "lan",
        (CRASHED,),
        1300,
        _crashed,
        (_crashed_figure(D), _crashed_figure(A)),
    ),
    Item(
        "cam-churn",
        PAPER,
        "Figs 19 to 28's sweep under churn, with and without upkeep of super-topic tables",
        "lan",
        (CHURN,),
        2000,
        _churn,
        tuple(_churn_figure(version) for version in VERSIONS),
    ),
)
