"""Sweeps on Spark: what `simulate` would have left, wherever tasks ran and whatever was lost."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from testbed.model.files import ExperimentFile, load_experiment, parse
from testbed.runs import fingerprint, read_manifest
from testbed.sim.batch import Batch, full_journal, run_once, simulate
from testbed.sweeps import Raised, Ran, define, grouped, pack, reason, run_task, user_files
from tests.support.command_line import REPOSITORY, start
from tests.support.spark_cluster import spark_cluster

DOCUMENT: dict[str, object] = {
    "name": "swept",
    "protocol": "camcast",
    "membership": "scamp",
    "communities": {".": 4, ".a": 12},
    "network": {"latency": {"uniform": ["1ms", "30ms"]}, "loss": "$loss"},
    "bootstrap": {"spacing": "10ms"},
    "workload": [{"topic": ".a", "at": "2s"}],
    "duration": "6s",
    "repetitions": 4,
    "seed": 11,
    "sweep": {"loss": [0, 0.2]},
}
TASKS = 8

OWN = """\
import os
from pathlib import Path
from agents.protocols.gossip import GossipBroadcast

HERE = Path({here!r})

class Failing(GossipBroadcast):
    name = "failing"

    def publish(self, event):
        raise RuntimeError("a mistake of the protocol's")

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)

class Unsendable(GossipBroadcast):
    name = "unsendable"

    def publish(self, event):
        raise Odd("one", "two")

class Quitting(GossipBroadcast):
    name = "quitting"

    def publish(self, event):
        raise SystemExit(0)

class Dying(GossipBroadcast):
    name = "dying"

    def publish(self, event):
        os._exit(3)

class Marking(GossipBroadcast):
    "Notes each task that begins; the first of all says so and then never ends."
    name = "marking"

    def publish(self, event):
        with (HERE / "begun").open("a") as begun:
            begun.write(f"{{os.getpid()}}\\n")
        try:
            (HERE / "first").touch(exist_ok=False)
        except FileExistsError:
            super().publish(event)
        else:
            (HERE / "first-began").write_text(str(os.getpid()))
            (HERE / "never").read_text()
