"""What a command's words say of files: which are ours and must be there, and where results go.

There, a folder stands for the root of our file system, and the command runs in what stands for the
current folder. So relative paths mean the same in both places, and absolute ones get the folder in
front. A word is taken for a file if there is one of that name here.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

VERBATIM = frozenset({"exec"})
"""Commands whose words are not about files of ours."""
CLASS_IN_FILE = re.compile(r"(.+):[A-Za-z_]\w*")
"""path/to/file.py:Name"""


@dataclass(frozen=True)
class Words:
    """A command as it is to be run there."""

    parts: tuple[tuple[str, str], ...]
    """Of each word, what comes before an absolute path, and the path; or the word and nothing."""
    sends: tuple[Path, ...]
    """Files that it reads, as absolute paths here."""
    places: tuple[Path, ...]
    """Files and folders that it may write, as absolute paths here."""

    def under(self, root: str) -> list[str]:
        """The words, where `root` stands for the root of our file system."""
        return [before + root + path if path else before for before, path in self.parts]


def understand(
    words: Sequence[str], path_options: Mapping[str, Path | None], folder: Path
) -> Words:
    """`path_options` are the command's options that name files, with their defaults."""
    if words[0] in VERBATIM:
        return Words(tuple((word, "") for word in words), (), ())
    parts: list[tuple[str, str]] = []
    sends: dict[Path, None] = {}
    places: dict[Path, None] = {}
    given = set()
    option = ""
    for number, word in enumerate(words):
        if word == "--":
            parts += [(rest, "") for rest in words[number:]]
            break
        before, value = "", word
        if word.startswith("-"):
            name, equals, value = word.partition("=")
            if not equals:
                parts.append((word, ""))
                option = word
                continue
            option, before = name, f"{name}="
        path = _named_file(value, folder)
        if option in path_options:
            given.add(option)
            places[_absolute(value, folder)] = None
        sends.update(dict.fromkeys(_with_what_it_names(path)) if path else {})
        if value.startswith("/") and (path or option in path_options):
            parts.append((before, value))
        else:
            parts.append((word, ""))
        option = ""
    for name, default in path_options.items():
        if name not in given and default is not None:
            places[_absolute(str(default), folder)] = None
    return Words(tuple(parts), tuple(sends), tuple(places))


def is_wanted(path: Path, places: Collection[Path]) -> bool:
    """Whether a machine may write this file of ours: only what the command was to write, and never
    a hidden file, for a current folder may be somebody's home."""
    for place in places:
        if path.is_relative_to(place):
            below = path.relative_to(place).parts
            return not any(name.startswith(".") or name == ".." for name in below)
    return False


def _named_file(value: str, folder: Path) -> Path | None:
    """A file, or a run's folder; `path/to/file.py:Name` names a file too."""
    in_file = CLASS_IN_FILE.fullmatch(value)
    for text in (value, in_file[1] if in_file else ""):
        path = _absolute(text, folder)
        try:
            if text and (path.is_file() or (path / "manifest.json").is_file()):
                return path
        except (OSError, ValueError):
            continue  # too long for a name, or with a NUL
    return None


def _with_what_it_names(path: Path) -> Iterator[Path]:
    """An experiment names a protocol's file, and may name a topology's, from its own folder."""
    if path.is_dir():
        yield from sorted(found for found in path.rglob("*") if found.is_file())
        return
    yield path
    if path.suffix in (".yaml", ".yml"):
        try:
            said = yaml.safe_load(path.read_bytes())
        except yaml.YAMLError:
            return  # the command there will say what is wrong with it
        for text in _strings(said):
            named = _named_file(text, path.parent)
            if named is not None and named.is_file() and named != path:
                yield named


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for key, inner in value.items():
                yield from _strings(key)
                yield from _strings(inner)
        case list():
            for inner in value:
                yield from _strings(inner)


def _absolute(text: str, folder: Path) -> Path:
    # Not resolved: a link stands for what it leads to, under its own name.
    parts: list[str] = []
    for part in (folder / text).parts[1:]:
        if part == "..":
            parts = parts[:-1]
        else:
            parts.append(part)
    return Path("/", *parts)
