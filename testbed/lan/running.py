"""`run`: an experiment on the LAN, from `up` to journals in a run folder.

Each repetition has agents of its own, on machines and links that are raised once. Points that differ
in nothing but what is published share a repetition's agents: one bring-up serves the sweep, and each
point has a journal of its own, whose time goes on where its first event is due.
"""

import asyncio
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

import msgspec

from agents.core.draw import stream
from agents.core.errors import LocalError
from agents.core.journal import Header
from testbed import faults
from testbed.bootstrap import Bootstrap
from testbed.lan import collecting
from testbed.lan.cluster import Cluster
from testbed.lan.down import take_down
from testbed.lan.fidelity import Fact, Fidelity
from testbed.lan.interrupting import sigterm_interrupts, uninterrupted
from testbed.lan.joining import until
from testbed.lan.ledger import Ledger
from testbed.lan.measure import measure
from testbed.lan.playing import Player
from testbed.lan.runtimes import RuntimeName
from testbed.lan.standing import Standing, monotonic_ns, read_standing, write_standing
from testbed.lan.up import (
    Lan,
    Order,
    Watcher,
    holding,
    impair,
    join_now,
    raise_lan,
    refuse_if_kept,
    repopulate,
)
from testbed.model.experiment import Experiment
from testbed.model.experiment import Network as Asked
from testbed.model.faults import Crash, Fault, Stillborn
from testbed.model.files import ExperimentFile, Point, parse
from testbed.model.topology import Topology
from testbed.runs import RunFolder, fingerprint

LINGERING_NS = 10_000_000_000
"""Over TCP, what is sent to a machine that came back may go into a connection to its last life, for
as long as the agents' transport leaves it unacknowledged."""
SETTLE_NS = 500_000_000
"""Between two points of one bring-up, so that the last copies of one are not met by the next. Ours."""


@dataclass(frozen=True)
class Ran:
    path: Path
    facts: tuple[Fact, ...]
    """What was asked of the machine, and what it did."""
    unpublished: int
    problems: tuple[str, ...]


def run(file: ExperimentFile, name: str, runtime: RuntimeName, out: Path, watcher: Watcher) -> Ran:
    """Interrupted at any point, it keeps what was collected and leaves no LAN behind."""
    with sigterm_interrupts(), holding(name) as ledger:
        refuse_if_kept(ledger)
        folder = RunFolder(out, file, "full")
        running = _Running(file, folder, watcher)
        try:
            try:
                running.play(name, runtime, ledger)
            finally:
                with uninterrupted():
                    watcher.begin("taking the LAN down")
                    keep_logs(ledger.folder, folder.path / "logs")
                    take_down(ledger)
        except BaseException as error:
            stopped = isinstance(error, KeyboardInterrupt)
            with uninterrupted():
                running.finish("interrupted" if stopped else "failed")
            raise
        running.finish("done")
    return Ran(
        folder.path,
        tuple(running.fidelity.facts()),
        running.unpublished,
        tuple(running.problems),
    )


def keep_logs(folder: Path, to: Path) -> None:
    """What machines printed, where they printed anything."""
    for log in sorted(folder.glob("hosts/*/log.txt")):
        if log.stat().st_size:
            to.mkdir(exist_ok=True)
            shutil.copyfile(log, to / f"{log.parent.name}.txt")


