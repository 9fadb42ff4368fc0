"""The recorder: a line in the journal for each happening, the same on either engine.

Who has it record says what happened to whom; it finds out which community that was about, whether
a copy is a duplicate or a parasite, and how large it is on the wire.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from typing import Protocol as Structural

import msgspec

from agents.core.codec import Codec
from agents.core.homes import Attendance, Homes, People
from agents.core.journal import Cause, Kind, Record
from agents.core.messages import Event, EventMessage, Message, PeerId
from agents.core.topics import Topics


class Clock(Structural):
    @property
    def now(self) -> int:
        """Nanoseconds since the run began."""


class Recorder:
    """A record for each happening, handed on as lines."""

    def __init__(
        self,
        clock: Clock,
        people: People,
        topics: Topics,
        codec: Codec,
        write: Callable[[bytes], object],
    ) -> None:
        self._clock = clock
        self._homes = Homes(people, topics)
        self._attendance = Attendance(self._homes)
        self._codec = codec
        self._write = write
        self._encode = msgspec.json.Encoder().encode
        self._had: dict[tuple[str, str], set[PeerId]] = {}
        self._sized: tuple[Message | None, int] = (None, 0)

    def sent(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None:
        event, community, hop = "", "", 0
        upward = False
        if isinstance(message, EventMessage):
            event, hop, upward = message.event.id, message.hop, bool(message.origin)
            community = message.origin or message.community
            community = community or self._homes.of(sender, message.event.topic)[0]
        size, name, time = self._size(message), type(message).__name__, self._clock.now
        for peer in peers:
            self._record(
                time=time,
                kind="send",
                agent=sender,
                community=community,
                event=event,
                peer=peer,
                hop=hop,
                upward=upward,
                size=size,
                message=name,
            )

    def received(self, to: PeerId, sender: PeerId, message: Message) -> None:
        if not isinstance(message, EventMessage):
            self._record(
                time=self._clock.now,
                kind="receive",
                agent=to,
                peer=sender,
                size=self._size(message),
                message=type(message).__name__,
            )
            return
        home, interested = self._homes.of(to, message.event.topic)
        community = message.community or home
        self._record(
            time=self._clock.now,
            kind="receive",
            agent=to,
            community=community,
            event=message.event.id,
            peer=sender,
            hop=message.hop,
            upward=bool(message.origin),
            size=self._size(message),
            message=type(message).__name__,
            duplicate=not self._is_first(message.event.id, community, to),
            parasite=not interested,
        )

    def dropped(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        event, community, hop = "", "", 0
        upward = False
        if isinstance(message, EventMessage):
            event, hop, upward = message.event.id, message.hop, bool(message.origin)
            community = message.community or self._homes.of(to, message.event.topic)[0]
        self._record(
            time=self._clock.now,
            kind="drop",
            agent=to,
            community=community,
            event=event,
            peer=sender,
            hop=hop,
            upward=upward,
            size=self._size(message),
            message=type(message).__name__,
            cause=cause,
        )

    def published(self, agent: PeerId, event: Event) -> None:
        home, _ = self._homes.of(agent, event.topic)
        for community in dict.fromkeys((event.topic, home)):
            self._is_first(event.id, community, agent)
        self._record(
            time=self._clock.now,
            kind="publish",
            agent=agent,
            community=home,
            event=event.id,
            topic=event.topic,
            size=len(event.data),
        )

    def delivered(self, agent: PeerId, event: Event, community: str) -> None:
        community = community or self._homes.of(agent, event.topic)[0]
        self._note(agent, "deliver", community, event.id)

    def joined(self, agent: PeerId, community: str) -> None:
        for name in self._attendance.joined(agent, community):
            self._note(agent, "join", name)

    def left(self, agent: PeerId, community: str) -> None:
        for name in self._attendance.left(agent, community):
            self._note(agent, "leave", name)

    def crashed(self, agent: PeerId) -> None:
        self._attendance.crashed(agent)
        self._note(agent, "crash")

    def restarted(self, agent: PeerId) -> None:
        self._note(agent, "restart")

    def impaired(self, cause: Cause, value: float, community: str, towards: str) -> None:
        self._record(
            time=self._clock.now,
            kind="impairment",
            agent=-1,
            community=community,
            topic=towards,
            cause=cause,
            value=value,
        )

    def tables(self, agent: PeerId, views: Mapping[tuple[str, str], Sequence[PeerId]]) -> None:
        """An agent's tables, as they are now."""
        for (community, table), peers in views.items():
            self._record(
                time=self._clock.now,
                kind="table",
                agent=agent,
                community=community or self._homes.of(agent, "")[0],
                size=len(peers),
                message=table,
            )

    def _is_first(self, event: str, community: str, agent: PeerId) -> bool:
        """Whether the agent had not got the event in that community; from now on it has."""
        had = self._had.setdefault((event, community), set())
        if agent in had:
            return False
        had.add(agent)
        return True

    def _size(self, message: Message) -> int:
        last, size = self._sized
        if last is not message:
            size = self._codec.size(message)
            self._sized = (message, size)
        return size

    def _note(self, agent: PeerId, kind: Kind, community: str = "", event: str = "") -> None:
        self._record(time=self._clock.now, kind=kind, agent=agent, community=community, event=event)

    def _record(self, **fields: Any) -> None:
        self._write(self._encode(Record(**fields)) + b"\n")
