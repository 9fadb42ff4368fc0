"""YAML as nodes that know where they stand.

The nodes are built from the parser's events and not by its composer, because so a file's depth is
bounded before anything recurses into it, and a scalar's type is ours to say. It is YAML 1.2's, which
has fewer traps: `no` and `on` are text, `010` is ten, `1e-3` is a number. A key is always text, so
that `.5` can be a topic. Aliases are refused, and with them what grows out of a small file.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import yaml
from yaml.reader import Reader

from testbed.model.errors import FieldPath, shortened

MAX_BYTES = 1 << 20
MAX_DEPTH = 32
"""Ours: an experiment needs eight levels."""

_INT = re.compile(r"[-+]?[0-9]+(_[0-9]+)*")
_FLOAT = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
_MAX_DIGITS = 40
_WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}

Value = str | int | float | bool | None


class Mark(NamedTuple):
    """A place in a file, counted from 1 as editors do."""

    line: int
    column: int


class YamlError(Exception):
    """The text cannot be read at all."""

    def __init__(self, message: str, mark: Mark | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.mark = mark


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """Something in a file."""

    mark: Mark | None = None
    """`None` for what did not come from a file."""
    axis: str = ""
    """The sweep's axis that put it where it is."""


@dataclass(frozen=True, slots=True)
class Scalar(Node):
    value: Value
    broken: bool = False
    """A problem was reported already; what follows from it is not worth a line."""


@dataclass(frozen=True, slots=True)
class Items(Node):
    items: tuple[Node, ...]


class Entry(NamedTuple):
    key_mark: Mark | None
    node: Node


@dataclass(frozen=True, slots=True)
class Table(Node):
    entries: Mapping[str, Entry]

    def get(self, key: str) -> Node | None:
        entry = self.entries.get(key)
        return entry.node if entry else None

    def with_entries(self, changes: Mapping[str, Entry]) -> Table:
        return replace(self, entries={**self.entries, **changes})

    def without(self, key: str) -> Table:
        return replace(self, entries={k: e for k, e in self.entries.items() if k != key})


class Misplaced(NamedTuple):
    """A problem that the reader could step over."""

    path: FieldPath
    message: str
    mark: Mark


@dataclass(slots=True)
class Document:
    root: Node | None
    """`None` for a file with nothing in it."""
    problems: list[Misplaced] = field(default_factory=list)


def read_yaml(text: str) -> Document:
    """The one document in the text, or a `YamlError`."""
    stray = Reader.NON_PRINTABLE.search(text)
    if stray:
        code = f"U+{ord(stray.group()):04X}"
        raise YamlError(
            f"not YAML: the character {code} is not text", _mark_at(text, stray.start())
        )
    try:
        return _Builder(yaml.parse(text, Loader=yaml.CSafeLoader)).document()
    except yaml.MarkedYAMLError as error:
        raise _plain_error(error, text) from None
    except (yaml.YAMLError, UnicodeError) as error:
        raise YamlError(f"not YAML: {' '.join(str(error).split())}") from None