class _Running:
    """One experiment on its way."""

    def __init__(self, file: ExperimentFile, folder: RunFolder, watcher: Watcher) -> None:
        self.file = file
        self.folder = folder
        self.watcher = watcher
        self.fidelity = Fidelity()
        self.digests: dict[str, str] = {}
        self.unpublished = 0
        self.problems: list[str] = []
        self._lan: Lan | None = None
        self._measured: list[Asked] = []
        self._end: int | None = None
        """Until when the journal goes that is to be collected; not known if it was interrupted."""

    def play(self, name: str, runtime: RuntimeName, ledger: Ledger) -> None:
        total = len(self.file.points) * self.file.repetitions
        advance = self.watcher.begin(f"{self.file.name}: {total} runs on the LAN")
        done = 0
        for points in bring_ups(self.file.points):
            for repetition in range(self.file.repetitions):
                self._bring_up(points[0], repetition, name, runtime, ledger)
                for count, point in enumerate(points):
                    self._play_point(point, repetition, first=count == 0)
                    done += 1
                    advance(done, total)

    def finish(self, status: str) -> None:
        facts = [msgspec.to_builtins(fact) for fact in self.fidelity.facts()]
        if facts:
            (self.folder.path / "fidelity.json").write_text(json.dumps(facts, indent=1) + "\n")
        self.folder.finish(
            status,
            journals=self.digests,
            unpublished=self.unpublished,
            problems=self.problems,
        )

    def _bring_up(
        self, point: Point, repetition: int, name: str, runtime: RuntimeName, ledger: Ledger
    ) -> None:
        topology = _topology(point)
        order = Order(
            name=name,
            topology=topology,
            experiment=point.experiment,
            runtime=runtime,
            run=fingerprint(self.file),
            seed=self.file.seed,
            point=point.index,
            repetition=repetition,
        )
        if self._lan is not None and read_standing(ledger.folder).topology_model() == topology:
            repopulate(self._lan, order)
        else:
            self._lan = raise_lan(order, ledger, self.watcher)
        standing = read_standing(ledger.folder)
        bootstrap = Bootstrap(point.experiment, standing.seed)
        schedule = _schedule(point, standing, bootstrap)
        impair(self._lan, point.experiment.network)
        self._measure(self._lan, point.experiment.network)
        joined = join_now(self._lan, point.experiment, self.watcher, schedule.stillborn)
        if joined.stragglers:
            self.problems.append(
                f"point {point.index}, repetition {repetition}: {len(joined.stragglers)} agents did "
                "not take part when the workload began, or knew nobody"
            )

    def _measure(self, lan: Lan, asked: Asked) -> None:
        """Once for each network that is asked for, with its losses on it."""
        if asked not in self._measured:
            self._measured.append(asked)
            self.watcher.begin("measuring links")
            self.fidelity.note_links(one.as_json() for one in measure(lan.network))

    def _play_point(self, point: Point, repetition: int, first: bool) -> None:
        assert self._lan is not None
        self._end = None
        try:
            asyncio.run(self._play(self._lan, point, first))
        finally:
            with uninterrupted():
                self._collect(self._lan, point, repetition)

    async def _play(self, lan: Lan, point: Point, first: bool) -> None:
        if not first:
            await _turn_to(lan, point)
        async with lan.cluster() as cluster:
            standing = cluster.standing
            bootstrap = Bootstrap(point.experiment, standing.seed)
            schedule = _schedule(point, standing, bootstrap)
            if not first:  # what goes wrong has gone wrong for the points before it
                schedule = replace(schedule, steps=())
            player = Player(cluster, bootstrap, schedule)
            shift = _shift(cluster, player, (point.experiment.warm_up or 0) if first else SETTLE_NS)
            played = await player.play(shift, self.watcher.begin(_what(point)))
            self.unpublished += played.unpublished
            self.fidelity.note_lateness(played.latest_ns)
            self._end = await close_journals(cluster, self.fidelity)
            for agent in await cluster.broken_down():
                self.problems.append(
                    f"point {point.index}: agent {agent} broke down; the log of "
                    f"{cluster.hosts[cluster.host_of(agent)].name} is in logs/"
                )

    def _collect(self, lan: Lan, point: Point, repetition: int) -> None:
        if self._end is None:
            self._end = asyncio.run(_count_drops(lan))
        name = f"point-{point.index:04}-repetition-{repetition:04}.jsonl.gz"
        digest, problems = collect_repetition(
            lan.folder, self.folder.journals / name, point.index, repetition, self._end
        )
        self.digests[name] = digest
        self.problems += problems


async def collect(lan: Lan, out: Path) -> tuple[Path, list[str]]:
    """The journals so far of a LAN that goes on; the run folder, and what is missing."""
    standing = read_standing(lan.folder)
    file = parse(standing.experiment)
    folder = RunFolder(out, file, "full")
    fidelity = Fidelity()
    async with lan.cluster() as cluster:
        end = await close_journals(cluster, fidelity)
    name = "point-0000-repetition-0000.jsonl.gz"
    digest, problems = collect_repetition(
        lan.folder, folder.journals / name, standing.point, standing.repetition, end
    )
    facts = [msgspec.to_builtins(fact) for fact in fidelity.facts()]
    (folder.path / "fidelity.json").write_text(json.dumps(facts, indent=1) + "\n")
    folder.finish("done", journals={name: digest}, problems=problems)
    return folder.path, problems


def bring_ups(points: Sequence[Point]) -> list[list[Point]]:
    """Points that can be played one after another with the same agents: they differ in nothing but
    their workload, and whatever goes wrong on purpose is over before it and lasts."""

    def key(point: Point) -> str:
        document = point.experiment.model_dump(mode="json")
        if not all(_lasts(fault, point.experiment) for fault in point.experiment.faults):
            return f"alone {point.index}"
        for own in ("workload", "expect", "duration", "title"):
            document.pop(own, None)
        return json.dumps(document, sort_keys=True)

    return [list(group) for _, group in groupby(points, key)]


