"""What is wrong with an experiment's or a topology's file, in sentences.

A check that finds something says at which field, never at which line: where a field stands is known
to the nodes alone. A `FileError` carries every problem of a file at once, a line for each.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice
from typing import ClassVar, NamedTuple

from agents.core.errors import LocalError

MAX_LINES = 100
"""Ours: whoever made more mistakes than that made one mistake many times."""
MAX_LISTED = 20
"""Ours: how many names a sentence lists before it says how many more there are."""
MAX_COMPARED = 200
"""Ours: comparing is slow, and a file may have as many mistakes as names."""

FieldPath = tuple[str | int, ...]
"""Keys and positions from the top of the file to a field."""

_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class FileError(LocalError):
    """A file cannot be used; `problems` says why, one sentence each."""

    thing: ClassVar[str]
    """What the file would have been."""
    a_thing: ClassVar[str]
    needs: ClassVar[str]
    """What it has at the least."""

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        lines = list(self.problems[:MAX_LINES])
        if len(self.problems) > MAX_LINES:
            lines.append(f"… and {len(self.problems) - MAX_LINES} more problems")
        return "\n".join(lines)


class ExperimentError(FileError):
    thing = "experiment"
    a_thing = "an experiment"
    needs = "a name, a protocol, communities and a workload"


class TopologyError(FileError):
    thing = "topology"
    a_thing = "a topology"
    needs = "a name, switches, hosts and communities"


class Found(NamedTuple):
    """One problem, as a check reports it."""

    path: FieldPath
    message: str
    at_key: bool = False
    """It is the key that is wrong, not what stands behind it."""


def field_text(path: FieldPath) -> str:
    """The field as people write it: `workload[0].topic`, `communities[.a.d]`."""
    text = ""
    for step in path:
        if isinstance(step, str) and _PLAIN_KEY.fullmatch(step):
            text += f".{step}" if text else step
        else:
            text += f"[{shortened(str(step))}]"
    return text


def shortened(text: str) -> str:
    """The text on one line and of a bearable length."""
    text = text if text.isprintable() else repr(text)[1:-1]
    return text if len(text) <= 60 else text[:59] + "…"


def described(value: object) -> str:
    """A value from a file as a sentence names it."""
    match value:
        case None:
            return "empty"
        case bool():
            return "true" if value else "false"
        case str():
            return f"'{shortened(value)}'"
        case list() | tuple():
            return "a list"
        case dict():
            return "a mapping"
        case _:
            return shortened(str(value))


def listing(names: Iterable[str], last: str = "and") -> str:
    """`a, b and c`; of very many only the first."""
    names = list(names)
    shown = [shortened(name) for name in names[:MAX_LISTED]]
    if len(names) > MAX_LISTED:
        shown.append(f"{len(names) - MAX_LISTED} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} {last} {shown[-1]}"


def near_miss(word: str, names: Iterable[str]) -> str:
    """`; did you mean x?` where one of the names is nearly the word, else nothing."""
    long_enough = (name for name in islice(names, MAX_COMPARED) if len(name) > 2)
    close = get_close_matches(word[:MAX_COMPARED], long_enough, n=1)
    return f"; did you mean {close[0]}?" if close and close[0] != word else ""


def suggestion(word: str, names: Iterable[str]) -> str:
    """The near miss, or else all that there is."""
    names = list(names)
    if not names:
        return ""
    verb = "is" if len(names) == 1 else "are"
    return near_miss(word, names) or f"; there {verb} {listing(names)}"
