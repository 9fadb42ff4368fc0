"""Figures as altair charts, turned into SVG and PNG with no browser.

Measured means are points with bars for their 95 % intervals; theory's curves lie under them. Series
differ by shape as well as by colour, for those who cannot tell the colours and for grey printers.
"""

import re
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import altair as alt
import vl_convert

from analysis.report.drawings import Drawing, Point

WIDTH, HEIGHT = 430, 270
"""Of the plot, in pixels: two figures fit beside each other, and a phone can still show one."""
FONT = "Helvetica, Arial, Liberation Sans, sans-serif"
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ([5, 3], [2, 2], [9, 3], [9, 3, 2, 3], [1, 3], [14, 4])
THEORY = "theory"
APART = 5
"""Pixels between the points of different series that have the same place on the axis."""


@dataclass(frozen=True)
class Theme:
    name: str
    ink: str
    faint: str
    paper: str
    colours: tuple[str, ...]
    """Okabe and Ito's, which the colour-blind can tell apart; lighter ones on a dark page."""


LIGHT = Theme(
    name="light",
    ink="#1b1f24",
    faint="#d9dde2",
    paper="#ffffff",
    colours=("#0072b2", "#d55e00", "#009e73", "#a5508a", "#8a6d00", "#555555"),
)
DARK = Theme(
    name="dark",
    ink="#e6e8eb",
    faint="#3a4048",
    paper="#14171a",
    colours=("#56b4e9", "#ff9248", "#35c79c", "#e39ac4", "#e6c84a", "#b8b8b8"),
)


def svg(drawing: Drawing, theme: Theme) -> str:
    """A whole SVG document, on paper of the theme's colour."""
    return _named(_svg(drawing, theme, theme.paper), drawing, theme)


def inline_svg(drawing: Drawing, theme: Theme) -> str:
    """An SVG element for a page, which shows through; its size gives way to the page's."""
    return _named(_svg(drawing, theme, "transparent"), drawing, theme)


def png(drawing: Drawing) -> bytes:
    """For slides and papers that take no SVG; at twice the size of the SVG."""
    written: bytes = vl_convert.vegalite_to_png(_chart(drawing, LIGHT, LIGHT.paper), scale=2)
    return written


def _svg(drawing: Drawing, theme: Theme, paper: str) -> str:
    written: str = vl_convert.vegalite_to_svg(_chart(drawing, theme, paper))
    return written


def _named(drawn: str, drawing: Drawing, theme: Theme) -> str:
    """With a title that is read out, and ids that are not those of the page's other figures."""
    unique = f"{drawing.id}-{theme.name}-"
    drawn = re.sub(r'\bid="', f'id="{unique}', drawn)
    drawn = drawn.replace("url(#", f"url(#{unique}").replace('href="#', f'href="#{unique}')
    label = escape(drawing.description)
    head, rest = drawn.split(">", 1)
    return f'{head} role="img" aria-label="{label}"><title>{escape(drawing.title)}</title>{rest}'


def _chart(drawing: Drawing, theme: Theme, paper: str) -> dict[str, Any]:
    layers = [*_theory(drawing, theme), *_measured(drawing, theme)]
    chart = alt.layer(*layers).properties(width=WIDTH, height=HEIGHT, background=paper)
    return chart.configure(**_looks(theme)).to_dict()


def _measured(drawing: Drawing, theme: Theme) -> list[alt.Chart]:
    return [
        layer
        for number, series in enumerate(drawing.series)
        for layer in _one_series(
            drawing, theme, series, APART * (number - (len(drawing.series) - 1) / 2)
        )
    ]


def _one_series(drawing: Drawing, theme: Theme, series: str, aside: float) -> list[alt.Chart]:
    """`aside` is how far it stands from its true place, so that bars do not hide each other."""
    rows = [_row(point) for point in drawing.points if point.series == series]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=_x(drawing), y=_y(drawing), color=_colour(drawing, theme)
    )
    known = base.transform_filter("isValid(datum.low) && isValid(datum.high)")
    bars = known.mark_rule(strokeWidth=1.4, xOffset=aside, x2Offset=aside)
    ends = [
        known.mark_tick(orient="horizontal", size=7, thickness=1.4, xOffset=aside).encode(
            y=f"{end}:Q"
        )
        for end in ("low", "high")
    ]
    # With points the colour's legend takes the points' shapes, so that there is one and not two.
    shape = alt.Shape("series:N", scale=alt.Scale(domain=drawing.series, range=SHAPES), title=None)
    dots = base.mark_point(filled=True, size=52, opacity=1, xOffset=aside).encode(shape=shape)
    # Where there is no theory, a thin line leads the eye from point to point.
    thread = base.mark_line(strokeWidth=1, opacity=0.45, xOffset=aside)
    is_led = drawing.x_is_number and not drawing.curves
    return [*([thread] if is_led else []), bars.encode(y="low:Q", y2="high:Q"), *ends, dots]


