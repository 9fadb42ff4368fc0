"""The namespace runtime: a machine is a handful of namespaces and a control group, with no daemon.

Each has a network, mounts, processes, a name and shared memory of its own, runs as an unprivileged
user without capabilities, and sees of this computer only what it needs. `nursery` forks them.

The path of the LAN's control group is noted before it is made; all processes are found by it.
"""

import json
import os
import secrets
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import agents
from agents.core.errors import LocalError
from testbed.lan.ledger import Ledger
from testbed.lan.runtimes import (
    AGENT_UID,
    SHARED,
    HostSpec,
    Progress,
    Runtime,
    find_program,
    no_progress,
    start_time,
)
from testbed.lan.runtimes.cgroups import Group
from testbed.lan.runtimes.nursery import ENVIRONMENT, Birth, Orders

PROGRAM = ("agents.host", SHARED)

ENTER_GROUP = 'while [ "$1" != -- ]; do echo 0 >"$1/cgroup.procs"; shift; done; shift; exec "$@"'
"""A shell's way into a control group: its folders, two dashes, and what to run there."""


class NamespaceRuntime(Runtime):
    """Machines as namespaces. `program` is what a machine runs, as after `python -m`."""

    name = "namespace"

    def __init__(self, lan: str, ledger: Ledger, program: Sequence[str] = PROGRAM) -> None:
        super().__init__(lan, ledger)
        self._program = list(program)

    def stand(self, hosts: Sequence[HostSpec], progress: Progress = no_progress) -> dict[int, int]:
        self.ledger.note("runtime", name=self.name)
        group = Group.called(f"testbed-{self.lan}-{secrets.token_hex(4)}")
        self.ledger.note("group", folders=[str(folder) for folder in group.folders])
        hosts = self.claim(hosts)
        group.make()
        group.pass_on_controllers()
        group.within("nursery").make()
        for host in hosts:
            own = group.within(_group_name(host.number))
            own.make()
            own.limit(host.memory_mb, host.pids)
        return self._bear(hosts, progress)

    def release(self) -> None:
        """They run: being forked and not started, they cost little."""

    def kill(self, host: int) -> None:
        self._group_of(host).kill()

    def restart(self, host: int) -> int:
        self.kill(host)
        return self._bear([self.spec(host)], no_progress)[host]

    def exec(
        self, host: int, argv: Sequence[str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        pid = self.pid(host)
        if pid is None:
            raise LocalError(f"{self.spec(host).name} does not run: 'testbed restart' starts it")
        find_program("nsenter", "util-linux")
        limited = ["timeout", "--kill-after=1", str(timeout)] if timeout else []
        done = subprocess.run(
            [
                *("sh", "-c", ENTER_GROUP, "sh", *map(str, self._group_of(host).folders), "--"),
                *("nsenter", f"--target={pid}"),
                *("--mount", "--uts", "--ipc", "--net", "--pid"),
                *("setpriv", f"--reuid={AGENT_UID}", f"--regid={AGENT_UID}", "--clear-groups"),
                *("--no-new-privs", "--bounding-set=-all", "--inh-caps=-all"),
                *limited,
                *argv,
            ],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            env=ENVIRONMENT,
        )
        if timeout and done.returncode == 124:
            raise subprocess.TimeoutExpired(list(argv), timeout)
        return subprocess.CompletedProcess(list(argv), done.returncode, done.stdout, done.stderr)

    def pid(self, host: int) -> int | None:
        self.spec(host)
        for entry in reversed(self.ledger.entries("process")):
            if entry["host"] == host:
                began = start_time(entry["pid"])
                return entry["pid"] if began is not None and began == entry["began"] else None
        return None

    def remove_all(self, progress: Progress = no_progress) -> None:
        entries = self.ledger.entries("group")
        for done, entry in enumerate(entries):
            progress("removing machines", done, len(entries))
            Group(map(Path, entry["folders"])).remove()
        progress("removing machines", len(entries), len(entries))

    def _group(self) -> Group:
        return Group(map(Path, self.ledger.entries("group")[-1]["folders"]))

    def _group_of(self, host: int) -> Group:
        self.spec(host)
        return self._group().within(_group_name(host))

    def _bear(self, hosts: Sequence[HostSpec], progress: Progress) -> dict[int, int]:
        group = self._group()
        root = self.ledger.folder / "root"
        root.mkdir(mode=0o700, exist_ok=True)
        births = [
            Birth(
                number=host.number,
                name=host.name,
                folder=str(host.folder),
                group=_as_texts(group.within(_group_name(host.number))),
            )
            for host in hosts
        ]
        nursery = _as_texts(group.within("nursery"))
        pids = _run_nursery(Orders(nursery, str(root), self._program, births), progress)
        self.ledger.note_all(
            "process",
            [{"host": host, "pid": pid, "began": start_time(pid)} for host, pid in pids.items()],
        )
        return pids


def _group_name(host: int) -> str:
    return f"host-{host}"


def _as_texts(group: Group) -> list[str]:
    return [str(folder) for folder in group.folders]


def _run_nursery(orders: Orders, progress: Progress) -> dict[int, int]:
    here = str(Path(agents.__file__).parents[1])
    with subprocess.Popen(
        [sys.executable, "-m", "testbed.lan.runtimes.nursery"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": here},
        cwd="/",
        start_new_session=True,  # Ctrl-C is for the one who can clean up
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(orders.as_json())
        process.stdin.close()
        return _read_answers(process.stdout, orders, progress)


def _read_answers(lines: Iterable[str], orders: Orders, progress: Progress) -> dict[int, int]:
    names = {birth.number: birth.name for birth in orders.births}
    pids: dict[int, int] = {}
    for line in lines:
        answer = json.loads(line)
        if "error" in answer:
            raise LocalError(f"{names[answer['host']]} could not be started: {answer['error']}")
        pids[answer["host"]] = answer["pid"]
        progress("starting machines", len(pids), len(names))
    if len(pids) < len(names):
        raise LocalError(
            f"{len(names) - len(pids)} machines could not be started: see what was said above"
        )
    return pids
