"""Machines as the tests use them: real supervisors and agents on loopback, with ports of their own."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from functools import partial, wraps
from pathlib import Path
from time import monotonic_ns
from typing import Any, Self

import msgspec

from agents.core.errors import LocalError
from agents.core.overlay import OVERLAY
from agents.core.registry import memberships
from agents.host.control import ControlClient
from agents.host.machine import Machine

REPOSITORY = Path(__file__).parents[2]
Line = dict[str, Any]
THREE_TIERS = {".a": [0, 1], ".a.d": [2, 3, 4], ".a.d.g": [5, 6, 7, 8, 9, 10, 11]}


Test = Callable[..., Coroutine[Any, Any, None]]


def within(seconds: float) -> Callable[[Test], Callable[..., None]]:
    """A test that is a coroutine. It gives up where the condition it waits for never comes."""

    def decorate(test: Test) -> Callable[..., None]:
        @wraps(test)
        def runs(**arguments: Any) -> None:
            asyncio.run(asyncio.wait_for(test(**arguments), seconds))

        return runs

    return decorate


run = within(60)


def free_ports(count: int) -> list[int]:
    """Ports that nobody has, neither for datagrams nor for streams."""
    found: list[int] = []
    held: list[socket.socket] = []
    while len(found) < count:
        stream, datagram = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        held += [stream, datagram]
        stream.bind(("127.0.0.1", 0))
        try:
            datagram.bind(stream.getsockname())
        except OSError:
            continue
        found.append(stream.getsockname()[1])
    for each in held:
        each.close()
    return found


def machine(communities: Mapping[str, list[int]], *, gateways: int = 0, **fields: Any) -> Machine:
    """Everybody on one machine; a topic's name says what lies above it. Behind the members there may be
    gateways of an overlay."""
    members = 1 + max((agent for peers in communities.values() for agent in peers), default=0)
    size = members + gateways
    interests: dict[int, list[str]] = {agent: [] for agent in range(size)}
    for topic, peers in communities.items():
        for agent in peers:
            interests[agent].append(topic)
    described: dict[str, Any] = {
        "host": 1,
        "name": "h1",
        "epoch_ns": monotonic_ns(),
        "run": "test",
        "seed": 7,
        "addresses": [("127.0.0.1", port) for port in free_ports(size)],
        "agents": list(range(size)),
        "root": ".a",
        "topics": [(topic, []) for topic in sorted(communities) if topic != ".a"],
        "communities": dict(communities),
        "interests": interests,
        "protocol": "camcast",
        "membership": "static",
    }
    return Machine(**(described | fields))


class Running:
    """A machine that runs, until the block is left."""

    def __init__(self, folder: Path, machine: Machine) -> None:
        self.folder = folder
        self.machine = machine
        self.gateways: list[ControlClient] = []
        self._ends = AsyncExitStack()

    async def __aenter__(self) -> Self:
        (self.folder / "machine.json").write_bytes(msgspec.json.encode(self.machine))
        self.process = subprocess.Popen(
            [sys.executable, "-m", "agents.host", str(self.folder)], cwd=REPOSITORY
        )
        self.supervisor = await self.client("supervisor")
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._ends.aclose()
        self.process.send_signal(signal.SIGTERM)
        await asyncio.to_thread(self.process.wait)

    def at_end(self, act: Callable[[], Awaitable[None]]) -> None:
        self._ends.push_async_callback(act)

    async def client(self, whose: str) -> ControlClient:
        """Connected as soon as somebody listens there."""
        while True:
            try:
                client = await ControlClient.connect(self.folder / f"{whose}.sock")
            except LocalError:
                assert self.process.poll() is None, self.log()
                await asyncio.sleep(0.01)
            else:
                self.at_end(client.close)
                return client

    async def agents(self) -> list[ControlClient]:
        return [await self.client(f"agent-{agent}") for agent in self.machine.agents]

    async def start_all(self) -> list[ControlClient]:
        """All agents that are in communities, started one after the other; each knows those before
        it or, where the membership looks them up, a gateway that was started before them all."""
        found = dict(zip(self.machine.agents, await self.agents(), strict=True))
        gateways = {agent: found.pop(agent) for agent in [*found] if self.machine.is_gateway(agent)}
        for client in gateways.values():
            await client.ask("start")
        self.gateways = [*gateways.values()]
        for agent, client in found.items():
            await self._start(agent, client, [*gateways])
        return [*found.values()]

    async def _start(self, agent: int, client: ControlClient, gateways: list[int]) -> None:
        before = {
            topic: [peer for peer in peers if peer < agent][-2:]
            for topic, peers in self.machine.communities.items()
        }
        kind = memberships.load(self.machine.membership)
        contacts = {OVERLAY: gateways} if kind.looks_up else before
        above = {} if kind.looks_up else None if kind.instant else before
        await client.ask("start", contacts=contacts, super_contacts=above)
        await until(partial(has_joined, client))

    def journal(self, agent: int, life: int = 0) -> list[Line]:
        """The records of one who is dead or idle; every line is whole, the first is the header."""
        path = self.folder / "journal" / f"p0000-r0000-agent-{agent}-{life}.jsonl"
        assert path.read_bytes().endswith(b"\n")
        return _records(path)

    def journals(self) -> list[Line]:
        """All records so far; agents may be writing more, so a line may be on its way."""
        paths = sorted((self.folder / "journal").iterdir())
        return [record for path in paths for record in _records(path)]

    def log(self) -> str:
        path = self.folder / "log.txt"
        return path.read_text() if path.exists() else ""


def _records(path: Path) -> list[Line]:
    *lines, _unfinished = path.read_bytes().split(b"\n")
    header, *records = [json.loads(line) for line in lines]
    assert header["record"] == "header"
    return records


async def until(condition: Callable[[], Awaitable[bool]]) -> None:
    while not await condition():
        await asyncio.sleep(0.02)


async def has_joined(client: ControlClient) -> bool:
    return bool((await client.ask("status"))["joined"])


async def sent_is_received(clients: list[ControlClient]) -> bool:
    """Whether nothing is under way: the sums agree, and did so a moment ago."""
    sums = []
    for _ in range(2):
        found = [await client.ask("status") for client in clients]
        sums.append((sum(status["sent"] for status in found), sum(s["received"] for s in found)))
    return sums[0] == sums[1] and sums[0][0] == sums[0][1]


def is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
