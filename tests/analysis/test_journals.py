"""Journals as they are found: whole, torn, empty, missing; nothing is left out in silence."""

import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.errors import AnalysisError
from analysis.job import Result, analyse_with
from analysis.journals import read_journals
from analysis.runs import read_runs
from tests.analysis.folders import lines_of, simulated, unpacked

Analyse = Callable[..., Result]
FIRST = "point-0000-repetition-0000.jsonl"


@pytest.fixture
def analyse(spark: SparkSession) -> Analyse:
    return lambda *paths: analyse_with(spark, read_runs(paths))


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return simulated(tmp_path / "runs")


def sent(result: Result, folder: int = 0) -> int:
    return sum(row["sent"] for row in result.conservation if row["folder"] == folder)


def test_a_whole_run_has_no_problems(analyse: Analyse, run: Path) -> None:
    result = analyse(run)
    assert result.problems == ()
    journals = (run / "journal").iterdir()
    assert sent(result) == sum(b'"kind":"send"' in ln for j in journals for ln in lines_of(j)) > 0


def cut_everywhere(run: Path, line: bytes, journal: list[bytes]) -> dict[str, int]:
    """A journal for each place where its last line can be torn; by name, how many bytes are left."""
    shutil.rmtree(run / "journal")
    (run / "journal").mkdir()
    cuts = {f"cut-{length:04}.jsonl": length for length in range(len(line) + 1)}
    for name, length in cuts.items():
        (run / "journal" / name).write_bytes(b"\n".join([*journal, line[:length]]))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["journals"] = dict.fromkeys(cuts, "")
    (run / "manifest.json").write_text(json.dumps(manifest))
    return cuts


@pytest.mark.parametrize("level", ["full", "counts"])
def test_a_last_line_torn_at_any_place_is_counted_and_costs_only_itself(
    spark: SparkSession, tmp_path: Path, level: str
) -> None:
    run = simulated(tmp_path / "runs", journal=level, repetitions=1)
    journal = lines_of(next((run / "journal").iterdir()))
    *rest, last = journal if level == "counts" else journal[:5]
    cuts = cut_everywhere(run, last, rest)
    torn = [name for name, length in cuts.items() if 0 < length < len(last)]
    with read_journals(spark, read_runs([run])) as journals:
        assert list(journals.problems) == [
            f"{run / 'journal' / name}: 1 line is torn and left out" for name in torn
        ]
        if level == "counts":
            assert journals.totals is not None
            assert journals.totals.count() == 1
            assert journals.counts is not None
            assert journals.counts.count() == len(cuts) * (len(rest) - 1)
        else:
            assert journals.records is not None
            assert journals.records.count() == len(cuts) * (len(rest) - 1) + 1


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage",
        b"\xff\xfe\x00",
        b"{}",
        b"null",
        b'{"time":1}',
        b'{"time":"soon","kind":"send","agent":1}',
        b'{"time":1,"kind":"send","agent":1}{"time":1,"kind":"send","agent":2}',
        b'{"time":1,"kind":"se{"time":1,"kind":"send","agent":2}',
        b'{"record":"count","event":"1"}',
        b'{"record":"other","time":1}',
    ],
)
def test_garbage_in_the_middle_is_counted_and_costs_only_itself(
    analyse: Analyse, run: Path, garbage: bytes
) -> None:
    before = analyse(run)
    journal = unpacked(run)
    lines = lines_of(journal)
    journal.write_bytes(b"\n".join([*lines[:9], garbage, *lines[9:]]) + b"\n")
    manifest = (run / "manifest.json").read_text().replace(f"{FIRST}.gz", FIRST)
    (run / "manifest.json").write_text(manifest)
    after = analyse(run)
    assert after.problems == (f"{journal}: 1 line is torn and left out",)
    assert after.metrics == before.metrics
    assert after.conservation == before.conservation


def test_an_empty_journal_is_said(analyse: Analyse, run: Path) -> None:
    journal = run / "journal" / f"{FIRST}.gz"
    journal.write_bytes(gzip.compress(b""))
    result = analyse(run)
    assert result.problems == (f"{journal}: is empty",)
    assert {metric.value.n for metric in result.metrics} == {1}


def test_a_file_of_no_bytes_is_an_empty_journal(analyse: Analyse, run: Path) -> None:
    journal = run / "journal" / "agent-7.jsonl"
    journal.touch()
    assert analyse(run).problems == (f"{journal}: is empty",)


def test_a_missing_journal_is_said(analyse: Analyse, run: Path) -> None:
    (run / "journal" / f"{FIRST}.gz").unlink()
    result = analyse(run)
    assert result.problems == (f"{run}: 1 journal is missing: {FIRST}.gz",)
    assert {metric.value.n for metric in result.metrics} == {1}


def test_a_run_without_any_journal_has_no_metrics_and_says_why(analyse: Analyse, run: Path) -> None:
    shutil.rmtree(run / "journal")
    result = analyse(run)
    assert result.metrics == result.conservation == ()
    assert result.problems[-1] == f"{run}: there is no journal in it"


def test_a_journal_without_header_is_left_out_as_its_lines_could_be_of_any_point(
    analyse: Analyse, run: Path
) -> None:
    journal = run / "journal" / f"{FIRST}.gz"
    _, *lines = lines_of(journal)
    journal.write_bytes(gzip.compress(b"\n".join(lines) + b"\n"))
    result = analyse(run)
    assert result.problems == (f"{journal}: has no header, so its {len(lines)} lines are left out",)
    assert {metric.value.n for metric in result.metrics} == {1}


