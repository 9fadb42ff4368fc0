"""Beyond CAMCAST's section 6.2: its sweep on the LAN under loss, crashes and churn.

Its authors measured over TCP with nobody crashed. These are no claims of theirs: each sentence here is
ours, and says what a reader of the paper would expect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import TYPE_CHECKING

from analysis.intervals import Estimate
from analysis.papers.camcast_lan import VERSIONS, A, D, Place
from analysis.papers.claims import (
    Claims,
    by_name,
    everything,
    is_above_zero,
    mean_of,
    percent,
    points,
    points_interval,
)
from analysis.papers.items import Claim, Figure, Item, Label, Measured, Series

if TYPE_CHECKING:
    from analysis.job import Result

PAPER = "camcast-beyond"
LOSS, CRASHED, CHURN = "camcast-lan-loss", "camcast-lan-crashed", "camcast-lan-churn"
LOSSES = (0, 0.05, 0.15, 0.3)
CHURN_PSELS = (0.05, 0.2, 1)
UPKEEPS = ("kept-up", "left-alone")
CRASHED_PSELS = ("0.1", "0.2", "0.5", "1")
REPETITIONS = 3
COSTS_LITTLE = 0.05
"""What 15 % loss may take of the reception at psel 1: with two upward messages of every process below
and ln N copies of every one beside it, one in seven missing is made up for."""
MOST_LIVING = 0.7
"""What is to be reached of the living with 30 % crashed, as Fig. 15's simulation has it for Π_d."""


def _claims(item: str, run: Measured) -> Claims:
    return Claims(item, run, papers_repetitions=REPETITIONS, ours=True)


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


def _crashed_figure(version: str, place: Place) -> Figure:
    return Figure(
        id=f"camcast-beyond-crashed-{version}-{place.community.strip('.')}",
        title=f"Reception in {place.name} among the living, {version}, by crashed share",
        series=tuple(
            Series(
                f"psel {psel}",
                CRASHED,
                place.community,
                (("membership", version), ("psel", psel)),
            )
            for psel in CRASHED_PSELS
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
    return _compared(
        claims,
        "under churn, a larger share of Π_d's upward messages arrives with upkeep of super-topic tables",
        "larger (ours)",
        {upkeep: _arrived(run, upkeep) for upkeep in UPKEEPS},
    )


def _raises_reception(claims: Claims, run: Measured) -> Claim:
    return _compared(
        claims,
        "under churn, the reception in Π_a is higher with upkeep of super-topic tables",
        "higher (ours)",
        {upkeep: _received(run, upkeep) for upkeep in UPKEEPS},
        if_not="one upward message in time is enough, so that few of those that arrive more tell",
    )


ByRun = Mapping[tuple[str, int], float]
"""By membership and repetition."""


def _arrived(run: Measured, upkeep: str) -> ByRun:
    """Of what Π_d sent upward at any psel, the share that Π_a received."""
    sent = _over_psel(run, D, "upward_sent", upkeep)
    received = _over_psel(run, A, "upward_received", upkeep)
    return {key: sum(received[key]) / sum(sent[key]) for key in received if sum(sent.get(key, ()))}


def _received(run: Measured, upkeep: str) -> ByRun:
    found = _over_psel(run, A, "reception", upkeep)
    return {key: sum(values) / len(values) for key, values in found.items()}


def _over_psel(
    run: Measured, place: Place, metric: str, upkeep: str
) -> dict[tuple[str, int], list[float]]:
    """A value for each psel, of those runs that have all of them."""
    found: dict[tuple[str, int], list[float]] = {}
    for version in VERSIONS:
        for psel in CHURN_PSELS:
            labels: dict[str, Label] = {"membership": version, "upkeep": upkeep, "psel": psel}
            for repetition, value in run.each(place.community, metric, **labels).items():
                found.setdefault((version, repetition), []).append(value)
    return {key: values for key, values in found.items() if len(values) == len(CHURN_PSELS)}


def _compared(
    claims: Claims, text: str, printed: str, by_upkeep: Mapping[str, ByRun], if_not: str = ""
) -> Claim:
    """Repetition by repetition: it has the same lives and deaths with upkeep and without."""
    kept, left = (by_upkeep[upkeep] for upkeep in UPKEEPS)
    both = [key for key in kept if key in left]
    gains = [
        fmean(kept[version, repetition] - left[version, repetition] for version in VERSIONS)
        for repetition in sorted({repetition for _, repetition in both})
        if all((version, repetition) in both for version in VERSIONS)
    ]
    if not gains:
        return claims.not_measured(text, printed)
    # Memberships are no further repetitions: those with the same members share their lives, too.
    gain = mean_of(gains)
    shown = [
        " → ".join(
            percent(fmean(values[key] for key in both if key[0] == version))
            for values in (left, kept)
        )
        for version in VERSIONS
    ]
    return claims.sentence(
        text,
        printed,
        by_name(VERSIONS, shown),
        is_above_zero(gain),
        rule="on average over memberships, with upkeep less the same without it, by more than chance "
        "has it from one repetition to the next",
        interval=points_interval(gain),
        note=f"{points(gain.mean)} on average",
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
        2300,
        _loss,
        tuple(_loss_figure(version) for version in VERSIONS),
    ),
    Item(
        "cam-crashed",
        PAPER,
        "Figs 19 to 28's sweep, with 10 to 50 % crashed before the event",
        "lan",
        (CRASHED,),
        1000,
        _crashed,
        tuple(_crashed_figure(version, place) for version in VERSIONS for place in (D, A)),
    ),
    Item(
        "cam-churn",
        PAPER,
        "Figs 19 to 28's sweep under churn, with and without upkeep of super-topic tables",
        "lan",
        (CHURN,),
        1500,
        _churn,
        tuple(_churn_figure(version) for version in VERSIONS),
    ),
)
