"""Run folders: what is none is refused in a sentence; what is incomplete is said."""

import json
from pathlib import Path

import pytest

from analysis.errors import AnalysisError
from analysis.runs import read_run, read_runs
from tests.analysis.folders import simulated


def refused(*paths: Path) -> str:
    with pytest.raises(AnalysisError) as error:
        read_runs(paths)
    return str(error.value)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "none"
    assert refused(path) == f"{path} is no run folder: there is no such folder"


def test_a_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert refused(path) == f"{path} is no run folder: it is a file"


@pytest.mark.parametrize("manifest", [None, "", "[]", "{"])
def test_a_folder_without_a_manifest_is_refused(tmp_path: Path, manifest: str | None) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    assert refused(tmp_path) == (
        f"{tmp_path} is no run folder: it has no manifest.json that can be read"
    )


def test_no_run_at_all_is_refused() -> None:
    assert refused() == "there is no run to analyse"


def test_a_run_given_twice_is_refused_however_it_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = simulated(tmp_path)
    monkeypatch.chdir(tmp_path)
    relative = Path(run.name)
    assert refused(run, relative) == f"{relative} is given twice"
    assert refused(run, run) == f"{run} is given twice"
    assert refused(run, run / "journal" / "..") == f"{run / 'journal' / '..'} is given twice"


def test_two_runs_are_read_in_the_order_given(tmp_path: Path) -> None:
    runs = [simulated(tmp_path, name=name) for name in ("z", "a")]
    assert [run.name for run in read_runs(runs)] == ["z", "a"]


@pytest.mark.parametrize("status", ["running", "interrupted", "failed", None])
def test_a_run_that_did_not_come_to_its_end_is_said(tmp_path: Path, status: str | None) -> None:
    path = simulated(tmp_path)
    manifest = json.loads((path / "manifest.json").read_text()) | {"status": status}
    (path / "manifest.json").write_text(json.dumps(manifest))
    assert read_run(path).problems == (
        f"{path}: the run is not complete, its manifest says {status!r}",
    )


def test_many_missing_journals_are_counted_and_some_named(tmp_path: Path) -> None:
    path = simulated(tmp_path, repetitions=5)
    for journal in (path / "journal").iterdir():
        journal.unlink()
    names = ", ".join(f"point-0000-repetition-000{n}.jsonl.gz" for n in range(3))
    assert read_run(path).problems == (
        f"{path}: 5 journals are missing: {names}, …",
        f"{path}: there is no journal in it",
    )


def test_points_have_their_labels_and_an_unknown_point_none(tmp_path: Path) -> None:
    network = {"latency": "rounds", "loss": "$loss"}
    run = read_run(simulated(tmp_path, network=network, sweep={"loss": [0, 0.5]}))
    assert [run.labels(point) for point in range(3)] == [{"loss": 0}, {"loss": 0.5}, {}]
