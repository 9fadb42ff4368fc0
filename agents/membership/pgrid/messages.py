"""P-Grid's parameters, messages and timers."""

from typing import Annotated

from msgspec import Meta, Struct

from agents.core.messages import Peer, Peers, TopicName
from agents.core.overlay import OverlayMessage, OverlayTimer
from agents.core.protocol import Parameters

KEY_BITS = 32
"""Of a topic's hash, and so of a path at the most. Ours: a path has log2 of the peers' number."""
MAX_REFERENCES = 64
MAX_ENTRIES = 200
"""In one message. Ours: with topics of the longest names they still fit a frame."""
MAX_COUNT = 1024
"""Processes in one answer. Ours: more than any table that the papers have."""

Serial = Annotated[int, Meta(ge=0, lt=1 << 32)]
Key = Annotated[int, Meta(ge=0, lt=1 << KEY_BITS)]
Path = Annotated[int, Meta(ge=1, lt=1 << (KEY_BITS + 1))]
"""A 1 and behind it the path's bits, so that its length is told too."""
Level = Annotated[int, Meta(ge=1, le=KEY_BITS)]
Few = Annotated[tuple[Peer, ...], Meta(max_length=MAX_REFERENCES)]
Digest = Annotated[int, Meta(ge=0, lt=1 << 56)]
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Version = Annotated[int, Meta(ge=0, lt=1 << 62)]

Maxl = Annotated[int, Meta(ge=0, le=KEY_BITS)] | None
Refmax = Annotated[int, Meta(ge=1, le=16)]
Recmax = Annotated[int, Meta(ge=0, le=8)]
Seconds = Annotated[float, Meta(gt=0, le=1e6)]


class PGridParameters(Parameters, frozen=True):
    maxl: Maxl = None
    """The length at which a path grows no more. Without one, so long that 4 to 8 peers share a
    path, by the directory's size. Ours: with so many, all who hold a key seldom crash together."""
    refmax: Refmax = 4
    """References for each level of the path. Ours: the paper measures with 1 to 4."""
    recmax: Recmax = 2
    """How deep meetings lead to further ones; 2 is the optimum that the paper found."""
    refresh_s: Seconds = 10.0
    """Between two renewals of a registration, of V3's tables, and of a peer's own references. Ours:
    CAMCAST 5.2.3 has it "correlated to the subscription change frequency"."""
    registration_lease_s: Seconds = 30.0
    """How long a registration holds that is not renewed. Ours: two renewals may fail."""
    answer_timeout_s: Seconds = 0.5
    """How long a peer may take to answer until it is asked again; after five times another is.
    Ours: must exceed a round trip."""

    def __post_init__(self) -> None:
        if self.registration_lease_s <= self.refresh_s:
            raise ValueError("registration_lease_s must be longer than refresh_s")


class Entry(Struct, frozen=True, array_like=True, gc=False):
    """A registration on its way from one holder to another."""

    topic: TopicName
    peer: Peer
    version: Version
    """The registrant's own time when it said so; the later word counts."""
    present: bool
    """False once it has deregistered, so that nobody who missed that brings it back."""
    remaining_ms: Annotated[int, Meta(ge=0, lt=1 << 40)]


Entries = Annotated[tuple[Entry, ...], Meta(max_length=MAX_ENTRIES)]


class Ask(OverlayMessage, frozen=True):
    """Who is responsible for that key? Also how a reference is asked whether it lives."""

    serial: Serial
    key: Key
    avoid: Peer | None = None
    """Who shall not be named: the one who looks for others beside itself."""


class Directions(OverlayMessage, frozen=True):
    """The sender itself is, or these may know more."""

    serial: Serial
    path: Path
    responsible: bool
    peers: Few


class Meet(OverlayMessage, frozen=True):
    """Offers an exchange: here is my path, and whom I know at each of its levels."""

    serial: Serial
    path: Path
    references: Annotated[tuple[Few, ...], Meta(max_length=KEY_BITS)]
    replicas: Few
    depth: Annotated[int, Meta(ge=0, le=8)]
    settled: bool
    """Whether the sender is responsible for all that lies under its path."""
    digest: Digest
    """Of the registrations that the sender holds."""


class Met(OverlayMessage, frozen=True):
    """The exchange is done: what the receiver's place is now, and whom to meet next."""

    serial: Serial
    path: Path
    """The receiver's from now on: as it was, or a bit longer."""
    references: Annotated[tuple[tuple[Level, Few], ...], Meta(max_length=2)]
    """The receiver's, at levels that changed."""
    before: Path
    """What the sender was responsible for before the exchange: its path, or what it had not yet
    ceded of an earlier one."""
    after: Path
    settled: bool
    """Whether the sender was responsible for all that lay under its path."""
    replicas: Few
    meet: Few
    digest: Digest
    entries: Entries


class Declined(OverlayMessage, frozen=True):
    """Not now, or not here: the sender is in a meeting, or not responsible for the key."""

    serial: Serial


class Register(OverlayMessage, frozen=True):
    """The sender is in that topic, and would like to know so many others who are."""

    serial: Serial
    topic: TopicName
    version: Version
    count: Count


class Find(OverlayMessage, frozen=True):
    """The sender would like to know so many who are in that topic."""

    serial: Serial
    topic: TopicName
    count: Count


class Listing(OverlayMessage, frozen=True):
    """A uniform sample of those registered, the receiver not among them."""

    serial: Serial
    registered: Annotated[int, Meta(ge=0, lt=1 << 32)]
    peers: Peers


class Deregister(OverlayMessage, frozen=True):
    """The sender has left that topic."""

    topic: TopicName
    version: Version


class Replicate(OverlayMessage, frozen=True):
    """Registrations for another holder; none, where only the sender's path is news."""

    path: Path
    entries: Entries


class AnswerDue(OverlayTimer, frozen=True):
    serial: int


class RefreshDue(OverlayTimer, frozen=True):
    pass
