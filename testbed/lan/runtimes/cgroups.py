"""Control groups: the limits of a machine, and the proof of which processes are ours.

A group's path is noted before it is made, with a random part that makes it new. Every process of a
machine is in its machine's group from its first moment, because the one that forks it is in a group
of ours too. So whatever is in our groups is ours, and nothing else is.

On a system with one hierarchy (version 2) a group is one folder. With a hierarchy for each controller
(version 1) it is one folder in each of those that are of use here.
"""

import os
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from agents.core.errors import LocalError

PATIENCE_S = 30.0
"""How long a process that was killed may take to go: one in the middle of a disk write takes a while."""


@dataclass(frozen=True)
class Hierarchy:
    """Where groups can be made, and what they can limit there."""

    folder: Path
    version: int
    controllers: frozenset[str]


def find_hierarchies(mounts: Path = Path("/proc/self/mounts")) -> list[Hierarchy]:
    """Those with the pids or the memory controller; of version 2 any, for its way to kill a group."""
    found: dict[int, Hierarchy] = {}
    for line in mounts.read_text().splitlines():
        _device, folder, kind, options, *_ = line.split()
        if kind not in ("cgroup", "cgroup2"):
            continue
        path = Path(folder.replace("\\040", " "))
        try:
            hierarchy = _describe(path, kind, options)
            # One that is mounted twice is one all the same.
            found.setdefault(path.stat().st_dev, hierarchy)
        except OSError:
            continue
    return [one for one in found.values() if one.version == 2 or one.controllers]


def _describe(path: Path, kind: str, options: str) -> Hierarchy:
    if kind == "cgroup2":
        controllers = frozenset((path / "cgroup.controllers").read_text().split())
    else:
        controllers = frozenset(options.split(","))
    return Hierarchy(path, 2 if kind == "cgroup2" else 1, controllers & {"memory", "pids"})


class Group:
    """One group, in each hierarchy. Nothing is made until `make` is called."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = list(folders)

    @classmethod
    def called(cls, name: str) -> "Group":
        """A group at the top of every hierarchy that is of use."""
        hierarchies = find_hierarchies()
        if not hierarchies:
            raise LocalError(
                "this system has no control groups for processes or memory, by which machines are "
                "told apart: mount them with 'mount -t cgroup2 none /sys/fs/cgroup'"
            )
        return cls(hierarchy.folder / name for hierarchy in hierarchies)

    def within(self, name: str) -> "Group":
        return Group(folder / name for folder in self.folders)

    def make(self) -> None:
        """Make it anew. One of that name that is there already is somebody else's."""
        for folder in self.folders:
            folder.mkdir(mode=0o755)

    def pass_on_controllers(self) -> None:
        """Version 2 alone: let the groups inside this one have limits."""
        for folder in self.folders:
            for where in (folder.parent, folder):
                for controller in ("memory", "pids"):
                    _try_to_write(where / "cgroup.subtree_control", f"+{controller}")

    def limit(self, memory_mb: int, pids: int) -> None:
        """Where the controllers are there."""
        memory = str(memory_mb * 1024 * 1024)
        for folder in self.folders:
            _try_to_write(folder / "pids.max", str(pids))
            _try_to_write(folder / "memory.max", memory)
            _try_to_write(folder / "memory.swap.max", "0")
            _try_to_write(folder / "memory.limit_in_bytes", memory)

    def limits(self) -> dict[str, str]:
        """What holds, by the kernel's own names."""
        names = ("pids.max", "memory.max", "memory.limit_in_bytes")
        paths = [folder / name for folder in self.folders for name in names]
        return {path.name: path.read_text().strip() for path in paths if path.exists()}

    def enter(self) -> None:
        """Put this process into it, and so all that it will fork."""
        for folder in self.folders:
            (folder / "cgroup.procs").write_text("0")

    def processes(self) -> set[int]:
        """Those in the group and in the groups inside it."""
        return {pid for folder in self._all_folders() for pid in _read_pids(folder)}

    def kill(self) -> None:
        """Kill every process in it, and wait until they are gone."""
        deadline = time.monotonic() + PATIENCE_S
        for folder in self._all_folders():
            _try_to_write(folder / "cgroup.kill", "1")
        while pids := self.processes():
            self._kill_those(pids)
            if time.monotonic() > deadline:
                raise LocalError(
                    f"processes {sorted(pids)} in {self.folders[0]} cannot be killed: see what they "
                    "wait for in /proc/PID/stack, and call again"
                )
            time.sleep(0.002)

    def remove(self) -> None:
        """Kill what is in it, then remove it and the groups inside it."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            self.kill()
            try:
                for folder in reversed(list(self._all_folders())):
                    folder.rmdir()
            except OSError:
                # Somebody was about to enter, or the kernel is still at the last one's funeral.
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.002)
            else:
                return

    def _kill_those(self, pids: Iterable[int]) -> None:
        """By handles: a number alone may belong to somebody else a moment later."""
        handles = {}
        for pid in pids:
            with suppress(ProcessLookupError):
                handles[pid] = os.pidfd_open(pid)
        still_here = self.processes()
        for pid, handle in handles.items():
            with suppress(ProcessLookupError):
                if pid in still_here:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
            os.close(handle)

    def _all_folders(self) -> Iterator[Path]:
        """Outer before inner."""
        for top in self.folders:
            for folder, _inner, _files in os.walk(top):
                yield Path(folder)


def _read_pids(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except OSError:  # it was removed meanwhile
        return []


def _try_to_write(path: Path, text: str) -> None:
    """Controllers differ from system to system; what is not there limits nothing."""
    try:
        descriptor = os.open(path, os.O_WRONLY)
    except OSError:
        return
    with suppress(OSError):
        os.write(descriptor, text.encode())
    os.close(descriptor)
