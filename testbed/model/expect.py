"""What a run must show: lines that name a metric, a community, and one comparison.

A file's lines may be meant for some points of its sweep only; at a point there are those that are
meant for it, and `where` is gone. They are judged by `analysis.expectations`, from what was
measured.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from analysis.names import CONTROL, EVERYWHERE, OF_EVENTS, TABLE, is_metric
from testbed.model.errors import Found, described, listing, near_miss, suggestion
from testbed.model.parts import Part, checked_topic
from testbed.model.sweep import Axis, Label

COMPARISONS = ("at_least", "at_most", "equals")


def _metric(name: str) -> str:
    if is_metric(name):
        return name
    named = (f"{CONTROL}KIND", f"{TABLE}NAME")
    raise ValueError(f"{described(name)} is no metric{suggestion(name, (*OF_EVENTS, *named))}")


def _community(name: str) -> str:
    return name if name == EVERYWHERE else checked_topic(name)


def _label(value: object) -> object:
    """As a sweep names its points: see `testbed.model.sweep`."""
    if isinstance(value, bool):
        return described(value)
    if isinstance(value, str | int | float):
        return value
    raise ValueError(f"must be a value of the axis, or the name of a case, is {described(value)}")


Metric = Annotated[str, Field(strict=True), AfterValidator(_metric)]
Community = Annotated[str, Field(strict=True), AfterValidator(_community)]
Quantity = Annotated[float, Field(strict=True, ge=0)]
"""No metric is ever less than 0."""


class Expectation(Part):
    """One line: the mean over a point's repetitions, compared with a number."""

    metric: Metric
    community: Community = EVERYWHERE
    """`*` for all together."""
    at_least: Quantity | None = None
    at_most: Quantity | None = None
    equals: Quantity | None = None
    within: Quantity | None = None
    """How far from `equals` it may lie on either side, in the metric's own unit."""
    where: Mapping[str, Annotated[Label, BeforeValidator(_label)]] = {}
    """The sweep's values of the points that it is meant for; every point without it."""

    @model_validator(mode="after")
    def _one_comparison(self) -> Self:
        given = [name for name in COMPARISONS if getattr(self, name) is not None]
        if len(given) != 1:
            has = f"has {' and '.join(given)}" if given else "has none of them"
            raise ValueError(f"needs exactly one of {listing(COMPARISONS)}, {has}")
        if self.within is not None and self.equals is None:
            raise ValueError(f"has within, which goes with equals and not with {given[0]}")
        return self

    def is_meant_for(self, labels: Mapping[str, Label]) -> bool:
        """Whether it is for the point of these labels."""
        return all(
            axis in labels and _same(label, labels[axis]) for axis, label in self.where.items()
        )


def at_point(lines: Iterable[Expectation], labels: Mapping[str, Label]) -> tuple[Expectation, ...]:
    """Those that are meant for the point."""
    meant = (line for line in lines if line.is_meant_for(labels))
    return tuple(line.model_copy(update={"where": {}}) if line.where else line for line in meant)


def check_where(
    lines: Iterable[Expectation | None], axes: Sequence[Axis], broken: Iterable[str] = ()
) -> list[Found]:
    """Points that the sweep does not have; nothing is said of an axis that is itself `broken`."""
    found = []
    known = {axis.name: axis.labels for axis in axes}
    names = sorted({*known, *broken})
    for number, line in enumerate(lines):
        for name, label in line.where.items() if line else ():
            path = ("expect", number, "where", name)
            if not names:
                found.append(Found(path, "there is no sweep: leave out where", True))
            elif name not in names:
                message = f"is no axis of the sweep{suggestion(name, names)}"
                found.append(Found(path, message, True))
            elif name in known and not any(_same(label, other) for other in known[name]):
                there = [str(other) for other in known[name]]
                message = f"{described(label)} is not on the axis, which has {listing(there)}"
                found.append(Found(path, message + near_miss(str(label), there)))
    return found


def _same(one: Label, other: Label) -> bool:
    # A case is named by text, be it the text of a number.
    return one == other or str(one) == str(other)
