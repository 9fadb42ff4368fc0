"""A whole experiment file in the simulator: every point, every repetition, on all cores.

Tasks are independent and their results are taken in order, so that the journals do not depend on
who runs them: `run_with` leaves the same folder for any `RunTasks`. At the level `counts` a point's
repetitions share one journal; at the level `full` each has its own.
"""

import signal
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import active_children, get_context
from pathlib import Path

import msgspec

from agents.core.journal import Count, Header, Total
from testbed.journal_files import JournalFile
from testbed.model.files import ExperimentFile, Point
from testbed.runs import RunFolder, fingerprint
from testbed.sim.count_recorder import CountRecorder
from testbed.sim.full_recorder import FullRecorder
from testbed.sim.scenario import Scenario
from testbed.sim.several_recorders import SeveralRecorders

_AHEAD = 4
"""How many tasks for each worker are handed out before their turn."""

Progress = Callable[[int, int], None]
"""Is told how many of how many repetitions are done."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One repetition of one point."""

    point: int
    repetition: int
    lines: bytes
    """What goes into a point's shared journal."""
    digest: str
    """Of the journal of its own, if it has one."""
    counts: tuple[Count, ...]
    total: Total
    unpublished: int


@dataclass(frozen=True, slots=True)
class Batch:
    """What workers need to know; the same for all of a run's tasks."""

    points: tuple[Point, ...]
    repetitions: int
    seed: int
    run: str
    journals: Path

    def tasks(self) -> Iterator[tuple[int, int]]:
        """Every point with every repetition, in the order in which outcomes are taken."""
        for point in self.points:
            for repetition in range(self.repetitions):
                yield point.index, repetition

    def header(self, point: int, repetition: int) -> bytes:
        header = Header(
            level=self.points[point].experiment.journal,
            engine="sim",
            run=self.run,
            seed=self.seed,
            point=point,
            repetition=repetition,
        )
        return msgspec.json.encode(header) + b"\n"


@dataclass(frozen=True, slots=True)
class Finished:
    path: Path
    outcomes: tuple[Outcome, ...]
    digests: dict[str, str]


RunTasks = Callable[[Batch], Generator[Outcome, None, None]]
"""A way of running a batch's tasks: gives their outcomes in the tasks' order. When it has given one
of the level `full`, that task's journal is in the batch's folder. Closing it ends what it began."""


def simulate(file: ExperimentFile, runs: Path, workers: int, progress: Progress) -> Finished:
    """Run it all in this many processes."""
    return run_with(partial(_in_processes, workers), file, runs, progress)


def run_with(run_tasks: RunTasks, file: ExperimentFile, runs: Path, progress: Progress) -> Finished:
    """Run it all, and keep what comes of it in a new folder of `runs`."""
    level = file.points[0].experiment.journal
    folder = RunFolder(runs, file, level)
    batch = Batch(file.points, file.repetitions, file.seed, fingerprint(file), folder.journals)
    outcomes: list[Outcome] = []
    digests: dict[str, str] = {}
    total = len(file.points) * file.repetitions
    progress(0, total)
    try:
        with closing(run_tasks(batch)) as results:
            for point in file.points:
                of_point = []
                for outcome in islice(results, file.repetitions):
                    of_point.append(outcome)
                    progress(len(outcomes) + len(of_point), total)
                digests.update(_keep(batch, point, of_point))
                outcomes.extend(_without_lines(outcome) for outcome in of_point)
    except BaseException as error:
        stopped = isinstance(error, KeyboardInterrupt)
        for unfinished in folder.journals.glob("*.part"):  # they may be what fills the disk
            unfinished.unlink(missing_ok=True)
        folder.finish("interrupted" if stopped else "failed", journals=digests)
        raise
    unpublished = sum(outcome.unpublished for outcome in outcomes)
    folder.finish("done", journals=digests, unpublished=unpublished)
    return Finished(folder.path, tuple(outcomes), digests)


def run_once(batch: Batch, point: int, repetition: int) -> Outcome:
    """One task, here and now."""
    experiment = batch.points[point].experiment
    scenario = Scenario(experiment, batch.seed, repetition)
    world, topics = scenario.world, scenario.topics
    lines: list[bytes] = []
    counts = CountRecorder(world, topics, lines.append, point, repetition)
    digest = ""
    if experiment.journal == "counts":
        world.recorder = counts
        scenario.run()
    else:
        with JournalFile(batch.journals / full_journal(point, repetition)) as journal:
            journal.write(batch.header(point, repetition))
            full = FullRecorder(world, topics, scenario.codec, journal.write)
            world.recorder = SeveralRecorders(full, counts)
            scenario.run()
        digest = journal.digest
    data = b"".join(lines)
    found = _decode_counts(data)
    return Outcome(
        point,
        repetition,
        data if experiment.journal == "counts" else b"",
        digest,
        tuple(line for line in found if isinstance(line, Count)),
        next(line for line in found if isinstance(line, Total)),
        scenario.unpublished,
    )


def full_journal(point: int, repetition: int) -> str:
    """The name of a task's own journal."""
    return f"point-{point:04}-repetition-{repetition:04}.jsonl.gz"


def _decode_counts(data: bytes) -> list[Count | Total]:
    decode = msgspec.json.Decoder(Count | Total).decode
    return [decode(line) for line in data.splitlines()]


def _keep(batch: Batch, point: Point, outcomes: list[Outcome]) -> dict[str, str]:
    """The journals of one point, with their digests."""
    if point.experiment.journal == "full":
        return {
            full_journal(outcome.point, outcome.repetition): outcome.digest for outcome in outcomes
        }
    name = f"point-{point.index:04}.jsonl"
    with JournalFile(batch.journals / name) as journal:
        journal.write(batch.header(point.index, 0))
        for outcome in outcomes:
            journal.write(outcome.lines)
    return {name: journal.digest}


def _without_lines(outcome: Outcome) -> Outcome:
    return Outcome(
        outcome.point,
        outcome.repetition,
        b"",
        outcome.digest,
        outcome.counts,
        outcome.total,
        outcome.unpublished,
    )


def _in_processes(workers: int, batch: Batch) -> Generator[Outcome, None, None]:
    tasks = batch.tasks()
    workers = min(workers, len(batch.points) * batch.repetitions)
    if workers == 1:
        for task in tasks:
            yield run_once(batch, *task)
        return
    others = active_children()
    with ProcessPoolExecutor(
        workers, mp_context=get_context("fork"), initializer=_begin, initargs=(batch,)
    ) as pool:
        waiting: list[Future[Outcome]] = []
        try:
            waiting += [pool.submit(_run_task, *task) for task in islice(tasks, _AHEAD * workers)]
            while waiting:
                yield waiting.pop(0).result()
                waiting += [pool.submit(_run_task, *task) for task in islice(tasks, 1)]
        finally:
            if waiting:  # somebody gave up: nobody wants to wait for what is under way
                for worker in active_children():
                    if worker not in others:
                        worker.terminate()
                # One that was sending leaves half a message behind, and its rest is waited for as
                # long as anybody, such as ourselves, could still write it.
                pool._result_queue._writer.close()  # type: ignore[attr-defined]
                pool.shutdown(wait=True, cancel_futures=True)


_batch: Batch
"""In a worker: what its tasks are about."""


def _begin(batch: Batch) -> None:
    global _batch
    _batch = batch
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent stops us


def _run_task(point: int, repetition: int) -> Outcome:
    return run_once(_batch, point, repetition)
