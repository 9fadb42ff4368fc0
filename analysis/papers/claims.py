"""Claims written down: a number against the paper's, a sentence by a stated rule, or neither."""

import math
from collections.abc import Iterable, Sequence
from statistics import fmean, stdev

from analysis.intervals import Estimate, estimate
from analysis.papers.items import Claim, Measured, Verdict

PAPERS_REPETITIONS = 100
"""CAMCAST 6.1.1: "All results are averaged over 100 experiments"; daMulticast does not say."""


class Claims:
    """The claims of one item, whose experiments' runs are `measured`."""

    def __init__(
        self,
        item: str,
        *measured: Measured,
        papers_repetitions: int = PAPERS_REPETITIONS,
        ours: bool = False,
    ) -> None:
        self._item = item
        self._ours = ours
        self._missing = [run.experiment for run in measured if not run.there]
        fewest = min((run.repetitions for run in measured if run.there), default=0)
        self._remark = (
            f"from {fewest} repetition{'s' if fewest > 1 else ''} only, where the "
            f"{'experiment has' if ours else 'papers have'} {papers_repetitions}"
            if 0 < fewest < papers_repetitions
            else ""
        )

    def number(
        self,
        text: str,
        printed: float,
        measured: Estimate | None,
        tolerance: float,
        why: str,
        note: str = "",
    ) -> Claim:
        """Holds if the mean lies within `tolerance` of the printed number, for the reason `why`."""
        shown = decimal(printed)
        if measured is None:
            return self.not_measured(text, shown, self._absent())
        if tolerance:
            rule = f"within {tolerance * 100:g} %: {why}"
        else:
            rule = f"exactly: {why}"
        return Claim(
            self._item,
            text,
            shown,
            decimal(measured.mean),
            interval(measured),
            deviation(measured.mean, printed),
            _verdict(abs(measured.mean - printed) <= tolerance * abs(printed)),
            self._noted(note),
            rule,
        )

    def sentence(
        self,
        text: str,
        printed: str,
        measured: str,
        holds: bool | None,
        rule: str,
        interval: str = "",
        note: str = "",
        if_not: str = "",
    ) -> Claim:
        """Holds as the caller found by its rule, or is unclear where that is None; `if_not` is noted
        where it does not."""
        return Claim(
            self._item,
            text,
            printed,
            measured,
            interval,
            "",
            _verdict(holds),
            self._noted(note, "" if holds else if_not),
            rule,
            self._ours,
        )

    def not_measured(self, text: str, printed: str, why: str = "") -> Claim:
        why = why or self._absent()
        return Claim(self._item, text, printed, "-", "", "", "not measured", why, ours=self._ours)

    def _absent(self) -> str:
        if self._missing:
            return f"there is no run of {', '.join(self._missing)}"
        return "no run has a value for it"

    def _noted(self, *notes: str) -> str:
        return "; ".join(note for note in (*notes, self._remark) if note)


def _verdict(holds: bool | None) -> Verdict:
    if holds is None:
        return "unclear"
    return "holds" if holds else "differs"


# Estimates


def difference(one: Estimate, other: Estimate) -> Estimate:
    """`one` less `other`, as if the two had been measured independently."""
    halves = (_half(one), _half(other))
    mean, n = one.mean - other.mean, min(one.n, other.n)
    if halves[0] is None or halves[1] is None:
        return Estimate(n, mean, None, None)
    half = math.hypot(halves[0], halves[1])
    return Estimate(n, mean, mean - half, mean + half)


def mean_of(values: Sequence[float], *, is_share: bool = False) -> Estimate:
    """With its interval, where there are several."""
    spread = stdev(values) if len(values) > 1 else None
    return estimate(len(values), fmean(values), spread, is_share=is_share)


def is_above_zero(value: Estimate) -> bool | None:
    """None where chance alone may say so."""
    if value.low is None or value.high is None or value.low <= 0 <= value.high:
        return None
    return value.low > 0


def _half(value: Estimate) -> float | None:
    """Of the interval, by its longer side: a share's may be cut off at 0 or 1."""
    if value.low is None or value.high is None:
        return None
    return max(value.mean - value.low, value.high - value.mean)


def average(values: Sequence[Estimate]) -> Estimate | None:
    """Of several points' means, as if they erred together: a sweep's points share their seeds."""
    if not values:
        return None
    n, mean = min(value.n for value in values), sum(v.mean for v in values) / len(values)
    halves = [half for value in values if (half := _half(value)) is not None]
    if len(halves) < len(values):
        return Estimate(n, mean, None, None)
    half = sum(halves) / len(values)
    return Estimate(n, mean, mean - half, mean + half)


def has_interval(value: Estimate) -> bool:
    """One repetition alone has none, and tells nothing of chance."""
    return value.low is not None and value.high is not None


def apart(one: Estimate, other: Estimate) -> bool:
    """Whether the intervals have nothing in common; without intervals, whether the means differ."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return one.mean != other.mean
    return one.high < other.low or other.high < one.low


def everything(values: Iterable[Estimate | None]) -> list[Estimate] | None:
    """All of them, or nothing if any is missing."""
    found = list(values)
    there = [value for value in found if value is not None]
    return there if len(there) == len(found) else None


# Wording


def decimal(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.2f}".rstrip("0").rstrip(".") if value == round(value) else f"{value:.2f}"


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def points(value: float) -> str:
    """A difference of two shares, in percentage points."""
    return f"{100 * value:+.1f} points".replace("-", "−")


def interval(value: Estimate, scale: float = 1) -> str:
    if value.low is None or value.high is None:
        return ""
    return f"{decimal(value.low * scale)} to {decimal(value.high * scale)}".replace("-", "−")


def percent_interval(value: Estimate) -> str:
    text = interval(value, 100)
    return f"{text} %" if text else ""


def deviation(measured: float, printed: float) -> str:
    if printed == 0:
        return "0" if measured == 0 else f"{measured:+.2f}".replace("-", "−")
    text = f"{100 * (measured - printed) / printed:+.1f} %".replace("-", "−")
    return "0.0 %" if text[1:] == "0.0 %" else text


def points_interval(value: Estimate) -> str:
    text = interval(value, 100)
    return f"{text} points" if text else ""


def by_name(names: Sequence[str], values: Sequence[str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in zip(names, values, strict=True))