"""


def quiet(done: int, total: int) -> None:
    pass


def file(**fields: object) -> ExperimentFile:
    return parse({**DOCUMENT, **fields})


def batch_of(file: ExperimentFile, journals: Path = Path("nowhere")) -> Batch:
    return Batch(file.points, file.repetitions, file.seed, fingerprint(file), journals)


def journals(run: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (run / "journal").iterdir()}


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.py"
    path.write_text(OWN.format(here=str(tmp_path)))
    return path


# What goes to executors


def test_tasks_are_grouped_at_the_level_counts_and_keep_their_order() -> None:
    batch = batch_of(file(journal="counts", repetitions=100))
    groups = list(grouped(batch, cores=2))
    assert [task for group in groups for task in group] == list(batch.tasks())
    assert {len(group) for group in groups[:-1]} == {16}


def test_few_tasks_are_not_grouped_so_that_every_core_has_some() -> None:
    assert [len(group) for group in grouped(batch_of(file(journal="counts")), 2)] == [1] * TASKS


def test_tasks_with_a_journal_of_their_own_are_never_grouped() -> None:
    batch = batch_of(file(journal="full", repetitions=100))
    assert {len(group) for group in grouped(batch, cores=2)} == {1}


def test_our_code_can_be_imported_from_the_file_it_is_packed_in(tmp_path: Path) -> None:
    packed = pack(tmp_path / "packed.zip")
    program = (
        "import testbed.sweeps, agents.core.registry as r; "
        "print(testbed.sweeps.__file__); print('camcast' in r.protocols.names())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={"PYTHONPATH": str(packed)},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"{packed}/testbed/sweeps.py\nTrue\n", done.stderr
    with zipfile.ZipFile(packed) as found:
        assert {name.partition("/")[0] for name in found.namelist()} == {
            *("agents", "analysis", "testbed")
        }


def test_a_users_file_becomes_the_same_module_where_there_is_no_such_file(own: Path) -> None:
    (one,) = user_files(batch_of(file(protocol=f"{own}:Failing")))
    assert one.path == str(own)
    own.unlink()
    loaded = sys.modules.pop(one.module)  # as in another process
    try:
        define(one)
        defined = sys.modules[one.module]
        assert defined is not loaded
        assert defined.Failing.publish.__code__.co_filename == str(own)
        again = file(protocol=f"{own}:Failing")  # which finds the module and asks for no file
        assert again.points[0].experiment.protocol.name == f"{own}:Failing"
    finally:
        sys.modules[one.module] = loaded


def test_protocols_of_ours_need_no_file() -> None:
    assert user_files(batch_of(file())) == ()


# What comes back


@pytest.mark.parametrize("level", ["full", "counts"])
def test_a_task_brings_its_journal_back_and_leaves_nothing(tmp_path: Path, level: str) -> None:
    scratch, kept = tmp_path / "scratch", tmp_path / "kept"
    scratch.mkdir()
    kept.mkdir()
    batch = batch_of(file(journal=level), kept)
    result = run_task(batch, (1, 2), str(scratch))
    assert isinstance(result, Ran)
    assert list(kept.iterdir()) == list(scratch.iterdir()) == []
    assert result.outcome == run_once(batch, 1, 2)
    expected = (kept / full_journal(1, 2)).read_bytes() if level == "full" else b""
    assert result.journal == expected


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("Failing", RuntimeError, "a mistake of the protocol's"),
        ("Unsendable", RuntimeError, "Odd: one"),
        ("Quitting", SystemExit, "0"),
    ],
)
def test_a_tasks_error_is_a_result_that_can_be_sent(
    tmp_path: Path, own: Path, name: str, kind: type[BaseException], message: str
) -> None:
    result = run_task(batch_of(file(protocol=f"{own}:{name}")), (0, 0), str(tmp_path))
    assert isinstance(result, Raised)
    back = pickle.loads(pickle.dumps(result.error))
    assert (type(back), str(back)) == (kind, message)
    assert f'File "{own}", line ' in result.trace
    assert list(tmp_path.iterdir()) == [own]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (
            "Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times, most recent "
            "failure: Lost task 0.3 in stage 2.0 (TID 5) (127.0.0.1 executor 0): "
            "org.apache.spark.SparkException: Python worker exited unexpectedly (crashed). "
            "Consider setting this and that.\n\tat org.apache.spark.Some(Some.scala:1)",
            "Python worker exited unexpectedly (crashed)",
        ),
        (
            "Job aborted due to stage failure: Task 0 in stage 2.0 failed 4 times, most recent "
            "failure: Lost task 0.3 in stage 2.0 (TID 5) (127.0.0.1 executor 0): "
            "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
            '  File "worker.py", line 1, in main\n'
            "ModuleNotFoundError: No module named 'msgspec'\n\tat org.apache.spark.Some",
            "ModuleNotFoundError: No module named 'msgspec'",
        ),
        (
            "Job 3 cancelled because SparkContext was shut down",
            "Job 3 cancelled because SparkContext was shut down",
        ),
        ("", "it does not say why"),
    ],
)
def test_of_sparks_pages_what_matters_is_said(message: str, expected: str) -> None:
    assert reason(message) == expected


# On Spark in this machine

SEVERAL = """\
import json, sys
from pathlib import Path
from testbed.model.files import load_experiment
from testbed.sweeps import session_with_our_code, sweep_on

asked = json.loads(sys.argv[1])
found = []
with session_with_our_code("local[2]") as spark:
    for path, overrides, out in asked:
        told = []
        try:
            file = load_experiment(Path(path), overrides)
            sweep_on(spark, file, Path(out), lambda *now: told.append(now))
            found.append({"told": told})
        except BaseException as error:
            cause = str(error.__cause__)
            found.append({"error": type(error).__name__, "message": str(error), "cause": cause})