def _lasts(fault: Fault, experiment: Experiment) -> bool:
    first = min(line.at for line in experiment.workload)
    match fault:
        case Stillborn():
            return True
        case Crash(for_=None):
            return fault.at < first
        case _:
            return False


async def _turn_to(lan: Lan, point: Point) -> None:
    """The same agents, for another point: a new journal, whose time is that of the point."""
    async with lan.cluster() as cluster:
        standing = cluster.standing
        first_due = min((line.at for line in point.experiment.workload), default=0)
        epoch_ns = monotonic_ns() - max(0, first_due - SETTLE_NS)
        await cluster.all_agents("journal", point=point.index, epoch_ns=epoch_ns)
        lan.network.forget()
        turned = msgspec.structs.replace(
            standing,
            point=point.index,
            epoch_ns=epoch_ns,
            counting_since=monotonic_ns() - epoch_ns,
            experiment=point.experiment.model_dump(mode="json", by_alias=True),
        )
    write_standing(lan.folder, turned)


def _shift(cluster: Cluster, player: Player, warm_up_ns: int) -> int:
    """How much later than the file says everything has to happen, because joining took longer."""
    first = min((time for time, _ in player.timeline()), default=0)
    return max(0, cluster.happenings.now + warm_up_ns - first)


async def close_journals(cluster: Cluster, fidelity: Fidelity) -> int:
    """What only the end can tell: tables, agents' lag, the network's count of what it dropped;
    returns until when it counted."""
    await cluster.all_agents("tables")
    statuses = await cluster.statuses()
    answers = [status for status in statuses.values() if status]
    fidelity.note_agents(answers, f"{cluster.standing.seed} {cluster.standing.started}")
    return await count_drops(cluster)


async def _count_drops(lan: Lan) -> int:
    async with lan.cluster() as cluster:
        return await count_drops(cluster)


async def count_drops(cluster: Cluster) -> int:
    end = cluster.happenings.now
    # Whatever was sent by then has arrived or is lost when the network is asked.
    await until(cluster, end + collecting.GRACE_NS)
    cluster.note_drops()
    return end


def collect_repetition(
    folder: Path, path: Path, point: int, repetition: int, end: int
) -> tuple[str, list[str]]:
    """One journal out of all files of a repetition, with the copies that were sent until then; its
    digest, and what is missing."""
    standing = read_standing(folder)
    bootstrap = Bootstrap(standing.experiment_model(), standing.seed)
    home = {agent: topics[0] for agent, topics in enumerate(_topics_of_agents(bootstrap)) if topics}
    found = collecting.read(collecting.journals_of(folder, point, repetition))
    started = {record.agent for record in found.records if record.kind == "join"}
    found.records = collecting.last_tables(found.records)
    found.records = collecting.cut(found.records, standing.counting_since, end)
    lingering = LINGERING_NS if standing.experiment_model().transport == "tcp" else 0
    found.records += collecting.close_books(found.records, home, lingering)
    found.records.sort(key=lambda record: record.time)
    header = Header(
        level="full",
        engine="lan",
        run=standing.run,
        seed=standing.file_seed,
        point=point,
        repetition=repetition,
    )
    digest = collecting.write(path, header, found)
    schedule = faults.schedule(
        bootstrap.experiment, bootstrap.members, stream(standing.seed, "faults")
    )
    silent = [agent for agent in home if agent not in started | schedule.ever_down]
    where = f"point {point}, repetition {repetition}"
    return digest, [f"{where}: {len(silent)} agents never joined"] if silent else []


def _topics_of_agents(bootstrap: Bootstrap) -> list[tuple[str, ...]]:
    return [topics for topics, count in bootstrap.experiment.groups() for _ in range(count)]


def _schedule(point: Point, standing: Standing, bootstrap: Bootstrap) -> faults.Schedule:
    return faults.schedule(point.experiment, bootstrap.members, stream(standing.seed, "faults"))


def _topology(point: Point) -> Topology:
    topology = point.experiment.topology
    if topology is None:
        raise LocalError("an experiment on the LAN needs a topology, such as topology: smoke")
    return topology


def _what(point: Point) -> str:
    labels = ", ".join(f"{axis} = {value}" for axis, value in point.labels.items())
    return f"playing {labels}" if labels else "playing workload and faults"
