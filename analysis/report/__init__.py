"""The report: one HTML file that opens anywhere, and an SVG and a PNG of each of its figures."""

from collections.abc import Sequence
from pathlib import Path

from analysis.job import Result
from analysis.papers.items import Item
from analysis.report.charts import LIGHT, png, svg
from analysis.report.page import page
from analysis.report.sections import arrange


def write(result: Result, folder: Path, items: Sequence[Item], title: str) -> Path:
    """Write `report.html` and `figures/` into the folder; the page's path.

    Of the items, those all of whose experiments are in the result are shown.
    """
    report = arrange(result, items)
    figures = folder / "figures"
    figures.mkdir(parents=True, exist_ok=True)
    for drawing in report.drawings:
        (figures / f"{drawing.id}.svg").write_text(svg(drawing, LIGHT), encoding="utf-8")
        (figures / f"{drawing.id}.png").write_bytes(png(drawing))
    path = folder / "report.html"
    path.write_text(page(report, title), encoding="utf-8")
    return path
