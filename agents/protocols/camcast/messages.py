"""CAMCAST's parameters, messages and timers."""

from typing import Annotated

from msgspec import Meta, Struct

from agents.core.messages import EventMessage, Message, Peer, Peers, ScopedTimer, TopicName
from agents.core.protocol import Parameters

Seconds = Annotated[float, Meta(ge=0, le=1e6)]
Serial = Annotated[int, Meta(ge=0, lt=1 << 32)]
MAX_SCOPE = 64
"""Topics in one search. Ours: deeper hierarchies are searched so far up only."""
Scope = Annotated[tuple[TopicName, ...], Meta(min_length=1, max_length=MAX_SCOPE)]


class CamcastParameters(Parameters, frozen=True):
    c: Annotated[float, Meta(ge=-50, le=50)] = 5.0
    """Added to ln N for the fanout (3.5) and the topic table; 5 in the simulations (6.1.1)."""
    g: Annotated[float, Meta(ge=0)] = 5.0
    """psel = g/N: how many processes of the community try to pass an event up (3.5); 6.1.1."""
    a: Annotated[float, Meta(ge=0)] = 1.0
    """pa = a/z: to how many super-processes each of them sends it (3.5); 6.1.1."""
    z: Annotated[int, Meta(ge=1, le=1024)] = 3
    """The size of a super-topic table (3.2.1); 6.1.1."""
    tau: Annotated[int, Meta(ge=0, le=1024)] = 1
    """With so few super-processes alive, new ones are asked for (3.4). The value is ours."""
    b: Annotated[float, Meta(ge=0, le=100)] | None = None
    """If given, topic tables have (b+1) ln N entries instead (daMulticast V-A.1)."""
    psel: Annotated[float, Meta(ge=0, le=1)] | None = None
    """In place of g/N."""
    size: Annotated[int, Meta(ge=1)] | None = None
    """N, where it is neither to be counted by the membership nor to be taken from the directory."""
    search_timeout_s: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """After how long a search for super-processes is widened and sent again (3.3); ours."""
    search_ttl: Annotated[int, Meta(ge=0, le=255)] = 4
    """How often a search is passed on (3.3, footnote 4); ours."""
    maintain_every_s: Seconds = 10.0
    """The period of KEEP_TABLE_UPDATED (Fig. 6). The value is ours. With 0 there is none, and who
    stands in a super-topic table for the direct super-topic stays there, whatever the membership."""
    check_timeout_s: Annotated[float, Meta(gt=0, le=1e6)] = 1.0
    """How long a super-process may take to say that it is alive (3.4: "relies on timeouts")."""
    check_attempts: Annotated[int, Meta(ge=1, le=100)] = 3
    """How often it is asked: at 15 % loss one question and answer fail 28 % of the time. Ours."""

    def __post_init__(self) -> None:
        if self.a > self.z:
            raise ValueError(f"a must be at most z, and {self.a:g} > {self.z}")
        if self.tau > self.z:
            raise ValueError(f"tau must be at most z, and {self.tau} > {self.z}")


class DaMulticastParameters(CamcastParameters, frozen=True):
    b: Annotated[float, Meta(ge=0, le=100)] | None = 3.0
    """daMulticast VII-A."""


class Spread(EventMessage, frozen=True):
    pass


class ReqContact(Message, frozen=True):
    requester: Peer
    serial: Serial
    """One that no other request of this requester has, in this life of it or another."""
    community: TopicName
    parent: TopicName
    scope: Scope
    """The topics whose processes are looked for, those wanted most first."""
    ttl: Annotated[int, Meta(ge=0, le=255)]


class AnsContact(Message, frozen=True):
    community: TopicName
    parent: TopicName
    topic: TopicName
    peers: Peers


class NewProcessRequest(Message, frozen=True):
    community: TopicName
    parent: TopicName
    topic: TopicName
    count: Annotated[int, Meta(ge=1, le=1024)]


class NewProcesses(Message, frozen=True):
    community: TopicName
    parent: TopicName
    topic: TopicName
    peers: Peers


class Check(Message, frozen=True):
    community: TopicName
    parent: TopicName
    topic: TopicName
    serial: Serial


class Alive(Message, frozen=True):
    community: TopicName
    parent: TopicName
    topic: TopicName
    serial: Serial


class SearchTimeout(ScopedTimer, frozen=True):
    parent: str
    serial: int


class CheckTimeout(ScopedTimer, frozen=True):
    parent: str
    serial: int
    attempt: int


class KeepTableUpdated(ScopedTimer, frozen=True):
    serial: int


MAX_NEWS = 16_384
"""Bytes. Ours: what the memberships' messages have room for."""
MAX_NEWS_TABLES = 64
"""Ours: a topic has few parents, and few topics stand in for each."""
MAX_NEWS_PEERS = 64
"""Of each kind and table. Ours: several times any table that the papers have."""


class TableNews(Struct, frozen=True, array_like=True, gc=False):
    """A super-topic table as it rides on the membership's messages (3.3, 3.4)."""

    parent: TopicName
    topic: TopicName
    alive: Peers
    dead: Peers
