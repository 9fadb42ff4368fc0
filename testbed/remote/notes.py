"""What was begun on other machines and not yet brought back, noted here, for `--resume`.

A note is a file of its own under ~/.local/state/testbed/remote, written before anything is begun
there and removed after all of it is here. Who works on it holds its lock.
"""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

from agents.core.errors import LocalError


@dataclass
class Note:
    job: str
    target: str
    state: str
    """The folder of ours there."""
    program: str
    """The launcher there."""
    folder: str
    """The current folder here."""
    command: list[str]
    """As it is run there."""
    shown: str
    """As it was typed here."""
    sent: dict[str, str]
    """By absolute path here: the digest."""
    places: list[str]
    """What it may write, as absolute paths here."""
    terminal: tuple[str, int, int] | None
    offsets: dict[str, int] = field(default_factory=dict)
    """By stream: how much of it was shown."""
    brought_back: bool = False
    """All of it is here, and what lies there is only to be removed."""
    code: int | None = None
    """What the command ended with, once it is brought back."""


class Followed(LocalError):
    """Somebody else works on it."""


def new_job() -> str:
    return f"{time.strftime('%Y%m%d-%H%M%S', time.gmtime())}-{secrets.token_hex(3)}"


def notes_folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "testbed" / "remote"


@contextmanager
def held(job: str) -> Iterator[Path]:
    """The note's file, as long as nobody else works on it."""
    folder = notes_folder()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{job}.json"
    lock = folder / f"{job}.lock"
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever had it before may have removed it since we opened it.
            free = os.fstat(file.fileno()).st_nlink > 0
        except BlockingIOError:
            free = False
        if not free:
            raise Followed(f"another testbed follows job {job} already")
        try:
            yield path
        finally:
            lock.unlink()


def write(path: Path, note: Note) -> None:
    unfinished = path.with_suffix(".part")
    unfinished.write_text(json.dumps(asdict(note), indent=1))
    unfinished.replace(path)


def read(path: Path) -> Note | None:
    """None if all was brought back meanwhile."""
    try:
        return Note(**json.loads(path.read_bytes()))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        raise LocalError(f"{path} is not a note of a remote job: remove it") from None


def left_on(target: str) -> list[Note]:
    """What was left there, the oldest first."""
    found = (read(path) for path in sorted(notes_folder().glob("*.json")))
    return [note for note in found if note is not None and note.target == target]
