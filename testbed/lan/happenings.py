"""What is done to a LAN from outside, in a journal of its own beside the agents'.

An agent that is killed cannot say so, and no agent sees what the network drops: both are written
here, by whichever command did it or counted it.
"""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec

from agents.core.journal import Cause, Header, Record
from agents.core.messages import PeerId
from testbed.lan.standing import Standing, monotonic_ns

FOLDER = "happenings"


def journal_path(folder: Path, point: int, repetition: int) -> Path:
    return folder / FOLDER / f"p{point:04}-r{repetition:04}-lan.jsonl"


class Happenings:
    """Appends to what commands before this one wrote."""

    def __init__(self, folder: Path, standing: Standing) -> None:
        self._epoch_ns = standing.epoch_ns
        self._path = journal_path(folder, standing.point, standing.repetition)
        self._header = Header(
            level="full",
            engine="lan",
            run=standing.run,
            seed=standing.file_seed,
            point=standing.point,
            repetition=standing.repetition,
        )
        self._file: int | None = None

    @property
    def now(self) -> int:
        return monotonic_ns() - self._epoch_ns

    def crashed(self, agent: PeerId, host: int) -> None:
        self._record(kind="crash", agent=agent, host=host)

    def impaired(self, cause: Cause, value: float, community: str = "", towards: str = "") -> None:
        self._record(
            kind="impairment",
            agent=-1,
            community=community,
            topic=towards,
            cause=cause,
            value=value,
        )

    def dropped(self, cause: Cause, sender: PeerId, receiver: PeerId, copies: int) -> None:
        """What the network counted; which copies these were it does not know."""
        if copies:
            self._record(kind="drop", agent=receiver, peer=sender, cause=cause, copies=copies)

    def noted_drops(self) -> Counter[tuple[Cause, PeerId, PeerId]]:
        """By cause, sender and receiver: what is in this journal already."""
        found: Counter[tuple[Cause, PeerId, PeerId]] = Counter()
        for line in self._path.read_bytes().splitlines()[1:] if self._path.exists() else ():
            record = msgspec.json.decode(line, type=Record)
            if record.kind == "drop":
                found[record.cause, record.peer, record.agent] += record.copies
        return found

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def _record(self, **fields: Any) -> None:
        if self._file is None:
            self._file = self._open()
        os.write(self._file, _line(Record(**{"time": self.now, **fields})))

    def _open(self) -> int:
        """Only by those who have something to write: they hold the LAN, and are alone."""
        self._path.parent.mkdir(mode=0o700, exist_ok=True)
        file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        if not os.fstat(file).st_size:
            os.write(file, _line(self._header))
        return file


def _line(what: Header | Record) -> bytes:
    return msgspec.json.encode(what) + b"\n"
