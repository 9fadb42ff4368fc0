"""Asked against achieved: what links gave, how late agents and actions were.

A number beyond its bound marks the run: what it measured may be the machine and not the protocol.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

MS = 1_000_000
MAX_LAG_MS = 100.0
"""Ours: agents of a LAN answer in about a millisecond; one that is held up a hundred times as long
by its neighbours on this machine is no longer a machine of its own."""
MAX_LATENESS_MS = 250.0
"""Ours: for events and faults, which are scripted in seconds."""


class Fact(msgspec.Struct, frozen=True, kw_only=True):
    """One number that was asked for, or that has a bound."""

    what: str
    asked: float | None
    achieved: float
    unit: str
    bound: float | None
    ok: bool


class Fidelity:
    """Keeps the worst of what it is told."""

    def __init__(self) -> None:
        self._links: list[Fact] = []
        self._lag_ns = 0
        self._lateness_ns = 0
        self._overflow: dict[tuple[str, int, int], int] = {}
        self._asked_agents = False
        self._played = False

    def note_links(self, facts: Iterable[Mapping[str, Any]]) -> None:
        self._links += [msgspec.convert(dict(fact), Fact) for fact in facts]

    def note_agents(self, statuses: Sequence[Mapping[str, Any]], bring_up: str = "") -> None:
        """`bring_up` tells those apart who have the same numbers in another repetition."""
        self._asked_agents = True
        for status in statuses:
            self._lag_ns = max(self._lag_ns, status["lag_max_ns"])
            # Both go on over points that share a bring-up: the latest word counts.
            life = (bring_up, status["agent"], status["life"])
            self._overflow[life] = status["overflow"] + status["dropped"].get("overflow", 0)

    def note_lateness(self, latest_ns: int) -> None:
        self._played = True
        self._lateness_ns = max(self._lateness_ns, latest_ns)

    def facts(self) -> list[Fact]:
        found = list(self._links)
        if self._asked_agents:
            overflow = sum(self._overflow.values())
            found.append(_at_most("event-loop lag, worst agent", self._lag_ns / MS, MAX_LAG_MS))
            found.append(
                Fact(
                    what="messages that full queues dropped",
                    asked=0,
                    achieved=overflow,
                    unit="",
                    bound=0,
                    ok=not overflow,
                )
            )
        if self._played:
            found.append(
                _at_most("lateness, worst event or fault", self._lateness_ns / MS, MAX_LATENESS_MS)
            )
        return found


def _at_most(what: str, milliseconds: float, bound: float) -> Fact:
    return Fact(
        what=what,
        asked=None,
        achieved=round(milliseconds, 3),
        unit="ms",
        bound=bound,
        ok=milliseconds <= bound,
    )
