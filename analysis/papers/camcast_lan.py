"""CAMCAST (Baehni, Eugster, Guerraoui, Jurca), section 6.2: Figures 19 to 28, on a LAN.

Three memberships (V1 unstructured, V2 semi-structured, V3 structured) against psel, measured with
real agents on the emulated LAN, and beside it in the simulator: the two engines check each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

from analysis.intervals import Estimate
from analysis.names import EVERYWHERE
from analysis.papers.claims import (
    Claims,
    apart,
    average,
    by_name,
    decimal,
    difference,
    everything,
    has_interval,
    percent,
    percent_interval,
    points,
    points_interval,
)
from analysis.papers.items import Claim, Curve, Figure, Item, Measured, Series
from analysis.theory import crashes, latency, upward
from analysis.theory.communities import Community, Hierarchy

if TYPE_CHECKING:
    from analysis.job import Result

PAPER = "camcast-lan"
"""A name of its own: the simulations of section 6.1 need neither root nor half an hour."""
LAN, SIMULATED = "camcast-lan", "camcast-lan-simulated"
VERSIONS = ("V1", "V2", "V3")
SIZES = {"V1": (84, 27, 7), "V2": (79, 28, 7), "V3": (79, 28, 7)}
"""6.2.1, from the publication's community to the root's."""
OF_THEORY = "79/28/7"
"""Theory's curves are of V2 and V3; V1's would lie a few percent beside them."""
PSELS = (0.01, 0.02, 0.05, 0.07, 0.1, 0.2, 0.5, 1)
HIGH_FROM = 0.1
"""6.2.2: "very high, even with low inter-community dissemination probability (0.1)"."""
SEVEN_PERCENT = 0.07
"""Abstract: "100 % reliability while only involving 7 % of the processes"."""
ALL = 0.99
"""Ours: what "100 %" is at least, over ten repetitions of fifteen events."""
HIGH = 0.9
"""Ours: what "very high" and "very good" are at least."""
PROPORTIONAL = 0.15
"""Ours: how far upward messages may be from N·psel·pa·z·psucc. At psel 0.1 the mean of 150 events has
a standard error of 3 % from Π_g, and of 5 % from the smaller Π_d."""
NOTABLE = 0.05
"""Ours: what two curves must differ by for a figure to show it."""
COMPARED = tuple(psel for psel in PSELS if psel < 0.5)
"""6.2.2: where V1 and V2 "perform differently"."""
SECONDS = 1500
"""On two cores: ten bring-ups for each of three memberships."""
PAPERS_REPETITIONS = 10
"""6.2.2: for V1; five for V2 and V3."""


@dataclass(frozen=True)
class Place:
    """A community; figures are about the two that events come to from below."""

    community: str
    name: str
    position: int
    """On the way up; the publication's is 0."""
    below: str
    """The name of the community that its upward messages come from."""


G = Place(".a.d.g", "Π_g", 0, "")
EVERYBODY = Place(EVERYWHERE, "all three communities", 2, "")
D = Place(".a.d", "Π_d", 1, "Π_g")
A = Place(".a", "Π_a", 2, "Π_d")


def hierarchy(version: str, psel: float) -> Hierarchy:
    """6.2.1: a = 2, z = 4, c = 0, and TCP, which loses nothing."""
    return Hierarchy(
        tuple(Community(n, c=0, g=psel * n, a=2, z=4, psucc=1) for n in SIZES[version])
    )


# Figures


def _figure(number: int, place: Place, metric: str, words: str, theory: Theory) -> Figure:
    return Figure(
        id=f"camcast-fig-{number}",
        title=f"Fig. {number}. {words[0].upper()}{words[1:]}, {place.name}",
        series=(*_series(LAN, "", place), *_series(SIMULATED, " sim.", place)),
        axis="psel",
        axis_title="psel (logarithmic)",
        metric=metric,
        metric_title=words,
        theory=lambda: theory(place),
        percent=metric in ("reception", "reliability", "efficiency"),
        logarithmic=True,
    )


def _series(experiment: str, suffix: str, place: Place) -> list[Series]:
    return [
        Series(f"{version}{suffix}", experiment, place.community, (("membership", version),))
        for version in VERSIONS
    ]


