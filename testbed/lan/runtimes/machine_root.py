"""What a machine of the namespace runtime sees as its file system.

A root of its own, in memory, onto which the parts that agents need are bound so that they cannot be
written: system programs and libraries, this project's Python and packages, the agents' code. All
else of the computer is not there: no home folders, no sockets of services. What a machine can write
is its own folder, and a small /tmp.
"""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

import agents
from testbed.lan.runtimes import SHARED
from testbed.lan.runtimes.system_calls import (
    MS_BIND,
    MS_NODEV,
    MS_NOEXEC,
    MS_NOSUID,
    MS_PRIVATE,
    MS_RDONLY,
    MS_REC,
    MS_REMOUNT,
    mount,
)

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc")
DEVICES = ("null", "zero", "full", "random", "urandom")
TMP_OPTIONS = "size=16m,mode=1777"
NOTHING_SPECIAL = MS_NOSUID | MS_NODEV


def build_root(root: Path) -> None:
    """Build what all machines share. Called in a mount namespace of one's own."""
    mount("none", "/", "", MS_REC | MS_PRIVATE)
    mount("root", root, "tmpfs", NOTHING_SPECIAL, "size=1m,mode=755")
    for name in SYSTEM:
        original = Path("/", name)
        if original.is_symlink():
            (root / name).symlink_to(original.readlink())
        elif original.exists():
            bind_read_only(original, root)
    for path in _own_paths():
        if not _is_in_tmp(path):
            bind_read_only(path, root)
    _add_devices(root / "dev")
    for inner in ("proc", "tmp", SHARED.lstrip("/")):
        (root / inner).mkdir(parents=True, exist_ok=True)
    mount("none", root, "", MS_REMOUNT | MS_RDONLY | NOTHING_SPECIAL, "size=1m,mode=755")


def complete_root(root: Path, folder: Path) -> None:
    """Add what one machine has for itself. Called in its mount and process namespaces."""
    mount("proc", root / "proc", "proc", NOTHING_SPECIAL | MS_NOEXEC)
    mount("tmp", root / "tmp", "tmpfs", NOTHING_SPECIAL, TMP_OPTIONS)
    mount("shm", root / "dev" / "shm", "tmpfs", NOTHING_SPECIAL | MS_NOEXEC, TMP_OPTIONS)
    for path in _own_paths():
        if _is_in_tmp(path):
            bind_read_only(path, root)
    shared = root / SHARED.lstrip("/")
    mount(str(folder), shared, "", MS_BIND)
    mount("none", shared, "", MS_REMOUNT | MS_BIND | NOTHING_SPECIAL)


def bind_read_only(path: Path, root: Path) -> None:
    """Let a folder be seen at its own place in the new root, with all that is mounted in it."""
    target = root / path.relative_to("/")
    target.mkdir(parents=True, exist_ok=True)
    mount(str(path), target, "", MS_BIND | MS_REC)
    for place in _mounts_at(target):
        mount("none", place, "", MS_REMOUNT | MS_BIND | MS_RDONLY | NOTHING_SPECIAL)


def _own_paths() -> list[Path]:
    """Python, the packages of this environment and the agents, wherever they lie."""
    wanted = [Path(sys.base_prefix), Path(sys.prefix), Path(agents.__file__).parent]
    wanted += [path.resolve() for path in wanted]
    return _outermost(path for path in wanted if path.parts[1] not in SYSTEM)


def _outermost(paths: Iterable[Path]) -> list[Path]:
    chosen: list[Path] = []
    for path in sorted(set(paths), key=lambda path: len(path.parts)):
        if not any(path.is_relative_to(other) for other in chosen):
            chosen.append(path)
    return chosen


def _is_in_tmp(path: Path) -> bool:
    return path.is_relative_to("/tmp")


def _add_devices(folder: Path) -> None:
    (folder / "shm").mkdir(parents=True)
    for name in DEVICES:
        (folder / name).touch()
        mount(f"/dev/{name}", folder / name, "", MS_BIND)
    (folder / "fd").symlink_to("/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        (folder / name).symlink_to(f"/proc/self/fd/{number}")


def _mounts_at(target: Path) -> list[str]:
    """The place itself and those inside it, outer before inner."""
    found = set()
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place = _unescape(line.split()[4])
        if place == str(target) or place.startswith(f"{target}/"):
            found.add(place)
    return sorted(found, key=len)


def _unescape(text: str) -> str:
    """The kernel writes blanks and the like as octal numbers."""
    for code in ("\\040", "\\011", "\\012", "\\134"):
        text = text.replace(code, chr(int(code[1:], 8)))
    return os.fspath(text)
