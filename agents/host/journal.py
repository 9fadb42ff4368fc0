"""The journal of one life of an agent: appended to, one write a record.

A record is handed to the kernel before anything else happens, so that whoever kills the agent
costs at most the line being written. Buffering would bias exactly the runs with crashes.
"""

import os
import re
from pathlib import Path

import msgspec

from agents.core.journal import Header
from agents.core.messages import PeerId
from agents.host.machine import Machine

FOLDER = "journal"
_LIFE = re.compile(r"p\d+-r\d+-agent-(\d+)-(\d+)\.jsonl")


def next_life(folder: Path, agent: PeerId) -> int:
    """The first number that no life of the agent has; those before a machine's restart count."""
    lives = [
        int(found[2])
        for name in (os.listdir(folder) if folder.is_dir() else ())
        if (found := _LIFE.fullmatch(name)) and int(found[1]) == agent
    ]
    return max(lives, default=-1) + 1


class JournalWriter:
    """A file of its own for each life, and for each point of a sweep that the life serves."""

    def __init__(
        self, folder: Path, machine: Machine, agent: PeerId, life: int, point: int | None = None
    ) -> None:
        point = machine.point if point is None else point
        run = f"p{point:04}-r{machine.repetition:04}"
        self.path = folder / f"{run}-agent-{agent}-{life}.jsonl"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        self._file = os.open(self.path, flags, 0o600)
        header = Header(
            level="full",
            engine="lan",
            run=machine.run,
            seed=machine.seed,
            point=point,
            repetition=machine.repetition,
        )
        self.write(msgspec.json.encode(header) + b"\n")

    def write(self, line: bytes) -> None:
        written = os.write(self._file, line)
        while written < len(line):  # the disk is full, and the next write says so
            written += os.write(self._file, line[written:])

    def fileno(self) -> int:
        return self._file

    def close(self) -> None:
        os.close(self._file)
