"""One command on another machine, from here: ship, start, follow, bring back, clean up.

Each step can be done again to the same effect. When the connection is cut, it is opened again, for a
bounded time, and the step begins anew with what is there already. Who gives up, or is interrupted a
second time, is told how to pick it up later.
"""

import os
import random
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from agents.core.errors import LocalError
from testbed.remote import notes, transfer
from testbed.remote.arguments import is_wanted, understand
from testbed.remote.connection import Connection, Lost, Target, Unreachable
from testbed.remote.follow import Follower
from testbed.remote.job import Job, Terminal
from testbed.remote.notes import Note
from testbed.remote.progress import progress
from testbed.remote.tree import Tree, pack

PATIENCE_S = 600.0
"""For how long a lost connection is tried again; ours."""
FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 30.0
MOST_CUTS = 20
"""In a row, with hardly any time between them: then it is not the line."""
KILLED = 137
BAD_INPUT = 2
NEEDS_ROOT = "needs root, for network namespaces"
"""A part of what a command says that only root may call."""

MAKE_STATE = """
state=${XDG_STATE_HOME:-$HOME/.local/state}/testbed
mkdir -p "$state/code" "$state/environments" "$state/jobs" || exit
chmod 700 "$state/jobs"
cd "$state" && pwd -P
"""
HAS_CODE = 'if [ -x "$1/bin/testbed" ]; then echo yes; fi'
UNPACK = """
set -e
cd "$1/code"
if [ ! -e "$2" ]; then
  # Another call, or this one before it was cut, may be doing the same: who is first puts it in place.
  new=$(mktemp -d "$2.new.XXXXXXXX")
  {
    tar -xzf "$4" -C "$new" --no-same-owner &&
      mkdir -p "../environments/$3" &&
      ln -s "../../environments/$3" "$new/.venv" &&
      chmod 755 "$new" &&
      mv -T "$new" "$2"
  } || [ -x "$2/bin/testbed" ]
  rm -rf "$new"
fi
rm -f "$4"
# What is unfinished has a dot in its name; nobody works on it any more.
find . -mindepth 1 -maxdepth 1 -name '*.*' -mtime +1 -exec rm -rf -- {} +
"""
FIND_PROJECT = """
case $1 in '~/'*) set -- "$HOME/${1#??}" ;; esac
cd "$1" 2>/dev/null && [ -x bin/testbed ] && pwd -P
"""

Result = TypeVar("Result")


