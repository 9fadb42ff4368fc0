"""A real sshd on a machine of its own: network, users and home folder in namespaces that end with it.

    namespace of the client ── veth, 198.18.64.0/30 ── namespace of the server, with sshd

The test itself enters the client's namespace, and with it every program that it starts.
"""

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from testbed.remote.tree import pack

CLIENT, SERVER, PORT = "198.18.64.1", "198.18.64.2", 2222
TARGET = f"root@{SERVER}:{PORT}"
CLONE_NEWNET = 0x40000000

CONFIGURATION = """
ListenAddress {address}:{port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
UseDNS no
StrictModes no
PermitRootLogin prohibit-password
PasswordAuthentication no
LogLevel VERBOSE
SetEnv "PATH={folder}/programs there:{path}"
Subsystem sftp internal-sftp
"""
USERS = "root:x:0:0:root:{home}:/bin/sh\nsshd:x:65533:65534::/run/sshd:/usr/sbin/nologin\n"
ISOLATED = ("unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child")
"""Whatever still runs there ends with its first process."""
ISOLATE = """
set -e
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
mount -t tmpfs tmpfs /run
mkdir -m 755 /run/sshd
echo ready
exec sleep infinity
"""


def until(true: Callable[[], object], what: str, patience_s: float = 60) -> None:
    """Wait for it; patience is for a machine that hangs, and no test passes or fails by time."""
    give_up_at = time.monotonic() + patience_s
    while not true():
        assert time.monotonic() < give_up_at, f"never came: {what}"
        time.sleep(0.02)


@dataclass
class Server:
    folder: Path
    process: int
    """Whose namespaces are the machine's."""
    sshd: int = 0

    @property
    def home(self) -> Path:
        return self.folder / "home there"

    def provide(self, name: str, program: str) -> None:
        """A program there, which goes before the one that this machine has of that name."""
        path = self.folder / "programs there" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(program)
        path.chmod(0o755)

    @property
    def state(self) -> Path:
        return self.home / ".local" / "state" / "testbed"

    @property
    def log(self) -> str:
        return (self.folder / "sshd.log").read_text()

    def inside(self, *command: str) -> list[str]:
        return ["nsenter", f"--target={self.process}", "--net", "--mount", "--pid", "--", *command]

    def connect(self) -> None:
        self._link("up")

    def disconnect(self) -> None:
        """Pull the cable: nobody is told."""
        self._link("down")

    def _link(self, state: str) -> None:
        subprocess.run(self.inside("ip", "link", "set", "eth0", state), check=True)

    def cut(self) -> int:
        """End the processes that serve those who are connected, and say how many."""
        sessions = _children(self.sshd)
        for session in sessions:
            for process in (*_children(session), session):
                _kill(process)
        return len(sessions)

    def jobs(self) -> list[Path]:
        return sorted((self.state / "jobs").glob("*")) if self.state.exists() else []


def _children(process: int) -> list[int]:
    try:
        return [
            int(c) for c in Path(f"/proc/{process}/task/{process}/children").read_text().split()
        ]
    except (FileNotFoundError, ProcessLookupError):
        return []


def _kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def make_key(path: Path, passphrase: str = "") -> Path:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", "", "-f", str(path)]
    subprocess.run(command, check=True)
    return path


@contextmanager
def machine(folder: Path) -> Iterator[Server]:
    """The server, running, with this thread in the client's namespace."""
    home = folder / "home there"
    home.mkdir()
    make_key(folder / "host_key")
    make_key(folder / "identity")
    shutil.copy(folder / "identity.pub", folder / "authorized_keys")
    (folder / "passwd").write_text(USERS.format(home=home))
    (folder / "shadow").write_text("root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\n")
    (folder / "sshd_config").write_text(
        CONFIGURATION.format(address=SERVER, port=PORT, folder=folder, path=os.defpath)
    )
    with ExitStack() as ends:
        there = ends.enter_context(_process([*ISOLATED, "sh", "-c", ISOLATE, "sh", str(folder)]))
        assert there.stdout is not None
        assert there.stdout.readline() == b"ready\n"
        ends.enter_context(_own_network())
        (first,) = _children(there.pid)
        server = Server(folder, first)
        wires = (
            f"link set lo up\nlink add client type veth peer name eth0 netns {first}\n"
            f"addr add {CLIENT}/30 dev client\nlink set client up\n"
        )
        subprocess.run(["ip", "-batch", "-"], input=wires.encode(), check=True)
        wires = f"link set lo up\naddr add {SERVER}/30 dev eth0\nlink set eth0 up\n"
        subprocess.run(server.inside("ip", "-batch", "-"), input=wires.encode(), check=True)
        log = ends.enter_context((folder / "sshd.log").open("wb"))
        sshd = ends.enter_context(
            _process(
                server.inside("/usr/sbin/sshd", "-D", "-e", "-f", str(folder / "sshd_config")), log
            )
        )
        until(lambda: "Server listening" in server.log, "sshd listening")
        (server.sshd,) = _children(sshd.pid)
        yield server


@contextmanager
def _process(command: list[str], errors: object = None) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=errors,  # type: ignore[call-overload]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@contextmanager
def _own_network() -> Iterator[None]:
    """This thread, and what it starts, in a network namespace that nothing else is in."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        assert libc.unshare(CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        yield
    finally:
        assert libc.setns(before, CLONE_NEWNET) == 0, os.strerror(ctypes.get_errno())
        os.close(before)


def provide_environment(server: Server, source: Path) -> None:
    """What the launcher would make there: the packages that these tests run with, as `run`."""
    tree = pack(source)
    home = server.state / "environments" / tree.environments / "run"
    home.mkdir(parents=True)
    for entry in Path(sys.prefix).iterdir():
        if entry.name != "stamp":
            (home / entry.name).symlink_to(entry)
    script = 'repo=$1; . "$1/bin/lib/environment.sh"; stamp_of "$2" run'
    command = ["bash", "-c", script, "bash", str(source), str(home.parent)]
    stamp = subprocess.run(command, capture_output=True, check=True)
    (home / "stamp").write_bytes(stamp.stdout)
