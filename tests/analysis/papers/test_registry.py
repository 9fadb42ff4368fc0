"""Items are named by id, by range or by paper; and what they name is there."""

import subprocess
import sys
from pathlib import Path

import pytest

from analysis.errors import AnalysisError
from analysis.papers.items import Item
from analysis.papers.registry import ITEMS, find

REPOSITORY = Path(__file__).resolve().parents[3]
IDS = [
    *("cam-t1", "cam-t2", "cam-13", "cam-14", "cam-15", "cam-16", "cam-17", "cam-18"),
    *(f"cam-{number}" for number in range(19, 29)),
    *("cam-loss", "cam-crashed", "cam-churn"),
    *("da-8", "da-9", "da-10", "da-11"),
]


def ids(*names: str) -> list[str]:
    return [item.id for item in find(names)]


def test_no_name_is_all() -> None:
    assert ids() == IDS


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (("cam-t2",), ["cam-t2"]),
        (("camcast",), IDS[:8]),
        (("camcast-lan",), IDS[8:18]),
        (("camcast-beyond",), IDS[18:21]),
        (("damulticast",), IDS[21:]),
        (("cam-13..15",), ["cam-13", "cam-14", "cam-15"]),
        (("da-8..11",), ["da-8", "da-9", "da-10", "da-11"]),
        (("cam-27..99",), ["cam-27", "cam-28"]),
        (("da-9", "cam-t1", "da-8..9"), ["cam-t1", "da-8", "da-9"]),
    ],
)
def test_names_find_items_once_and_in_order(names: tuple[str, ...], found: list[str]) -> None:
    assert ids(*names) == found


@pytest.mark.parametrize(
    "name", ["nonsense", "cam-99", "cam-18..13", "cam-1..2", "cam", "", "..", "8..11"]
)
def test_an_unknown_name_is_refused_with_all_there_is(name: str) -> None:
    with pytest.raises(AnalysisError) as refused:
        find(["cam-t1", name])
    sentence = str(refused.value)
    assert sentence.startswith(
        f"nothing is called {name!r}: there are camcast with cam-t1, cam-t2,"
    )
    assert all(id in sentence for id in IDS)


@pytest.mark.parametrize("item", ITEMS, ids=lambda item: item.id)
def test_an_items_experiments_are_files_of_ours(item: Item) -> None:
    for name in item.experiments:
        assert (REPOSITORY / "experiments" / f"{name}.yaml").is_file()
    drawn = {series.experiment for figure in item.figures for series in figure.series}
    assert drawn <= set(item.experiments)


def test_no_two_figures_have_the_same_name() -> None:
    names = [figure.id for item in ITEMS for figure in item.figures]
    assert len(set(names)) == len(names) == 34


OF_PAPERS = [item for item in ITEMS if item.paper != "camcast-beyond"]


@pytest.mark.parametrize("item", OF_PAPERS, ids=lambda item: item.id)
def test_every_figure_of_a_paper_has_theory_underneath(item: Item) -> None:
    for figure in item.figures:
        assert figure.theory is not None
        for curve in figure.theory():
            places, values = zip(*curve.points, strict=True)
            assert list(places) == sorted(set(places))
            assert min(values) >= 0
            assert max(values) <= 1 or not figure.percent


@pytest.mark.parametrize("item", find(["cam-13..18", "da-8..11"]), ids=lambda item: item.id)
def test_a_figure_of_crashed_processes_has_the_theory_of_each_community_it_shows(
    item: Item,
) -> None:
    for figure in item.figures:
        assert figure.theory is not None
        curves = figure.theory()
        for series in figure.series:
            (curve,) = [curve for curve in curves if curve.label == f"{series.label}, model"]
            values = [value for _, value in curve.points]
            assert values[0] > values[-1]


def test_what_lists_items_need_not_wait_for_spark() -> None:
    command = "import sys, analysis.papers.registry; sys.exit('pyspark' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", command], cwd=REPOSITORY).returncode == 0
