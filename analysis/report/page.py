"""The page: the verdicts first, then each item with its claims and figures, then every run."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from analysis.papers.registry import PAPERS
from analysis.report import tables
from analysis.report.charts import DARK, LIGHT, inline_svg
from analysis.report.drawings import Drawing
from analysis.report.formats import NINETY_FIVE, plain
from analysis.report.markup import Markup, join, tag
from analysis.report.sections import ItemPart, Report, RunPart
from analysis.report.style import STYLE
from analysis.runs import Run

NOTHING_FROM_OUTSIDE = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
"""The browser itself refuses scripts, and anything that is not in the file."""
NOT_FACTS = frozenset({"experiment", "journals", "problems", "versions", "machine"})
"""Of the manifest: those that are shown in another way."""


def page(report: Report, title: str) -> str:
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=NOTHING_FROM_OUTSIDE),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("link", rel="icon", href="data:,"),
        tag("title", title),
        tag("style", Markup(STYLE)),
    )
    body = tag("body", _top(report, title), tag("main", *_sections(report)), _foot())
    return f"<!doctype html>\n{tag('html', head, body, lang='en')}\n"


def _top(report: Report, title: str) -> Markup:
    return tag(
        "header",
        tag("h1", title),
        _verdicts(report),
        _warnings(report),
        _problems(report),
        _contents(report),
    )


def _verdicts(report: Report) -> Markup:
    counts = Counter(claim.verdict for claim in report.claims)
    if not counts:
        return tag("p", "No claim of a paper is judged by these runs.", class_="summary")
    parts = [
        tag("li", tag("b", str(counts[word])), " ", tables.verdict(word))
        for word in tables.SYMBOLS
        if counts[word]
    ]
    ours = sum(claim.ours for claim in report.claims)
    and_ours = f" and {ours} of our own" if ours else ""
    said = (
        f"{len(report.claims) - ours} claims of the papers{and_ours}, judged by {_count(report)}:"
    )
    return join(tag("p", said, class_="summary"), tag("ul", *parts, class_="verdicts"))


def _count(report: Report) -> str:
    number = len(report.runs)
    return "one run" if number == 1 else f"{number} runs"


def _warnings(report: Report) -> Markup:
    """Before anything else is believed: these runs may have measured the machine."""
    if not report.result.warnings:
        return join()
    lines = [tag("li", warning) for warning in report.result.warnings]
    return _banner("The machine did not do all that was asked of it", lines)


def _problems(report: Report) -> Markup:
    lines = [tag("li", problem) for problem in report.result.problems]
    lines += [
        tag("li", f"{item.id} ({item.title}) is left out: there is no run of {', '.join(missing)}")
        for item, missing in report.incomplete
    ]
    if not lines:
        return join()
    return _banner("Problems", lines)


def _banner(title: str, lines: Sequence[Markup]) -> Markup:
    return tag("section", tag("h2", title), tag("ul", *lines), class_="problems", aria_label=title)


def _contents(report: Report) -> Markup:
    entries = [
        tag("li", tag("a", f"{part.item.id}: {part.item.title}", href=f"#item-{part.item.id}"))
        for part in report.items
    ]
    entries += [
        tag("li", tag("a", f"Run: {run.path.name}", href=f"#run-{folder + 1}"))
        for folder, run in enumerate(report.result.runs)
    ]
    return tag("nav", tag("ul", *entries), aria_label="Contents")


def _sections(report: Report) -> Iterator[Markup]:
    if report.items:
        yield tag("section", tag("h2", "Overview"), tables.overview(report.items))
    for paper, parts in groupby(report.items, lambda part: part.item.paper):
        yield tag("h2", PAPERS[paper], class_="paper") if paper in PAPERS else join()
        yield from map(_item, parts)
    for run in report.runs:
        yield _run(report, run)


def _item(part: ItemPart) -> Markup:
    name = tag("span", part.item.id, class_="id")
    return tag(
        "section",
        tag("h2", name, " ", part.item.title),
        tables.claims(part.claims) if part.claims else join(),
        _figures(part.drawings),
        id=f"item-{part.item.id}",
    )


def _figures(drawings: tuple[Drawing, ...]) -> Markup:
    if not drawings:
        return join()
    return tag("div", *(_figure(drawing) for drawing in drawings), class_="figures")


def _figure(drawing: Drawing) -> Markup:
    theory = ", dashed lines are theory" if drawing.curves else ""
    apart = "; series are set a little apart" if len(drawing.series) > 1 else ""
    legend = f"Points are means, bars {NINETY_FIVE} confidence intervals over repetitions{theory}{apart}."
    data = [tables.figure_data(drawing)]
    if drawing.curves:
        data.append(tables.theory_data(drawing))
    return tag(
        "figure",
        # Both are in the page and the style sheet shows one: no script chooses.
        tag("div", Markup(inline_svg(drawing, LIGHT)), class_="light-only"),
        tag("div", Markup(inline_svg(drawing, DARK)), class_="dark-only"),
        tag(
            "figcaption",
            tag("b", drawing.title),
            f". {legend} Run: {drawing.source}.",
        ),
        _more("Data of this figure", *data),
        id=f"figure-{drawing.id}",
    )


def _run(report: Report, part: RunPart) -> Markup:
    result, run = report.result, report.result.runs[part.folder]
    shown = [
        tables.fidelity(result, part.folder),
        tables.achieved(result, part.folder),
        tables.conservation(result, part.folder),
    ]
    folded: Mapping[str, Sequence[Markup | None]] = {
        "Table sizes": [tables.table_sizes(result, part.folder)],
        "Control messages": [tables.control(result, part.folder)],
        "All metrics, by community": tables.metrics(result, part.folder),
    }
    left_out = (
        tag("p", f"{part.left_out} more figures are left out; the tables have their numbers.")
        if part.left_out
        else join()
    )
    return tag(
        "section",
        tag("h2", "Run ", tag("span", run.path.name, class_="id")),
        tag("p", _title(run)) if _title(run) else join(),
        _facts(run),
        _experiment(run),
        *(found for found in shown if found is not None),
        _figures(part.drawings),
        left_out,
        *(
            _more(title, *(one for one in found if one is not None))
            for title, found in folded.items()
            if any(one is not None for one in found)
        ),
        id=f"run-{part.folder + 1}",
    )


def _title(run: Run) -> str:
    return str(run.points[0]["experiment"].get("title") or "") if run.points else ""


def _facts(run: Run) -> Markup:
    """What was run, and with what."""
    manifest = run.manifest
    facts = {"experiment": run.name}
    facts |= {key: plain(value) for key, value in manifest.items() if key not in NOT_FACTS}
    facts |= {key: plain(manifest[key]) for key in ("versions", "machine") if key in manifest}
    return tag("dl", *_described(facts), class_="facts")


def _described(facts: Mapping[str, str]) -> Iterator[Markup]:
    for name, value in facts.items():
        yield tag("div", tag("dt", name.replace("_", " ").capitalize()), tag("dd", value))


def _experiment(run: Run) -> Markup:
    try:
        text = (run.path / "experiment.yaml").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return tag("p", "The experiment's file is not in the run's folder.")
    listing = tag("pre", text, tabindex="0", role="region", aria_label="Experiment file")
    return _more("The experiment's file", listing)


def _more(summary: str, *content: Markup) -> Markup:
    return tag("details", tag("summary", summary), *content)


def _foot() -> Markup:
    text = f"Intervals are {NINETY_FIVE} confidence intervals over repetitions, by Student's t."
    return tag("footer", tag("p", text))
