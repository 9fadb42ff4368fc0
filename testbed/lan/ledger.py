"""The ledger: what a LAN is made of, written down before it is made.

One line of JSON a thing, appended and on the disk before the caller goes on. So whoever comes after
a command that was killed finds at least everything that it made; what was noted and never made is
simply not there. The line being written when the machine stopped may be torn: nothing was made for
it yet.

One command at a time works on a LAN: it holds a lock on the LAN's folder, which the system frees when
the process ends, however it ends.
"""

import errno
import fcntl
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

from agents.core.errors import LocalError
from testbed.lan.state import make_safe_folder, refuse_unsafe

Entry = dict[str, Any]

HOLDER = "holder.json"


class LanBusy(LocalError):
    """Another command is at work on the LAN."""


class Ledger:
    """The ledger in a LAN's folder. Threads may note at the same time."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "ledger.jsonl"
        self._lock = threading.Lock()
        self._file: int | None = None

    @classmethod
    def create(cls, folder: Path) -> Self:
        """The ledger of a LAN whose folder is made if it is not there."""
        return cls(make_safe_folder(folder))

    @classmethod
    def open(cls, folder: Path) -> Self:
        """The ledger of a LAN that is there, or was left by a command that was killed."""
        try:
            refuse_unsafe(folder.parent)
            refuse_unsafe(folder)
        except FileNotFoundError:
            raise LocalError(
                f"there is no LAN called {folder.name}: 'testbed up' makes one"
            ) from None
        except PermissionError:
            raise LocalError(
                f"{folder.parent} can be read by root alone: call it with sudo"
            ) from None
        return cls(folder)

    def note(self, kind: str, **what: Any) -> None:
        """Say what is about to be made. When this returns, it is on the disk."""
        self.note_all(kind, [what])

    def note_all(self, kind: str, things: Iterable[Entry]) -> None:
        """Many things of a kind, at the price of one."""
        text = "".join(json.dumps({"kind": kind, **thing}) + "\n" for thing in things)
        with self._lock:
            if self._file is None:
                self._file = self._open_for_notes()
            try:
                _write_whole(self._file, text.encode())
            except OSError as error:
                raise OSError(error.errno, error.strerror, str(self.path)) from None

    def entries(self, kind: str | None = None) -> list[Entry]:
        """What was noted, in order; `kind` is one of an entry's keys."""
        try:
            *lines, _torn = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return []
        found = [self._parse(number, line) for number, line in enumerate(lines, start=1)]
        return [entry for entry in found if kind is None or entry["kind"] == kind]

    def close(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None

    def empty(self) -> None:
        """Delete all that is in the LAN's folder but who holds it, the ledger last: until then a
        killed call can be repeated."""
        self.close()
        for entry in list(os.scandir(self.folder)):
            if entry.is_dir(follow_symlinks=False):
                shutil.rmtree(entry.path)
            elif entry.name not in (self.path.name, HOLDER):
                os.unlink(entry.path)
        self.path.unlink(missing_ok=True)

    def remove(self) -> None:
        """Delete the LAN's whole folder."""
        self.empty()
        (self.folder / HOLDER).unlink(missing_ok=True)
        self.folder.rmdir()

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Work on the LAN alone, or be told who does. The folder is there again if it was deleted."""
        lock = self._take_lock()
        holder = self.folder / HOLDER
        try:
            holder.write_text(json.dumps({"pid": os.getpid(), "command": _own_command()}))
            yield
        finally:
            holder.unlink(missing_ok=True)
            with suppress(OSError):
                self.folder.rmdir()  # if nothing came of it
            os.close(lock)

    def _take_lock(self) -> int:
        while True:
            make_safe_folder(self.folder)
            lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                os.close(lock)
                raise LanBusy(
                    f"another testbed command{self._describe_holder()} is at work on LAN "
                    f"{self.folder.name}: wait until it has finished, or take another --name"
                ) from None
            if self._is_still_there(lock):
                return lock
            os.close(lock)

    def _is_still_there(self, lock: int) -> bool:
        """Whether the folder that was locked is the one that has the name: `down` deletes it."""
        try:
            return os.path.samestat(os.fstat(lock), self.folder.stat())
        except FileNotFoundError:
            return False

    def _describe_holder(self) -> str:
        try:
            holder = json.loads((self.folder / HOLDER).read_text())
            os.kill(holder["pid"], 0)
        except (OSError, ValueError):
            return ""
        return f" (pid {holder['pid']}: {holder['command']})"

    def _open_for_notes(self) -> int:
        """Called by the one who holds the LAN, so that a line without an end is a torn one."""
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
        file = os.open(self.path, flags, 0o600)
        text = self.path.read_bytes()
        os.ftruncate(file, text.rfind(b"\n") + 1)
        folder = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY)
        os.fsync(folder)
        os.close(folder)
        return file

    def _parse(self, number: int, line: bytes) -> Entry:
        try:
            entry: Entry = json.loads(line)
            entry["kind"]
        except (ValueError, KeyError, TypeError):
            raise LocalError(
                f"{self.path}:{number}: this line is damaged, so what was made cannot be told: "
                "mend or delete it, and call again"
            ) from None
        return entry


def _write_whole(file: int, text: bytes) -> None:
    """All of it or nothing, and on the disk."""
    size = os.fstat(file).st_size
    if os.write(file, text) < len(text):
        os.ftruncate(file, size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    os.fsync(file)


def _own_command() -> str:
    return " ".join(["testbed", *sys.argv[1:]])
