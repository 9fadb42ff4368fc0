"""A machine of their own for the tests of remote commands, and a user here who may log in there."""

import os
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

    def start(self, *words: str | Path, identity: Path | None = None) -> subprocess.Popen[str]:
        options = ["--on", TARGET, "--identity", str(identity or self.identity)]
        return subprocess.Popen(
            [sys.executable, "-m", "testbed", *options, *map(str, words)],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(
        self, *words: str | Path, identity: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        process = self.start(*words, identity=identity)
        try:
            output, errors = process.communicate(timeout=120)
        except BaseException:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            raise
        return subprocess.CompletedProcess(process.args, process.returncode, output, errors)

    def notes(self) -> list[Path]:
        return sorted((self.home / ".local/state/testbed/remote").glob("*"))


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
