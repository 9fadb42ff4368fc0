"""`testbed simulate`, run for real."""

import gzip
import hashlib
import json
import os
import resource
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import REPOSITORY, refusal, run, start

SMALL = """\
name: small
title: "[/small] :smile: [red]as written"
protocol: gossip-broadcast
communities: {.: 5, .a: 5}
network: {latency: rounds, loss: $loss}
workload: [{topic: .a}]
repetitions: 2
sweep: {loss: [0, 0.5]}
"""
COLUMNS = [
    "members",
    "reception",
    "reliability",
    "sent",
    "efficiency",
    "upward",
    "parasites",
    "rounds",
]
FULL_JOURNALS = [
    f"point-000{point}-repetition-000{repetition}.jsonl.gz"
    for point in range(2)
    for repetition in range(2)
]

OWN = """\
from agents.core.registry import protocols

class Same(protocols.load("gossip-broadcast")):
    name = "same"

class Boom(Same):
    name = "boom"

    def on_message(self, sender, message):
        raise ValueError("boom\\nand bang")

class Quits(Same):
    name = "quits"

    def publish(self, event):
        raise SystemExit(0)

class Odd(Exception):
    def __init__(self, one, two):
        super().__init__(one)

class Unsendable(Same):
    name = "unsendable"

    def publish(self, event):
        raise Odd(1, 2)
"""
MOODY = """\
import random
from agents.core.registry import protocols

class Moody(protocols.load("gossip-broadcast")):
    name = "moody"

    def publish(self, event):
        if random.random() < 0.5:
            super().publish(event)
        else:
            self.port.deliver(event)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "own.py").write_text(OWN)
    return tmp_path


def only_run(folder: Path, runs: str = "runs") -> Path:
    (found,) = (folder / runs).iterdir()
    return found


def manifest_of(path: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((path / "manifest.json").read_text())
    return manifest


def points_of(path: Path) -> list[dict[str, Any]]:
    return [point["experiment"] for point in json.loads((path / "points.json").read_text())]


# What it prints.


def test_a_table_is_printed_whole_and_then_where_the_journals_are(folder: Path) -> None:
    done = run(folder, "simulate", "small.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    title, header, *rows, end = done.stdout.splitlines()
    assert title == "[/small] :smile: [red]as written"
    assert header.split() == ["loss", "community", *COLUMNS]
    assert [row.split()[:3] for row in rows] == [
        ["0", ".a", "5"],
        ["0", ".", "5"],
        ["0.5", ".a", "5"],
        ["0.5", ".", "5"],
    ]
    assert end == f"journals: runs/{only_run(folder).name}"


def test_names_that_are_wider_than_a_terminal_are_not_cut(folder: Path) -> None:
    topic = ".a" + "b" * 50
    (folder / "wide.yaml").write_text(SMALL.replace(".a", topic))
    done = run(folder, "simulate", "wide.yaml")
    assert done.returncode == 0
    assert f" {topic} " in done.stdout
    assert "…" not in done.stdout


def test_json_is_all_there_is_on_standard_output(folder: Path) -> None:
    done = run(folder, "simulate", "small.yaml", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert list(found) == ["run", "rows"]
    assert found["run"] == f"runs/{only_run(folder).name}"
    assert list(found["rows"][0]) == ["point", "community", *COLUMNS]
    assert [(row["point"], row["community"]) for row in found["rows"]] == [
        (0, ".a"),
        (0, "."),
        (1, ".a"),
        (1, "."),
    ]


def test_json_stays_json_when_it_is_checked_too(folder: Path) -> None:
    done = run(folder, "simulate", "small.yaml", "--json", "--check")
    assert done.returncode == 0
    assert list(json.loads(done.stdout)) == ["run", "rows"]
    assert done.stderr == "check: a second run gave the same 4 journals, byte for byte\n"


def test_of_very_many_rows_the_first_are_printed(folder: Path) -> None:
    many = SMALL.replace("[0, 0.5]", str([n / 100 for n in range(40)]))
    (folder / "many.yaml").write_text(many)
    done = run(folder, "simulate", "many.yaml", "--repetitions", "1", "--journal", "counts")
    assert len(done.stdout.splitlines()) == 2 + 60 + 2
    assert "… and 20 more rows; --json prints them all" in done.stdout.splitlines()


def test_events_that_nobody_could_publish_are_mentioned(folder: Path) -> None:
    text = SMALL + "faults: [{kind: stillborn, fraction: 1.0, communities: [.a]}]\n"
    (folder / "quiet.yaml").write_text(text)
    done = run(folder, "simulate", "quiet.yaml")
    assert done.returncode == 0
    assert "4 events were not published: nobody who could was up at their time" in done.stdout


# What it leaves behind.


def test_a_run_folder_has_all_that_is_needed_to_work_on(folder: Path) -> None:
    assert run(folder, "simulate", "small.yaml").returncode == 0
    path = only_run(folder)
    assert sorted(entry.name for entry in path.iterdir()) == [
        "experiment.yaml",
        "journal",
        "manifest.json",
        "points.json",
    ]
    assert (path / "experiment.yaml").read_text() == SMALL
    assert [point["network"]["loss"] for point in points_of(path)] == [0, 0.5]
    manifest = manifest_of(path)
    assert manifest["status"] == "done"
    assert manifest["seed"] == 1
    assert {"python", "testbed", "msgspec"} <= set(manifest["versions"])
    assert sorted(manifest["journals"]) == FULL_JOURNALS
    for name, digest in manifest["journals"].items():
        lines = gzip.decompress((path / "journal" / name).read_bytes())
        assert hashlib.sha256(lines).hexdigest() == digest


def test_one_of_ours_runs_by_its_name_from_any_folder(folder: Path) -> None:
    done = run(folder, "simulate", "camcast-scamp", "--repetitions", "1", "--journal", "counts")
    assert (done.returncode, done.stderr) == (0, "")
    path = only_run(folder)
    ours = REPOSITORY / "experiments" / "camcast-scamp.yaml"
    assert (path / "experiment.yaml").read_bytes() == ours.read_bytes()


def test_runs_go_where_they_are_told_to(folder: Path) -> None:
    done = run(folder, "simulate", folder / "small.yaml", "--out", "deep/down")
    assert done.returncode == 0
    assert not (folder / "runs").exists()
    assert f"journals: deep/down/{only_run(folder, 'deep/down').name}" in done.stdout


def test_seed_repetitions_and_level_are_replaced_from_the_command_line(folder: Path) -> None:
    options = ("--seed", "77", "--repetitions", "3", "--journal", "counts")
    assert run(folder, "simulate", "small.yaml", *options).returncode == 0
    path = only_run(folder)
    manifest = manifest_of(path)
    assert (manifest["seed"], manifest["repetitions"], manifest["level"]) == (77, 3, "counts")
    for point in points_of(path):
        assert (point["seed"], point["repetitions"], point["journal"]) == (77, 3, "counts")
    assert sorted(manifest["journals"]) == ["point-0000.jsonl", "point-0001.jsonl"]
    for name, digest in manifest["journals"].items():
        lines = (path / "journal" / name).read_bytes()
        assert hashlib.sha256(lines).hexdigest() == digest
        header, *_ = lines.splitlines()
        assert json.loads(header)["seed"] == 77


def test_journals_depend_on_the_seed_and_not_on_the_workers(folder: Path) -> None:
    for out, *options in (
        ("one", "--workers", "1"),
        ("three", "--workers", "3"),
        ("other", "--seed", "2"),
    ):
        assert run(folder, "simulate", "small.yaml", "--out", out, *options).returncode == 0
    one, three, other = (
        manifest_of(only_run(folder, out))["journals"] for out in ("one", "three", "other")
    )
    assert one == three
    assert all(one[name] != other[name] for name in one)


# A protocol of one's own, and whether it is deterministic.


def test_a_protocol_from_a_file_runs_in_place_of_the_experiments(folder: Path) -> None:
    done = run(folder, "simulate", "small.yaml", "--protocol", "own.py:Same", "--check")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.endswith("check: a second run gave the same 4 journals, byte for byte\n")
    names = [point["protocol"]["name"] for point in points_of(only_run(folder))]
    assert names == [f"{folder / 'own.py'}:Same"] * 2


def test_a_protocol_that_is_not_deterministic_fails_the_check(folder: Path) -> None:
    (folder / "moody.py").write_text(MOODY)
    # Of so many events, that all fall the same way twice will not be seen.
    (folder / "long.yaml").write_text(SMALL.replace("topic: .a", "topic: .a, count: 100"))
    done = run(folder, "simulate", "long.yaml", "--protocol", "moody.py:Moody", "--check")
    assert (done.returncode, done.stderr) == (1, "")
    names = ", ".join(FULL_JOURNALS)
    assert done.stdout.endswith(f"check: 4 of 4 journals differ: {names}\n")


def test_a_check_whose_second_run_fails_has_failed(folder: Path) -> None:
    (folder / "once.py").write_text(
        "from pathlib import Path\n"
        "from agents.core.registry import protocols\n"
        "class Once(protocols.load('gossip-broadcast')):\n"
        "    name = 'once'\n"
        "    def publish(self, event):\n"
        "        if Path('once').exists():\n"
        "            raise ValueError('not again')\n"
        "        Path('once').touch()\n"
    )
    text = SMALL.replace("repetitions: 2", "repetitions: 1").replace("[0, 0.5]", "[0]")
    (folder / "one.yaml").write_text(text)
    done = run(folder, "simulate", "one.yaml", "--protocol", "once.py:Once", "--check")
    assert (done.returncode, done.stderr) == (1, "")
    last = done.stdout.splitlines()[-1]
    assert last.startswith("check: the second run failed: it failed: ValueError: not again (")


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_protocol_that_raises_is_named_with_its_line_and_its_trace_is_kept(
    folder: Path, workers: str
) -> None:
    options = ("--protocol", "own.py:Boom", "--workers", workers)
    done = run(folder, "simulate", "small.yaml", *options)
    path = only_run(folder)
    line = OWN.splitlines().index('        raise ValueError("boom\\nand bang")') + 1
    assert done.returncode == 1
    assert refusal(done) == (
        f"it failed: ValueError: boom and bang ({folder / 'own.py'}:{line}); "
        f"the whole trace is in runs/{path.name}/failure.txt"
    )
    trace = (path / "failure.txt").read_text()
    assert "in on_message" in trace
    assert "ValueError: boom" in trace
    assert manifest_of(path)["status"] == "failed"


@pytest.mark.parametrize("name", ["Quits", "Unsendable"])
@pytest.mark.parametrize("workers", ["1", "2"])
def test_however_a_protocol_ends_it_the_run_has_failed(
    folder: Path, name: str, workers: str
) -> None:
    options = ("--protocol", f"own.py:{name}", "--workers", workers)
    done = run(folder, "simulate", "small.yaml", *options)
    assert done.returncode == 1
    assert refusal(done).startswith("it failed: ")
    assert manifest_of(only_run(folder))["status"] == "failed"


# What it refuses.


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{[", "bad.yaml:1:3: not YAML: "),
        ("", "bad.yaml: is empty; "),
        (SMALL + "colour: red\n", "bad.yaml:9:1: colour: "),
        (SMALL.replace("$loss", "1.2"), "bad.yaml:5:34: network.loss: must be at most 1, is 1.2"),
        (SMALL.replace("0.5]", "1.2]"), "bad.yaml:8:19: network.loss: must be at most 1, is 1.2"),
        (SMALL.replace("topic: .a", "topic: .b"), "bad.yaml:6:"),
        (SMALL.replace("gossip-broadcast", "gossip-broadcats"), "bad.yaml:3:"),
        (SMALL.replace("gossip-broadcast", "torn.py:X"), "bad.yaml:3:"),
    ],
)
def test_a_wrong_file_is_refused_with_its_place(folder: Path, text: str, expected: str) -> None:
    (folder / "torn.py").write_text("def (")
    (folder / "bad.yaml").write_text(text)
    done = run(folder, "simulate", "bad.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith(f"testbed: {expected}")
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
    assert not (folder / "runs").exists()


def test_binary_garbage_is_refused(folder: Path) -> None:
    (folder / "bad.yaml").write_bytes(bytes(range(256)))
    done = run(folder, "simulate", "bad.yaml")
    assert done.returncode == 2
    assert refusal(done).startswith("bad.yaml: ")


@pytest.mark.parametrize("name", ["missing.yaml", ".", "camcast-table-11", ""])
def test_what_is_no_experiment_is_refused_and_ours_are_listed(folder: Path, name: str) -> None:
    done = run(folder, "simulate", name)
    assert done.returncode == 2
    sentence = refusal(done)
    assert sentence.startswith(f"there is no experiment '{name}': ")
    assert "camcast-table-1" in sentence


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--protocol", "nonsense"), "no protocol is called 'nonsense'"),
        (("--protocol", "torn.py:X"), "cannot be imported: SyntaxError: "),
        (("--protocol", "gone.py:X"), "there is no file "),
        (("--protocol", "own.py:Gone"), "has no class 'Gone'"),
        (("--repetitions", "0"), "must be at least 1, is 0"),
        (("--repetitions", "-1"), "must be at least 1, is -1"),
        (("--repetitions", "abc"), "'--repetitions'"),
        (("--seed", "-1"), "must be at least 0, is -1"),
        (("--seed", "0.5"), "'--seed'"),
        (("--journal", "nonsense"), "must be full or counts, is 'nonsense'"),
        (("--workers", "0"), "'--workers'"),
        (("--nonsense",), "--nonsense"),
        (("--out", "small.yaml"), "small.yaml is not a folder"),
        (("--out", "small.yaml/below"), "small.yaml/below is not a folder"),
        (("--out", "dangling"), "dangling is not a folder"),
    ],
)
def test_a_wrong_option_is_refused_in_a_sentence(
    folder: Path, options: tuple[str, ...], expected: str
) -> None:
    (folder / "torn.py").write_text("def (")
    (folder / "dangling").symlink_to("nowhere")
    done = run(folder, "simulate", "small.yaml", *options)
    assert done.returncode == 2
    assert expected in refusal(done)
    assert not (folder / "runs").exists()


def test_an_experiment_must_be_named(folder: Path) -> None:
    done = run(folder, "simulate")
    assert done.returncode == 2
    assert "experiment" in refusal(done)


def test_an_experiment_for_the_lan_is_not_simulated(folder: Path) -> None:
    smoke = (REPOSITORY / "experiments" / "smoke.yaml").read_text()
    (folder / "lan.yaml").write_text(smoke)
    done = run(folder, "simulate", "lan.yaml")
    assert done.returncode == 2
    assert refusal(done).startswith("lan.yaml is for the LAN")


# What the machine and the user do to it.


def test_a_folder_that_cannot_be_made_is_the_machines_failure(folder: Path) -> None:
    done = run(folder, "simulate", "small.yaml", "--out", "/proc/none")  # not even root can
    assert done.returncode == 4
    assert refusal(done).startswith("/proc/none: ")


def few_bytes_a_file() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (8_000, 8_000))


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_disk_that_takes_no_more_is_the_machines_failure(folder: Path, workers: str) -> None:
    options = ("--journal", "counts", "--repetitions", "40", "--workers", workers)
    done = run(folder, "simulate", "small.yaml", *options, before=few_bytes_a_file)
    assert done.returncode == 4
    assert "File too large" in refusal(done)
    assert manifest_of(only_run(folder))["status"] == "failed"


def test_output_that_cannot_be_written_is_the_machines_failure(folder: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = run(folder, "simulate", "small.yaml", stdout=full.fileno())
    assert done.returncode == 4
    assert refusal(done) == "No space left on device"


@pytest.mark.parametrize("options", [(), ("--json",)])
def test_nobody_reading_the_output_is_no_reason_for_a_trace(
    folder: Path, options: tuple[str, ...]
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(folder, "simulate", "small.yaml", *options, stdout=writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (130, "")
    assert manifest_of(only_run(folder))["status"] == "done"


@pytest.mark.parametrize("workers", ["1", "2"])
def test_an_interrupted_run_says_so_in_its_manifest(folder: Path, workers: str) -> None:
    (folder / "slow.py").write_text(
        "from agents.core.registry import protocols\n"
        "class Slow(protocols.load('gossip-broadcast')):\n"
        "    name = 'slow'\n"
        "    def publish(self, event):\n"
        "        with open('wait') as pipe:\n"
        "            pipe.read()\n"
    )
    os.mkfifo(folder / "wait")
    options = ("--protocol", "slow.py:Slow", "--workers", workers)
    process = start(folder, "simulate", "small.yaml", *options)
    # Opened for writing when the protocol opened it for reading: it is in the middle of a run.
    with (folder / "wait").open("w"):
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    assert done.returncode == 130
    assert refusal(done) == "interrupted"
    path = only_run(folder)
    manifest = manifest_of(path)
    assert (manifest["status"], manifest["journals"]) == ("interrupted", {})
    assert not (path / "failure.txt").exists()


HIERARCHY = """\
name: hierarchy
protocol: {name: camcast, g: 100, a: 3}
communities: {.: 5, .a: 10}
network: {latency: {uniform: [1ms, 3ms]}}
bootstrap: {contacts: 2, spacing: 100ms}
workload: [{topic: .a, at: 30s}]
duration: 40s
"""


@pytest.mark.parametrize("membership", ["scamp", "scamp+pgrid", "pgrid"])
def test_tables_are_of_the_membership_that_the_command_line_names(
    tmp_path: Path, membership: str
) -> None:
    (tmp_path / "hierarchy.yaml").write_text(HIERARCHY)
    options = ("--membership", membership, "--json")

    done = run(tmp_path, "simulate", "hierarchy.yaml", *options)

    assert done.returncode == 0, done.stderr
    (point,) = points_of(only_run(tmp_path))
    assert point["membership"]["name"] == membership
    reception = {row["community"]: row["reception"] for row in json.loads(done.stdout)["rows"]}
    assert (reception["."], reception[".a"]) == (1, 1)
