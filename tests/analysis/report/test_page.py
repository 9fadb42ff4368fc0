"""The page as a browser shows it: every figure drawn, nothing asked of the network, no script."""

from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from analysis.report import write
from tests.analysis.report import made
from tests.analysis.report.browser import PROGRAM, Browser, browser

needs_chromium = pytest.mark.skipif(PROGRAM is None, reason="needs chromium, which is not there")

PROBLEM = "runs/<b>x</b>: 2 journals are missing"
WORST_TITLE = "</title><script>document.body.remove()</script><img src=x onerror=alert(1)>"

VISIBLE_FIGURES = """
[...document.querySelectorAll('figure')].map(figure => {
  const shown = [...figure.querySelectorAll('svg')].filter(svg => svg.checkVisibility());
  const marks = shown.flatMap(svg => [...svg.querySelectorAll('.mark-symbol.role-mark path')]);
  const sizes = marks.map(mark => mark.getBoundingClientRect());
  return {
    id: figure.id,
    theme: shown.map(svg => svg.parentElement.className).join(),
    wide: Math.min(...shown.map(svg => svg.getBoundingClientRect().width)),
    points: sizes.filter(size => size.width > 2 && size.height > 2).length,
    curves: shown.flatMap(svg => [...svg.querySelectorAll('.mark-line.role-mark path')])
      .filter(path => path.getTotalLength() > 50).length,
    bars: shown.flatMap(svg => [...svg.querySelectorAll('.mark-rule.role-mark line')])
      .filter(line => line.getBoundingClientRect().height > 2).length,
  };
})
"""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    result = made.result(folder, problems=(PROBLEM,))
    return write(result, folder / "out", [made.item()], WORST_TITLE)


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture
def tab(chromium: Browser, page: Path) -> Browser:
    chromium.resize(1200)
    chromium.prefer("light")
    chromium.open(page)
    return chromium


@needs_chromium
@pytest.mark.parametrize(
    ("scheme", "media", "theme"),
    [("light", "", "light-only"), ("dark", "", "dark-only"), ("dark", "print", "light-only")],
)
def test_every_figure_is_drawn_in_the_readers_colours(
    tab: Browser, scheme: str, media: str, theme: str
) -> None:
    tab.prefer(scheme, media)
    drawn = {figure.pop("id"): figure for figure in tab.evaluate(VISIBLE_FIGURES)}
    assert {figure["theme"] for figure in drawn.values()} == {theme}
    assert all(figure["wide"] > 200 for figure in drawn.values())
    marks = {
        name: (figure["points"], figure["curves"], figure["bars"]) for name, figure in drawn.items()
    }
    assert marks == {
        "figure-fig-15": (6, 2, 6),
        "figure-fig-13": (6, 2, 6),  # no theory: a thin line for each series
        "figure-run-2-communities": (2, 0, 0),  # one repetition gives no interval
    }


@needs_chromium
def test_the_console_is_silent_and_nothing_else_is_loaded(tab: Browser, page: Path) -> None:
    assert tab.complaints == []
    assert set(tab.requested) == {page.as_uri()}


@needs_chromium
def test_titles_that_are_markup_are_shown_as_text(tab: Browser) -> None:
    assert tab.evaluate("document.title") == WORST_TITLE
    assert tab.evaluate("document.querySelector('h1').textContent") == WORST_TITLE
    assert tab.evaluate("document.querySelectorAll('script, img').length") == 0
    assert made.TITLE in tab.evaluate("document.querySelector('pre').textContent")
    assert tab.evaluate("document.querySelector('.problems li').textContent") == PROBLEM


@needs_chromium
def test_a_phone_scrolls_wide_tables_and_never_the_page(tab: Browser) -> None:
    tab.resize(380)
    tab.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
    assert tab.evaluate("document.documentElement.scrollWidth") == 380
    boxes = "[...document.querySelectorAll('.box')]"
    assert tab.evaluate(f"{boxes}.some(box => box.scrollWidth > box.clientWidth)")
    assert tab.evaluate(f"Math.max(...{boxes}.map(b => b.getBoundingClientRect().right)) <= 380")


@needs_chromium
def test_every_link_leads_somewhere_and_no_id_is_there_twice(tab: Browser) -> None:
    links = "[...document.querySelectorAll('a')].map(a => a.getAttribute('href').slice(1))"
    assert tab.evaluate(f"{links}.filter(id => !document.getElementById(id))") == []
    ids = tab.evaluate("[...document.querySelectorAll('[id]')].map(e => e.id)")
    assert len(ids) == len(set(ids))


def test_the_figures_are_files_too(page: Path) -> None:
    names = {path.name for path in (page.parent / "figures").iterdir()}
    figures = ("fig-13", "fig-15", "run-2-communities")
    assert names == {f"{figure}.{ending}" for figure in figures for ending in ("svg", "png")}
    assert (page.parent / "figures/fig-15.png").read_bytes().startswith(b"\x89PNG")
    assert (page.parent / "figures/fig-15.svg").read_text().startswith("<svg")


class _Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.text = ""

    def handle_data(self, data: str) -> None:
        self.text += data


def _text(page: Path) -> str:
    parser = _Text()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.text


def test_the_verdicts_come_first_in_words_and_symbols(page: Path) -> None:
    text = _text(page)
    assert "3 claims of the papers, judged by 2 runs:1 ✓ holds1 ✗ differs1 ○ not measured" in text
    assert text.index("✗ differs") < text.index("Problems") < text.index("Overview")


def test_what_the_machine_did_not_do_as_asked_is_said_at_the_top(tmp_path: Path) -> None:
    result = made.unfaithful(made.result(tmp_path))
    text = _text(write(result, tmp_path / "out", [made.item()], "Mine"))
    warning = "not as asked: lag, worst <agent>: 312.5 ms, bound 100 ms"
    assert f"{result.runs[1].path}: {warning}" in text
    assert text.index(warning) < text.index("Overview")
    assert "rate, h001: " not in text  # as asked: only in its table


def test_a_result_of_which_no_paper_speaks_still_has_its_page(tmp_path: Path) -> None:
    page = write(made.result(tmp_path), tmp_path / "out", [], "Mine")
    assert "No claim of a paper is judged by these runs." in _text(page)
    assert "Problems" not in _text(page)
    assert (page.parent / "figures/run-1-crashed-camcast-reception.svg").exists()


def test_a_run_of_which_little_is_left_still_has_its_page(tmp_path: Path) -> None:
    whole = made.result(tmp_path)
    bare = replace(whole.runs[1], manifest={"status": "failed"}, points=())
    (bare.path / "experiment.yaml").unlink()
    page = write(replace(whole, runs=(whole.runs[0], bare)), tmp_path / "out", [], "Mine")
    assert "The experiment's file is not in the run's folder." in _text(page)