def _row(point: Point) -> dict[str, Any]:
    value = point.value
    return {
        "series": point.series,
        "x": point.x,
        "y": value.mean,
        # Nothing that is measured can be below nothing; the table has the interval as computed.
        "low": value.low if value.low is None else max(0.0, value.low),
        "high": value.high,
    }


def _theory(drawing: Drawing, theme: Theme) -> list[alt.Chart]:
    rows = [
        {
            "series": drawing.series_of(curve),
            "label": THEORY if drawing.series_of(curve) else curve.label,
            "curve": number,
            "x": x,
            "y": y,
        }
        for number, curve in enumerate(drawing.curves)
        for x, y in curve.points
    ]
    labels = tuple(dict.fromkeys(str(row["label"]) for row in rows))
    dash = alt.StrokeDash(
        "label:N",
        scale=alt.Scale(domain=labels, range=DASHES),
        title=None,
        legend=alt.Legend(symbolStrokeColor=theme.ink, symbolSize=300),
    )
    layers = []
    for of_series in (True, False):
        chosen = [row for row in rows if (row["series"] is not None) == of_series]
        if chosen:
            colour = _colour(drawing, theme) if of_series else alt.value(theme.ink)
            layers.append(
                alt.Chart(alt.Data(values=chosen))
                .mark_line(strokeWidth=1.6, opacity=0.8)
                .encode(
                    x=_x(drawing), y=_y(drawing), detail="curve:N", color=colour, strokeDash=dash
                )
            )
    return layers


def _colour(drawing: Drawing, theme: Theme) -> alt.Color:
    scale = alt.Scale(domain=drawing.series, range=theme.colours)
    return alt.Color("series:N", scale=scale, title=None, legend=alt.Legend(symbolOpacity=1))


def _x(drawing: Drawing) -> alt.X:
    if not drawing.x_is_number:
        values = list(dict.fromkeys(point.x for point in drawing.points))
        axis = alt.Axis(labelAngle=0, grid=False, labelLimit=130)
        return alt.X("x:N", title=drawing.x_title, axis=axis, scale=alt.Scale(domain=values))
    kind: Literal["log", "linear"] = "log" if drawing.logarithmic else "linear"
    form = ".0%" if drawing.x_is_share else alt.Undefined
    return alt.X(
        "x:Q",
        title=drawing.x_title,
        scale=alt.Scale(type=kind, zero=False, nice=False, padding=14),
        axis=alt.Axis(format=form, grid=False, labelFlush=False),
    )


def _y(drawing: Drawing) -> alt.Y:
    if drawing.y_is_share:
        scale = alt.Scale(domain=[0, 1], nice=False, padding=6)
        return alt.Y("y:Q", title=drawing.y_title, scale=scale, axis=alt.Axis(format=".0%"))
    return alt.Y("y:Q", title=drawing.y_title, scale=alt.Scale(zero=True))


def _looks(theme: Theme) -> dict[str, Any]:
    text: dict[str, Any] = {"labelColor": theme.ink, "titleColor": theme.ink}
    return {
        "font": FONT,
        "axis": alt.AxisConfig(
            **text,
            labelFontSize=13,
            titleFontSize=14,
            titleFontWeight="normal",
            titlePadding=10,
            domainColor=theme.ink,
            tickColor=theme.ink,
            gridColor=theme.faint,
        ),
        "legend": alt.LegendConfig(
            **text,
            orient="top",
            direction="horizontal",
            columns=3,
            labelFontSize=13,
            labelLimit=400,
            symbolSize=70,
            columnPadding=18,
        ),
        "view": alt.ViewConfig(stroke=None),
    }
