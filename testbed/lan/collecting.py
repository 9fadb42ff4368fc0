"""One journal of a repetition on the LAN, out of those of its agents and of what was done to them.

Every file's records are laid together in the order of their times, which are of one clock, and the
books are closed: a copy that was sent and never received was dropped by the network, which counted,
or was meant for an agent that was down.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from agents.core.journal import Header, Record
from agents.core.messages import PeerId
from testbed.journal_files import JournalFile

_decode = msgspec.json.Decoder(Record).decode
_encode = msgspec.json.Encoder().encode

GRACE_NS = 250_000_000
"""A copy sent this long before its receiver was killed may have died with it, unread. Ours: far
more than a message takes on a LAN, far less than agents live."""

Copy = tuple[PeerId, PeerId, str, str, int]
"""Sender, receiver, kind of message, event, hop: what the two records of one copy agree on."""


@dataclass
class Collected:
    """What was found in the journals of one repetition."""

    records: list[Record] = field(default_factory=list)
    torn: list[bytes] = field(default_factory=list)
    """Last lines that were being written when their agent was killed."""
    missing: list[str] = field(default_factory=list)
    """Journals that should be there and are not."""


def read(paths: Iterable[Path], expected: Iterable[Path] = ()) -> Collected:
    """All lines but the headers, which the collected journal has one of."""
    found = Collected()
    paths = sorted(set(paths))
    found.missing = [path.name for path in expected if path not in paths]
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


def close_books(records: Sequence[Record], home: Mapping[PeerId, str]) -> list[Record]:
    """The drops that nobody could see: copies to agents that were down.

    The network counted what it dropped between any two agents, but not which copies these were, and
    some of those meant for the dead may be among them. Only what its counts leave unexplained is put
    down to the receivers' deaths. `home` is each agent's first community.
    """
    explained: Counter[tuple[PeerId, PeerId]] = Counter()
    for record in records:
        if _is_count(record):
            explained[record.peer, record.agent] += record.copies
    down = _Downtimes(records)
    found = []
    for send in _unreceived(records):
        if explained[send.agent, send.peer]:
            explained[send.agent, send.peer] -= 1
        elif down.covers(send.peer, send.time, GRACE_NS):
            found.append(_lost_to_a_crash(send, home))
    return found


def _is_count(record: Record) -> bool:
    """Whether it is the network's count of copies between two agents."""
    return record.kind == "drop" and not record.message and record.peer >= 0


def _unreceived(records: Iterable[Record]) -> list[Record]:
    """Sends that have no receive nor a drop that names them, the latest of several alike."""
    sent: dict[Copy, list[Record]] = {}
    arrived: Counter[Copy] = Counter()
    for record in records:
        copy = (record.message, record.event, record.hop)
        if record.kind == "send":
            sent.setdefault((record.agent, record.peer, *copy), []).append(record)
        elif record.kind == "receive" or (
            record.kind == "drop" and record.message and record.cause != "refused"
        ):
            arrived[(record.peer, record.agent, *copy)] += 1
    left = [record for copy, sends in sent.items() for record in sends[arrived[copy] :]]
    left.sort(key=lambda record: record.time)
    return left


class _Downtimes:
    """When each agent was down: from a crash to the restart after it, or to the end."""

    def __init__(self, records: Iterable[Record]) -> None:
        self._spans: dict[PeerId, list[tuple[int, int]]] = {}
        started: set[PeerId] = set()
        since: dict[PeerId, int] = {}
        for record in records:
            if record.kind == "crash":
                since[record.agent] = record.time
            elif record.kind == "restart" and record.agent in since:
                self._add(record.agent, since.pop(record.agent), record.time)
            elif record.kind == "join" and record.agent not in started:
                started.add(record.agent)
                self._add(record.agent, 0, record.time)
        for agent, time in since.items():
            self._add(agent, time, 1 << 62)
        self._never = {record.peer for record in records if record.kind == "send"} - started

    def covers(self, agent: PeerId, time: int, grace: int) -> bool:
        if agent in self._never:
            return True
        return any(start - grace <= time < end for start, end in self._spans.get(agent, ()))

    def _add(self, agent: PeerId, start: int, end: int) -> None:
        self._spans.setdefault(agent, []).append((start, end))


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
