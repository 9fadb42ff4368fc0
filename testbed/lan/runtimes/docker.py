"""The docker runtime: a machine is a container of the Docker engine on this computer.

Containers get nothing that agents do not need: no network but what we plug in, no capability, no
new privilege, an unprivileged user, a root that cannot be written, limits on memory and processes.

The first process waits at a gate until all containers are there: 71 Pythons that start would take
the processors from the engine, and the LAN would stand later by as much.

A container's name and a random label are in the ledger before the engine is asked for it. What is
removed must have both: a user's container of the same name survives.
"""

import errno
import os
import secrets
import socket
import subprocess
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import cached_property
from typing import Any

import docker
from docker.errors import APIError, DockerException, NotFound
from docker.types import LogConfig, Mount

from agents.core.errors import LocalError
from testbed.lan.image import ensure_image
from testbed.lan.ledger import Ledger
from testbed.lan.runtimes import (
    AGENT_UID,
    SHARED,
    HostSpec,
    Progress,
    Runtime,
    give_away,
    no_progress,
)

DEFAULT_ENGINE = "unix:///var/run/docker.sock"
HOW_TO_START = (
    "start one ('systemctl start docker', or 'dockerd --bridge=none --iptables=false' as root), "
    "set DOCKER_HOST, or take --runtime namespace"
)
OWNER_LABEL = "testbed.owner"
LAN_LABEL = "testbed.lan"

THREADS = 8
"""Requests under way at once. On two cores 4, 8 and 16 take the same time: the engine's."""

SETTLING_S = 1.0
"""How long a request of a client that was killed may still take effect; ours."""

TMP_MB = 16

PROGRAM = ("python3", "-s", "-S", "-m", "agents.host", SHARED)
GATE_PATIENCE_S = 60.0
GATE = "gate"
"""A pipe in a machine's folder: who opens it to read waits until somebody opens it to write."""
BEHIND_GATE = f'read _ <{SHARED}/{GATE}; exec "$@" >>{SHARED}/log.txt 2>&1'


def engine_address() -> str:
    return os.environ.get("DOCKER_HOST") or DEFAULT_ENGINE


def engine_answers(address: str) -> bool:
    """Whether an engine on this computer does; one elsewhere is of no use."""
    try:
        connect(address).close()
    except LocalError:
        return False
    return True


def connect(address: str) -> docker.APIClient:
    """A client of the engine at this address, which must be on this computer."""
    if not address.startswith("unix://"):
        raise LocalError(
            f"DOCKER_HOST is {address}, and the engine must be on this computer, where its "
            "containers get their links: set it to a unix:// address"
        )
    try:
        with socket.socket(socket.AF_UNIX) as trial:  # the client would leave its own one open
            trial.connect(address.removeprefix("unix://"))
        return docker.APIClient(
            base_url=address, timeout=120, version="auto", max_pool_size=THREADS
        )
    except (OSError, DockerException):
        raise LocalError(f"no Docker engine answers at {address}: {HOW_TO_START}") from None


