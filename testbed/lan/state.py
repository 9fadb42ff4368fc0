"""Where LANs are kept: one folder each, that nobody but root can look into or write.

/var/lib/testbed/NAME/   the LAN called NAME; TESTBED_STATE names another place than /var/lib/testbed
/var/lib/testbed/.cache/ what is made once for all LANs: the base of the containers' image

What a folder says is believed and acted on as root, so one that others could have written is refused.
"""

import errno
import os
import re
import stat
from pathlib import Path

from agents.core.errors import LocalError

ROOM = 8192
"""Less than that is none. Ours."""
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,28}[a-z0-9])?")


def require_root(what: str) -> None:
    if os.geteuid() != 0:
        raise LocalError(f"{what} needs root, for network namespaces: call it with sudo")


def state_root() -> Path:
    return Path(os.environ.get("TESTBED_STATE") or "/var/lib/testbed").absolute()


def folder_of(name: str) -> Path:
    """The folder of the LAN called so, which may not be there."""
    if not NAME.fullmatch(name):
        raise LocalError(
            f"{name!r} cannot be a LAN's name: take 1 to 30 small letters, digits and inner dashes"
        )
    return state_root() / name


def names_of_lans() -> list[str]:
    """Of those that have a folder; some may have been left by a command that was killed."""
    try:
        found = [entry.name for entry in os.scandir(state_root()) if entry.is_dir()]
    except FileNotFoundError:
        return []
    return sorted(name for name in found if NAME.fullmatch(name))


def cache_folder() -> Path:
    """Made if it is not there."""
    return make_safe_folder(state_root() / ".cache")


def blame_disk(error: BaseException) -> None:
    """If there is no room any more where LANs are kept, that is what went wrong, whatever followed
    from it: machines cannot start without room for their journals."""
    if not isinstance(error, OSError | LocalError) or not state_root().exists():
        return
    disk = os.statvfs(state_root())
    if disk.f_bavail * disk.f_frsize < ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(state_root())) from error


def make_safe_folder(folder: Path) -> Path:
    """Make a folder and the one that it is in, for root alone; refuse those that are unsafe."""
    folder.parent.parent.mkdir(parents=True, exist_ok=True)
    for path in (folder.parent, folder):
        try:
            path.mkdir(mode=0o700)
        except FileExistsError:
            refuse_unsafe(path)
    return folder


def refuse_unsafe(path: Path) -> None:
    """Refuse what somebody else owns or can write, or what leads somewhere else."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise LocalError(f"{path} is no folder: move it away, LANs are kept there")
    if found.st_uid != os.geteuid():
        raise LocalError(
            f"{path} belongs to user {found.st_uid} and not to {os.geteuid()}, who calls: "
            "move it away, or set TESTBED_STATE to another folder"
        )
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise LocalError(
            f"{path} can be written by others: check what is in it, then call 'chmod 700 {path}'"
        )
