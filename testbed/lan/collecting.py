"""One journal of a repetition on the LAN, out of those of its agents and of what was done to them.

Every file's records are laid together in the order of their times, which are of one clock, and the
books are closed: a copy that was sent and never received was dropped by the network, which counted,
or was meant for an agent that was down.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agents.core.journal import Header, Record
from agents.core.messages import PeerId
from testbed.journal_files import JournalFile

_decode = msgspec.json.Decoder(Record).decode
_encode = msgspec.json.Encoder().encode

GRACE_NS = 250_000_000
"""How long a copy may be on its way, or at one of its ends: sent this long before one was killed, it
may have died with it. Ours: far more than a message takes on a LAN, far less than agents live."""

Copy = tuple[PeerId, PeerId, str, str, int]
"""Sender, receiver, kind of message, event, hop: what the two records of one copy agree on."""
Spans = dict[PeerId, list[tuple[int, int]]]
"""Of each agent some times, from one to just before another."""
_FOR_GOOD = 1 << 62


@dataclass
class Collected:
    """What was found in the journals of one repetition."""

    records: list[Record] = field(default_factory=list)
    torn: list[bytes] = field(default_factory=list)
    """Last lines that were being written when their agent was killed."""


def read(paths: Iterable[Path]) -> Collected:
    """All lines but the headers, which the collected journal has one of."""
    found = Collected()
    paths = sorted(set(paths))
    for path in paths:
        lines = path.read_bytes().split(b"\n")
        for line in lines:
            if not line or line.startswith(b'{"record":"header"'):
                continue
            try:
                found.records.append(_decode(line))
            except msgspec.MsgspecError:
                found.torn.append(line)
    found.records.sort(key=lambda record: record.time)
    return found


def write(path: Path, header: Header, collected: Collected) -> str:
    """The journal as it will be analysed; returns its digest."""
    with JournalFile(path) as journal:
        journal.write(_encode(header) + b"\n")
        for record in collected.records:
            journal.write(_encode(record) + b"\n")
        for line in collected.torn:
            journal.write(line + b"\n")
    return journal.digest


def cut(records: Sequence[Record], begin: int, end: int) -> list[Record]:
    """Leave out the copies that were sent before or after the time in which the network counted
    what it dropped, and what became of them."""
    fates = fates_of(records)
    out = {id(fate.send) for fate in fates if not begin <= fate.send.time <= end}
    out |= {id(fate.arrival) for fate in fates if id(fate.send) in out and fate.arrival is not None}
    out |= _strays(records, fates, begin, end)
    uncounted: Counter[tuple[PeerId, PeerId]] = Counter()
    for fate in fates:
        if fate.arrival is None and fate.send.time <= end:
            uncounted[fate.send.agent, fate.send.peer] += 1
    late = Counter(
        (fate.send.agent, fate.send.peer)
        for fate in fates
        if fate.arrival is None and fate.send.time > end
    )
    return list(_without_late(_kept(records, out), uncounted, late))


def last_tables(records: Iterable[Record]) -> list[Record]:
    """Of each table its last size: it was written down whenever journals were collected."""
    seen: set[tuple[PeerId, str, str]] = set()
    found = []
    for record in sorted(records, key=lambda record: record.time, reverse=True):
        table = record.agent, record.community, record.message
        if record.kind == "table":
            if table in seen:
                continue
            seen.add(table)
        found.append(record)
    return found[::-1]


def close_books(
    records: Sequence[Record], home: Mapping[PeerId, str], lingering_ns: int = 0
) -> list[Record]:
    """The drops that nobody could see: copies that died with their sender or their receiver.

    The network counted what it dropped between any two agents, but not which copies these were, and
    some of those meant for the dead may be among them. Only what its counts leave unexplained is put
    down to deaths. `home` is each agent's first community; `lingering_ns` is how long after a restart
    copies can still go to the life before it.
    """
    explained: Counter[tuple[PeerId, PeerId]] = Counter()
    for record in records:
        if _is_count(record):
            explained[record.peer, record.agent] += record.copies
    lives = _Lives(records, lingering_ns)

    def may_have_died(send: Record) -> bool:
        return lives.is_down(send.peer, send.time) or lives.is_about_to_die(send.agent, send.time)

    found = []
    # First those that only the network can have dropped.
    for send in sorted(_unreceived(records), key=lambda send: (may_have_died(send), send.time)):
        if explained[send.agent, send.peer]:
            explained[send.agent, send.peer] -= 1
        elif may_have_died(send):
            found.append(_lost_to_a_crash(send, home))
    return found


def _is_count(record: Record) -> bool:
    """Whether it is the network's count of copies between two agents."""
    return record.kind == "drop" and not record.message and record.peer >= 0


@dataclass(slots=True)
class Fate:
    """A copy that was sent, and the record of its arrival or of a drop that names it."""

    send: Record
    arrival: Record | None = None