Theory = Callable[[Place], Sequence[Curve]]


def _along_psel(label: str, value: Callable[[float], float]) -> Curve:
    steps = [10 ** (-2 + step / 20) for step in range(41)]
    return Curve(label, tuple((psel, value(min(1.0, psel))) for psel in steps))


def _outlook(metric: str) -> Theory:
    """Of the model of random tables of floor(ln N) that `analysis.theory.crashes` has."""

    def curves(place: Place) -> list[Curve]:
        def value(psel: float) -> float:
            outlook = crashes.stillborn(hierarchy("V3", psel), 0)[place.position]
            return float(getattr(outlook, metric))

        return [_along_psel(f"model ({OF_THEORY})", value)]

    return curves


def _efficiency(place: Place) -> list[Curve]:
    """4.3's count of messages, all of them received: N of N·floor(ln N) + those from below."""

    def value(psel: float) -> float:
        communities = hierarchy("V3", psel).communities
        own, below = communities[place.position], communities[place.position - 1]
        return own.size / (own.size * max(1, own.fanout) + upward.arrived(below))

    return [_along_psel(f"4.3 ({OF_THEORY})", value)]


def _rounds(place: Place) -> list[Curve]:
    way = hierarchy("V3", 1).up_to(place.position)
    return [
        _along_psel("best (4.6.1)", lambda _: latency.best(way)),
        _along_psel("worst (4.6.1)", lambda _: latency.worst(way)),
    ]


def _upward(place: Place) -> list[Curve]:
    def value(psel: float) -> float:
        return upward.arrived(hierarchy("V3", psel).communities[place.position - 1])

    return [_along_psel(f"4.3.1 ({OF_THEORY})", value)]


# Claims


@dataclass(frozen=True)
class Runs:
    """What was measured on both engines, for one item."""

    lan: Measured
    simulated: Measured
    claims: Claims

    @classmethod
    def of(cls, result: Result, item: str) -> Runs:
        lan, simulated = Measured(result, LAN), Measured(result, SIMULATED)
        return cls(lan, simulated, Claims(item, lan, papers_repetitions=PAPERS_REPETITIONS))

    def at(self, version: str, psel: float, place: Place, metric: str) -> Estimate | None:
        return self.lan.at(place.community, metric, membership=version, psel=psel)

    def each(self, psel: float, place: Place, metric: str) -> list[Estimate] | None:
        return everything(self.at(version, psel, place, metric) for version in VERSIONS)

    def means(self, place: Place, metric: str, psels: Iterable[float]) -> list[Estimate] | None:
        """By version: the mean height of its curve."""
        found = []
        for version in VERSIONS:
            values = everything(self.at(version, psel, place, metric) for psel in psels)
            found.append(average(values) if values is not None else None)
        return everything(found)


def _shares(
    runs: Runs,
    text: str,
    printed: str,
    values: list[Estimate] | None,
    holds: Callable[[list[float]], bool],
    rule: str,
    if_not: str = "",
) -> Claim:
    """A sentence about a share with each membership."""
    if values is None:
        return runs.claims.not_measured(text, printed)
    means = [value.mean for value in values]
    shown = by_name(VERSIONS, [percent(mean) for mean in means])
    return runs.claims.sentence(text, printed, shown, holds(means), rule, if_not=if_not)


def _goes_to_all(runs: Runs, place: Place) -> Claim:
    """ "All three approaches converge to a reception probability of 100 %." """
    return _shares(
        runs,
        f"reception in {place.name} goes to 100 % as psel goes to 1",
        "100 %",
        runs.each(1, place, "reception"),
        lambda means: min(means) >= ALL,
        rule="at psel 1, at least 99 % with each membership",
        if_not="tables are filled as processes come in, and those who come last are in few of them "
        "(6.2.1)",
    )