print(json.dumps(found))
"""
ASKED: dict[str, dict[str, object]] = {
    "full": {"journal": "full"},
    "counts": {"journal": "counts", "repetitions": 50},
    "Failing": {},
    "Unsendable": {},
    "Quitting": {},
    "Dying": {},
}


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All that is asked of local Spark, in one session in a process of its own."""
    folder = tmp_path_factory.mktemp("swept")
    (folder / "own.py").write_text(OWN.format(here=str(folder)))
    (folder / "swept.yaml").write_text(json.dumps(DOCUMENT))
    asked = [
        (
            str(folder / "swept.yaml"),
            {"protocol": f"{folder / 'own.py'}:{name}", **ours} if name[0].isupper() else ours,
            str(folder / name),
        )
        for name, ours in ASKED.items()
    ]
    done = subprocess.run(
        [sys.executable, "-c", SEVERAL, json.dumps(asked)],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    for name, found in zip(ASKED, json.loads(done.stdout), strict=True):
        (folder / name / "found.json").write_text(json.dumps(found))
    return folder


def of(swept: Path, name: str) -> tuple[dict[str, Any], Path]:
    (run,) = (path for path in (swept / name).iterdir() if path.is_dir())
    return json.loads((swept / name / "found.json").read_bytes()), run


@pytest.mark.slow
@pytest.mark.parametrize("level", ["full", "counts"])
def test_local_spark_leaves_what_simulate_leaves(tmp_path: Path, swept: Path, level: str) -> None:
    found, run = of(swept, level)
    expected = simulate(load_experiment(swept / "swept.yaml", ASKED[level]), tmp_path, 1, quiet)
    assert journals(run) == journals(expected.path)
    ours, theirs = read_manifest(run), read_manifest(expected.path)
    for manifest in (ours, theirs):
        del manifest["started"], manifest["ended"]
    assert ours == theirs
    for name in ("points.json", "experiment.yaml"):
        assert (run / name).read_bytes() == (expected.path / name).read_bytes()
    total = len(expected.outcomes)
    assert found["told"] == [[done, total] for done in range(total + 1)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("Failing", "RuntimeError", "a mistake of the protocol's"),
        ("Unsendable", "RuntimeError", "Odd: one"),
        ("Quitting", "SystemExit", "0"),
    ],
)
def test_an_error_in_an_executor_is_raised_here_with_its_trace(
    swept: Path, name: str, error: str, message: str
) -> None:
    found, run = of(swept, name)
    assert (found["error"], found["message"]) == (error, message)
    assert f'File "{swept / "own.py"}", line ' in found["cause"]
    assert read_manifest(run)["status"] == "failed"
    assert found["cause"].strip() in (run / "failure.txt").read_text()
    assert journals(run) == {}


@pytest.mark.slow
def test_a_protocol_that_ends_its_process_is_said_in_a_sentence(swept: Path) -> None:
    found, run = of(swept, "Dying")
    assert found["error"] == "AnalysisError"
    assert found["message"] == "Spark gave up: Python worker exited unexpectedly (crashed)"
    assert read_manifest(run)["status"] == "failed"


# On a cluster


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[str]:
    with spark_cluster(tmp_path / "cluster") as master:
        yield master


def parent(process: int) -> int:
    stat = Path(f"/proc/{process}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[1])


@pytest.mark.slow
def test_a_killed_executor_costs_a_retry_of_its_task_and_changes_nothing(
    tmp_path: Path, cluster: str, own: Path
) -> None:
    (tmp_path / "swept.yaml").write_text(json.dumps(DOCUMENT))
    place = f"{own}:Marking"
    (tmp_path / "first").touch()
    expected = simulate(
        load_experiment(tmp_path / "swept.yaml", {"protocol": place}), tmp_path / "one", 1, quiet
    )
    (tmp_path / "first").unlink()
    (tmp_path / "begun").unlink()
    for pipe in ("first-began", "never"):
        os.mkfifo(tmp_path / pipe)

    options = ("--protocol", place, "--master", cluster, "--json")
    sweep = start(tmp_path, "sweep", "swept.yaml", *options)
    task = int((tmp_path / "first-began").read_text())
    own.unlink()  # executors have what they need, those that come anew too
    executor = parent(parent(task))
    assert b"CoarseGrainedExecutorBackend" in Path(f"/proc/{executor}/cmdline").read_bytes()
    os.kill(executor, signal.SIGKILL)
    output, errors = sweep.communicate()

    assert (sweep.returncode, errors) == (0, "")
    run = tmp_path / json.loads(output)["run"]
    assert read_manifest(run)["journals"] == expected.digests
    assert journals(run) == journals(expected.path)
    begun = (tmp_path / "begun").read_text().split()
    assert len(begun) == TASKS + 1
    assert len(set(begun)) >= 2  # the lost one's process, and others
