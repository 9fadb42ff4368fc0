"""Hosts for tests of the network: bare processes, each in a network namespace of its own."""

import os
import select
import socket
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from testbed.lan.abilities import Abilities
from testbed.lan.ledger import Ledger
from testbed.lan.namespaces import of_process, opened, socket_in
from testbed.lan.network import Network
from testbed.lan.plan import Plan, make_plan
from testbed.model.topology import parse_topology


def plan_of(
    hosts: int = 3,
    link: Mapping[str, Any] | None = None,
    switches: Mapping[str, Any] | None = None,
    groups: list[dict[str, Any]] | None = None,
    name: str = "tried",
) -> Plan:
    """Of alike hosts on one switch, or of these groups on these switches."""
    alike = [{"name": "host", "count": hosts, "switch": "core", "link": dict(link or {})}]
    document = {
        "name": "tried",
        "switches": dict(switches or {"core": {}}),
        "hosts": groups or alike,
        "communities": {".a": 1},
    }
    return make_plan(parse_topology(document), name)


class Hosts:
    """Processes that sleep, by the hosts' numbers, until the block ends."""

    def __init__(self, count: int) -> None:
        self._running = {number: _asleep() for number in range(1, count + 1)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        for number in self._running:
            self.kill(number)

    @property
    def pids(self) -> dict[int, int]:
        return {number: process.pid for number, process in self._running.items()}

    def kill(self, number: int) -> None:
        self._running[number].kill()
        self._running[number].wait()

    def restart(self, number: int) -> int:
        self.kill(number)
        self._running[number] = _asleep()
        return self._running[number].pid

    def run(self, number: int, *command: str) -> "subprocess.Popen[str]":
        """A program as if on that host."""
        inside = ["nsenter", f"--net={of_process(self.pids[number])}", "--", *command]
        return subprocess.Popen(inside, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def socket(self, number: int, address: str, port: int = 9000) -> socket.socket:
        with opened(of_process(self.pids[number])) as namespace:
            made = socket_in(namespace, socket.AF_INET)
        made.setsockopt(socket.SOL_SOCKET, 33, 1 << 23)  # SO_RCVBUFFORCE
        made.bind((address, port))
        return made


def _asleep() -> "subprocess.Popen[bytes]":
    """Says a word when it has its namespace."""
    process = subprocess.Popen(
        ["unshare", "--net", "sh", "-c", "echo ready; exec sleep infinity"],
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline() == b"ready\n"
    return process


class Lan:
    """A network of such hosts."""

    def __init__(
        self, folder: Path, plan: Plan, hosts: Hosts, can: Abilities | None = None
    ) -> None:
        self.plan = plan
        self.hosts = hosts
        self.ledger = Ledger.create(folder)
        self.network = Network.build(plan, hosts.pids, self.ledger, can)

    def passes(self, sender: int, receiver: int, slots: tuple[int, int] = (0, 0)) -> bool:
        """Whether one message gets from one host to the other."""
        return self.lost(sender, receiver, probes=1, slots=slots) == 0

    def lost(
        self,
        sender: int,
        receiver: int,
        probes: int,
        slots: tuple[int, int] = (0, 0),
        size: int = 16,
    ) -> int:
        """How many of so many datagrams did not come."""
        here, there = (
            self.plan.address(host, slot)
            for host, slot in zip((sender, receiver), slots, strict=True)
        )
        came = 0
        with (
            self.hosts.socket(sender, here, 9000 + slots[0]) as sending,
            self.hosts.socket(receiver, there, 9000 + slots[1]) as receiving,
        ):
            for number in range(probes):
                sending.sendto(b"\0" * size, (there, 9000 + slots[1]))
                if number % 32 == 0:
                    came += _waiting(receiving)
            while came < probes and select.select([receiving], [], [], 0.3)[0]:
                came += _waiting(receiving)
        return probes - came

    def remove(self) -> None:
        Network.remove(self.ledger)
        self.ledger.close()


LanMaker = Callable[..., Lan]


def _waiting(receiving: socket.socket) -> int:
    """How many datagrams there are to take."""
    count = 0
    while True:
        try:
            receiving.recv(65_535, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return count
        count += 1


def needs_root() -> str:
    """Why tests that need root cannot run; empty if they can."""
    return "" if os.geteuid() == 0 else "needs root, for network namespaces"
