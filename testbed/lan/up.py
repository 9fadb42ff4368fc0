"""`up`: a LAN from nothing until every agent on it takes part.

    folders ─► machines (runtime) ─► links (network): the LAN stands ─► agents join, one by one

Whatever is made is in the ledger before it is made; what an earlier command left behind is removed
first. Nothing of ours stays behind to watch over it: `lan.json` says what stands.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import msgspec

from agents.core.draw import derive
from agents.core.errors import LocalError
from agents.core.messages import PeerId
from testbed.bootstrap import Bootstrap
from testbed.lan.cluster import Cluster
from testbed.lan.down import clear, take_down
from testbed.lan.interrupting import sigterm_interrupts, uninterrupted
from testbed.lan.joining import LanRoster, join_all, tables_filled
from testbed.lan.ledger import Ledger
from testbed.lan.machines import machine_documents, user_files, write_machine
from testbed.lan.network import Network
from testbed.lan.plan import Plan, make_plan
from testbed.lan.runtimes import (
    HostSpec,
    Progress,
    Runtime,
    RuntimeName,
    give_away,
    open_runtime,
    runtimes_of,
)
from testbed.lan.standing import FILE, Standing, monotonic_ns, read_standing, write_standing
from testbed.lan.state import blame_disk, folder_of, require_root
from testbed.model.experiment import Experiment
from testbed.model.experiment import Network as Asked
from testbed.model.topology import Topology

Advance = Callable[[int, int], None]

MACHINE_MB, AGENT_MB = 96, 64
"""What a machine may take at the most, and each agent on it. Ours: several times what they use."""


class Watcher(Protocol):
    """Who is told how far it has come."""

    def begin(self, what: str) -> Advance: ...


@dataclass(frozen=True)
class Order:
    """What shall stand, and for which repetition of which experiment."""

    name: str
    topology: Topology
    experiment: Experiment
    runtime: RuntimeName = "auto"
    run: str = ""
    seed: int = 1
    """The experiment's; each repetition has its own, derived from it."""
    point: int = 0
    repetition: int = 0

    def standing(self, runtime: str) -> Standing:
        return Standing(
            name=self.name,
            runtime=runtime,
            topology=self.topology.model_dump(mode="json", by_alias=True),
            experiment=self.experiment.model_dump(mode="json", by_alias=True),
            run=self.run,
            seed=derive(self.seed, "repetition", self.repetition),
            file_seed=self.seed,
            point=self.point,
            repetition=self.repetition,
            epoch_ns=monotonic_ns(),
            started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        )


@dataclass
class Lan:
    """One that stands, in the hands of the command that raised or opened it."""

    folder: Path
    ledger: Ledger
    runtime: Runtime
    network: Network
    seconds: dict[str, float] = field(default_factory=dict)
    """What raising it took, by part."""

    def host_named(self, name: str) -> int:
        for host in self.network.plan.hosts:
            if host.name == name:
                return host.number
        first, last = self.network.plan.hosts[0].name, self.network.plan.hosts[-1].name
        raise LocalError(f"no host is called {name!r}: they are {first} … {last}")

    def cluster(self) -> Cluster:
        return Cluster(self.folder, read_standing(self.folder), self.runtime, self.network)


@contextmanager
def timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[part] = time.monotonic() - started


@dataclass(frozen=True)
class Joined:
    roster: LanRoster
    stragglers: list[PeerId]
    """Who does not take part, or knows nobody."""


@contextmanager
def holding(name: str, made: bool = False) -> Iterator[Ledger]:
    """Be the one command that works on the LAN, which has to be there already if it is `made`."""
    require_root("a LAN")
    ledger = (Ledger.open if made else Ledger.create)(folder_of(name))
    try:
        with ledger.hold():
            yield ledger
    except OSError as error:
        if error.filename is None:
            blame_disk(error)
        raise


@contextmanager
def or_nothing(ledger: Ledger, watcher: Watcher) -> Iterator[None]:
    """What goes wrong or is interrupted meanwhile leaves no half of a LAN behind."""
    refuse_if_kept(ledger)
    try:
        with sigterm_interrupts():
            yield
    except BaseException as error:
        with uninterrupted():
            watcher.begin("taking down what was made")
            said = last_words(ledger.folder)
            try:
                blame_disk(error)
            finally:
                take_down(ledger)
        if said and isinstance(error, LocalError):
            raise LocalError(f"{error}; {said}") from error
        raise


def last_words(folder: Path) -> str:
    """The last line that a machine printed, of the first that printed any: why it broke down."""
    for log in sorted(folder.glob("hosts/*/log.txt")):
        said = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
        if said:
            return f"{log.parent.name} said: {said[-1].strip()}"
    return ""


def refuse_if_kept(ledger: Ledger) -> None:
    """Somebody may be using a LAN that came to stand; what a killed command left, nobody is."""
    path = ledger.folder / FILE
    if path.exists() and read_standing(ledger.folder).kept:
        raise LocalError(
            f"LAN {ledger.folder.name} stands already: `testbed status` shows it, `testbed down` "
            "ends it, and another --name makes another"
        )


def keep(lan: Lan) -> None:
    """From now on it stays until somebody calls `down`."""
    write_standing(lan.folder, msgspec.structs.replace(read_standing(lan.folder), kept=True))


