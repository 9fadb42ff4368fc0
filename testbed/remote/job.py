"""A command on the other machine, detached from us: it goes on when we are cut off.

Its folder there has the two scripts below, `pid` of the outer one, `group` of the command's
processes, `out` and `err` with all that it has printed, `tty` if it has a terminal, and in the end
`code`. Output is followed by `tail` from any offset, so that it can be picked up where it was left.
"""

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import paramiko

from testbed.remote.connection import Connection

OUTER = """\
# $0 is this file, in the folder of the job.
cd "${0%/*}" || exit
echo $$ >pid
if [ -e terminal ]; then
  SHELL=/bin/sh script --quiet --flush --command 'exec sh ./inner.sh' /dev/null >out 2>err </dev/null
else
  setsid --wait sh ./inner.sh >out 2>err </dev/null
fi
# One that did not come to its end was killed.
[ -s code.new ] || echo 137 >code.new
mv code.new code
"""
"""The terminal is `script`'s: one of SSH's would end with the connection."""

INNER = """\
# An interrupt is for the command, and this shell stays to tell what became of it.
trap : INT TERM HUP
echo $$ >group
if [ -e terminal ]; then
  read -r TERM rows columns <terminal
  # It is the user's own terminal that ends lines as terminals do.
  stty rows "$rows" cols "$columns" -onlcr
  tty >tty
  export TERM
fi
(cd {folder} && exec {command})
echo $? >code.new
"""

START = """
cd "$1" || exit
# Asked again after a cut, it must not start twice.
if mkdir started 2>/dev/null; then
  setsid --fork sh -c 'sh "$1"; exit' sh "$1/outer.sh" </dev/null >/dev/null 2>&1
fi
while [ ! -s pid ]; do sleep 0.05; done
"""
"""`setsid --fork` and not `&`: what a shell puts into the background ignores interrupts.
A shell waits for the outer script, for in a container there may be nobody else who does, and what
nobody has waited for looks alive."""

FOLLOW = """
cd "$1" || exit
read -r pid <pid
# It may have ended long ago, and another process have its number.
if tr '\\0' '\\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$1/outer.sh"; then
  exec tail --pid="$pid" -s 0.1 -c "+$(($3 + 1))" -f "$2"
fi
exec tail -c "+$(($3 + 1))" "$2"
"""

CODE = 'cd "$1" && if [ -s code ]; then cat code; fi'
LAST_WORDS = 'cd "$1" && tail -q -c 1000 out err'
INTERRUPT = 'cd "$1" && read -r group <group && kill -s INT -- "-$group"'
RESIZE = 'cd "$1" && read -r tty <tty && stty -F "$tty" rows "$2" cols "$3"'
WRITE = 'umask 077 && mkdir -p -- "${1%/*}" && cat >"$1"'
IS_THERE = 'if [ -d "$1" ]; then echo yes; fi'
REMOVE = 'rm -rf -- "$1"'


@dataclass(frozen=True)
class Terminal:
    kind: str
    rows: int
    columns: int


class Job:
    """One job's folder there. What it does can be done again after a cut, to the same effect."""

    def __init__(self, connection: Connection, folder: str) -> None:
        self._connection = connection
        self.folder = folder
        self.root = f"{folder}/files"
        """Stands for the root of our file system."""

    def prepare(
        self, program: str, words: Sequence[str], in_folder: str, terminal: Terminal | None
    ) -> None:
        inner = INNER.format(
            folder=shlex.quote(self.root + in_folder), command=shlex.join([program, *words])
        )
        scripts: Mapping[str, str] = {"outer.sh": OUTER, "inner.sh": inner}
        if terminal is not None:
            shape = f"{terminal.kind} {terminal.rows} {terminal.columns}\n"
            scripts = {**scripts, "terminal": shape}
        for name, text in scripts.items():
            self._connection.run(WRITE, f"{self.folder}/{name}", given=text.encode())
        self._connection.run('umask 077 && mkdir -p -- "$1"', self.root + in_folder)

    def is_there(self) -> bool:
        return bool(self._connection.run(IS_THERE, self.folder))

    def start(self) -> None:
        self._connection.run(START, self.folder)

    def follow(self, stream: str, offset: int) -> paramiko.Channel:
        """What it prints from there on, to its end."""
        return self._connection.start(FOLLOW, self.folder, stream, str(offset))

    def code(self) -> int | None:
        """Its exit code, once it has ended of itself."""
        said = self._connection.run(CODE, self.folder).strip()
        return int(said) if said.isdigit() else None

    def last_words(self) -> str:
        """The end of what it printed."""
        return self._connection.run(LAST_WORDS, self.folder)

    def interrupt(self) -> None:
        """As Ctrl-C would, so that the command cleans up."""
        self._connection.run(INTERRUPT, self.folder)

    def resize(self, rows: int, columns: int) -> None:
        self._connection.run(RESIZE, self.folder, str(rows), str(columns))

    def remove(self) -> None:
        self._connection.run(REMOVE, self.folder)
