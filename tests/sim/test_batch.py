"""A whole file in the simulator: the same journals however it is run, and an honest manifest."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.model.files import ExperimentFile, parse
from testbed.runs import read_manifest
from testbed.sim.batch import Finished, simulate

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT: dict[str, object] = {
    "name": "batch",
    "protocol": {"name": "camcast", "maintain_every_s": 2},
    "membership": "scamp",
    "communities": {".": 4, ".a": 12},
    "network": {"latency": {"uniform": ["1ms", "30ms"]}, "loss": "$loss"},
    "bootstrap": {"spacing": "10ms"},
    "workload": [{"topic": ".a", "at": "2s", "count": 2}],
    "faults": [{"kind": "crash", "at": "3s", "for": "1s", "fraction": 0.3}],
    "duration": "6s",
    "repetitions": 3,
    "seed": 11,
    "sweep": {"loss": [0, 0.2]},
}
TROUBLE = """\
import os
import signal
from agents.protocols.gossip import GossipBroadcast

class Failing(GossipBroadcast):
    name = "failing"

    def publish(self, event):
        if event.topic == ".bad":
            raise RuntimeError("a mistake of the protocol's")
        super().publish(event)

class Interrupted(GossipBroadcast):
    name = "interrupted"

    def publish(self, event):
        if event.topic == ".bad":
            try:
                open({once!r}, "x").close()
            except FileExistsError:
                pass  # one signal is enough
            else:
                os.kill({process}, signal.SIGINT)
            signal.pause()  # a worker waits here until it is ended, lest it finish first
        super().publish(event)
"""


def quiet(done: int, total: int) -> None:
    pass


def file(level: str = "full", **fields: object) -> ExperimentFile:
    return parse({**DOCUMENT, "journal": level, **fields})


def journals(run: Path) -> dict[str, bytes]:
    """By name, what is under its final name."""
    return {
        path.name: gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        for path in sorted((run / "journal").iterdir())
    }


def only_run(runs: Path) -> Path:
    (run,) = runs.iterdir()
    return run


def check_whole(run: Path) -> dict[str, bytes]:
    """Whatever has its final name begins with a header and ends with its line's end."""
    found = journals(run)
    assert not [name for name in found if name.endswith(".part")]
    for data in found.values():
        assert json.loads(data.splitlines()[0])["record"] == "header"
        assert data.endswith(b"\n")
    return found


# The journals


@pytest.mark.parametrize("level", ["full", "counts"])
def test_journals_are_the_same_bytes_with_any_number_of_workers(tmp_path: Path, level: str) -> None:
    runs = [simulate(file(level), tmp_path / str(n), n, quiet) for n in (1, 2, 3)]

    first = runs[0]
    assert len(first.digests) == (6 if level == "full" else 2)
    for run in runs[1:]:
        assert journals(run.path) == journals(first.path)
        assert run.digests == first.digests
        assert run.outcomes == first.outcomes


def test_both_levels_give_the_same_counts(tmp_path: Path) -> None:
    full, counts = (simulate(file(level), tmp_path, 1, quiet) for level in ("full", "counts"))

    def numbers(finished: Finished) -> list[Any]:
        return [(o.point, o.repetition, o.counts, o.total) for o in finished.outcomes]

    assert numbers(full) == numbers(counts)
    assert [(o.point, o.repetition) for o in full.outcomes] == [
        (point, repetition) for point in range(2) for repetition in range(3)
    ]


def test_journals_do_not_depend_on_the_hash_seed(tmp_path: Path) -> None:
    path = tmp_path / "experiment.json"
    path.write_text(json.dumps({**DOCUMENT, "repetitions": 1}))
    program = (
        "import sys; from pathlib import Path; from testbed.model.files import load_experiment; "
        "from testbed.sim.batch import simulate; "
        "simulate(load_experiment(Path(sys.argv[1])), Path(sys.argv[2]), 1, lambda a, b: None)"
    )
    for hash_seed in ("0", "1", "4711"):
        subprocess.run(
            [sys.executable, "-c", program, str(path), str(tmp_path / hash_seed)],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": hash_seed},
            check=True,
        )

    first, *others = (journals(only_run(tmp_path / seed)) for seed in ("0", "1", "4711"))
    assert len(first) == 2
    assert all(other == first for other in others)


