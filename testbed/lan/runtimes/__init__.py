"""Runtimes: what can start a LAN's machines. A machine is a set of namespaces of its own, in which
the supervisor of its agents is the first process.

Whatever a runtime makes is in the ledger before it is made, and is found there again by the next
command: a runtime keeps nothing in memory that a later command would need.
"""

import os
import re
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, Self

from agents.core.errors import LocalError
from testbed.lan.ledger import Ledger

AGENT_UID = 65530
"""Whom agents run as: in no range that Debian or systemd give to anybody."""

SHARED = "/run/testbed"
"""Where a machine sees its own folder."""

RuntimeName = Literal["docker", "namespace", "auto"]

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is to do: 0 where
that is not known."""


def no_progress(_what: str, _done: int, _total: int) -> None:
    """For those who need not be told."""


@dataclass(frozen=True)
class HostSpec:
    """A machine to start. Its folder is shared with us, and all that it can write."""

    number: int
    name: str
    folder: Path
    memory_mb: int
    pids: int

    def as_entry(self) -> dict[str, Any]:
        return asdict(self) | {"folder": str(self.folder)}

    @classmethod
    def from_entry(cls, entry: dict[str, Any]) -> Self:
        fields = {name: entry[name] for name in ("number", "name", "memory_mb", "pids")}
        return cls(folder=Path(entry["folder"]), **fields)


class Runtime(ABC):
    """Starts, stops and enters the machines of one LAN. Machines are named by their numbers."""

    name: str

    def __init__(self, lan: str, ledger: Ledger) -> None:
        self.lan = lan
        self.ledger = ledger

    @abstractmethod
    def stand(self, hosts: Sequence[HostSpec], progress: Progress = no_progress) -> dict[int, int]:
        """Make machines, all at once; by number, a process whose namespaces are the machine's.

        Supervisors may run already, before their machines have a network interface; those that
        would take much of this computer to start wait until `release` is called.
        """

    @abstractmethod
    def release(self) -> None:
        """Let the supervisors of all machines run."""

    def start(self, hosts: Sequence[HostSpec], progress: Progress = no_progress) -> dict[int, int]:
        """For those who have nothing to do in between."""
        pids = self.stand(hosts, progress)
        self.release()
        return pids

    @abstractmethod
    def kill(self, host: int) -> None:
        """Every process of the machine at once, without a warning. Its links go with it."""

    @abstractmethod
    def restart(self, host: int) -> int:
        """Start a machine that was killed, in a new network namespace; its new process."""

    @abstractmethod
    def exec(
        self, host: int, argv: Sequence[str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program on the machine, with the agents' rights and limits."""

    @abstractmethod
    def pid(self, host: int) -> int | None:
        """The machine's first process as this system numbers it; None where it does not run."""

    @abstractmethod
    def remove_all(self, progress: Progress = no_progress) -> None:
        """Remove every machine in the ledger, and nothing else. May be called again at any time."""

    def specs(self) -> dict[int, HostSpec]:
        """The machines that were noted, by number."""
        entries = self.ledger.entries("host")
        return {entry["number"]: HostSpec.from_entry(entry) for entry in entries}

    def spec(self, host: int) -> HostSpec:
        try:
            return self.specs()[host]
        except KeyError:
            raise LocalError(f"LAN {self.lan} has no machine {host}") from None

    def claim(self, hosts: Iterable[HostSpec]) -> list[HostSpec]:
        """Note the machines, and give them their folders."""
        claimed = [replace(host, folder=host.folder.absolute()) for host in hosts]
        self.ledger.note_all("host", [host.as_entry() for host in claimed])
        for host in claimed:
            host.folder.mkdir(parents=True, exist_ok=True)
            os.chmod(host.folder, 0o700)
            give_away(host.folder)
        return claimed


def give_away(path: Path) -> None:
    """Let agents own a file or folder, and all that is in it."""
    os.chown(path, AGENT_UID, AGENT_UID, follow_symlinks=False)
    for folder, folders, files in os.walk(path):
        for name in (*folders, *files):
            os.chown(Path(folder, name), AGENT_UID, AGENT_UID, follow_symlinks=False)


def open_runtime(asked: RuntimeName, lan: str, ledger: Ledger) -> Runtime:
    """The runtime for a new LAN. `auto` takes Docker where an engine answers."""
    from testbed.lan.runtimes.docker import DockerRuntime, engine_address, engine_answers
    from testbed.lan.runtimes.namespace import NamespaceRuntime

    if asked == "docker" or (asked == "auto" and engine_answers(engine_address())):
        return DockerRuntime(lan, ledger)
    return NamespaceRuntime(lan, ledger)


def runtimes_of(lan: str, ledger: Ledger) -> list[Runtime]:
    """Those whose things are in the ledger. A LAN has one; what a killed command left may have two."""
    from testbed.lan.runtimes.docker import DockerRuntime
    from testbed.lan.runtimes.namespace import NamespaceRuntime

    noted = {entry["name"] for entry in ledger.entries("runtime")}
    kinds: tuple[type[Runtime], ...] = (DockerRuntime, NamespaceRuntime)
    return [kind(lan, ledger) for kind in kinds if kind.name in noted]


def find_program(name: str, package: str) -> str:
    """Where a program is, or the sentence that says how to get it."""
    found = shutil.which(name)
    if found is None:
        raise LocalError(f"{name} is missing: call 'apt-get install {package}'")
    return found


def start_time(pid: int) -> int | None:
    """When a process began, in the kernel's ticks: with it, a number that was given anew is noticed."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The second field is the program's name and may hold anything, brackets too.
    fields = re.sub(r"^.*\)", "", text, flags=re.DOTALL).split()
    return None if fields[0] in "ZX" else int(fields[19])
