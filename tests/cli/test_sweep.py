"""`testbed sweep`, run for real."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from testbed.runs import read_manifest
from tests.support.command_line import refusal, run, start

SMALL = """\
name: small
protocol: gossip-broadcast
communities: {.: 5, .a: 5}
network: {latency: rounds, loss: $loss}
workload: [{topic: .a}]
repetitions: 2
sweep: {loss: [0, 0.5]}
"""
LAN = """\
name: lan
engine: lan
topology: smoke
protocol: gossip-broadcast
workload: [{topic: .a.d}]
duration: 5s
"""
OWN = """\
from agents.core.registry import protocols

class Boom(protocols.load("gossip-broadcast")):
    name = "boom"

    def on_message(self, sender, message):
        raise ValueError("boom\\nand bang")

class Slow(protocols.load("gossip-broadcast")):
    name = "slow"

    def publish(self, event):
        with open({pipe!r}) as pipe:
            pipe.read()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "small.yaml").write_text(SMALL)
    (tmp_path / "own.py").write_text(OWN.format(pipe=str(tmp_path / "wait")))
    return tmp_path


def only_run(folder: Path) -> Path:
    (path,) = (folder / "runs").iterdir()
    return path


# On Spark


@pytest.mark.slow
def test_it_prints_and_leaves_what_simulate_does(folder: Path) -> None:
    options = ("--seed", "77", "--repetitions", "3", "--journal", "counts", "--json")
    swept = run(folder, "sweep", "small.yaml", "--master", "local[2]", *options, "--out", "there")
    simulated = run(folder, "simulate", "small.yaml", *options, "--out", "here")
    assert (swept.returncode, swept.stderr) == (0, "")
    found, expected = json.loads(swept.stdout), json.loads(simulated.stdout)
    assert found["rows"] == expected["rows"]
    ours, theirs = read_manifest(folder / found["run"]), read_manifest(folder / expected["run"])
    assert ours["journals"] == theirs["journals"]
    assert (ours["seed"], ours["repetitions"], ours["level"]) == (77, 3, "counts")


@pytest.mark.slow
def test_a_protocol_that_raises_is_named_with_its_line(folder: Path) -> None:
    done = run(folder, "sweep", "small.yaml", "--protocol", "own.py:Boom")
    line = OWN.splitlines().index('        raise ValueError("boom\\nand bang")') + 1
    assert done.returncode == 1
    assert refusal(done) == (
        f"it failed: ValueError: boom and bang ({folder / 'own.py'}:{line}); "
        f"the whole trace is in runs/{only_run(folder).name}/failure.txt"
    )
    assert read_manifest(only_run(folder))["status"] == "failed"


@pytest.mark.slow
def test_an_interrupted_sweep_says_so_in_its_manifest(folder: Path) -> None:
    os.mkfifo(folder / "wait")
    process = start(folder, "sweep", "small.yaml", "--protocol", "own.py:Slow")
    # Opened for writing when an executor opened it for reading: it is in the middle of a task.
    with (folder / "wait").open("w"):
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate()
    done = subprocess.CompletedProcess(process.args, process.returncode, output, errors)
    assert done.returncode == 130
    assert refusal(done) == "interrupted"
    manifest = read_manifest(only_run(folder))
    assert (manifest["status"], manifest["journals"]) == ("interrupted", {})


# What it refuses, before Spark is started


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("missing.yaml",), "there is no experiment 'missing.yaml': "),
        (("small.yaml", "--protocol", "nonsense"), "no protocol is called 'nonsense'"),
        (("small.yaml", "--repetitions", "0"), "must be at least 1, is 0"),
        (("small.yaml", "--journal", "nonsense"), "must be full or counts, is 'nonsense'"),
        (("small.yaml", "--workers", "2"), "--workers"),
        (("lan.yaml",), "lan.yaml is for the LAN"),
        ((), "experiment"),
    ],
)
def test_what_is_wrong_is_refused_in_a_sentence(
    folder: Path, options: tuple[str, ...], expected: str
) -> None:
    (folder / "lan.yaml").write_text(LAN)
    done = run(folder, "sweep", *options)
    assert done.returncode == 2
    assert expected.lower() in refusal(done).lower()
    assert not (folder / "runs").exists()
