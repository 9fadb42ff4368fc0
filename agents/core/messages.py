"""Messages, timers and events: small frozen records, so that they can be matched, logged, fuzzed.

A message is what one peer sends another. A timer is what a peer sends its own future. An event is
what an application published; it travels inside messages that derive from `EventMessage`, and the
hosts read the fields of that class to journal every copy without knowing the protocol.
"""

from typing import Annotated

from msgspec import Meta, Struct

PeerId = int
"""A peer's number in its run, from 0 without gaps, the same on either engine."""

Peer = Annotated[int, Meta(ge=0, lt=1 << 32)]
Hop = Annotated[int, Meta(ge=0, lt=1 << 16)]
MAX_TOPIC_NAME = 255
"""Characters. Ours."""
TopicName = Annotated[str, Meta(max_length=MAX_TOPIC_NAME)]
Peers = Annotated[tuple[Peer, ...], Meta(max_length=1024)]
Value = float | str

NS_PER_S = 1_000_000_000


def ns(seconds: float) -> int:
    """Seconds, as people and parameters write them, in the nanoseconds that ports count in."""
    return round(seconds * NS_PER_S)


class Message(Struct, frozen=True, array_like=True, tag=True, gc=False):
    """What one peer sends another. Subclasses are tagged on the wire by their names."""


class Timer(Struct, frozen=True, gc=False):
    """What a peer sends its own future. Never cancelled: one that fires late does nothing."""


class Event(Struct, frozen=True, array_like=True, gc=False):
    """What an application published."""

    id: Annotated[str, Meta(max_length=64)]
    topic: TopicName = ""
    data: bytes = b""
    attributes: dict[str, Value] | None = None
    """For content-based interests."""
    psel: Annotated[float, Meta(ge=0, le=1)] | None = None
    """This event's own probability of being passed up (CAMCAST 5.3.2.1, `setUpwardProb`)."""


class EventMessage(Message, frozen=True):
    """One copy of an event on its way. A protocol may add fields."""

    event: Event
    hop: Hop
    """How many times the event has been sent on when this copy arrives; 1 from its publisher."""
    community: TopicName = ""
    """The community that the receiver gets it as a member of; empty where there are none."""
    origin: TopicName = ""
    """The sender's community when the copy leaves it upwards; empty otherwise."""


class ScopedMessage(Message, frozen=True):
    """A message of a membership, which a peer may run several of, one for each scope."""

    scope: TopicName


class ScopedTimer(Timer, frozen=True):
    """A timer of a membership."""

    scope: str
