"""What figures show, and which are drawn."""

from dataclasses import replace
from pathlib import Path

from analysis.papers.items import Curve
from analysis.report.charts import DARK, LIGHT, inline_svg
from analysis.report.drawings import of_paper, of_run
from analysis.report.sections import arrange
from tests.analysis.report import made


def test_a_papers_figure_has_the_points_with_its_labels_in_the_papers_words(tmp_path: Path) -> None:
    drawing = of_paper(made.result(tmp_path), made.figure())
    assert drawing is not None
    assert [(point.series, point.x) for point in drawing.points] == [
        (series, x) for series in ("T0", "T1") for x in made.CRASHED
    ]
    assert drawing.points[1].value.mean == 0.8
    assert (drawing.x_is_share, drawing.y_is_share) == (True, True)


def test_a_figure_of_labels_that_no_point_has_is_not_drawn(tmp_path: Path) -> None:
    series = replace(made.figure().series[0], where=(("algorithm", "gossip"),))
    figure = replace(made.figure(), series=(series,))
    assert of_paper(made.result(tmp_path), figure) is None


def test_a_curve_belongs_to_the_series_that_its_label_names(tmp_path: Path) -> None:
    drawing = of_paper(made.result(tmp_path), made.figure())
    assert drawing is not None
    found = [drawing.series_of(Curve(label, ())) for label in ("T1, eq. (3)", "T12", "gossip")]
    assert found == ["T1", None, None]


def test_a_sweep_that_no_paper_speaks_of_is_drawn_along_its_axis(tmp_path: Path) -> None:
    drawings, left_out = of_run(made.result(tmp_path), 0)
    assert [drawing.id for drawing in drawings] == [
        f"run-1-crashed-camcast-{metric}" for metric in ("reception", "reliability", "sent")
    ]
    assert left_out == 0
    assert drawings[0].series == made.COMMUNITIES


def test_a_run_without_a_sweep_is_drawn_by_community(tmp_path: Path) -> None:
    drawings, _ = of_run(made.result(tmp_path), 1)
    assert [(point.series, point.x) for point in drawings[0].points] == [
        ("Reception probability", ".a"),
        ("Reception probability", ".a.d"),
    ]


def test_items_without_their_experiments_are_left_out_and_half_of_them_is_said(
    tmp_path: Path,
) -> None:
    whole, half = made.item(), made.item("cam-2", "crashes", "elsewhere")
    report = arrange(made.result(tmp_path), [whole, half, made.item("cam-3", "elsewhere")])
    assert [part.item.id for part in report.items] == ["cam-1"]
    assert report.incomplete == ((half, ("elsewhere",)),)


def test_two_papers_figures_of_one_number_have_names_of_their_own(tmp_path: Path) -> None:
    report = arrange(made.result(tmp_path), [made.item(), made.item("da-1")])
    names = [drawing.id for part in report.items for drawing in part.drawings]
    assert names == ["fig-15", "fig-13", "da-1-fig-15", "da-1-fig-13"]


def test_the_two_themes_of_a_figure_share_no_id_and_say_what_it_shows(tmp_path: Path) -> None:
    drawing = of_paper(made.result(tmp_path), made.figure())
    assert drawing is not None
    light, dark = inline_svg(drawing, LIGHT), inline_svg(drawing, DARK)
    assert LIGHT.colours[0] in light
    assert DARK.colours[0] in dark
    for drawn in (light, dark):
        assert "><title>Fig. &lt;fig-15&gt;</title>" in drawn
        assert 'role="img" aria-label="Fig. &lt;fig-15&gt;. Reception against Crashed' in drawn