def raise_lan(order: Order, ledger: Ledger, watcher: Watcher) -> Lan:
    """Machines and links, in place of what is there; agents are there and wait to be started."""
    folder = ledger.folder
    clear(ledger)
    plan = make_plan(order.topology, order.name)
    runtime = open_runtime(order.runtime, order.name, ledger)
    standing = order.standing(runtime.name)
    specs = _prepare(folder, standing, plan)
    seconds: dict[str, float] = {}
    with timed(seconds, "machines"):
        pids = runtime.stand(specs, _told(watcher))
    with timed(seconds, "links"):
        watcher.begin("linking them")
        network = Network.build(plan, pids, ledger)
    # Only now: 71 supervisors that import Python would hold up the engine and the links.
    runtime.release()
    write_standing(folder, standing)
    return Lan(folder, ledger, runtime, network, seconds)


def open_lan(name: str, ledger: Ledger) -> Lan:
    """One that another command raised."""
    standing = read_standing(ledger.folder)
    plan = make_plan(standing.topology_model(), name)
    (runtime,) = runtimes_of(name, ledger)
    return Lan(ledger.folder, ledger, runtime, Network.open(plan, ledger))


def repopulate(lan: Lan, order: Order) -> None:
    """The same machines and links with new agents, for the next repetition."""
    standing = order.standing(lan.runtime.name)
    for host in lan.runtime.specs():
        if lan.runtime.pid(host) is None:
            lan.network.attach(host, lan.runtime.restart(host))
    _prepare(lan.folder, standing, lan.network.plan)
    lan.network.unimpair()
    write_standing(lan.folder, standing)
    asyncio.run(_reload(lan))


def impair(lan: Lan, asked: Asked) -> None:
    """Lose messages as in the simulator: from the beginning, so that tables are built under it."""

    async def act() -> None:
        async with lan.cluster() as cluster:
            if asked.loss:
                cluster.set_loss(asked.loss)
            for pair in asked.losses:
                cluster.set_loss(pair.loss, (pair.from_, pair.to))

    asyncio.run(act())


def join_now(
    lan: Lan,
    experiment: Experiment,
    watcher: Watcher,
    stillborn: frozenset[PeerId] = frozenset(),
) -> Joined:
    """Let the agents of a LAN that was just raised or repopulated join."""
    bootstrap = Bootstrap(experiment, read_standing(lan.folder).seed)
    return asyncio.run(let_join(lan, bootstrap, stillborn, watcher))


async def let_join(
    lan: Lan, bootstrap: Bootstrap, stillborn: frozenset[PeerId], watcher: Watcher
) -> Joined:
    """Start the agents in sequence, and wait until their tables are filled."""
    async with lan.cluster() as cluster:
        with timed(lan.seconds, "joining"):
            await all_reachable(cluster)
            advance = watcher.begin(f"letting {cluster.size - len(stillborn)} agents join")
            roster = await join_all(cluster, bootstrap, stillborn, advance)
        with timed(lan.seconds, "tables"):
            watcher.begin("waiting for their tables")
            stragglers = await tables_filled(cluster, roster)
        return Joined(roster, stragglers)


async def all_reachable(cluster: Cluster) -> None:
    """Wait until every agent's control answers; a machine that did not come up is named."""
    give_up_at = time.monotonic() + 60
    waiting = set(range(cluster.size))
    while waiting:
        statuses = await cluster.statuses()
        waiting = {agent for agent in waiting if statuses[agent] is None}
        if waiting and time.monotonic() > give_up_at:
            host = cluster.hosts[cluster.host_of(min(waiting))].name
            raise LocalError(
                f"{len(waiting)} agents did not come up within a minute, the first on {host}: "
                f"see `testbed logs {host}`"
            )
        if waiting:
            await asyncio.sleep(0.2)


async def _reload(lan: Lan) -> None:
    async def reload(cluster: Cluster, host: int) -> None:
        await cluster.answers(host)
        await cluster.ask_host(host, "reload")

    async with lan.cluster() as cluster:
        await asyncio.gather(*(reload(cluster, host) for host in cluster.hosts))


def _prepare(folder: Path, standing: Standing, plan: Plan) -> list[HostSpec]:
    """The machines' folders, with what their supervisors read."""
    bootstrap = Bootstrap(standing.experiment_model(), standing.seed)
    files = user_files(bootstrap)
    specs = []
    for number, machine in machine_documents(standing, bootstrap, plan).items():
        place = folder / "hosts" / machine.name
        write_machine(place, machine, files)
        give_away(place)
        memory = MACHINE_MB + AGENT_MB * len(machine.agents)
        specs.append(
            HostSpec(number, machine.name, place, memory, pids=32 + 8 * len(machine.agents))
        )
    return specs


def _told(watcher: Watcher) -> Progress:
    """A runtime says by itself what it is doing."""
    bars: dict[str, Advance] = {}

    def progress(what: str, done: int, total: int) -> None:
        if what not in bars:
            bars[what] = watcher.begin(what)
        bars[what](done, total)

    return progress


def look_at(name: str) -> Lan:
    """A LAN to look at, be it that another command is at work on it."""
    require_root("a LAN")
    return open_lan(name, Ledger.open(folder_of(name)))
