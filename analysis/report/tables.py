"""The report's tables, each a function of the data it shows."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.intervals import Estimate
from analysis.job import Metric, Result
from analysis.metrics import SHARES
from analysis.metrics.conservation import CAUSES
from analysis.papers.items import Claim, Verdict
from analysis.per_event import EVERYWHERE
from analysis.report.drawings import Drawing
from analysis.report.formats import NINETY_FIVE, interval, number, plain, quantity, share
from analysis.report.markup import Markup, join, tag
from analysis.report.sections import ItemPart

SYMBOLS: Mapping[Verdict, str] = {
    "holds": "✓",
    "differs": "✗",
    "unclear": "≈",
    "not measured": "○",
}

INTERVAL = f"{NINETY_FIVE} interval"

GROUPS = (
    ("Delivery", ("members", "reception", "reliability", "parasites")),
    ("Messages per event", ("sent", "received", "useful", "duplicates", "dropped", "efficiency")),
    ("Upward messages per event", ("upward_sent", "upward_received", "upward_share")),
    ("Latency", ("first_hops", "rounds", "first_ms", "median_ms", "last_ms")),
)
"""Metrics that are read together; those of no group come last."""


@dataclass(frozen=True)
class Column:
    title: str
    is_number: bool = False


Row = Sequence[str]


def table(caption: str, columns: Sequence[Column], rows: Iterable[Row]) -> Markup:
    """In a box of its own, which scrolls where the page is too narrow for it."""
    head = tag("tr", *(tag("th", column.title, scope="col", **_kind(column)) for column in columns))
    body = [
        tag("tr", *(tag("td", cell, **_kind(c)) for c, cell in zip(columns, row, strict=True)))
        for row in rows
    ]
    # On a line of its own each, so that a difference between two reports can be read.
    lines = join(
        tag("caption", caption), "\n", tag("thead", head), "\n", tag("tbody", *_lines(body))
    )
    return tag(
        "div", tag("table", lines), class_="box", role="region", tabindex="0", aria_label=caption
    )


def verdict(word: Verdict) -> Markup:
    """A word and a symbol: colour is only a help."""
    symbol = tag("span", SYMBOLS[word], aria_hidden="true")
    return tag("span", symbol, " ", word, class_=f"verdict {word.replace(' ', '-')}")


# Claims


def claims(found: Sequence[Claim]) -> Markup:
    """The verdict comes next to the claim, where a phone still shows it."""
    titles = ("Claim", "Verdict", "Printed", "Measured", INTERVAL, "Deviation", "Note")
    columns = [Column(title, title in titles[2:6]) for title in titles]
    rows = [
        (_with_rule(c), verdict(c.verdict), c.printed, c.measured, c.interval, c.deviation, c.note)
        for c in found
    ]
    return table("What is claimed, and what was measured", columns, rows)


def _with_rule(claim: Claim) -> Markup:
    """Beside the claim, when it holds: a verdict that nobody can check is worth nothing."""
    rule = tag("small", f"holds if: {claim.rule}") if claim.rule else join()
    return join(claim.text, rule)


def overview(parts: Sequence[ItemPart]) -> Markup:
    """A line for each item, with how many of its claims came out which way."""
    columns = [Column("Item"), Column("What"), *(Column(word, True) for word in SYMBOLS)]
    rows = [
        (
            tag("a", part.item.id, href=f"#item-{part.item.id}"),
            part.item.title,
            *(str(sum(claim.verdict == word for claim in part.claims)) for word in SYMBOLS),
        )
        for part in parts
    ]
    return table("Claims by item and verdict", columns, rows)


# Figures


def figure_data(drawing: Drawing) -> Markup:
    """What a figure shows, for those who want the numbers."""
    columns = [
        Column(drawing.x_title),
        Column("Series"),
        Column("Mean", True),
        Column(INTERVAL, True),
        Column("Repetitions", True),
    ]
    measured = [
        (
            _place(drawing, point.x),
            point.series,
            quantity(point.value.mean, is_share=drawing.y_is_share),
            interval(point.value, is_share=drawing.y_is_share),
            str(point.value.n),
        )
        for point in drawing.points
    ]
    return table(f"{drawing.y_title}, measured", columns, measured)


def theory_data(drawing: Drawing) -> Markup:
    columns = [Column(drawing.x_title), Column("Curve"), Column(drawing.y_title, True)]
    rows = [
        (_place(drawing, x), curve.label, quantity(y, is_share=drawing.y_is_share))
        for curve in drawing.curves
        for x, y in curve.points
    ]
    return table(f"{drawing.y_title}, by theory", columns, rows)


def _place(drawing: Drawing, x: float | str) -> str:
    if isinstance(x, str):
        return x
    return share(x, 0) if drawing.x_is_share and x * 100 == round(x * 100) else f"{x:g}"


# Runs


def achieved(result: Result, folder: int) -> Markup | None:
    """The loss that was asked for beside the loss that was measured, of what was exposed to it.

    What a partition or a suspicion kept back never came to where messages are lost.
    """
    rows = []
    for kept in _conservation(result, folder):
        labels, experiment = _point(result, folder, kept["point"])
        exposed = kept["sent"] - kept["partition"] - kept["suspected"]
        network = experiment.get("network", {})
        # TCP sends again what the network lost, so that messages are not lost at that rate.
        if "loss" not in network or exposed <= 0 or experiment.get("transport") == "tcp":
            continue
        asked, measured = network["loss"], kept["loss"] / exposed
        half = 1.96 * math.sqrt(measured * (1 - measured) / exposed)
        ends = Estimate(exposed, measured, max(0.0, measured - half), min(1.0, measured + half))
        rows.append(
            (
                *labels,
                share(asked, 2) + (", and others" if _has_other_losses(experiment) else ""),
                share(measured, 2),
                f"{share(ends.low or 0.0, 2)} to {share(ends.high or 0.0, 2)}",
                number(exposed),
            )
        )
    if not rows:
        return None
    columns = [
        *_label_columns(result, folder),
        Column("Loss asked for", True),
        Column("Loss measured", True),
        Column(INTERVAL, True),
        Column("Of messages", True),
    ]
    return table("What was achieved against what was asked for", columns, rows)


def fidelity(result: Result, folder: int) -> Markup | None:
    """What the machine was asked for, of a run on the LAN, and what it did."""
    facts = result.runs[folder].fidelity
    if not facts:
        return None
    columns = [
        Column("What"),
        *(Column(title, True) for title in ("Asked for", "Achieved", "Bound")),
        Column("As asked"),
    ]
    rows = [
        (
            fact.what,
            *(
                "" if value is None else f"{number(value)} {fact.unit}".rstrip()
                for value in (fact.asked, fact.achieved, fact.bound)
            ),
            _as_asked(fact.ok),
        )
        for fact in facts
    ]
    return table("What the machine achieved against what was asked of it", columns, rows)


def _as_asked(ok: bool) -> Markup:
    symbol, word, kind = ("✓", "yes", "holds") if ok else ("✗", "no", "differs")
    return tag("span", tag("span", symbol, aria_hidden="true"), " ", word, class_=f"verdict {kind}")


def conservation(result: Result, folder: int) -> Markup | None:
    """Where every message that was sent went, in sums over repetitions."""
    kept = _conservation(result, folder)
    if not kept:
        return None
    names = ("repetitions", "sent", "received", *CAUSES, "remainder")
    columns = [
        *_label_columns(result, folder),
        *(Column(name.capitalize(), True) for name in names),
    ]
    rows = [
        (
            *_point(result, folder, row["point"])[0],
            *(number(row[name]) for name in names[:-1]),
            # What nobody can explain must not look like the other numbers.
            tag("strong", number(row["remainder"])) if row["remainder"] else "0",
        )
        for row in kept
    ]
    return table("Conservation: every message sent was received or dropped", columns, rows)


def table_sizes(result: Result, folder: int) -> Markup | None:
    return _by_name(result, folder, "table ", "Entries a process keeps, at the end", "Table")


def control(result: Result, folder: int) -> Markup | None:
    return _by_name(result, folder, "control ", "Control messages sent per repetition", "Message")


def metrics(result: Result, folder: int) -> list[Markup]:
    """A table for each group of metrics: rows are points and communities."""
    found = [
        metric
        for metric in result.metrics
        if metric.folder == folder and not metric.name.startswith(("table ", "control "))
    ]
    known = {name for _, names in GROUPS for name in names}
    others = tuple(dict.fromkeys(metric.name for metric in found if metric.name not in known))
    return [
        _wide(result, folder, title, names, group)
        for title, names in (*GROUPS, ("Other metrics", others))
        if (group := [metric for metric in found if metric.name in names])
    ]


def _wide(
    result: Result, folder: int, title: str, names: Sequence[str], found: Sequence[Metric]
) -> Markup:
    shown = [name for name in names if any(metric.name == name for metric in found)]
    rows: dict[tuple[int, str], dict[str, Estimate]] = {}
    for metric in found:
        rows.setdefault((metric.point, metric.community), {})[metric.name] = metric.value
    columns = [
        *_label_columns(result, folder),
        Column("Community"),
        *(Column(name.replace("_", " ").capitalize(), True) for name in shown),
    ]
    cells = (
        (
            *_point(result, folder, point)[0],
            _community(community),
            *(_estimate(values[name], name) if name in values else "" for name in shown),
        )
        for (point, community), values in sorted(rows.items())
    )
    return table(title, columns, cells)


def _by_name(result: Result, folder: int, prefix: str, title: str, what: str) -> Markup | None:
    """Metrics whose names are `prefix` and something of the protocol's own."""
    found = [m for m in result.metrics if m.folder == folder and m.name.startswith(prefix)]
    if not found:
        return None
    has_communities = any(metric.community != EVERYWHERE for metric in found)
    columns = [
        *_label_columns(result, folder),
        *([Column("Community")] if has_communities else []),
        Column(what),
        Column("Mean", True),
        Column(INTERVAL, True),
    ]
    rows = (
        (
            *_point(result, folder, metric.point)[0],
            *([_community(metric.community)] if has_communities else []),
            metric.name.removeprefix(prefix),
            number(metric.value.mean),
            interval(metric.value, is_share=False),
        )
        for metric in sorted(found, key=lambda m: (m.point, m.community, m.name))
    )
    return table(title, columns, rows)


