"""A sweep on Spark: points × repetitions as tasks of Spark jobs, and the folder that `simulate` leaves.

    tasks ─► groups, one a job, some jobs ahead ─► executors: run_once ─► results in order ─► folder

What executors need travels with the jobs: our own packages, the experiment, the files of a user's
protocols. What they make travels back as the task's result, a full journal too, compressed as it
will lie on disk. So no file system has to be shared, nothing of a lost executor stays behind, and
only this process writes to the run folder. An executor that is lost costs Spark's retry of the
groups that it had; an exception in a task is a result, which no retry would change.
"""

import pickle
import re
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path
from types import ModuleType

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark import Broadcast, SparkContext, SparkFiles
from pyspark.sql import SparkSession

import agents
import analysis
import testbed
from analysis.errors import AnalysisError
from analysis.session import LOCAL, said_in_a_sentence, session
from testbed.model.files import ExperimentFile
from testbed.sim.batch import Batch, Finished, Outcome, Progress, full_journal, run_once, run_with

OUR_PACKAGES: tuple[ModuleType, ...] = (agents, analysis, testbed)
_AHEAD = 2
"""How many jobs for each core are handed out before their turn."""
_MOST_JOBS = 256
"""At once; each has a thread here that waits for it."""
_MOST_IN_GROUP = 16
"""Tasks at the level `counts` that share what a Spark job costs, some 40 ms."""

Task = tuple[int, int]


@dataclass(frozen=True, slots=True)
class UserFile:
    """A user's protocol or membership, as the registry knows it in every process."""

    module: str
    path: str
    source: bytes


@dataclass(frozen=True, slots=True)
class Ran:
    outcome: Outcome
    journal: bytes
    """Its own, compressed; empty at the level `counts`."""


@dataclass(frozen=True, slots=True)
class Raised:
    error: BaseException
    trace: str


class TraceThere(Exception):
    """The cause of an error that was raised in an executor: its trace, as a text."""


def sweep(file: ExperimentFile, runs: Path, master: str, progress: Progress) -> Finished:
    """Start Spark, run it all, stop Spark."""
    with said_in_a_sentence(), session_with_our_code(master) as spark:
        return sweep_on(spark, file, runs, progress)


@contextmanager
def session_with_our_code(master: str = LOCAL) -> Iterator[SparkSession]:
    """A session whose executors can import what is ours, wherever they are."""
    with tempfile.TemporaryDirectory(prefix="testbed-sweep-") as folder, session(master) as spark:
        spark.sparkContext.addPyFile(str(pack(Path(folder, "testbed.zip"))))
        yield spark


def sweep_on(spark: SparkSession, file: ExperimentFile, runs: Path, progress: Progress) -> Finished:
    return run_with(partial(_in_spark, spark.sparkContext), file, runs, progress)


def pack(path: Path) -> Path:
    """Our packages' modules in a zip file, from which they can be imported."""
    with zipfile.ZipFile(path, "w") as packed:
        for package in OUR_PACKAGES:
            for folder in map(Path, package.__path__):
                for module in sorted(folder.rglob("*.py")):
                    packed.write(module, module.relative_to(folder.parent))
    return path


# Here


def _in_spark(context: SparkContext, batch: Batch) -> Generator[Outcome, None, None]:
    shared = context.broadcast((batch, user_files(batch)))
    groups = grouped(batch, context.defaultParallelism)
    with ThreadPoolExecutor(_MOST_JOBS) as pool:
        waiting: list[Future[list[Ran | Raised]]] = []
        try:
            while True:
                # Asked each time: executors come and go.
                jobs = min(_AHEAD * context.defaultParallelism, _MOST_JOBS)
                more = islice(groups, max(0, jobs - len(waiting)))
                waiting += [pool.submit(_run_job, context, shared, group) for group in more]
                if not waiting:
                    return
                for result in _results(waiting.pop(0)):
                    yield _taken(batch, result)
        finally:
            if waiting:  # somebody gave up: nobody wants to wait for what is under way
                for job in waiting:
                    job.cancel()
                context.cancelAllJobs()
            shared.unpersist()


