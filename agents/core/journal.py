"""The journal: what happened, one JSON object a line. The one definition of its records.

Every file begins with a `Header`. At the level `full` there follows a `Record` for each happening;
at the level `counts` there follow only a `Count` for each event and community and, at the end of
the run, a `Total`. Both levels say the same numbers. A `Record` leaves out the fields that have
their default; the others say all of theirs.
"""

from typing import Literal

from msgspec import Struct

VERSION = 1

Level = Literal["full", "counts"]
Kind = Literal[
    "publish",
    "send",
    "receive",
    "deliver",
    "drop",
    "join",
    "leave",
    "crash",
    "restart",
    "table",
    "impairment",
]
Cause = Literal["", "loss", "partition", "suspected", "crashed", "refused", "overflow"]
"""Why a copy did not arrive, or was not acted upon: lost on the way; cut off; taken by its sender
for crashed (weakly consistent failures); its receiver was down; its receiver could make no sense
of it; a queue on its way was full."""


class Header(Struct, frozen=True, kw_only=True, tag="header", tag_field="record"):
    """The first line: what the rest is about."""

    version: int = VERSION
    level: Level
    engine: Literal["sim", "lan"]
    run: str
    seed: int
    point: int = 0
    """Which combination of the sweep's values."""
    repetition: int = 0


class Record(Struct, frozen=True, kw_only=True, omit_defaults=True, gc=False):
    """One happening."""

    time: int
    """Nanoseconds since the run began."""
    kind: Kind
    agent: int
    """Whose record it is: the sender's for `send`, the receiver's for `receive`; for `drop`, the
    one who would have received it."""
    host: int = 0
    """The machine that the agent runs on; 0 in the simulator."""
    community: str = ""
    """Which of the agent's communities it was about."""
    event: str = ""
    """Empty for control messages."""
    topic: str = ""
    """The event's, in `publish`."""
    peer: int = -1
    """The other one of a message."""
    hop: int = 0
    upward: bool = False
    """The copy went from a community to a super-community."""
    size: int = 0
    """Of a message in bytes on the wire; of a table in entries."""
    message: str = ""
    """The message's kind; a table's name."""
    duplicate: bool = False
    """`receive`: the agent had the event already, in that community."""
    parasite: bool = False
    """`receive`: the agent is not interested in the event."""
    cause: Cause = ""
    """`drop`: why. `impairment`: which."""
    value: float = 0.0
    """`impairment`: how much."""
    copies: int = 1
    """`drop`: how many messages it stands for, where they were only counted."""


class Count(Struct, frozen=True, kw_only=True, tag="count", tag_field="record"):
    """What one event did in one community."""

    point: int = 0
    repetition: int = 0
    event: str
    topic: str
    community: str
    published: int
    """Nanoseconds since the run began; the same in every community."""
    sent: int = 0
    """Copies sent by members to members of the same community, or to anybody where the protocol
    knows no communities."""
    received: int = 0
    duplicates: int = 0
    parasites: int = 0
    dropped: int = 0
    """Copies on their way to a member that did not arrive, whatever the cause."""
    upward_sent: int = 0
    """Copies sent by members to a super-community; not part of `sent`."""
    upward_senders: int = 0
    """Members who sent such copies."""
    upward_received: int = 0
    """Copies that members got from a subcommunity; part of `received`."""
    delivered: int = 0
    members: int = 0
    """Living members: those who had joined by the publication and neither left nor crashed until
    the end of the run."""
    reached: int = 0
    """Those of them to whom it was delivered."""
    first_hop: int = 0
    last_hop: int = 0
    """The least and the greatest number of hops among members' first copies; 0 if none got any."""
    first_ns: int = 0
    median_ns: int = 0
    last_ns: int = 0
    """When the first, the middle (the lower of two) and the last member got its first copy, since
    the publication; the publisher itself is not counted."""


class Total(Struct, frozen=True, kw_only=True, tag="total", tag_field="record"):
    """What a whole run did. The books balance: sent = received + in flight + dropped, where what
    was refused counts as received."""

    point: int = 0
    repetition: int = 0
    time: int
    sent: int
    received: int
    in_flight: int
    """Sent, but the run ended before they arrived."""
    dropped: dict[str, int]
    """By cause."""
    control_sent: int
    """Those of `sent` that carried no event."""
    control_by_kind: dict[str, int]
    tables: dict[str, list[float]]
    """By `community/table`: how many, and the mean, least and greatest size."""