class Session:
    def __init__(self, connection: Connection, patience_s: float = PATIENCE_S) -> None:
        self._connection = connection
        self._patience_s = patience_s

    def run(
        self,
        words: Sequence[str],
        path_options: Mapping[str, Path | None],
        remote_path: str | None,
    ) -> int:
        """The command's exit code, with its results here."""
        folder = Path.cwd()
        asked = understand(words, path_options, folder)
        tree = pack() if remote_path is None else None
        self._connection.open()
        state = self._steadily(lambda: self._connection.run(MAKE_STATE).strip())
        job = notes.new_job()
        if tree is not None:
            home = f"{state}/code/{tree.name}"
            self._steadily(lambda: self._ship_code(state, tree, job))
        else:
            home = self._steadily(lambda: self._find_project(str(remote_path)))
        note = Note(
            job=job,
            target=str(self._connection.target),
            state=state,
            program=f"{home}/bin/testbed",
            folder=str(folder),
            command=asked.under(f"{state}/jobs/{job}/files"),
            shown=shlex.join(words),
            sent={str(path): transfer.digest_of(path) for path in asked.sends},
            places=[str(place) for place in asked.places],
            terminal=_terminal(),
        )
        with notes.held(job) as path:
            return self._carry_out(note, path)

    def resume(self) -> int:
        """Pick up the oldest job that was left there and that nobody follows."""
        target = str(self._connection.target)
        left = notes.left_on(target)
        if not left:
            raise LocalError(f"nothing was left on {target}: there is nothing to resume")
        self._connection.open()
        followed: list[LocalError] = []
        for number, note in enumerate(left, 1):
            try:
                code = self._pick_up(note.job)
            except notes.Followed as error:
                followed.append(error)
                continue
            if code is not None:
                if left[number:]:
                    _say(f"{len(left) - number} more left there: `{_resume(target)}` goes on")
                return code
        if followed:
            raise followed[0]
        raise LocalError(f"nothing else was left on {target}: there is nothing to resume")

    def _pick_up(self, job: str) -> int | None:
        """Its exit code, or None if there is nothing of it to be picked up any more."""
        with notes.held(job) as path:
            note = notes.read(path)
            if note is None:
                return None
            if note.offsets and not note.brought_back and not self._is_there(note):
                path.unlink()
                _say(
                    f"`testbed {note.shown}` of {note.folder} is no longer on {note.target}: its "
                    "results are lost, run it again"
                )
                return None
            _say(f"picking up `testbed {note.shown}` on {note.target}")
            return self._carry_out(note, path)

    def _is_there(self, note: Note) -> bool:
        return self._steadily(self._job_of(note).is_there)

    def _job_of(self, note: Note) -> Job:
        return Job(self._connection, f"{note.state}/jobs/{note.job}")

    def _carry_out(self, note: Note, path: Path) -> int:
        """What the note says, which lies at this path and is ours to work on."""
        job = self._job_of(note)
        notes.write(path, note)
        try:
            if not note.offsets:
                self._steadily(lambda: self._ship_files(note, job))
                self._steadily(lambda: self._prepare(note, job))
                # From here on it may run there, be it that we are cut off before we know.
                note.offsets = {"out": 0, "err": 0}
                notes.write(path, note)
            if not note.brought_back:
                self._see_through(note, job, path)
            self._steadily(job.remove)
        except BaseException:
            if note.offsets:
                _say(f"what runs or lies there is kept; `{_resume(note.target)}` picks it up")
            else:
                path.unlink()
                with suppress(Lost, LocalError):
                    job.remove()
            raise
        path.unlink()
        if note.code is None:
            _say(f"{note.target} was restarted or ended the command: it has no exit code")
            return KILLED
        return note.code

    def _see_through(self, note: Note, job: Job, path: Path) -> None:
        follower = Follower(self._connection, job, note.offsets)
        self._steadily(job.start)
        try:
            self._steadily(follower.follow)
        finally:
            notes.write(path, note)
        note.code = self._steadily(job.code)
        if note.code == BAD_INPUT and NEEDS_ROOT in self._steadily(job.last_words):
            root = replace(self._connection.target, user="root")
            _say(f"log in as root there: `testbed --on {root} {note.shown}`")
        self._steadily(lambda: self._bring_back(note, job))
        # Before it is removed there: afterwards nobody could tell that it is all here.
        note.brought_back = True
        notes.write(path, note)

    def _ship_code(self, state: str, tree: Tree, job: str) -> None:
        """The archive has the job's name in its own, for others may send the same code meanwhile."""
        if self._connection.run(HAS_CODE, f"{state}/code/{tree.name}"):
            return
        name = f"{tree.name}.{job}.tar.gz"
        with (
            tempfile.TemporaryDirectory(prefix="testbed-") as folder,
            progress("sending our code", len(tree.archive)) as advance,
        ):
            archive = Path(folder, name)
            archive.write_bytes(tree.archive)
            transfer.send(self._connection, {name: archive}, f"{state}/code", advance)
        self._connection.run(UNPACK, state, tree.name, tree.environments, name)

    def _find_project(self, remote_path: str) -> str:
        try:
            return self._connection.run(FIND_PROJECT, remote_path).strip()
        except LocalError:
            raise LocalError(
                f"{self._connection.target} has no bin/testbed in {remote_path}: put a checkout "
                "there, or leave out --remote-path, and this code is sent"
            ) from None

    def _ship_files(self, note: Note, job: Job) -> None:
        self._connection.run(transfer.MAKE_FOLDER, job.root)
        files = {path.lstrip("/"): Path(path) for path in note.sent}
        size = sum(path.stat().st_size for path in files.values())
        with progress("sending files", size) as advance:
            transfer.send(self._connection, files, job.root, advance)

    def _prepare(self, note: Note, job: Job) -> None:
        terminal = Terminal(*note.terminal) if note.terminal else None
        job.prepare(note.program, note.command, note.folder, terminal)

    def _bring_back(self, note: Note, job: Job) -> None:
        places = [Path(place) for place in note.places]
        listed = transfer.listing(
            self._connection, job.root, [str(place).lstrip("/") for place in places]
        )
        wanted = {Path("/", file.name): file for file in listed}
        new = {
            path: file
            for path, file in wanted.items()
            if is_wanted(path, places) and note.sent.get(str(path)) != file.digest
        }
        fetched = 0
        with progress("bringing back", sum(file.size for file in new.values())) as advance:
            for path, file in new.items():
                remote = f"{job.root}/{file.name}"
                fetched += transfer.fetch(self._connection, remote, file, path, note.job, advance)
        if fetched:
            _say(f"brought back {fetched} files from {note.target}")

    def _steadily(self, step: Callable[[], Result]) -> Result:
        """Do it, again after each cut, until there is no hope of a connection."""
        in_a_row = 0
        while True:
            began_at = time.monotonic()
            try:
                return step()
            except Lost:
                lasted = time.monotonic() - began_at > LONGEST_PAUSE_S
                in_a_row = 1 if lasted else in_a_row + 1
                if in_a_row > MOST_CUTS:
                    raise Unreachable(
                        f"{self._connection.target} cuts us off time and again"
                    ) from None
                _say(f"the connection to {self._connection.target} was cut; trying again")
                self._reconnect()
                _say(f"connected to {self._connection.target} again")

    def _reconnect(self) -> None:
        give_up_at = time.monotonic() + self._patience_s
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                self._connection.open()
            except Unreachable:
                if time.monotonic() + pause_s > give_up_at:
                    raise
            else:
                return
            # Not all of those who were cut off at once shall come back at once.
            time.sleep(pause_s * random.uniform(0.5, 1))
            pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def run_on(
    target: str,
    words: Sequence[str],
    path_options: Mapping[str, Path | None],
    identity: Path | None = None,
    remote_path: str | None = None,
) -> int:
    """Run a command there, and give its exit code."""
    return _closing(target, identity, lambda it: it.run(words, path_options, remote_path))


def resume_on(target: str, identity: Path | None = None) -> int:
    """Go on with a command that was left there, and give its exit code."""
    return _closing(target, identity, Session.resume)


def _closing(target: str, identity: Path | None, act: Callable[[Session], int]) -> int:
    connection = Connection(Target.parse(target), identity)
    try:
        return act(Session(connection))
    finally:
        connection.close()


def _terminal() -> tuple[str, int, int] | None:
    """Ours, if what is printed all goes to it."""
    if not (sys.stdout.isatty() and sys.stderr.isatty()):
        return None
    size = shutil.get_terminal_size()
    return os.environ.get("TERM") or "dumb", size.lines, size.columns


def _resume(target: str) -> str:
    return f"testbed --on {target} --resume"


def _say(sentence: str) -> None:
    print(f"testbed: {sentence}", file=sys.stderr, flush=True)