def fates_of(records: Iterable[Record]) -> list[Fate]:
    """In the order of time. Of several copies that are alike, such as heartbeats, an arrival belongs to
    the last that was sent: one before it may have gone to a life that had ended, and whoever is slow
    to read gets to the others later."""
    waiting: dict[Copy, list[Fate]] = {}
    found = []
    for record in sorted(records, key=lambda record: (record.time, record.kind != "send")):
        copy = (record.message, record.event, record.hop)
        if record.kind == "send":
            fate = Fate(record)
            found.append(fate)
            waiting.setdefault((record.agent, record.peer, *copy), []).append(fate)
        elif _is_arrival(record) and (alike := waiting.get((record.peer, record.agent, *copy))):
            alike.pop().arrival = record
    return found


def _is_arrival(record: Record) -> bool:
    named = record.kind == "drop" and record.message and record.cause != "refused"
    return record.kind == "receive" or bool(named)


def _unreceived(records: Iterable[Record]) -> list[Record]:
    return [fate.send for fate in fates_of(records) if fate.arrival is None]


def _strays(records: Iterable[Record], fates: Iterable[Fate], begin: int, end: int) -> set[int]:
    """Arrivals of copies whose sending is in the journal before this one, or in the one after it: agents
    turn to the next one by one."""
    known = {id(fate.arrival) for fate in fates}
    return {
        id(record)
        for record in records
        if _is_arrival(record)
        and not begin + GRACE_NS <= record.time <= end
        and id(record) not in known
    }


def _kept(records: Iterable[Record], out: Collection[int]) -> Iterator[Record]:
    return (record for record in records if id(record) not in out)


def _without_late(
    records: Iterable[Record],
    missing: Counter[tuple[PeerId, PeerId]],
    late: Counter[tuple[PeerId, PeerId]],
) -> Iterator[Record]:
    """While the network's counts were read, copies were dropped that were left out: by pair, as many
    as are counted beyond those that are `missing`, and no more than were `late`."""
    counted: Counter[tuple[PeerId, PeerId]] = Counter()
    for record in (records := list(records)):
        if _is_count(record):
            counted[record.peer, record.agent] += record.copies
    beyond = {
        pair: min(copies - missing[pair], late[pair])
        for pair, copies in counted.items()
        if copies > missing[pair]
    }
    for record in records:
        pair = record.peer, record.agent
        if _is_count(record) and beyond.get(pair):
            less = min(beyond[pair], record.copies)
            beyond[pair] -= less
            if record.copies == less:
                continue
            record = msgspec.structs.replace(record, copies=record.copies - less)
        yield record


class _Lives:
    """When each agent was down: from a crash to the restart after it, or to the end.

    What waited unread when it was killed counts, too: what was sent after the last that it received. A
    crash is written down just before the kill, so one who is being killed may send a little longer.
    """

    def __init__(self, records: Iterable[Record], lingering_ns: int) -> None:
        self._down: Spans = {}
        self._dying: Spans = {}
        read: dict[PeerId, int] = {}
        unread_since: dict[PeerId, int] = {}
        dying_since: dict[PeerId, int] = {}
        started: set[PeerId] = set()
        sent_to: set[PeerId] = set()
        for record in sorted(records, key=lambda record: record.time):
            agent = record.agent
            match record.kind:
                case "send":
                    sent_to.add(record.peer)
                case "receive":
                    read[agent] = record.time
                case "crash" if agent not in dying_since:
                    dying_since[agent] = record.time - GRACE_NS
                    unread_since[agent] = min(dying_since[agent], read.get(agent, record.time))
                case "restart" if agent in dying_since:
                    _add(self._dying, agent, dying_since.pop(agent), record.time)
                    _add(self._down, agent, unread_since[agent], record.time + lingering_ns)
                case "join" if agent not in started:
                    started.add(agent)
                    _add(self._down, agent, 0, record.time)
        for agent, time in dying_since.items():
            _add(self._dying, agent, time, _FOR_GOOD)
            _add(self._down, agent, unread_since[agent], _FOR_GOOD)
        self._never = sent_to - started

    def is_down(self, agent: PeerId, time: int) -> bool:
        if agent in self._never:
            return True
        return _is_within(self._down, agent, time)

    def is_about_to_die(self, agent: PeerId, time: int) -> bool:
        """What it wrote down may not have left it any more."""
        return _is_within(self._dying, agent, time)


def _add(spans: Spans, agent: PeerId, start: int, end: int) -> None:
    spans.setdefault(agent, []).append((start, end))


def _is_within(spans: Spans, agent: PeerId, time: int) -> bool:
    return any(start <= time < end for start, end in spans.get(agent, ()))


def _lost_to_a_crash(send: Record, home: Mapping[PeerId, str]) -> Record:
    """As the simulator writes it: of the one who would have received it."""
    community = home.get(send.peer, "") if send.upward and send.event else send.community
    return Record(
        time=send.time,
        kind="drop",
        agent=send.peer,
        community=community,
        event=send.event,
        peer=send.agent,
        hop=send.hop,
        upward=send.upward,
        size=send.size,
        message=send.message,
        cause="crashed",
    )


def journals_of(folder: Path, point: int, repetition: int) -> Iterator[Path]:
    """All files of one repetition under a LAN's folder."""
    name = f"p{point:04}-r{repetition:04}-*.jsonl"
    yield from folder.glob(f"hosts/*/journal/{name}")
    yield from folder.glob(f"happenings/{name}")
