"""The report's tables, held to golden files.

REGENERATE_GOLDEN=1 writes them anew, for their difference to be read before it is committed.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from analysis.report import tables
from analysis.report.markup import Markup, join
from analysis.report.sections import Report, arrange
from tests.analysis.report import made

GOLDEN = Path(__file__).parent / "golden"

TABLES: dict[str, Callable[[Report], Markup | None]] = {
    "overview": lambda report: tables.overview(report.items),
    "claims": lambda report: tables.claims(report.claims),
    "figure-data": lambda report: tables.figure_data(report.drawings[0]),
    "theory-data": lambda report: tables.theory_data(report.drawings[0]),
    "achieved": lambda report: tables.achieved(report.result, 0),
    "achieved-with-other-losses": lambda report: tables.achieved(report.result, 1),
    "fidelity": lambda report: tables.fidelity(made.unfaithful(report.result), 1),
    "conservation": lambda report: tables.conservation(report.result, 0),
    "conservation-with-a-remainder": lambda report: tables.conservation(report.result, 1),
    "table-sizes": lambda report: tables.table_sizes(report.result, 1),
    "control": lambda report: tables.control(report.result, 1),
    "metrics": lambda report: join(*tables.metrics(report.result, 0)),
    "metrics-of-one-repetition": lambda report: join(*tables.metrics(report.result, 1)),
}


@pytest.fixture
def report(tmp_path: Path) -> Report:
    return arrange(made.result(tmp_path), [made.item()])


@pytest.mark.parametrize("name", TABLES)
def test_a_table_is_as_its_golden_file_says(name: str, report: Report) -> None:
    written = f"{TABLES[name](report)}\n"
    golden = GOLDEN / f"{name}.html"
    if os.environ.get("REGENERATE_GOLDEN"):
        golden.write_text(written, encoding="utf-8")
    assert written == golden.read_text(encoding="utf-8")


def test_every_golden_file_belongs_to_a_table() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == set(TABLES)


def test_a_run_without_tables_or_control_messages_shows_none(report: Report) -> None:
    assert tables.table_sizes(report.result, 0) is None
    assert tables.control(report.result, 0) is None


def test_a_simulated_run_was_not_asked_of_a_machine(report: Report) -> None:
    assert tables.fidelity(report.result, 0) is None


def test_over_tcp_the_networks_loss_is_not_that_of_messages(report: Report) -> None:
    (run, other), row = report.result.runs, report.result.conservation[0]
    points = [{**point, "experiment": made.experiment(transport="tcp")} for point in run.points]
    over_tcp = replace(
        report.result, runs=(replace(run, points=points), other), conservation=(row,)
    )
    assert tables.achieved(over_tcp, 0) is None
