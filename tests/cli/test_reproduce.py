"""`testbed reproduce`, run for real."""

import fcntl
import json
import subprocess
from pathlib import Path

import pytest

from analysis.papers.registry import find
from testbed.reproduce import reproduce
from tests.support.command_line import refusal, run
from tests.test_reproduce import StopsAt

FEW = ("--repetitions", "2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("reproduce")


@pytest.fixture(scope="module")
def tables(folder: Path) -> subprocess.CompletedProcess[str]:
    """Both tables, of which the first run had been done when somebody interrupted it."""
    with pytest.raises(KeyboardInterrupt):
        reproduce(
            find(["cam-t1", "cam-t2"]),
            folder / "runs/reproduce",
            StopsAt("simulating camcast-table-1-gossip"),
            repetitions=2,
        )
    return run(folder, "reproduce", "cam-t1", "cam-t2", *FEW)


def test_every_claim_is_printed_with_its_verdict(tables: subprocess.CompletedProcess[str]) -> None:
    assert tables.stderr == ""
    lines = tables.stdout.splitlines()
    assert max(map(len, lines)) <= 100
    assert lines[0].split() == ["claim", "printed", "measured", "95", "%", "interval", "verdict"]
    assert "cam-t1: Table 1, rounds to reach all communities" in map(str.rstrip, lines)
    (parasites,) = [line for line in lines if "parasite events, CAMCAST, 1000" in line]
    assert parasites.split()[-6:] == ["0", "0", "0", "to", "0", "holds"]
    (pmcast,) = [line for line in lines if "parasite events, PMcast, 1000" in line]
    assert pmcast.split()[-4:] == ["453", "-", "not", "measured"]


def test_what_was_interrupted_goes_on_where_it_stopped(
    tables: subprocess.CompletedProcess[str], folder: Path
) -> None:
    assert "1 of 3 runs were there already; --fresh runs them again" in tables.stdout
    manifests = [
        json.loads(path.read_text())
        for path in (folder / "runs/reproduce").glob("camcast-table-1-gossip-*/manifest.json")
    ]
    assert sorted(manifest["status"] for manifest in manifests) == ["done", "interrupted"]


def test_the_report_is_where_it_says(
    tables: subprocess.CompletedProcess[str], folder: Path
) -> None:
    said = tables.stdout.splitlines()[-1]
    assert said == "report: runs/reproduce/report.html"
    page = (folder / "runs/reproduce/report.html").read_text()
    assert "parasite events, gossip, 1000, 100, 10" in page


def test_one_claim_that_differs_is_exit_code_1(tables: subprocess.CompletedProcess[str]) -> None:
    differing = [line for line in tables.stdout.splitlines() if " differs: " in line]
    assert differing
    assert tables.returncode == 1
    assert "From 2 repetitions only" in " ".join(tables.stdout.split())


def test_the_list_has_the_last_verdicts(
    tables: subprocess.CompletedProcess[str], folder: Path
) -> None:
    shown = run(folder, "reproduce", "--list")
    assert shown.returncode == 0
    rows = {line.split()[0]: line for line in shown.stdout.splitlines()}
    assert rows["id"].split() == ["id", "what", "engine", "time", "last", "verdict"]
    assert rows["cam-t2"].rstrip().endswith("all 6 hold (2 repetitions)")
    assert rows["da-11"].rstrip().endswith("-")


def test_all_that_hold_are_exit_code_0_though_some_cannot_be_measured(
    tables: subprocess.CompletedProcess[str], folder: Path
) -> None:
    done = run(folder, "reproduce", "cam-t2", *FEW)
    assert "9 claims: 6 hold, 0 differ, 3 not measured" in done.stdout
    assert done.returncode == 0


def test_the_list_can_be_of_some_and_needs_nothing_done(tmp_path: Path) -> None:
    shown = run(tmp_path, "reproduce", "--list", "cam-13..14")
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["id", "cam-13", "cam-14"]
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_name_is_refused_with_what_there_is(tmp_path: Path) -> None:
    done = run(tmp_path, "reproduce", "cam-99")
    assert done.returncode == 2
    assert refusal(done).startswith("nothing is called 'cam-99': there are camcast with cam-t1,")


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path) -> None:
    with (tmp_path / ".lock").open("w") as lock:
        fcntl.lockf(lock, fcntl.LOCK_EX)
        done = run(tmp_path, "reproduce", "cam-t2", *FEW, "--out", tmp_path)
    assert done.returncode == 2
    assert "another `testbed reproduce` is at work in" in refusal(done)


def test_repetitions_that_cannot_be_are_refused(tmp_path: Path) -> None:
    done = run(tmp_path, "reproduce", "cam-t2", "--repetitions", "0")
    assert done.returncode == 2
    assert "repetitions" in refusal(done)
    assert list(tmp_path.iterdir()) == []
