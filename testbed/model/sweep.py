"""Sweeps: axes of values, and the variables `$axis` and `$axis.variable` that they stand in for.

Values are put in as nodes, so that each keeps its own place in the file: what is wrong with a value
is reported where the value stands.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from testbed.model.errors import FieldPath, Found, described, listing, near_miss
from testbed.model.yaml_nodes import Entry, Items, Node, Scalar, Table

MAX_POINTS = 10_000
"""Ours: each point is read and checked before anything runs, at about a millisecond each."""

Label = str | int | float
"""What a point is called on one axis: its value, or its case's name."""

SAME_EVERYWHERE = ("name", "engine", "seed", "repetitions", "journal")
NEVER_A_VARIABLE = ("title", "sweep")

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_VARIABLE = re.compile(rf"\$({_NAME.pattern})(?:\.({_NAME.pattern}))?")
_WHOLE = ""
"""The variable of an axis that has no cases."""


@dataclass(frozen=True, slots=True)
class Axis:
    name: str
    labels: tuple[Label, ...]
    values: tuple[Mapping[str, Node], ...]
    """For each label the variables' values."""

    @property
    def variables(self) -> list[str]:
        return list(self.values[0])

    @property
    def has_cases(self) -> bool:
        return _WHOLE not in self.values[0]


