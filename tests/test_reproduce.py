"""Reproducing: which runs are used again, what is remembered, and who may work where.

What needs Spark is tried through the command line, in a process of its own.
"""

import json
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from analysis.papers.items import Claim
from analysis.papers.registry import find
from testbed.model import ExperimentFile, load_experiment
from testbed.reproduce import (
    Advance,
    Last,
    _remember,
    finished_run,
    judging_code,
    last_verdicts,
    reproduce,
)
from testbed.runs import read_manifest
from testbed.sim.batch import simulate

SMALL = """\
name: small
protocol: gossip-broadcast
communities: {.: 5}
network: {latency: rounds}
workload: [{topic: .}]
repetitions: 2
"""


@pytest.fixture
def experiment(tmp_path: Path) -> ExperimentFile:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return load_experiment(path)


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def run(file: ExperimentFile, out: Path) -> Path:
    return simulate(file, out, 1, lambda done, total: None).path


def change(path: Path, **facts: object) -> None:
    (path / "manifest.json").write_text(json.dumps(read_manifest(path) | facts))


# What is used again


def test_a_whole_run_of_the_same_experiment_is_used_again(
    experiment: ExperimentFile, out: Path
) -> None:
    assert finished_run(out, experiment) is None
    path = run(experiment, out)
    assert finished_run(out, experiment) == path


@pytest.mark.parametrize("overrides", [{"seed": 7}, {"repetitions": 3}, {"journal": "counts"}])
def test_a_run_with_anything_else_asked_for_is_not(
    experiment: ExperimentFile, out: Path, overrides: dict[str, object]
) -> None:
    run(experiment, out)
    assert finished_run(out, load_experiment(experiment.path, overrides)) is None


@pytest.mark.parametrize("status", ["running", "interrupted", "failed"])
def test_a_run_that_did_not_end_well_is_not(
    experiment: ExperimentFile, out: Path, status: str
) -> None:
    change(run(experiment, out), status=status)
    assert finished_run(out, experiment) is None


@pytest.mark.parametrize("what", ["code", "python", "msgspec"])
def test_a_run_by_other_code_is_not(experiment: ExperimentFile, out: Path, what: str) -> None:
    path = run(experiment, out)
    change(path, versions=read_manifest(path)["versions"] | {what: "of yesterday"})
    assert finished_run(out, experiment) is None


def test_a_run_by_the_same_code_at_another_commit_is(experiment: ExperimentFile, out: Path) -> None:
    path = run(experiment, out)
    change(path, versions=read_manifest(path)["versions"] | {"testbed": "of yesterday"})
    assert finished_run(out, experiment) == path


def test_a_run_that_lost_a_journal_is_not(experiment: ExperimentFile, out: Path) -> None:
    path = run(experiment, out)
    next((path / "journal").iterdir()).unlink()
    assert finished_run(out, experiment) is None


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"status": "done"}'])
def test_a_manifest_that_says_nothing_is_passed_over(
    experiment: ExperimentFile, out: Path, text: str
) -> None:
    path = run(experiment, out)
    broken = out / "small-broken"
    broken.mkdir()
    (broken / "manifest.json").write_text(text)
    assert finished_run(out, experiment) == path


def test_of_several_the_latest_is_used(experiment: ExperimentFile, out: Path) -> None:
    first, second = run(experiment, out), run(experiment, out)
    change(first, started="2026-01-02T00:00:00Z")
    change(second, started="2026-01-01T00:00:00Z")
    assert finished_run(out, experiment) == first


# Interrupted


class StopsAt:
    """A user who loses patience at a step."""

    def __init__(self, what: str) -> None:
        self.what = what
        self.begun: list[str] = []

    def begin(self, what: str) -> Advance:
        self.begun.append(what)

        def advance(done: int, total: int) -> None:
            if what == self.what and done:
                raise KeyboardInterrupt

        return advance


def test_what_was_done_before_an_interruption_is_not_done_again(out: Path) -> None:
    items = find(["cam-t1"])
    second = StopsAt("simulating camcast-table-1-gossip")
    with pytest.raises(KeyboardInterrupt):
        reproduce(items, out, second, repetitions=1)
    assert second.begun == ["simulating camcast-table-1", "simulating camcast-table-1-gossip"]
    again = StopsAt("simulating camcast-table-1-gossip")
    with pytest.raises(KeyboardInterrupt):
        reproduce(items, out, again, repetitions=1)
    assert again.begun == ["simulating camcast-table-1-gossip"]
    fresh = StopsAt("simulating camcast-table-1")
    with pytest.raises(KeyboardInterrupt):
        reproduce(items, out, fresh, repetitions=1, fresh=True)
    assert fresh.begun == ["simulating camcast-table-1"]
    assert last_verdicts(out) == {}


def test_experiments_that_items_share_are_run_once(out: Path) -> None:
    watcher = StopsAt("simulating camcast-figs-17-18")
    with pytest.raises(KeyboardInterrupt):
        reproduce(find(["cam-15..18"]), out, watcher, repetitions=1)
    assert watcher.begun == ["simulating camcast-figs-13-16", "simulating camcast-figs-17-18"]


def test_a_file_in_the_folders_place_is_refused(tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("")
    with pytest.raises(LocalError, match="is not a folder"):
        reproduce(find(["cam-t1"]), taken, StopsAt(""), repetitions=1)


def test_who_is_not_root_is_told_so_of_the_lan_before_anything_runs(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    with pytest.raises(LocalError, match="camcast-lan, which runs on the LAN, needs root"):
        reproduce(find(["cam-t2", "cam-19"]), out, StopsAt(""), repetitions=1)
    assert not out.exists()


# Remembered


def claim(verdict: str) -> Claim:
    return Claim("it", "text", "1", "1", "", "", verdict)  # type: ignore[arg-type]


def test_verdicts_are_remembered_beside_those_of_other_items(tmp_path: Path) -> None:
    _remember(tmp_path, {"one": [claim("holds"), claim("differs")], "two": [claim("holds")]}, None)
    _remember(tmp_path, {"two": [claim("not measured"), claim("unclear")]}, 5, 7)
    code = judging_code()
    assert last_verdicts(tmp_path) == {
        "one": Last(holds=1, differs=1, not_measured=0, code=code),
        "two": Last(0, 0, not_measured=1, unclear=1, repetitions=5, seed=7, code=code),
    }
    assert [path.name for path in tmp_path.iterdir()] == ["state.json"]


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "{}", '{"items": []}', '{"items": {"it": {"a": 1}}}']
)
def test_a_state_that_cannot_be_read_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "state.json").write_text(text)
    assert last_verdicts(tmp_path) == {}


def test_what_cannot_be_read_of_one_item_costs_no_other(tmp_path: Path) -> None:
    old = {"holds": 6, "differs": 0, "not_measured": 3, "repetitions": None}
    state = {"items": {"old": old, "strange": {"a": 1}}}
    (tmp_path / "state.json").write_text(json.dumps(state))
    assert last_verdicts(tmp_path) == {"old": Last(6, 0, 3)}