def test_a_full_journal_is_of_one_repetition_and_counts_are_of_a_point(tmp_path: Path) -> None:
    full, counts = (simulate(file(level), tmp_path, 1, quiet) for level in ("full", "counts"))

    assert list(check_whole(full.path)) == [
        f"point-000{point}-repetition-000{repetition}.jsonl.gz"
        for point in range(2)
        for repetition in range(3)
    ]
    for name, data in journals(full.path).items():
        header = json.loads(data.splitlines()[0])
        assert (header["level"], header["engine"], header["seed"]) == ("full", "sim", 11)
        assert name.startswith(f"point-{header['point']:04}-repetition-{header['repetition']:04}.")
    for point, data in enumerate(check_whole(counts.path).values()):
        header, *lines = map(json.loads, data.splitlines())
        assert (header["level"], header["point"]) == ("counts", point)
        assert {line["point"] for line in lines} == {point}
        totals = [line["repetition"] for line in lines if line["record"] == "total"]
        assert totals == [0, 1, 2]


def test_the_manifest_has_the_digest_of_every_journal_and_says_that_it_is_done(
    tmp_path: Path,
) -> None:
    finished = simulate(file(), tmp_path, 2, quiet)

    manifest = read_manifest(finished.path)
    assert manifest["status"] == "done"
    assert manifest["journals"] == finished.digests
    assert finished.digests == {
        name: hashlib.sha256(data).hexdigest() for name, data in journals(finished.path).items()
    }


def test_events_that_nobody_could_publish_are_in_the_manifest(tmp_path: Path) -> None:
    absent = file(faults=[{"kind": "stillborn", "fraction": 1}])
    finished = simulate(absent, tmp_path, 2, quiet)

    assert read_manifest(finished.path)["unpublished"] == 2 * 3 * 2
    assert [outcome.unpublished for outcome in finished.outcomes] == [2] * 6


@pytest.mark.parametrize("workers", [1, 2])
def test_progress_is_told_from_nothing_to_all(tmp_path: Path, workers: int) -> None:
    told: list[tuple[int, int]] = []

    simulate(file("counts"), tmp_path, workers, lambda done, total: told.append((done, total)))

    assert told == [(done, 6) for done in range(7)]


def test_more_workers_than_tasks_do_no_harm(tmp_path: Path) -> None:
    finished = simulate(file("counts", repetitions=1), tmp_path, 50, quiet)

    assert len(finished.outcomes) == 2


# When it goes wrong


@pytest.fixture
def trouble(tmp_path: Path) -> Callable[..., ExperimentFile]:
    """A file whose first point is well and whose second one is not."""

    def make(kind: str, level: str = "full") -> ExperimentFile:
        path = tmp_path / "trouble.py"
        path.write_text(TROUBLE.format(process=os.getpid(), once=str(tmp_path / "signalled")))
        fields: Mapping[str, object] = {
            "protocol": f"{path}:{kind}",
            "communities": {".": 4, ".good": 5, ".bad": 5},
            "workload": [{"topic": "$topic", "at": "2s"}],
            "network": {},
            "sweep": {"topic": [".good", ".bad"]},
            "repetitions": 2,
        }
        return file(level, **fields)

    return make


