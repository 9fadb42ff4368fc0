"""Run folders: what they hold, at any time."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.core.errors import LocalError
from testbed.model import ExperimentFile, parse
from testbed.runs import RunFolder, fingerprint, machine, read_manifest, versions

REPOSITORY = Path(__file__).resolve().parents[1]
TEXT = """\
# Größe: as given, comments and all
name: small
protocol: gossip-broadcast
communities: {.: 5, .a: 5}
network: {loss: $loss}
workload: [{topic: .a}]
repetitions: 2
sweep: {loss: [0, 0.5]}
"""


def experiment(text: str = TEXT, **overrides: object) -> ExperimentFile:
    return parse(text, overrides=overrides)


def test_a_new_folder_says_that_it_is_running(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path / "deep" / "runs", experiment(seed=9), "full")
    assert folder.path.parent == tmp_path / "deep" / "runs"
    assert re.fullmatch(r"small-\d{8}-\d{6}", folder.path.name)
    assert folder.journals == folder.path / "journal"
    assert list(folder.journals.iterdir()) == []
    manifest = read_manifest(folder.path)
    times = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
    assert times.fullmatch(manifest.pop("started"))
    assert manifest == {
        "status": "running",
        "experiment": "small",
        "fingerprint": fingerprint(experiment(seed=9)),
        "engine": "sim",
        "seed": 9,
        "points": 2,
        "repetitions": 2,
        "level": "full",
        "versions": versions(),
        "machine": machine(),
        "journals": {},
    }


@pytest.mark.parametrize("text", [TEXT, TEXT.replace("\n", "\r\n")])
def test_the_experiment_is_kept_as_it_was_given(tmp_path: Path, text: str) -> None:
    folder = RunFolder(tmp_path, experiment(text, repetitions=3), "full")
    assert (folder.path / "experiment.yaml").read_bytes() == text.encode()


def test_every_point_is_kept_resolved_and_can_be_read_again(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, experiment(repetitions=3), "full")
    points: list[dict[str, Any]] = json.loads((folder.path / "points.json").read_text())
    assert [(point["index"], point["labels"]) for point in points] == [
        (0, {"loss": 0}),
        (1, {"loss": 0.5}),
    ]
    assert [point["experiment"]["repetitions"] for point in points] == [3, 3]
    again = [parse(point["experiment"]).points[0].experiment for point in points]
    assert again == [point.experiment for point in experiment(repetitions=3).points]


def test_how_it_ended_is_added_and_nothing_half_written_stays(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, experiment(), "full")
    before = read_manifest(folder.path)
    folder.finish("done", journals={"point-0000.jsonl": "abc"}, unpublished=1)
    after = read_manifest(folder.path)
    assert after.pop("ended") >= after["started"]
    assert after == before | {
        "status": "done",
        "journals": {"point-0000.jsonl": "abc"},
        "unpublished": 1,
    }
    names = sorted(entry.name for entry in folder.path.iterdir())
    assert names == ["experiment.yaml", "journal", "manifest.json", "points.json"]


def test_a_failure_leaves_its_trace_and_tells_where(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, experiment(), "full")
    with pytest.raises(ValueError, match="boom") as failure:  # noqa: PT012
        try:
            raise ValueError("boom \udcff")
        except ValueError:
            folder.finish("failed")
            raise
    trace = folder.path / "failure.txt"
    assert failure.value.__notes__ == [f"the whole trace is in {trace}"]
    assert "in test_a_failure_leaves_its_trace" in trace.read_text()
    assert "ValueError: boom ?" in trace.read_text()
    assert read_manifest(folder.path)["status"] == "failed"


def test_an_interruption_is_no_failure(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path, experiment(), "full")
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            folder.finish("interrupted")
            raise
    assert not (folder.path / "failure.txt").exists()
    assert read_manifest(folder.path)["status"] == "interrupted"


def test_runs_that_begin_at_the_same_time_have_folders_of_their_own(tmp_path: Path) -> None:
    folders = [RunFolder(tmp_path, experiment(), "full").path for _ in range(5)]
    assert len(set(folders)) == 5
    assert sorted(tmp_path.iterdir()) == sorted(folders)


@pytest.mark.parametrize("place", ["file", "file/below", "dangling"])
def test_where_no_folder_can_be_nothing_is_begun(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(LocalError, match=f"{place} is not a folder"):
        RunFolder(tmp_path / place, experiment(), "full")
    assert (tmp_path / "file").read_text() == "mine"


def test_a_fingerprint_is_the_experiments_and_not_the_texts() -> None:
    same = experiment("# another comment\n" + TEXT)
    assert fingerprint(same) == fingerprint(experiment())
    assert re.fullmatch("[0-9a-f]{12}", fingerprint(same))
    others = [
        experiment(seed=2),
        experiment(repetitions=3),
        experiment(journal="counts"),
        experiment(TEXT.replace("0.5", "0.6")),
        experiment(TEXT.replace("{.: 5", "{.: 6")),
    ]
    assert len({fingerprint(file) for file in [same, *others]}) == 1 + len(others)


def versions_of(packages: Path) -> dict[str, str]:
    """As a copy of ours in that folder has them."""
    program = "import json, testbed.runs as runs; print(json.dumps(runs.versions()))"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=packages,
        env={"PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    found: dict[str, str] = json.loads(done.stdout)
    return found


def copied(to: Path) -> Path:
    for package in ("agents", "analysis", "testbed", "images"):
        shutil.copytree(REPOSITORY / package, to / package)
    return to


def test_an_edit_of_what_runs_is_other_code_and_one_of_what_only_reads_is_not(
    tmp_path: Path,
) -> None:
    packages = copied(tmp_path)
    before = versions_of(packages)["code"]
    assert before == versions()["code"]
    with (packages / "analysis/intervals.py").open("a") as file:
        file.write("# edited\n")
    assert versions_of(packages)["code"] == before
    with (packages / "agents/core/draw.py").open("a") as file:
        file.write("# edited\n")
    assert versions_of(packages)["code"] != before


def test_a_copy_inside_somebody_elses_checkout_does_not_take_its_version(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", "-C", tmp_path, *identity, *arguments], check=True)

    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "theirs")
    git("tag", "-a", "theirs-1", "-m", "theirs")
    assert "theirs" not in versions_of(copied(tmp_path / "packages"))["testbed"]
