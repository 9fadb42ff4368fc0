"""`testbed reproduce`: what the papers print, run, measured and judged."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from analysis.papers.items import Claim, Item
from analysis.papers.registry import find
from testbed.cli.progress import bars
from testbed.reproduce import Last, Reproduced, judging_code, last_verdicts
from testbed.reproduce import reproduce as do

NARROWEST, WIDEST = 80, 100
"""Of the table of claims, whose sentences are wrapped to fit."""
STYLES = {"holds": "green", "differs": "bold red", "unclear": "yellow", "not measured": "dim"}


def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME…]",
            help="Items (cam-t2), ranges (cam-13..18) or papers (camcast); all of them if none.",
            show_default=False,
        ),
    ] = None,
    show_list: Annotated[
        bool, typer.Option("--list", help="Show what there is, and how it was last judged.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where runs and report go.")] = Path("runs/reproduce"),
    seed: Annotated[int | None, typer.Option(help="In place of the experiments'.")] = None,
    repetitions: Annotated[
        int | None, typer.Option(help="In place of the experiments', for a quick look.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run everything, whatever has been run already.")
    ] = False,
) -> None:
    """Run what the papers ran, and put what comes out beside what they print."""
    items = find(names or ())
    if show_list:
        _print_list(items, last_verdicts(out))
        return
    with bars() as watcher:
        done = do(items, out, watcher, seed=seed, repetitions=repetitions, fresh=fresh)
    _print_claims(items, done.claims)
    _print_end(done)
    if any(claim.verdict == "differs" for claim in done.claims):
        raise typer.Exit(1)


def _console() -> Console:
    console = Console(highlight=False)
    width = console.width if console.is_terminal else WIDEST
    return Console(width=min(WIDEST, max(NARROWEST, width)), highlight=False)


def _print_list(items: Sequence[Item], last: dict[str, Last]) -> None:
    table = Table(box=None, pad_edge=False)
    for column in ("id", "what", "engine"):
        table.add_column(column)
    table.add_column("time", justify="right")
    table.add_column("last verdict", no_wrap=True)
    for item in items:
        table.add_row(
            Text(item.id),
            Text(item.title),
            item.engine,
            f"{item.seconds} s",
            _verdict_in_words(last.get(item.id)),
        )
    _console().print(table)


def _verdict_in_words(last: Last | None) -> str:
    if last is None:
        return "-"
    judged = last.holds + last.differs + last.unclear
    if not judged:
        verdict = "not measured"
    elif last.holds == judged:
        verdict = f"all {judged} hold"
    else:
        parts = [f"{last.differs} differ"] * bool(last.differs)
        parts += [f"{last.unclear} unclear"] * bool(last.unclear)
        verdict = f"of {judged}, {', '.join(parts)}"
    remarks = []
    if last.repetitions is not None:
        remarks.append(f"{last.repetitions} repetition{'s' if last.repetitions != 1 else ''}")
    if last.seed is not None:
        remarks.append(f"seed {last.seed}")
    if last.code != judging_code():
        remarks.append("other code")
    return f"{verdict} ({', '.join(remarks)})" if remarks else verdict


def _print_claims(items: Sequence[Item], claims: Sequence[Claim]) -> None:
    console = _console()
    head = ("claim", "printed", "measured", "95 % interval", "verdict")
    console.print(_rows([[Text(name, style="bold") for name in head]]))
    for item in items:
        rows = [_row(claim) for claim in claims if claim.item == item.id]
        console.print(Text(f"{item.id}: {item.title}", style="bold"), _rows(rows), sep="\n")
    to_explain = [claim for claim in claims if claim.verdict in ("differs", "unclear")]
    if to_explain:
        print()
    for claim in to_explain:
        why = f" {_first_capital(claim.note)}." if claim.note else ""
        said = "differs" if claim.verdict == "differs" else "is unclear"
        console.print(Text(f"{claim.item} {said}: {claim.text}.{why}"))


def _rows(rows: Sequence[Sequence[Text]]) -> Table:
    """Columns of fixed widths, so that one item's stand under another's."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 1, 0, 0), expand=True)
    for width in (None, 13, 15, 14, 12):
        table.add_column(width=width, ratio=None if width else 1)
    for row in rows:
        table.add_row(*row)
    return table


def _row(claim: Claim) -> list[Text]:
    plain = (claim.text, claim.printed, claim.measured, claim.interval)
    return [*map(Text, plain), Text(claim.verdict, style=STYLES[claim.verdict])]


def _print_end(done: Reproduced) -> None:
    count = Counter(claim.verdict for claim in done.claims)
    print()
    print(
        f"{len(done.claims)} claims: {count['holds']} hold, {count['differs']} differ, "
        + (f"{count['unclear']} unclear, " if count["unclear"] else "")
        + f"{count['not measured']} not measured"
    )
    if done.reused:
        print(f"{done.reused} of {len(done.runs)} runs were there already; --fresh runs them again")
    print(f"report: {done.report}")
    sys.stdout.flush()
    for problem in done.problems:
        print(f"testbed: {problem}", file=sys.stderr)


def _first_capital(note: str) -> str:
    return note[:1].upper() + note[1:]
