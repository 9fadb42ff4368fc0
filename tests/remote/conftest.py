"""A machine of their own for the tests of remote commands, and a user here who may log in there."""

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from testbed.remote.tree import PARTS, Tree, pack
from testbed.runs import COMMIT_FILE
from tests.support.command_line import REPOSITORY
from tests.support.ssh_server import PORT, SERVER, TARGET, Server, machine

PATIENCE_S = 120
"""For what hangs."""
COMMIT = "0123456789ab"

STAND_IN = """#!/bin/sh
# Prints, writes a run, waits to be told to go on, and ends as it is told.
trap 'echo interrupted, cleaning up; rm -f busy; exit 130' INT
touch busy
echo "words: $*"
echo "a problem" >&2
mkdir -p runs/a-run/journal
head -c 300000 /dev/zero | tr '\\0' x >runs/a-run/journal/peer.jsonl
echo '{}' >runs/a-run/manifest.json
while [ ! -e "$HOME/go" ]; do sleep 0.05; done
echo "went on"
rm busy
exit "$(cat "$HOME/go")"
"""


class Terminal:
    """A program on a terminal of its own, and what it shows there."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._process, self._descriptor = pty.fork()
        if self._process == 0:
            os.chdir(folder)
            os.execve(command[0], command, environment)

    def shown_until(self, words: str) -> str:
        """What is shown up to these words, and after."""
        shown = ""
        while words not in shown:
            more = self._read()
            assert more, f"never shown: {words}, but {shown}"
            shown += more
        return shown

    def answer(self, line: str) -> None:
        os.write(self._descriptor, f"{line}\n".encode())

    def end(self) -> tuple[int, str]:
        """The exit code, and the rest of what is shown."""
        shown = "".join(iter(self._read, ""))
        _, status = os.waitpid(self._process, 0)
        os.close(self._descriptor)
        return os.waitstatus_to_exitcode(status), shown

    def _read(self) -> str:
        ready, _, _ = select.select([self._descriptor], [], [], PATIENCE_S)
        assert ready, "nothing is shown any more"
        try:
            return os.read(self._descriptor, 4096).decode(errors="replace")
        except OSError:  # how a terminal says that the other side is closed
            return ""


class User:
    """Somebody here, with a home folder, a folder to work in, and the other machine's key."""

    def __init__(self, folder: Path, server: Server, source: Path) -> None:
        self.source = source
        self.home = folder / "home here"
        self.folder = folder / "my work"
        self.identity = server.folder / "identity"
        self.known_hosts = self.home / ".ssh" / "known_hosts"
        self._server = server
        self.folder.mkdir()
        self.known_hosts.parent.mkdir(parents=True)
        self.know(server.folder / "host_key.pub")

    def know(self, public_key: Path) -> None:
        kind, key = public_key.read_text().split()[:2]
        self.known_hosts.write_text(f"[{SERVER}]:{PORT} {kind} {key}\n")

    @property
    def environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        return kept | {"HOME": str(self.home), "PYTHONPATH": str(self.source)}

    def command(self, *words: str | Path, identity: Path | None) -> list[str]:
        options = [] if identity is None else ["--identity", str(identity)]
        return [sys.executable, "-m", "testbed", "--on", TARGET, *options, *map(str, words)]

    def start(self, *words: str | Path, identity: Path | None = None) -> subprocess.Popen[str]:
        return self._start(self.command(*words, identity=identity or self.identity))

    def run_without_identity(
        self, *words: str | Path, **environment: str
    ) -> subprocess.CompletedProcess[str]:
        """With what there is else to log in with."""
        return _ended(self._start(self.command(*words, identity=None), **environment))

    def on_a_terminal(self, *words: str | Path, identity: Path | None = None) -> Terminal:
        command = self.command(*words, identity=identity)
        return Terminal(command, self.folder, self.environment | {"LINES": "33", "COLUMNS": "99"})

    def _start(self, command: list[str], **environment: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *words: str | Path, identity: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        return _ended(self.start(*words, identity=identity))

    def notes(self) -> list[Path]:
        return sorted((self.home / ".local/state/testbed/remote").glob("*"))


def _ended(process: subprocess.Popen[str]) -> subprocess.CompletedProcess[str]:
    try:
        output, errors = process.communicate(timeout=PATIENCE_S)
    except BaseException:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    folder = tmp_path / "server"
    folder.mkdir()
    with machine(folder) as running:
        yield running


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our code as it is now, whoever works on it meanwhile."""
    copy = tmp_path_factory.mktemp("ours")
    for part in PARTS:
        path = REPOSITORY / part
        if path.is_dir():
            shutil.copytree(path, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
        elif path.exists():
            shutil.copy(path, copy / part)
    (copy / COMMIT_FILE).write_text(COMMIT)
    return copy


@pytest.fixture
def tree(source: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Our code as the user packs it."""
    monkeypatch.setattr("testbed.remote.tree.versions", lambda: {"testbed": COMMIT})
    return pack(source)


@pytest.fixture
def user(tmp_path: Path, server: Server, source: Path) -> User:
    return User(tmp_path, server, source)


@pytest.fixture
def stand_in(server: Server) -> str:
    """A checkout there whose launcher does as it is told: the words that choose it."""
    launcher = server.home / "checkout" / "bin" / "testbed"
    launcher.parent.mkdir(parents=True)
    launcher.write_text(STAND_IN)
    launcher.chmod(0o755)
    return "--remote-path=checkout"