@dataclass(slots=True)
class Sweep:
    axes: list[Axis] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    """Axes that are there, but wrong."""
    found: list[Found] = field(default_factory=list)

    @property
    def count(self) -> int:
        return math.prod(len(axis.labels) for axis in self.axes)

    def points(self) -> Iterator[tuple[int, ...]]:
        """All combinations, as positions on the axes; the last axis changes fastest."""
        return itertools.product(*(range(len(axis.labels)) for axis in self.axes))

    def labels(self, point: tuple[int, ...]) -> dict[str, Label]:
        return {axis.name: axis.labels[n] for axis, n in zip(self.axes, point, strict=True)}

    def values(self, point: tuple[int, ...]) -> dict[tuple[str, str], Node]:
        """By axis and variable, each knowing which axis it is from."""
        return {
            (axis.name, variable): replace(node, axis=axis.name)
            for axis, n in zip(self.axes, point, strict=True)
            for variable, node in axis.values[n].items()
        }

    def blamed(self, guilty: set[int]) -> list[str]:
        """The axes on which it depends whether a point is among the guilty ones."""
        axes, stride = [], self.count
        for axis in self.axes:
            size = len(axis.labels)
            stride //= size
            if any(
                point + (other - point // stride % size) * stride not in guilty
                for point in guilty
                for other in range(size)
            ):
                axes.append(axis.name)
        return axes


def read_sweep(node: Node | None) -> Sweep:
    sweep = Sweep()
    if node is None:
        return sweep
    if not isinstance(node, Table):
        message = "must be a mapping of axes, such as `crashed: [0, 0.1]`"
        sweep.found.append(Found(("sweep",), message))
        return sweep
    for name, (_, axis) in node.entries.items():
        path = ("sweep", name)
        before = len(sweep.found)
        values: dict[Label, Mapping[str, Node]] = {}
        if not _NAME.fullmatch(name):
            message = "an axis is named by letters, digits, '_' and '-', beginning with a letter"
            sweep.found.append(Found(path, message, True))
        match axis:
            case Items(items) if items:
                values = _plain_values(items, path, sweep.found)
            case Table(entries) if entries:
                values = _cases(entries, path, sweep.found)
            case _:
                message = "must be a list of values, or a mapping of cases"
                sweep.found.append(Found(path, message))
        if len(sweep.found) > before:
            sweep.broken.add(name)
        else:
            sweep.axes.append(Axis(name, tuple(values), tuple(values.values())))
    return sweep


def _plain_values(
    items: tuple[Node, ...], path: FieldPath, found: list[Found]
) -> dict[Label, Mapping[str, Node]]:
    values: dict[Label, Mapping[str, Node]] = {}
    texts: set[str] = set()
    for position, item in enumerate(items):
        here = (*path, position)
        if not isinstance(item, Scalar) or item.value is None:
            message = "must be text or a number; a list or a mapping needs a name: write cases"
            found.append(Found(here, message))
            continue
        found += _nested(item, here)
        label = described(item.value) if isinstance(item.value, bool) else item.value
        if str(label) in texts or label in values:
            found.append(Found(here, f"{described(label)} is there twice: remove one"))
        texts.add(str(label))
        values[label] = {_WHOLE: item}
    return values


def _cases(
    entries: Mapping[str, Entry], path: FieldPath, found: list[Found]
) -> dict[Label, Mapping[str, Node]]:
    values: dict[Label, Mapping[str, Node]] = {}
    expected: list[str] | None = None
    for case, (_, node) in entries.items():
        here = (*path, case)
        if not isinstance(node, Table) or not node.entries:
            found.append(Found(here, "a case must be a mapping of variables to their values"))
            continue
        names = list(node.entries)
        found += (
            Found((*here, name), "a variable is named by letters, digits, '_' and '-'", True)
            for name in names
            if not _NAME.fullmatch(name)
        )
        if expected is not None and set(names) != set(expected):
            message = f"all cases have the same variables: the first has {listing(expected)}"
            found.append(Found(here, message, True))
        expected = expected or names
        values[case] = {name: entry.node for name, entry in node.entries.items()}
        found += _nested(node, here)
    return values


def _nested(node: Node, path: FieldPath) -> list[Found]:
    """Variables inside the sweep itself."""
    message = "a value of a sweep cannot be a variable itself"
    return [Found(where, message) for where, _ in _variables(node, path)]


def _variables(node: Node, path: FieldPath) -> Iterator[tuple[FieldPath, str]]:
    """Every scalar that begins with a dollar."""
    match node:
        case Table(entries):
            for key, entry in entries.items():
                yield from _variables(entry.node, (*path, key))
        case Items(items):
            for position, item in enumerate(items):
                yield from _variables(item, (*path, position))
        case Scalar(str() as text) if text.startswith("$"):
            yield path, text


def body_of(root: Table) -> Table:
    """What the variables are replaced in: all but the sweep."""
    return root.without("sweep")


def used(body: Table) -> set[tuple[str, str]]:
    """The variables that are used, each as axis and variable."""
    matches = (_VARIABLE.fullmatch(text) for _, text in _in_body(body))
    return {(match[1], match[2] or _WHOLE) for match in matches if match}


def _in_body(body: Table) -> Iterator[tuple[FieldPath, str]]:
    for path, text in _variables(body, ()):
        if path[0] not in NEVER_A_VARIABLE:
            yield path, text


def check_variables(body: Table, sweep: Sweep) -> list[Found]:
    """Variables that nothing defines, and axes that nothing uses."""
    found = []
    axes = {axis.name: axis for axis in sweep.axes}
    for path, text in _in_body(body):
        message = _wrong_variable(text, axes, sweep.broken)
        if path[0] in SAME_EVERYWHERE:
            message = "is the same at every point of a sweep: it cannot be a variable"
        if message:
            found.append(Found(path, message))
    names = used(body)
    for axis in sweep.axes:
        unused = [name for name in axis.variables if (axis.name, name) not in names]
        if len(unused) == len(axis.variables) and not any(name == axis.name for name, _ in names):
            message = f"nothing uses {_options(axis)}: use it, or remove the axis"
            found.append(Found(("sweep", axis.name), message, True))
        elif axis.has_cases:
            first = str(axis.labels[0])
            found += (
                Found(
                    ("sweep", axis.name, first, name),
                    f"nothing uses ${axis.name}.{name}: use it, or remove it",
                    True,
                )
                for name in unused
            )
    return found


def _wrong_variable(text: str, axes: Mapping[str, Axis], broken: set[str]) -> str:
    match = _VARIABLE.fullmatch(text)
    if match is None:
        return f"{described(text)} is no variable: write $axis or $axis.variable"
    name, variable = match[1], match[2] or _WHOLE
    if name in broken:
        return ""
    if name not in axes:
        if not axes and not broken:
            return f"{text} is not defined: there is no sweep"
        known = sorted({*axes, *broken})
        return f"{text} is not defined: the sweep has {listing(known)}{near_miss(name, known)}"
    axis = axes[name]
    if variable in axis.variables:
        return ""
    if axis.has_cases:
        wrong = f" has no {variable}" if variable else " is an axis of cases"
        return f"{name}{wrong}: write {_options(axis)}"
    return f"{name} is an axis without cases: write ${name}"


def _options(axis: Axis) -> str:
    if not axis.has_cases:
        return f"${axis.name}"
    return listing([f"${axis.name}.{variable}" for variable in axis.variables], "or")


def substituted(body: Table, values: Mapping[tuple[str, str], Node]) -> Table:
    """The body at one point; what is not defined is marked as broken."""
    changed = {}
    for key, (mark, node) in body.entries.items():
        known = {} if key in SAME_EVERYWHERE else values
        new = node if key in NEVER_A_VARIABLE else _replaced(node, known)
        if new is not node:
            changed[key] = Entry(mark, new)
    return body.with_entries(changed) if changed else body


def _replaced(node: Node, values: Mapping[tuple[str, str], Node]) -> Node:
    """The same node if nothing in it is a variable."""
    match node:
        case Table(entries):
            new = {key: _replaced(entry.node, values) for key, entry in entries.items()}
            if all(new[key] is entry.node for key, entry in entries.items()):
                return node
            return replace(
                node, entries={key: Entry(e.key_mark, new[key]) for key, e in entries.items()}
            )
        case Items(items):
            replaced = tuple(_replaced(item, values) for item in items)
            same = all(a is b for a, b in zip(items, replaced, strict=True))
            return node if same else replace(node, items=replaced)
        case Scalar(str() as text) if text.startswith("$"):
            match = _VARIABLE.fullmatch(text)
            value = values.get((match[1], match[2] or _WHOLE)) if match else None
            return value or Scalar(None, broken=True, mark=node.mark)
    return node