def _more_structure_is_no_worse(runs: Runs, place: Place, metric: str, words: str) -> Claim:
    """ "The more structured the membership algorithm, the better the overall performance." """
    text = f"{words} in {place.name}: V3 ≥ V2 ≥ V1"
    values = runs.means(place, metric, COMPARED)
    if values is None:
        return runs.claims.not_measured(text, "V3 ≥ V2 ≥ V1")
    named = list(zip(VERSIONS, values, strict=True))
    differing = [(less, more) for less, more in combinations(named, 2) if apart(less[1], more[1])]
    worse = [pair for pair in differing if pair[0][1].mean > pair[1][1].mean]
    order = [
        f"{more} {'<' if less_value.mean > more_value.mean else '>'} {less}"
        for (less, less_value), (more, more_value) in differing
    ]
    return runs.claims.sentence(
        text,
        "V3 ≥ V2 ≥ V1",
        by_name(VERSIONS, [percent(value.mean) for value in values]),
        None if not all(map(has_interval, values)) or not differing else not worse,
        rule="on average over psel below 0.5, one at least is above a less structured one by more "
        "than their intervals, and none below",
        note=f"beyond chance: {', '.join(order) or 'none'}" if has_interval(values[0]) else "",
        if_not=WHY_IN_ANOTHER_ORDER.get(
            metric,
            "contacts are drawn uniformly with all three here; what the paper's gateways gave out it "
            "does not say",
        ),
    )


WHY_IN_ANOTHER_ORDER = {
    "efficiency": "all of V3's tables have floor(ln N + c) entries, and some of SCAMP's fewer: V3 sends "
    "more copies, reaches more processes by them, and wastes more"
}


def _structured_is_good_early(runs: Runs, place: Place) -> Claim:
    """ "The structured approach ensures very good results even for a low … probability." """
    text = f"reception in {place.name} is very good with V3 even at a low psel"
    value = runs.at("V3", HIGH_FROM, place, "reception")
    if value is None:
        return runs.claims.not_measured(text, "very good")
    return runs.claims.sentence(
        text,
        "very good",
        percent(value.mean),
        value.mean >= HIGH,
        rule="at psel 0.1, which 6.2.2 calls low, at least 90 %",
        interval=percent_interval(value),
        if_not="the model, drawn in the figure, has no more: with c = 0 an event that comes from "
        "below in few copies stays among few",
    )


def _unstructured_ones_differ(runs: Runs, place: Place) -> Claim:
    """ "For the test where psel < 0.5, V1 and V2 perform differently (this is due to the choice of
    contacts provided by the bootstrapping mechanism)." """
    text = f"reception in {place.name}: V1 and V2 perform differently below psel 0.5"
    values = runs.means(place, "reception", COMPARED)
    if values is None:
        return runs.claims.not_measured(text, "differently")
    one, other = values[:2]
    gap = difference(other, one)
    return runs.claims.sentence(
        text,
        "differently",
        by_name(VERSIONS[:2], [percent(one.mean), percent(other.mean)]),
        _is_notable(gap),
        rule="on average over psel below 0.5, by more than chance; not if by less than 5 points",
        interval=points_interval(gap),
        note=f"difference {points(gap.mean)}",
        if_not="V1's gateways give out any member as V2's overlay does; giving out themselves alone, "
        "they would keep the reception of the other communities from ever reaching 100 %",
    )


def _is_notable(gap: Estimate) -> bool | None:
    if gap.low is None or gap.high is None:
        return None
    if gap.low > 0 or gap.high < 0:
        return True
    return False if gap.low > -NOTABLE and gap.high < NOTABLE else None


def _very_high_from(runs: Runs, place: Place) -> Claim:
    """ "The reliability of all approaches is very high, even with low probability (0.1)." """
    return _shares(
        runs,
        f"reliability in {place.name} is very high even at psel 0.1",
        "very high",
        runs.each(HIGH_FROM, place, "reliability"),
        lambda means: min(means) >= HIGH,
        rule="at psel 0.1, all members got at least 90 % of the events, with each membership",
        if_not="by 4.5.1's own count all of a community get an event with probability e^(-e^-c), "
        "which is 0.37 with c = 0; what comes from below makes up for some of it",
    )


