"""A LAN that stands: which agent is where, how to reach it, and what can be done to it.

Control goes over Unix sockets in folders that machines share with us, so that it does not disturb
the LAN. Every method that changes something writes it into the journal of happenings.
"""

import asyncio
import base64
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import msgspec

from agents.core.errors import LocalError
from agents.core.messages import PeerId
from agents.core.overlay import OVERLAY
from agents.core.setting import Setting
from agents.host.control import ControlClient
from testbed.lan.happenings import Happenings
from testbed.lan.network import Network
from testbed.lan.runtimes import Runtime
from testbed.lan.standing import Standing, agents_by_host, write_standing

Status = dict[str, Any]

ANSWERS_WITHIN_S = 60.0
"""How long a machine may take to start; ours, for one that is very busy."""


class Cluster:
    """The machines and agents of one LAN. Use it with `async with`, which closes connections."""

    def __init__(
        self, folder: Path, standing: Standing, runtime: Runtime, network: Network
    ) -> None:
        self.folder = folder
        self.standing = standing
        self.runtime = runtime
        self.network = network
        self.topology = standing.topology_model()
        self.experiment = standing.experiment_model()
        self.hosts = {host.number: host for host in self.topology.host_list()}
        self.placement = self.topology.placement(self.experiment.size)
        self.agents_on = agents_by_host(self.placement)
        self._agent_at = {place: agent for agent, place in enumerate(self.placement)}
        self.happenings = Happenings(folder, standing)
        self._clients: dict[Path, ControlClient] = {}
        self._opening: dict[Path, asyncio.Lock] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exc: object) -> None:
        for path in list(self._clients):
            await self._disconnect(path)
        self.happenings.close()

    # Who is where

    @property
    def size(self) -> int:
        return len(self.placement)

    def host_of(self, agent: PeerId) -> int:
        return self.placement[agent][0]

    def host_folder(self, host: int) -> Path:
        return self.folder / "hosts" / self.hosts[host].name

    def interests(self, agent: PeerId) -> tuple[str, ...]:
        first = 0
        for topics, count in self.experiment.groups():
            if agent < first + count:
                return topics
            first += count
        raise LocalError(f"there is no agent {agent}: agents are numbered 0 to {self.size - 1}")

    def members(self, topic: str) -> list[PeerId]:
        return [agent for agent in range(self.size) if topic in self.interests(agent)]

    def host_named(self, name: str) -> int:
        for host in self.hosts.values():
            if host.name == name:
                return host.number
        raise LocalError(
            f"no host is called {name!r}: they are {self.hosts[1].name} to "
            f"{self.hosts[len(self.hosts)].name}"
        )

    # Talking to machines and agents

    async def ask_agent(self, agent: PeerId, do: str, **fields: Any) -> dict[str, Any]:
        folder = self.host_folder(self.host_of(agent))
        return await self._ask(folder / f"agent-{agent}.sock", do, fields)

    async def ask_host(self, host: int, do: str, **fields: Any) -> dict[str, Any]:
        return await self._ask(self.host_folder(host) / "supervisor.sock", do, fields)

    async def statuses(self) -> dict[PeerId, Status | None]:
        """Every agent's own word; `None` of those who do not answer: crashed, or frozen."""
        found = await asyncio.gather(*(self._status(agent) for agent in range(self.size)))
        return dict(enumerate(found))

    async def all_agents(self, do: str, **fields: Any) -> None:
        """Ask it of all who take part."""
        statuses = await self.statuses()
        here = [agent for agent, status in statuses.items() if status and status["started"]]
        await asyncio.gather(*(self.ask_agent(agent, do, **fields) for agent in here))

    async def start(self, agent: PeerId, setting: Setting) -> None:
        await self.ask_agent(
            agent,
            "start",
            contacts={
                scope: list(setting.contacts.get(scope, ()))
                for scope in (*setting.contacts, OVERLAY)
            },
            super_contacts={topic: list(peers) for topic, peers in setting.super_contacts.items()},
            neighbourhood=list(setting.neighbourhood),
        )
        for topic, changes in self.standing.configured:
            await self.ask_agent(agent, "configure", topic=topic, changes=changes)

    async def publish(
        self, agent: PeerId, topic: str, data: bytes, psel: float | None = None
    ) -> str:
        answer = await self.ask_agent(
            agent, "publish", topic=topic, data=base64.b64encode(data).decode(), psel=psel
        )
        return str(answer["event"])

    async def broken_down(self) -> list[PeerId]:
        """Agents whose process ended by itself; who was killed ended by a signal."""
        found = []
        for host in self.hosts:
            try:
                agents = (await self.ask_host(host, "status"))["agents"]
            except LocalError:
                continue  # the machine is down
            found += [int(agent) for agent, slot in agents.items() if slot["exit"] is not None]
        return sorted(found)

    # What can be done to them

    async def crash(self, agents: Iterable[PeerId]) -> list[PeerId]:
        """SIGKILL; returns those who were up."""
        hit = []
        for agent in agents:
            host = self.host_of(agent)
            if await self._is_running(agent):
                self.happenings.crashed(agent, host)
                await self.ask_host(host, "kill", agent=agent)
                hit.append(agent)
        return hit

    async def respawn(self, agent: PeerId) -> bool:
        """A process for one that is down, which then has to be started; whether there is one now.
        Those of a machine that came back have theirs already; one that is down has none."""
        host = self.host_of(agent)
        match await self._state(agent):
            case "frozen" | "unreachable":
                return False
            case "running":
                return not (await self.ask_agent(agent, "status"))["started"]
        await self._disconnect(self.host_folder(host) / f"agent-{agent}.sock")
        await self.ask_host(host, "spawn", agent=agent)
        return True

    async def freeze(self, agents: Iterable[PeerId]) -> list[PeerId]:
        """Returns those who ran; who is down is left alone."""
        running = [agent for agent in agents if await self._state(agent) == "running"]
        for agent in running:
            await self.ask_host(self.host_of(agent), "freeze", agent=agent)
        return running

    async def thaw(self, agents: Iterable[PeerId]) -> list[PeerId]:
        """Returns those who were frozen."""
        frozen = [agent for agent in agents if await self._state(agent) == "frozen"]
        for agent in frozen:
            await self.ask_host(self.host_of(agent), "thaw", agent=agent)
        return frozen

    async def crash_host(self, host: int) -> list[PeerId]:
        """SIGKILL of the whole machine; returns the agents that went down with it."""
        hit = [agent for agent in self.agents_on.get(host, ()) if await self._is_running(agent)]
        for agent in hit:
            self.happenings.crashed(agent, host)
        await asyncio.to_thread(self.runtime.kill, host)
        for path in list(self._clients):
            if path.parent == self.host_folder(host):
                await self._disconnect(path)
        return hit

    async def restart_hosts(self, hosts: Iterable[int]) -> None:
        """Machines that are down again, with their links and what impairs these; their agents wait
        to be started."""
        for host in hosts:
            if not self.network.is_attached(host):
                # A command that was killed may have started it and not come to attach it.
                pid = self.runtime.pid(host)
                if pid is None:
                    pid = await asyncio.to_thread(self.runtime.restart, host)
                await asyncio.to_thread(self.network.attach, host, pid)
                await self.answers(host)

    async def answers(self, host: int) -> None:
        """Wait until a machine that was started can be asked."""
        give_up_at = time.monotonic() + ANSWERS_WITHIN_S
        while True:
            try:
                await self.ask_host(host, "status")
                return
            except LocalError as error:
                name = self.hosts[host].name
                if self.runtime.pid(host) is None or time.monotonic() > give_up_at:
                    raise LocalError(
                        f"{name} did not come up ({error}): see `testbed logs {name}`"
                    ) from None
            await asyncio.sleep(0.02)

    async def is_up(self, agent: PeerId) -> bool:
        """Whether it takes part now; one that is frozen does not."""
        try:
            if await self._state(agent) != "running":
                return False
            return bool((await self.ask_agent(agent, "status"))["started"])
        except LocalError:
            return False

    def set_loss(self, loss: float, between: tuple[str, str] | None = None) -> None:
        """Per message: everywhere, or from one community to another."""
        if between is None:
            self.network.set_loss(loss)
            self.happenings.impaired("loss", loss)
            return
        here, there = (self.addresses(self.members(topic)) for topic in between)
        self.network.set_loss(loss, between=(here, there))
        self.happenings.impaired("loss", loss, *between)

    def partition(self, sides: Mapping[str, int]) -> None:
        """By community; those on different sides cannot reach each other. None: all can."""
        groups: dict[int, list[str]] = {}
        for topic, side in sides.items():
            groups.setdefault(side, []).extend(self.addresses(self.members(topic)))
        if not sides:
            self.network.heal()
            self.happenings.impaired("partition", -1)
            return
        self.network.partition(list(groups.values()))
        for topic, side in sides.items():
            self.happenings.impaired("partition", side, topic)

    def note_drops(self) -> None:
        """What the network dropped between agents since it was last noted."""
        noted = self.happenings.noted_drops()
        for (cause, sender, receiver), copies in self.network.dropped_between().items():
            if sender in self._agent_at and receiver in self._agent_at:
                key = cause, self._agent_at[sender], self._agent_at[receiver]
                self.happenings.dropped(*key, copies - noted.get(key, 0))

    def addresses(self, agents: Sequence[PeerId]) -> list[str]:
        return [self.network.plan.address(*self.placement[agent]) for agent in agents]

    async def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        """From now on, also for those who are down and come back."""
        self.standing = msgspec.structs.replace(
            self.standing, configured=[*self.standing.configured, (topic, dict(changes))]
        )
        write_standing(self.folder, self.standing)
        await self.all_agents("configure", topic=topic, changes=dict(changes))

    # Within

    async def _is_running(self, agent: PeerId) -> bool:
        return await self._state(agent) in ("running", "frozen")

    async def _state(self, agent: PeerId) -> str:
        try:
            status = await self.ask_host(self.host_of(agent), "status")
        except LocalError:
            return "unreachable"  # its machine is down
        return str(status["agents"][str(agent)]["state"])

    async def _status(self, agent: PeerId) -> Status | None:
        try:
            return await asyncio.wait_for(self.ask_agent(agent, "status"), 2)
        except (LocalError, TimeoutError):
            return None

    async def _ask(self, path: Path, do: str, fields: Mapping[str, Any]) -> dict[str, Any]:
        return await (await self._client(path)).ask(do, **fields)

    async def _client(self, path: Path) -> ControlClient:
        async with self._opening.setdefault(path, asyncio.Lock()):
            if path in self._clients and self._clients[path].lost:
                await self._disconnect(path)  # it crashed, and may be back
            if path not in self._clients:
                self._clients[path] = await ControlClient.connect(path)
            return self._clients[path]

    async def _disconnect(self, path: Path) -> None:
        client = self._clients.pop(path, None)
        if client is not None:
            await client.close()
