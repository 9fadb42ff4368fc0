"""One agent's records: as the simulator's, with the machine's number, and in bounded memory."""

import time
from collections.abc import Iterable
from typing import Any

from agents.core.codec import Codec
from agents.core.homes import Attendance
from agents.core.journal import Record
from agents.core.messages import Message, PeerId
from agents.core.recorder import Recorder
from agents.core.topics import Topics
from agents.core.views import Seen
from agents.host.journal import JournalWriter
from agents.host.machine import Machine, Residents


class RunClock:
    """The kernel's monotonic clock since the run's epoch: the same for every machine on the LAN."""

    def __init__(self, epoch_ns: int) -> None:
        self._epoch_ns = epoch_ns

    @property
    def now(self) -> int:
        return time.clock_gettime_ns(time.CLOCK_MONOTONIC) - self._epoch_ns


class AgentRecorder(Recorder):
    """Knows whose records it writes; remembers as many events as protocols do."""

    def __init__(
        self,
        machine: Machine,
        me: PeerId,
        people: Residents,
        topics: Topics,
        codec: Codec,
        journal: JournalWriter,
    ) -> None:
        super().__init__(RunClock(machine.epoch_ns), people, topics, codec, journal.write)
        self._me = me
        self._host = machine.host
        self._seen = Seen()

    def turn_page(self, journal: JournalWriter, epoch_ns: int, groups: Iterable[str]) -> None:
        """Write to another journal from now on, which begins with what this agent has joined."""
        self._clock = RunClock(epoch_ns)
        self._write = journal.write
        self._attendance = Attendance(self._homes)
        for group in groups:
            self.joined(self._me, group)

    def overflowed(self, copies: int) -> None:
        """The kernel had no room for that many messages to us; whose they were, nobody knows."""
        self._record(
            time=self._clock.now, kind="drop", agent=self._me, cause="overflow", copies=copies
        )

    def note_size(self, message: Message, size: int) -> None:
        """Spare the encoding of a message whose frame is at hand."""
        self._sized = (message, size)

    def _is_first(self, event: str, community: str, agent: PeerId) -> bool:
        return self._seen.add(f"{event} {community}")

    def _record(self, **fields: Any) -> None:
        # On which machine others run is not known here.
        host = self._host if fields["agent"] == self._me else 0
        self._write(self._encode(Record(host=host, **fields)) + b"\n")
