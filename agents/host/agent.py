"""One agent's process: a protocol, its transport, its journal and its control socket.

It receives from its first moment, and lives from `start` on; what comes before that or after `stop`
is dropped as `crashed`. What a peer sent wrong is counted and dropped. Whatever else goes wrong ends
the process loudly: the trace is in the log, the exit code is 1, and the journal has all that
happened before.
"""

import asyncio
import os
import sys
import traceback
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from socket import socket
from typing import Any

from agents.core.codec import MAX_BODY, Codec, OversizeError
from agents.core.errors import LocalError, RemoteError
from agents.core.interest import AnyOf, Topic, topics_of
from agents.core.journal import Cause
from agents.core.membership import Membership
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.overlay import make_gateway, make_peer
from agents.core.protocol import Protocol
from agents.core.setting import Directory, Setting
from agents.host import commands
from agents.host.control import Connection, ControlError, ControlServer, Request
from agents.host.journal import JournalWriter
from agents.host.lag import Lag
from agents.host.machine import Machine, Residents
from agents.host.port import HostPort
from agents.host.recorder import AgentRecorder, RunClock
from agents.host.tcp import Tcp
from agents.host.transport import Transport
from agents.host.udp import Udp

MAX_DATA = MAX_BODY - 2_000
"""Of an event; what is around it on the wire takes less than the rest."""
DRAIN_AT_MOST_S = 2.0
_TRANSPORTS = {"udp": Udp, "tcp": Tcp}
_PAGE_KB = os.sysconf("SC_PAGE_SIZE") // 1024


@dataclass(frozen=True)
class Life:
    """Which agent this is, and what the supervisor made for it."""

    machine: Machine
    agent: PeerId
    number: int
    protocol: type[Protocol]
    membership: type[Membership]
    journal_folder: Path
    journal: JournalWriter
    bound: socket
    control: socket
    supervisor: int
    """A pipe that ends when the supervisor does."""