def _estimate(value: Estimate, name: str) -> Markup:
    is_share = name in SHARES
    ends = interval(value, is_share=is_share)
    mean = quantity(value.mean, is_share=is_share)
    exact = value.low == value.high == value.mean
    return join(mean, tag("small", ends)) if ends and not exact else join(mean)


def _community(name: str) -> str:
    return "all together" if name == EVERYWHERE else name


def _conservation(result: Result, folder: int) -> list[Mapping[str, Any]]:
    return [row for row in result.conservation if row["folder"] == folder]


def _has_other_losses(experiment: Mapping[str, Any]) -> bool:
    faults = experiment.get("faults", ())
    return bool(experiment["network"].get("losses")) or any(f["kind"] == "loss" for f in faults)


def _axes(result: Result, folder: int) -> list[str]:
    """The labels that differ between points; a run without points.json has only numbers."""
    run = result.runs[folder]
    if not run.points:
        return ["point"]
    return list(dict.fromkeys(axis for point in run.points for axis in point["labels"]))


def _label_columns(result: Result, folder: int) -> Iterator[Column]:
    return (Column(axis) for axis in _axes(result, folder))


def _point(result: Result, folder: int, point: int) -> tuple[list[str], Mapping[str, Any]]:
    """A point's labels as cells, and its resolved experiment."""
    run = result.runs[folder]
    if point >= len(run.points):
        return [str(point) if axis == "point" else "" for axis in _axes(result, folder)], {}
    labels = run.points[point]["labels"]
    cells = [plain(labels.get(axis, "")) for axis in _axes(result, folder)]
    return cells, run.points[point]["experiment"]


def _kind(column: Column) -> dict[str, str]:
    return {"class_": "number"} if column.is_number else {}


def _lines(rows: Iterable[Markup]) -> Iterator[Markup]:
    for row in rows:
        yield Markup("\n")
        yield row
