"""Interests: predicates over events, which can be sent to other peers.

A topic covers its subtopics. A box bounds attribute values, as Sub-2-Sub's subscriptions do; an
attribute that it does not name is a wildcard. `AnyOf` joins several into one, as hpmcast's
delegates and a process of unrelated topics do.
"""

from __future__ import annotations

from msgspec import Struct

from agents.core.messages import Event, Value
from agents.core.topics import Topics

MAX_NESTING = 8
"""Of `AnyOf` in `AnyOf`. Ours: nobody needs as much, and what a peer sent can always be walked."""


class _Interest(Struct, frozen=True, tag=True):
    def matches(self, event: Event, topics: Topics) -> bool:
        raise NotImplementedError


class Topic(_Interest, frozen=True):
    """Events of one topic and of all below it."""

    name: str

    def matches(self, event: Event, topics: Topics) -> bool:
        return event.topic in topics and topics.includes(self.name, event.topic)


class TopicSet(_Interest, frozen=True):
    """Events of any of these topics, which need not be related."""

    names: tuple[str, ...]

    def matches(self, event: Event, topics: Topics) -> bool:
        return event.topic in topics and any(
            topics.includes(name, event.topic) for name in self.names
        )


class Range(Struct, frozen=True, array_like=True):
    """From `low` to `high`, both included; an exact value is a range of one."""

    low: Value
    high: Value

    def __contains__(self, value: Value) -> bool:
        low, high = self.low, self.high
        if isinstance(value, str):
            return isinstance(low, str) and isinstance(high, str) and low <= value <= high
        return not isinstance(low, str) and not isinstance(high, str) and low <= value <= high


class Box(_Interest, frozen=True):
    """Events that have every named attribute, each within its range."""

    ranges: dict[str, Range]

    def matches(self, event: Event, topics: Topics) -> bool:
        values = event.attributes or {}
        return all(name in values and values[name] in span for name, span in self.ranges.items())


class AnyOf(_Interest, frozen=True):
    """Events that any of the parts matches."""

    parts: tuple[Interest, ...]

    def __post_init__(self) -> None:
        for part in self.parts:
            if isinstance(part, AnyOf) and _nesting(part) >= MAX_NESTING:
                raise ValueError(f"interests are nested more than {MAX_NESTING} deep")

    def matches(self, event: Event, topics: Topics) -> bool:
        return any(part.matches(event, topics) for part in self.parts)


Interest = Topic | TopicSet | Box | AnyOf


def _nesting(interest: Interest) -> int:
    if not isinstance(interest, AnyOf):
        return 0
    return 1 + max(map(_nesting, interest.parts), default=0)


def topics_of(interest: Interest) -> tuple[str, ...]:
    """The topics that an interest names, in order and once each."""
    match interest:
        case Topic(name):
            return (name,)
        case TopicSet(names):
            return tuple(dict.fromkeys(names))
        case AnyOf(parts):
            return tuple(dict.fromkeys(name for part in parts for name in topics_of(part)))
        case _:
            return ()