class Agent:
    """Stands between the protocol and everything outside."""

    def __init__(self, life: Life) -> None:
        machine = life.machine
        self._life = life
        self._machine = machine
        self._me = life.agent
        self._topics = machine.make_topics()
        self._codec = Codec((*life.protocol.messages, *life.membership.messages))
        self._people = Residents(machine, life.agent)
        self._clock = RunClock(machine.epoch_ns)
        self._journal = life.journal
        self._recorder = AgentRecorder(
            machine, life.agent, self._people, self._topics, self._codec, self._journal
        )
        self._transport: Transport = _TRANSPORTS[machine.transport](
            life.bound, machine.addresses, self
        )
        self._control = ControlServer(commands.OF_AGENT, self._handle)
        self._lag = Lag(self._note_overflow)
        self._protocol: Protocol | None = None
        self._stopped = False
        self._contacts: dict[str, list[PeerId]] = {}
        self._super_contacts: dict[str, list[PeerId]] = {}
        self._neighbourhood: list[PeerId] = []
        self._joined: dict[str, None] = {}
        self._listeners: list[Connection] = []
        self._counts: Counter[str] = Counter()
        self._dropped: Counter[str] = Counter()
        self._overflow_noted = 0
        self._ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    async def run(self) -> None:
        """Until the supervisor is gone, or something breaks."""
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(self._on_loop_error)
        loop.add_reader(self._life.supervisor, self._on_supervisor_gone)
        self._lag.start()
        await self._transport.open()
        await self._control.serve(self._life.control)
        await self._ended

    def fail(self, error: BaseException) -> None:
        """The end of this process; nothing is handed to the protocol any more."""
        self._protocol = None
        if not self._ended.done():
            self._ended.set_exception(error)

    # From the transport

    def on_frame(self, frame: bytes) -> bool:
        try:
            sender, message = self._codec.decode(frame)
        except RemoteError:
            return False
        if sender >= len(self._machine.addresses):
            return False
        try:
            self._receive(sender, message, len(frame))
        except Exception as error:  # whatever it is, it is ours
            self.fail(error)
        return True

    def on_garbage(self) -> None:
        self._counts["undecodable"] += 1

    def on_lost(self, to: PeerId, message: Message, cause: Cause) -> None:
        self._dropped[cause] += 1
        self._recorder.dropped(to, self._me, message, cause)

    def _receive(self, sender: PeerId, message: Message, size: int) -> None:
        recorder, protocol = self._recorder, self._protocol
        recorder.note_size(message, size)
        if protocol is None:
            self._dropped["crashed"] += 1
            recorder.dropped(self._me, sender, message, "crashed")
            return
        self._counts["received"] += 1
        recorder.received(self._me, sender, message)
        try:
            protocol.on_message(sender, message)
        except RemoteError:
            self._counts["refused"] += 1
            recorder.note_size(message, size)
            recorder.dropped(self._me, sender, message, "refused")

    # From the port

    def transmit(self, peers: Sequence[PeerId], message: Message) -> None:
        if not peers:
            return
        everybody = len(self._machine.addresses)
        known = [peer for peer in peers if peer < everybody]
        # Others may have told us of numbers that nobody has.
        self._counts["unknown"] += len(peers) - len(known)
        self._counts["sent"] += len(known)
        try:
            frame = self._codec.encode(self._me, message)
        except OversizeError:  # it came in a frame that was full already
            self._recorder.sent(self._me, known, message)
            for peer in known:
                self.on_lost(peer, message, "overflow")
            return
        self._recorder.note_size(message, len(frame))
        self._recorder.sent(self._me, known, message)
        for peer in known:
            self._transport.send(peer, frame, message)

    def on_timer(self, timer: Timer) -> None:
        if self._protocol is not None:
            try:
                self._protocol.on_timer(timer)
            except Exception as error:
                self.fail(error)

    def on_deliver(self, event: Event, community: str) -> None:
        self._counts["delivered"] += 1
        self._recorder.delivered(self._me, event, community)
        if self._listeners:
            notice = {
                "event": event.id,
                "topic": event.topic,
                "communities": [community] if community else self._mine_including(event.topic),
                "data": event.data,
                "psel": event.psel,
            }
            self._tell({"delivered": notice})

    def _mine_including(self, topic: str) -> list[str]:
        """For protocols that know no communities."""
        mine, topics = topics_of(AnyOf(self._people.of(self._me))), self._topics
        return [name for name in mine if topic in topics and topics.includes(name, topic)]

    def on_joined(self, community: str) -> None:
        self._recorder.joined(self._me, community)
        self._joined[community] = None
        self._tell({"joined": community})

    def on_left(self, community: str) -> None:
        self._recorder.left(self._me, community)
        self._joined.pop(community, None)
        self._tell({"left": community})

    def _tell(self, notice: Mapping[str, Any]) -> None:
        self._listeners = [listener for listener in self._listeners if listener.tell(notice)]

    # Commands

    async def _handle(self, request: Request, connection: Connection) -> Mapping[str, Any]:
        try:
            match request:
                case commands.AgentStatus():
                    return self._status()
                case commands.Start():
                    return self._start(request)
                case commands.ChangeContacts():
                    return self._change_contacts(request)
                case commands.Stop():
                    return await self._stop()
                case commands.Publish():
                    return self._publish(request)
                case commands.Subscribe(topics=topics):
                    return self._subscribe(topics)
                case commands.Unsubscribe(topics=topics):
                    return self._unsubscribe(topics)
                case commands.Configure(topic=topic, changes=changes):
                    self._living().configure(topic, changes)
                    return {}
                case commands.Tables():
                    self._recorder.tables(self._me, self._living().views())
                    self._note_overflow()
                    return {}
                case commands.TurnPage():
                    return self._turn_page(request)
                case commands.Listen():
                    self._listeners.append(connection)
                    return {"joined": list(self._joined)}
                case _:
                    raise AssertionError(f"nobody handles {request!r}")
        except LocalError:
            raise
        except Exception as error:
            self.fail(error)
            raise ControlError(f"agent {self._me} broke down, and its log says why") from None

    def _turn_page(self, request: commands.TurnPage) -> Mapping[str, Any]:
        life, before = self._life, self._journal
        self._note_overflow()
        self._journal = JournalWriter(
            life.journal_folder, self._machine, self._me, life.number, request.point
        )
        self._recorder.turn_page(self._journal, request.epoch_ns, self._joined)
        before.close()
        return {}

    def _living(self) -> Protocol:
        if self._protocol is None:
            state = "has stopped" if self._stopped else "is not started"
            raise LocalError(f"agent {self._me} {state}")
        return self._protocol

    def _start(self, request: commands.Start) -> Mapping[str, Any]:
        if self._protocol is not None:
            raise LocalError(f"agent {self._me} is started already")
        if self._stopped:
            raise LocalError(f"agent {self._me} has stopped: kill and spawn it for another life")
        machine, life, instant = self._machine, self._life, self._life.membership.instant
        super_contacts = request.super_contacts
        if super_contacts is None:
            super_contacts = machine.communities if instant else {}
        self._contacts.update(request.contacts)
        self._super_contacts.update(super_contacts)
        self._neighbourhood[:] = request.neighbourhood
        setting = Setting(
            topics=self._topics,
            directory=Directory(self._topics, machine.communities),
            membership=life.membership,
            membership_parameters=machine.membership_parameters,
            parameters=machine.parameters,
            topic_parameters=machine.topic_parameters,
            contacts=self._contacts,
            super_contacts=self._super_contacts,
            neighbourhood=self._neighbourhood,
        )
        port = HostPort(self._me, life.number, machine.seed, self._clock, self)
        if machine.is_gateway(self._me):
            protocol = make_gateway(port, setting)
        else:
            protocol = make_peer(life.protocol, port, setting)
        for topic, changes in machine.configured:
            protocol.configure(topic, changes)
        if life.number:
            self._recorder.restarted(self._me)
        self._protocol = protocol
        protocol.start()
        for interest in self._people.of(self._me):
            protocol.subscribe(interest)
        return {}

    def _change_contacts(self, request: commands.ChangeContacts) -> Mapping[str, Any]:
        for kept, given in (
            (self._contacts, request.contacts),
            (self._super_contacts, request.super_contacts),
        ):
            if given is not None:
                kept.clear()
                kept.update(given)
        if request.neighbourhood is not None:
            self._neighbourhood[:] = request.neighbourhood
        return {}

    async def _stop(self) -> Mapping[str, Any]:
        self._living().stop()
        self._protocol = None
        self._stopped = True
        await self._transport.drain(DRAIN_AT_MOST_S)
        self._note_overflow()
        return {}

    def _publish(self, request: commands.Publish) -> Mapping[str, Any]:
        protocol = self._living()
        if len(request.data) > MAX_DATA:
            raise LocalError(
                f"an event of {len(request.data)} bytes is over the {MAX_DATA} allowed"
            )
        self._topics.require(request.topic)
        number = self._counts["published"]
        self._counts["published"] += 1
        event = Event(
            f"{self._me}.{self._life.number}.{number}",
            request.topic,
            request.data,
            None,
            request.psel,
        )
        self._recorder.published(self._me, event)
        protocol.publish(event)
        return {"event": event.id}

    def _subscribe(self, names: Sequence[str]) -> Mapping[str, Any]:
        protocol = self._living()
        for interest in [Topic(self._topics.require(name)) for name in names]:
            had = self._people.of(self._me)
            if interest not in had:
                self._people.set(self._me, (*had, interest))
                protocol.subscribe(interest)
        return {}

    def _unsubscribe(self, names: Sequence[str]) -> Mapping[str, Any]:
        protocol = self._living()
        for interest in [Topic(self._topics.require(name)) for name in names]:
            had = self._people.of(self._me)
            self._people.set(self._me, [kept for kept in had if kept != interest])
            protocol.unsubscribe(interest)  # be it that it only published there
        return {}

    def _status(self) -> Mapping[str, Any]:
        counts, protocol = self._counts, self._protocol
        views = protocol.views() if protocol is not None else {}
        return {
            "agent": self._me,
            "life": self._life.number,
            "pid": os.getpid(),
            "started": protocol is not None,
            "joined": list(self._joined),
            "tables": {f"{home}/{table}": len(peers) for (home, table), peers in views.items()},
            "sent": counts["sent"],
            "received": counts["received"],
            "delivered": counts["delivered"],
            "published": counts["published"],
            "refused": counts["refused"],
            "undecodable": counts["undecodable"],
            "unknown": counts["unknown"],
            "dropped": dict(self._dropped),
            "overflow": self._transport.overflow,
            "lag_max_ns": self._lag.max_ns,
            "lag_mean_ns": self._lag.mean_ns,
            "rss_kb": _rss_kb(),
            "connections": self._transport.connections,
            "queued": self._transport.queued,
        }

    # The rest

    def _note_overflow(self) -> None:
        overflow = self._transport.overflow
        if overflow > self._overflow_noted:
            self._recorder.overflowed(overflow - self._overflow_noted)
            self._overflow_noted = overflow

    def _on_supervisor_gone(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    def _on_loop_error(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        self.fail(context.get("exception") or RuntimeError(context["message"]))


def live(life: Life) -> int:
    """A whole life; its exit code."""

    async def run() -> None:
        await Agent(life).run()

    try:
        asyncio.run(run())
    except Exception:
        print(f"agent {life.agent} (life {life.number}) broke down:", file=sys.stderr)
        traceback.print_exc()
        sys.stderr.flush()
        return 1
    return 0


def _rss_kb() -> int:
    with open("/proc/self/statm", "rb") as file:
        return int(file.read().split()[1]) * _PAGE_KB