def grouped(batch: Batch, cores: int) -> Iterator[tuple[Task, ...]]:
    """Tasks that go together: few enough to keep all cores busy, and full journals one by one."""
    total = len(batch.points) * batch.repetitions
    full = batch.points[0].experiment.journal == "full"
    size = 1 if full else max(1, min(_MOST_IN_GROUP, total // (4 * cores)))
    tasks = batch.tasks()
    while group := tuple(islice(tasks, size)):
        yield group


def user_files(batch: Batch) -> tuple[UserFile, ...]:
    """The files that points take classes from; reading the experiment has imported them."""
    names = {
        layer.name
        for point in batch.points
        for layer in (point.experiment.protocol, point.experiment.membership)
    }
    paths = {str(Path(name.rpartition(":")[0]).resolve()) for name in names if ":" in name}
    return tuple(
        UserFile(module, path, Path(path).read_bytes())
        for module, path in sorted(_imported_files())
        if path in paths
    )


def _imported_files() -> Iterator[tuple[str, str]]:
    for name, module in sys.modules.copy().items():
        path = getattr(module, "__file__", None)
        if path is not None:
            yield name, path


def _run_job(
    context: SparkContext, shared: Broadcast, group: tuple[Task, ...]
) -> list[Ran | Raised]:
    return context.runJob(context.parallelize([group], 1), partial(_run_groups, shared))


def _results(job: Future[list[Ran | Raised]]) -> list[Ran | Raised]:
    try:
        return job.result()
    except Py4JJavaError as error:
        raise AnalysisError(
            f"Spark gave up: {reason(error.java_exception.getMessage())}"
        ) from error


def _taken(batch: Batch, result: Ran | Raised) -> Outcome:
    if isinstance(result, Raised):
        raise result.error from TraceThere(result.trace)
    outcome = result.outcome
    if result.journal:
        path = batch.journals / full_journal(outcome.point, outcome.repetition)
        unfinished = path.with_name(path.name + ".part")
        unfinished.write_bytes(result.journal)
        unfinished.replace(path)
    return outcome


def reason(message: str) -> str:
    """What matters in Spark's pages about a job: Python's last line, or the last failure's first."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    python = [line for line in lines if re.match(r"[\w.]*(Error|Exception): ", line)]
    if python and "Traceback (most recent call last)" in message:
        return python[-1]
    first = lines[0] if lines else "it does not say why"
    failure = re.search(r"most recent failure: .*?\): (?:[\w.]+Exception: )?(.+)", first)
    return failure[1].partition(". ")[0] if failure else first


# In an executor


def _run_groups(
    shared: Broadcast, groups: Iterable[Sequence[Task]]
) -> Generator[Ran | Raised, None, None]:
    batch, files = shared.value
    for file in files:
        define(file)
    for group in groups:
        for task in group:
            result = run_task(batch, task, SparkFiles.getRootDirectory())
            yield result
            if isinstance(result, Raised):
                return


def define(file: UserFile) -> None:
    """Make it a module, as if the file were on this machine."""
    if file.module in sys.modules:
        return
    module = ModuleType(file.module)
    module.__file__ = file.path
    sys.modules[file.module] = module
    exec(compile(file.source, file.path, "exec"), module.__dict__)


def run_task(batch: Batch, task: Task, scratch: str) -> Ran | Raised:
    """`scratch` is a folder that Spark deletes, be it that this process is killed."""
    try:
        with tempfile.TemporaryDirectory(dir=scratch) as folder:
            outcome = run_once(replace(batch, journals=Path(folder)), *task)
            return Ran(outcome, b"".join(path.read_bytes() for path in Path(folder).iterdir()))
    except (Exception, SystemExit) as error:
        return Raised(_sendable(error), traceback.format_exc())


def _sendable(error: BaseException) -> BaseException:
    """The error itself if it survives the way back, or else one that says what it was."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