def _all_with_seven_percent(runs: Runs, place: Place) -> Claim:
    """ "It is possible to achieve 100 % reliability while only involving 7 % of the processes." """
    return _shares(
        runs,
        f"100 % reliability in {place.name} with 7 % of the processes passing events up",
        "100 %",
        runs.each(SEVEN_PERCENT, place, "reliability"),
        lambda means: max(means) >= ALL,
        rule='at psel 0.07, at least 99 % with one of the memberships: it is "possible"',
        if_not="that every member got an event is another matter than that nearly all did: see "
        "the reception",
    )


def _hierarchy_with_seven_percent(runs: Runs) -> Claim:
    """Section 7: "100 % reliability among a hierarchy of three communities …, while only involving 7 %
    of the processes in the propagation of the events in between the communities." """
    text = (
        "100 % reliability among all three communities with 7 % of the processes passing events up"
    )
    values = runs.each(SEVEN_PERCENT, EVERYBODY, "reliability")
    shares = runs.each(SEVEN_PERCENT, G, "upward_share")
    if values is None or shares is None:
        return runs.claims.not_measured(text, "100 %")
    return runs.claims.sentence(
        text,
        "100 %",
        by_name(VERSIONS, [percent(value.mean) for value in values]),
        max(value.mean for value in values) >= ALL,
        rule="at psel 0.07, at least 99 % of the events at everybody, with one membership: it is "
        '"possible"',
        note="passed up in Π_g by " + by_name(VERSIONS, [percent(share.mean) for share in shares]),
        if_not="Π_g alone has e^(-e^-c), 0.37 with c = 0 (4.5.1), whatever is passed up",
    )


def _falls(runs: Runs, place: Place, metric: str, words: str) -> Claim:
    text = f"{words} in {place.name} falls as psel grows"
    low, high = (runs.each(psel, place, metric) for psel in (HIGH_FROM, 1))
    if low is None or high is None:
        return runs.claims.not_measured(text, "falls")
    show = percent if metric == "efficiency" else decimal
    return runs.claims.sentence(
        text,
        "falls",
        by_name(
            VERSIONS,
            [f"{show(a.mean)} → {show(b.mean)}" for a, b in zip(low, high, strict=True)],
        ),
        all(b.mean < a.mean and apart(a, b) for a, b in zip(low, high, strict=True)),
        rule="from psel 0.1 to 1, with each membership, by more than the intervals",
        note="runs none of whose events got there are left out, where the paper counts 0",
    )


def _in_proportion(runs: Runs, place: Place) -> list[Claim]:
    """ "The number of upward messages … is directly influenced by the inter-community dissemination
    probability, as expected from the analysis." """
    found = []
    for version in VERSIONS:
        text = f"upward messages from {place.below} are N·psel·pa·z·psucc, {version}"
        psels = [psel for psel in PSELS if psel >= HIGH_FROM]
        values = everything(runs.at(version, psel, place, "upward_received") for psel in psels)
        expected = [
            upward.arrived(hierarchy(version, psel).communities[place.position - 1])
            for psel in psels
        ]
        printed = ", ".join(decimal(value) for value in expected)
        if values is None:
            found.append(runs.claims.not_measured(text, printed))
            continue
        worst = max(
            abs(value.mean - wanted) / wanted
            for value, wanted in zip(values, expected, strict=True)
        )
        found.append(
            runs.claims.sentence(
                text,
                printed,
                ", ".join(decimal(value.mean) for value in values),
                worst <= PROPORTIONAL,
                rule="at psel 0.1, 0.2, 0.5 and 1, within 15 %",
                note=f"furthest off by {percent(worst)}",
            )
        )
    return found


def _engines_agree(runs: Runs, place: Place, metric: str, words: str) -> Claim:
    """Ours: what the LAN measures and what the simulator says are one thing."""
    text = f"LAN and simulator agree on {words} in {place.name} (ours)"
    compared, worst, with_intervals = 0, 0.0, True
    off: list[str] = []
    for version in VERSIONS:
        for psel in PSELS:
            lan = runs.at(version, psel, place, metric)
            simulated = runs.simulated.at(place.community, metric, membership=version, psel=psel)
            if lan is not None and simulated is not None:
                compared += 1
                with_intervals = with_intervals and has_interval(lan) and has_interval(simulated)
                if apart(lan, simulated):
                    off.append(f"{version} at {psel:g}")
                worst = max(worst, abs(difference(lan, simulated).mean))
    if compared < len(VERSIONS) * len(PSELS):
        return replace(runs.claims.not_measured(text, "agree"), ours=True)
    shares = metric in ("reception", "reliability", "efficiency")
    claim = runs.claims.sentence(
        text,
        "agree",
        f"{compared - len(off)} of {compared} points",
        len(off) <= compared * 0.1 if with_intervals else None,
        rule="the 95 % intervals have something in common, at nine points of ten",
        note=f"largest difference {points(worst) if shares else decimal(worst)}"
        + (f"; apart: {', '.join(off)}" if off else ""),
        if_not=WHY_ENGINES_DIFFER.get(metric, ""),
    )
    return replace(claim, ours=True)