class DockerRuntime(Runtime):
    """Machines as containers. `program` is what a container runs."""

    name = "docker"

    def __init__(self, lan: str, ledger: Ledger, program: Sequence[str] = PROGRAM) -> None:
        super().__init__(lan, ledger)
        self._program = list(program)
        self._owner = secrets.token_hex(16)

    @cached_property
    def _api(self) -> docker.APIClient:
        """The engine that the ledger names: DOCKER_HOST may have changed since."""
        noted = [entry for entry in self.ledger.entries("runtime") if entry["name"] == self.name]
        return connect(noted[-1]["engine"] if noted else engine_address())

    def stand(self, hosts: Sequence[HostSpec], progress: Progress = no_progress) -> dict[int, int]:
        api = connect(engine_address())
        self.ledger.note("runtime", name=self.name, engine=engine_address())
        self._api = api
        image = ensure_image(api, progress)
        hosts = self.claim(hosts)
        for host in hosts:
            with suppress(FileExistsError):
                os.mkfifo(host.folder / GATE, 0o600)
            give_away(host.folder / GATE)
        self.ledger.note_all(
            "container",
            [
                {"host": host.number, "container": self._container(host), "owner": self._owner}
                for host in hosts
            ],
        )
        pids: dict[int, int] = {}
        with ThreadPoolExecutor(THREADS) as pool:
            tasks = {pool.submit(self._start_one, host, image): host.number for host in hosts}
            try:
                for task in as_completed(tasks):
                    pids[tasks[task]] = task.result()
                    progress("starting containers", len(pids), len(hosts))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        return pids

    def release(self) -> None:
        with ThreadPoolExecutor(THREADS) as pool:
            for _done in pool.map(self._open_gate, self.specs().values()):
                pass

    def kill(self, host: int) -> None:
        container = self._find(host)
        if container is not None and container["State"]["Running"]:
            self._api.kill(container["Id"], signal="SIGKILL")
            self._api.wait(container["Id"])

    def restart(self, host: int) -> int:
        container = self._find(host)
        if container is None:
            raise LocalError(f"the container of {self.spec(host).name} is gone: call 'testbed up'")
        self.kill(host)
        self._api.start(container["Id"])
        pid = self._pid_of(container["Id"], self.spec(host))
        self._open_gate(self.spec(host))
        return pid

    def exec(
        self, host: int, argv: Sequence[str], timeout: float | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        container = self._find(host)
        if container is None or not container["State"]["Running"]:
            raise LocalError(f"{self.spec(host).name} does not run: 'testbed restart' starts it")
        limited = ["timeout", "--kill-after=1", str(timeout), *argv] if timeout else list(argv)
        made = self._api.exec_create(container["Id"], limited)
        stdout, stderr = self._api.exec_start(made["Id"], demux=True)
        code = self._api.exec_inspect(made["Id"])["ExitCode"]
        if timeout and code == 124:
            raise subprocess.TimeoutExpired(list(argv), timeout)
        return subprocess.CompletedProcess(list(argv), code, stdout or b"", stderr or b"")

    def pid(self, host: int) -> int | None:
        container = self._find(host)
        return container["State"]["Pid"] or None if container is not None else None

    def remove_all(self, progress: Progress = no_progress) -> None:
        entries = self.ledger.entries("container")
        if not entries:
            return
        try:
            api = self._api
        except LocalError as error:
            raise LocalError(
                f"{error}; its containers are still there. If it is gone for good, delete "
                f"{self.ledger.folder}"
            ) from None
        owners = {entry["container"]: entry["owner"] for entry in entries}
        removed = 0
        with ThreadPoolExecutor(THREADS) as pool:
            for ours in pool.map(lambda item: self._remove_one(api, *item), owners.items()):
                removed += ours
                progress("removing containers", removed, len(owners))
        if removed < len(owners):
            self._remove_late_ones(api, owners)

    def _remove_one(self, api: docker.APIClient, name: str, owner: str) -> bool:
        """Whether it was there, and ours."""
        try:
            found = api.inspect_container(name)
            if _owner_of(found) != owner:
                return False
            api.remove_container(found["Id"], force=True, v=True)
        except NotFound:
            return False
        except APIError as error:
            if error.status_code != 409:  # it is being removed already
                raise
        return True

    def _remove_late_ones(self, api: docker.APIClient, owners: dict[str, str]) -> None:
        """A client that was killed may have left a request that the engine still works on."""
        label = [f"{OWNER_LABEL}={owner}" for owner in set(owners.values())]
        until = time.monotonic() + SETTLING_S
        while time.monotonic() < until:
            for one in label:
                for found in api.containers(all=True, filters={"label": [one]}):
                    name = found["Names"][0].lstrip("/")
                    if name in owners and self._remove_one(api, found["Id"], owners[name]):
                        until = time.monotonic() + SETTLING_S
            time.sleep(SETTLING_S / 5)

    def _open_gate(self, host: HostSpec) -> None:
        """The other side comes when its shell has started."""
        deadline = time.monotonic() + GATE_PATIENCE_S
        while True:
            try:
                flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW
                os.close(os.open(host.folder / GATE, flags))
            except OSError as error:
                if error.errno != errno.ENXIO:
                    raise
            else:
                return
            if self.pid(host.number) is None or time.monotonic() > deadline:
                raise LocalError(
                    f"{host.name} did not begin to run: see {host.folder / 'log.txt'}, and call "
                    "'testbed down'"
                )
            time.sleep(0.01)

    def _container(self, host: HostSpec) -> str:
        return f"testbed-{self.lan}-{host.name}"

    def _find(self, host: int) -> dict[str, Any] | None:
        """The container of a machine, if it is there and ours."""
        self.spec(host)
        for entry in reversed(self.ledger.entries("container")):
            if entry["host"] == host:
                try:
                    found: dict[str, Any] = self._api.inspect_container(entry["container"])
                except NotFound:
                    return None
                return found if _owner_of(found) == entry["owner"] else None
        return None

    def _start_one(self, host: HostSpec, image: str) -> int:
        name = self._container(host)
        try:
            made = self._api.create_container(
                image,
                ["/bin/sh", "-c", BEHIND_GATE, "sh", *self._program],
                name=name,
                hostname=host.name,
                user=f"{AGENT_UID}:{AGENT_UID}",
                labels={OWNER_LABEL: self._owner, LAN_LABEL: self.lan},
                host_config=self._host_config(host),
            )
            self._api.start(made["Id"])
        except APIError as error:
            if error.status_code == 409:
                raise LocalError(
                    f"there is a container called {name} already, and it is not this LAN's: "
                    "remove it, or take another --name"
                ) from None
            raise LocalError(f"the engine could not start {name}: {error.explanation}") from None
        return self._pid_of(made["Id"], host)

    def _pid_of(self, container: str, host: HostSpec) -> int:
        state = self._api.inspect_container(container)["State"]
        if not state["Pid"]:
            raise LocalError(
                f"{host.name} stopped as soon as it was started (exit code {state['ExitCode']}): "
                f"see {host.folder / 'log.txt'}"
            )
        pid: int = state["Pid"]
        return pid

    def _host_config(self, host: HostSpec) -> Any:
        return self._api.create_host_config(
            network_mode="none",
            cap_drop=["ALL"],
            security_opt=["no-new-privileges"],
            read_only=True,
            mem_limit=f"{host.memory_mb}m",
            memswap_limit=f"{host.memory_mb}m",
            pids_limit=host.pids,
            # No shared memory and no log driver: each would be one more thing to set up.
            ipc_mode="none",
            log_config=LogConfig(type="none", config={}),
            tmpfs={"/tmp": f"size={TMP_MB}m,mode=1777"},
            mounts=[Mount(SHARED, str(host.folder), type="bind")],
            restart_policy={"Name": "no"},
        )


def _owner_of(container: dict[str, Any]) -> str | None:
    owner: str | None = (container["Config"]["Labels"] or {}).get(OWNER_LABEL)
    return owner
