"""What a run's counts come to, in a few columns: for the eye after a simulation.

The papers' metrics, their intervals and figures are the analysis's business; this is a first look.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from agents.core.journal import Count


@dataclass(frozen=True, slots=True)
class Row:
    """One community at one point of a sweep: means over events and repetitions."""

    point: int
    community: str
    members: float
    reception: float | None
    """The share of living members that an event reached."""
    reliability: float | None
    """The share of events that reached every living member."""
    sent: float
    efficiency: float | None
    """Of the copies received, the share that was not received before (CAMCAST 6.2.2)."""
    upward: float
    """Copies sent to a super-community."""
    parasites: float
    rounds: float | None
    """Hops until the last member that got it had it, over the events that got there at all."""


def summarise(counts: Iterable[Count]) -> list[Row]:
    """A row for each point and community, in the order in which they first appear."""
    grouped: dict[tuple[int, str], list[Count]] = {}
    for count in counts:
        grouped.setdefault((count.point, count.community), []).append(count)
    return [_row(point, community, group) for (point, community), group in grouped.items()]


def _row(point: int, community: str, counts: list[Count]) -> Row:
    some = [count for count in counts if count.members]
    arrived = [count.last_hop for count in counts if count.last_hop]
    received = sum(count.received for count in counts)
    useful = received - sum(count.duplicates for count in counts)
    return Row(
        point=point,
        community=community,
        members=_mean([count.members for count in counts]) or 0.0,
        reception=_mean([count.reached / count.members for count in some]),
        reliability=_mean([count.reached == count.members for count in some]),
        sent=_mean([count.sent for count in counts]) or 0.0,
        efficiency=useful / received if received else None,
        upward=_mean([count.upward_sent for count in counts]) or 0.0,
        parasites=_mean([count.parasites for count in counts]) or 0.0,
        rounds=_mean(arrived),
    )


def _mean(values: list[int] | list[float] | list[bool]) -> float | None:
    return sum(values) / len(values) if values else None