@pytest.mark.parametrize("level", ["full", "counts"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_task_fails_the_run_and_what_was_done_before_stays(
    tmp_path: Path, trouble: Callable[..., ExperimentFile], workers: int, level: str
) -> None:
    with pytest.raises(RuntimeError, match="a mistake of the protocol's"):
        simulate(trouble("Failing", level), tmp_path / "runs", workers, quiet)

    run = only_run(tmp_path / "runs")
    manifest = read_manifest(run)
    whole = check_whole(run)
    assert manifest["status"] == "failed"
    assert len(manifest["journals"]) == (2 if level == "full" else 1)
    assert list(whole) == list(manifest["journals"])


@pytest.fixture
def pythons_own_handler() -> Iterator[None]:
    """Of SIGINT; Spark, where a test before started it in this process, has another."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("pythons_own_handler")
@pytest.mark.parametrize("workers", [1, 2])
def test_an_interruption_is_in_the_manifest_and_leaves_only_whole_journals(
    tmp_path: Path, trouble: Callable[..., ExperimentFile], workers: int
) -> None:
    """The signal comes while a task is under way, here or in a worker."""
    with pytest.raises(KeyboardInterrupt):
        simulate(trouble("Interrupted"), tmp_path / "runs", workers, quiet)

    run = only_run(tmp_path / "runs")
    manifest = read_manifest(run)
    assert manifest["status"] == "interrupted"
    whole = check_whole(run)
    # With workers, some of what is whole may not have been taken in when the signal came.
    assert manifest["journals"].keys() <= whole.keys()
    assert all(name.startswith("point-0000") for name in whole)
    if workers == 1:
        assert len(manifest["journals"]) == len(whole) == 2
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interruption_between_two_tasks_is_one_too(tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(file("counts"), tmp_path, 2, interrupt)

    run = only_run(tmp_path)
    assert read_manifest(run)["status"] == "interrupted"
    assert list(check_whole(run)) == ["point-0000.jsonl"]


DISK_FULL = """
import resource, sys
from pathlib import Path
from testbed.model.files import load_experiment
from testbed.sim.batch import simulate

file = load_experiment(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
try:
    simulate(file, Path(sys.argv[2]), int(sys.argv[3]), lambda done, total: None)
except OSError as error:
    print(type(error).__name__, error.errno)
"""


@pytest.mark.parametrize("level", ["full", "counts"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_file_that_cannot_grow_fails_the_run_and_leaves_no_torn_journal(
    tmp_path: Path, level: str, workers: int
) -> None:
    """A limit on the size of files stands for a disk that is full."""
    path = tmp_path / "experiment.json"
    workload = [{"topic": ".a", "at": "2s", "count": 100, "every": "10ms"}]
    path.write_text(json.dumps({**DOCUMENT, "journal": level, "workload": workload}))

    done = subprocess.run(
        [sys.executable, "-c", DISK_FULL, str(path), str(tmp_path / "runs"), str(workers)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )

    assert (done.stdout, done.returncode) == ("OSError 27\n", 0), done.stderr
    run = only_run(tmp_path / "runs")
    assert read_manifest(run)["status"] == "failed"
    assert check_whole(run) == {}


GIVEN_UP = """
import faulthandler
from testbed.sim import batch

faulthandler.dump_traceback_later(120, exit=True)
too_long_for_a_pipe = bytes(3_000_000)
batch.run_once = lambda _, point, repetition: batch.Outcome(
    point, repetition, too_long_for_a_pipe, "", (), None, 0
)


class Batch:
    points, repetitions = range(50), 10

    def tasks(self):
        return ((point, repetition) for point in self.points for repetition in range(10))


for _ in range(30):
    outcomes = batch._in_processes(2, Batch())
    next(outcomes)
    outcomes.close()
"""


def test_who_gives_up_does_not_wait_for_what_a_worker_was_just_sending() -> None:
    """In a process of its own, which says where it stood if it never ends."""
    done = subprocess.run(
        [sys.executable, "-c", GIVEN_UP], cwd=ROOT, capture_output=True, text=True
    )

    assert (done.returncode, done.stderr) == (0, "")