WHY_ENGINES_DIFFER = {
    "rounds": "a process's first copy need not be the one of the fewest hops: the fewer cores the LAN's "
    "agents share, the more copies overtake each other. The simulator's latency is spread as much as two "
    "cores were found to spread it, but each copy's is its own there, where the LAN's wait for each other"
}


def _receptions(item: str, place: Place) -> Callable[[Result], list[Claim]]:
    def judge(result: Result) -> list[Claim]:
        runs = Runs.of(result, item)
        return [
            _goes_to_all(runs, place),
            _structured_is_good_early(runs, place),
            _unstructured_ones_differ(runs, place),
            _more_structure_is_no_worse(runs, place, "reception", "reception"),
            _engines_agree(runs, place, "reception", "reception"),
        ]

    return judge


def _reliabilities(item: str, place: Place) -> Callable[[Result], list[Claim]]:
    def judge(result: Result) -> list[Claim]:
        runs = Runs.of(result, item)
        return [
            _very_high_from(runs, place),
            _all_with_seven_percent(runs, place),
            *([_hierarchy_with_seven_percent(runs)] if place is A else []),
            _more_structure_is_no_worse(runs, place, "reliability", "reliability"),
            _engines_agree(runs, place, "reliability", "reliability"),
        ]

    return judge


def _falling(item: str, place: Place, metric: str, words: str) -> Callable[[Result], list[Claim]]:
    def judge(result: Result) -> list[Claim]:
        runs = Runs.of(result, item)
        order = [_more_structure_is_no_worse(runs, place, metric, words)]
        return [
            _falls(runs, place, metric, words),
            *(order if metric == "efficiency" else []),
            _engines_agree(runs, place, metric, words),
        ]

    return judge


def _upwards(item: str, place: Place) -> Callable[[Result], list[Claim]]:
    def judge(result: Result) -> list[Claim]:
        runs = Runs.of(result, item)
        return [
            *_in_proportion(runs, place),
            _engines_agree(runs, place, "upward_received", "upward messages"),
        ]

    return judge


def _item(
    number: int,
    place: Place,
    metric: str,
    words: str,
    theory: Theory,
    judge: Callable[[Result], list[Claim]],
) -> Item:
    return Item(
        f"cam-{number}",
        PAPER,
        f"Fig. {number}, {words}, {place.name}, on the LAN",
        "lan",
        (LAN, SIMULATED),
        SECONDS,
        judge,
        (_figure(number, place, metric, words, theory),),
    )


def _both(
    first: int,
    metric: str,
    words: str,
    theory: Theory,
    judge: Callable[[str, Place], Callable[[Result], list[Claim]]],
) -> list[Item]:
    """A metric's two figures: in Π_d, then in Π_a."""
    return [
        _item(number, place, metric, words, theory, judge(f"cam-{number}", place))
        for number, place in enumerate((D, A), first)
    ]


ITEMS = (
    *_both(19, "reception", "reception probability", _outlook("reception"), _receptions),
    *_both(21, "reliability", "reliability", _outlook("reliability"), _reliabilities),
    *_both(
        23,
        "efficiency",
        "efficiency",
        _efficiency,
        lambda item, place: _falling(item, place, "efficiency", "efficiency"),
    ),
    *_both(
        25,
        "rounds",
        "latency in hops",
        _rounds,
        lambda item, place: _falling(item, place, "rounds", "latency"),
    ),
    *_both(27, "upward_received", "upward messages received", _upward, _upwards),
)