def test_a_journal_of_another_version_is_left_out(analyse: Analyse, run: Path) -> None:
    journal = run / "journal" / f"{FIRST}.gz"
    header, *lines = lines_of(journal)
    later = json.loads(header) | {"version": 2}
    data = b"\n".join([json.dumps(later, separators=(",", ":")).encode(), *lines])
    journal.write_bytes(gzip.compress(data))
    result = analyse(run)
    assert result.problems == (
        f"{journal}: is of version 2, where this is version 1: "
        f"its {len(lines) + 1} lines are left out",
    )
    assert {metric.value.n for metric in result.metrics} == {1}


def test_an_unfinished_journal_is_left_out_and_said(analyse: Analyse, run: Path) -> None:
    journal = run / "journal" / f"{FIRST}.gz"
    journal.rename(journal.with_name(f"{FIRST}.gz.part"))
    assert analyse(run).problems == (
        f"{run}: 1 journal is missing: {FIRST}.gz",
        f"{run}: 1 journal is unfinished and left out: {FIRST}.gz.part",
    )


@pytest.mark.parametrize("share", [0.0005, 0.5, 0.999])
def test_a_compressed_journal_that_is_cut_short_is_refused_by_name(
    analyse: Analyse, run: Path, share: float
) -> None:
    journal = run / "journal" / f"{FIRST}.gz"
    data = journal.read_bytes()
    journal.write_bytes(data[: max(5, int(share * len(data)))])
    with pytest.raises(AnalysisError) as refused:
        analyse(run)
    assert str(refused.value) == f"{journal} cannot be read: it is damaged, or cut short"


def test_what_is_not_compressed_under_a_compressed_name_is_refused(
    analyse: Analyse, run: Path
) -> None:
    journal = run / "journal" / f"{FIRST}.gz"
    journal.write_bytes(b"not compressed at all")
    with pytest.raises(AnalysisError, match="cannot be read: it is damaged, or cut short"):
        analyse(run)


@pytest.mark.parametrize("points", [None, "{", "[1]", '[{"index": 0, "labels": {}}]'])
def test_without_points_there_are_still_messages_and_it_is_said(
    analyse: Analyse, run: Path, points: str | None
) -> None:
    before = analyse(run)
    (run / "points.json").unlink()
    if points is not None:
        (run / "points.json").write_text(points)
    after = analyse(run)
    assert len(after.problems) == 1
    assert after.problems[0].startswith(f"{run}: points.json cannot be read")
    assert after.find(0, 0, "*", "sent") == before.find(0, 0, "*", "sent") is not None
    assert after.find(0, 0, ".a", "reception") is None
    assert after.conservation == before.conservation


@pytest.mark.parametrize("folder", ["with space", "[a-b]{1,2}*?", "100%25", "ü\\n", "a+b&c=d#e;f"])
def test_any_path_will_do(analyse: Analyse, tmp_path: Path, folder: str) -> None:
    run = simulated(tmp_path / folder, repetitions=1)
    journal = next((run / "journal").iterdir())
    journal = journal.rename(journal.with_name(f"{folder}.jsonl.gz"))
    (run / "manifest.json").write_text('{"status": "done"}')
    result = analyse(run)
    assert result.problems == ()
    assert sent(result) > 0


def test_several_runs_are_kept_apart(analyse: Analyse, tmp_path: Path) -> None:
    """Though their journals have the same names, and one is full, the other counts."""
    runs = [
        simulated(tmp_path / "runs", seed=seed, journal=level)
        for seed, level in enumerate(("full", "counts", "full"))
    ]
    together = analyse(*runs)
    for folder, run in enumerate(runs):
        alone = analyse(run)
        expected = [(m.point, m.community, m.name, m.value) for m in alone.metrics]
        assert expected == [
            (m.point, m.community, m.name, m.value) for m in together.metrics if m.folder == folder
        ]
        assert sent(together, folder) == sent(alone)


def test_one_repetition_has_no_interval(analyse: Analyse, tmp_path: Path) -> None:
    result = analyse(simulated(tmp_path / "runs", repetitions=1))
    assert result.metrics
    for metric in result.metrics:
        assert (metric.value.n, metric.value.low, metric.value.high) == (1, None, None)


def test_the_data_says_what_the_result_holds(analyse: Analyse, tmp_path: Path) -> None:
    network = {"latency": "rounds", "loss": "$loss"}
    run = simulated(tmp_path / "runs", network=network, sweep={"loss": [0, 0.5]})
    result = analyse(run)
    data = json.loads(json.dumps(result.as_data()))
    assert data["runs"][0]["path"] == str(run)
    assert data["runs"][0]["points"] == [
        {"index": 0, "labels": {"loss": 0}},
        {"index": 1, "labels": {"loss": 0.5}},
    ]
    assert len(data["metrics"]) == len(result.metrics)
    (row,) = [
        row
        for row in data["metrics"]
        if (row["point"], row["community"], row["metric"]) == (1, ".a", "reception")
    ]
    value = result.find(0, 1, ".a", "reception")
    assert value is not None
    assert row == {
        "run": 0,
        "point": 1,
        "labels": {"loss": 0.5},
        "community": ".a",
        "metric": "reception",
        "n": 2,
        "mean": value.mean,
        "low": value.low,
        "high": value.high,
    }