class _Builder:
    """Turns events into nodes."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events = events
        self._problems: list[Misplaced] = []

    def document(self) -> Document:
        root: Node | None = None
        for event in self._events:
            match event:
                case yaml.StreamStartEvent() | yaml.DocumentEndEvent() | yaml.StreamEndEvent():
                    pass
                case yaml.DocumentStartEvent():
                    if root is not None:
                        message = "a second document begins here: a file has one"
                        raise YamlError(message, _mark(event))
                case _:
                    root = self._node(event, ())
        if isinstance(root, Scalar) and root.value is None:
            root = None
        return Document(root, self._problems)

    def _node(self, event: Any, path: FieldPath) -> Node:
        mark = _mark(event)
        if len(path) > MAX_DEPTH:
            raise YamlError(f"nested more than {MAX_DEPTH} levels deep", mark)
        if event.anchor is not None:
            sign = "*" if isinstance(event, yaml.AliasEvent) else "&"
            self._refuse(path, f"write the value out (or quote it) instead of {sign}anchors", mark)
        elif event.tag is not None:
            self._refuse(path, f"remove the tag {shortened(event.tag)}, or quote the text", mark)
        match event:
            case yaml.ScalarEvent():
                return self._scalar(event, path, mark)
            case yaml.SequenceStartEvent():
                return Items(self._items(path), mark=mark)
            case yaml.MappingStartEvent():
                return Table(self._entries(path), mark=mark)
            case _:
                return Scalar(None, broken=True, mark=mark)

    def _items(self, path: FieldPath) -> tuple[Node, ...]:
        items: list[Node] = []
        for event in self._events:
            if isinstance(event, yaml.SequenceEndEvent):
                break
            items.append(self._node(event, (*path, len(items))))
        return tuple(items)

    def _entries(self, path: FieldPath) -> dict[str, Entry]:
        entries: dict[str, Entry] = {}
        for event in self._events:
            if isinstance(event, yaml.MappingEndEvent):
                break
            mark = _mark(event)
            if not isinstance(event, yaml.ScalarEvent):
                self._node(event, (*path, "?"))
                self._node(next(self._events), (*path, "?"))
                self._refuse(path, "a key must be text, not a list, a mapping or an alias", mark)
                continue
            key = event.value
            node = self._node(next(self._events), (*path, key))
            known = entries.get(key)
            if known is None:
                entries[key] = Entry(mark, node)
            else:
                first = f", first in line {known.key_mark.line}" if known.key_mark else ""
                self._refuse((*path, key), f"is there twice{first}: remove one", mark)
        return entries

    def _scalar(self, event: Any, path: FieldPath, mark: Mark) -> Scalar:
        text: str = event.value
        if not event.implicit[0]:
            return Scalar(text, mark=mark)
        try:
            return Scalar(_plain_value(text), mark=mark)
        except ValueError:
            self._refuse(path, f"{shortened(text)} is too large or too long a number", mark)
            return Scalar(None, broken=True, mark=mark)

    def _refuse(self, path: FieldPath, message: str, mark: Mark) -> None:
        self._problems.append(Misplaced(path, message, mark))


def _plain_value(text: str) -> Value:
    """What a scalar without quotes means."""
    if text in _WORDS:
        return _WORDS[text]
    if not (is_int := _INT.fullmatch(text)) and not _FLOAT.fullmatch(text):
        return text
    if len(text) > _MAX_DIGITS:
        raise ValueError(text)
    if is_int:
        return int(text)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


def node_of(value: object) -> Node:
    """Data from elsewhere as nodes that stand nowhere."""
    match value:
        case Mapping():
            return Table({str(key): Entry(None, node_of(item)) for key, item in value.items()})
        case list() | tuple():
            return Items(tuple(map(node_of, value)))
        case str() | int() | float() | None:
            return Scalar(value)
        case _:
            return Scalar(str(value))


class _Unreadable:
    """Stands in the data for a broken scalar, and is right nowhere: not even as nothing."""


_UNREADABLE = _Unreadable()


def data_of(node: Node) -> Any:
    """The plain data, of dictionaries and lists, without the places."""
    match node:
        case Table(entries):
            return {key: data_of(entry.node) for key, entry in entries.items()}
        case Items(items):
            return [data_of(item) for item in items]
        case Scalar(value, broken):
            return _UNREADABLE if broken else value
    raise AssertionError(node)


@dataclass(slots=True)
class Place:
    """Where a field is, and what brought it there."""

    path: FieldPath
    mark: Mark | None
    axes: list[str]
    broken: bool


def locate(root: Node, path: FieldPath, at_key: bool) -> Place:
    """The field's place, or that of the nearest thing around it which exists."""
    node, mark, axes = root, root.mark, [root.axis]
    for depth, step in enumerate(path):
        match node:
            case Table(entries) if isinstance(step, str):
                entry = entries.get(step)
                if entry is None:
                    break
                at_last_key = at_key and depth == len(path) - 1
                node, mark = entry.node, entry.key_mark if at_last_key else entry.node.mark
            case Items(items) if isinstance(step, int) and step < len(items):
                node = items[step]
                mark = node.mark
            case Scalar():
                path = path[:depth]
                break
            case _:
                break
        axes.append(node.axis)
    broken = isinstance(node, Scalar) and node.broken
    return Place(path, mark, [axis for axis in axes if axis], broken)


def _mark(event: Any) -> Mark:
    return Mark(event.start_mark.line + 1, event.start_mark.column + 1)


def _mark_at(text: str, offset: int) -> Mark:
    before = text[:offset]
    return Mark(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


def _plain_error(error: yaml.MarkedYAMLError, text: str) -> YamlError:
    where = error.problem_mark or error.context_mark
    mark = Mark(where.line + 1, where.column + 1) if where else None
    lines = text.splitlines()
    if mark and lines and mark.line > len(lines):  # the parser is one line behind the last
        mark = Mark(len(lines), len(lines[-1]) + 1)
    elif mark and lines:
        line = lines[mark.line - 1]
        indentation = line[: len(line) - len(line.lstrip())]
        if "\t" in indentation + line[mark.column - 1 : mark.column]:
            return YamlError("not YAML: there is a tab: indent with spaces", mark)
    context = f" ({error.context})" if error.context else ""
    return YamlError(f"not YAML: {error.problem}{context}", mark)
