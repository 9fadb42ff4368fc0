"""Files of one YAML document, found and read, with each problem's place in the file.

What a check finds is a field and a sentence; here it gets the line and the column.
"""

from collections.abc import Mapping
from pathlib import Path

from testbed.model.errors import FileError, described, listing, near_miss
from testbed.model.yaml_nodes import (
    MAX_BYTES,
    Document,
    Mark,
    Table,
    YamlError,
    data_of,
    node_of,
    read_yaml,
)


def find_file(name_or_path: str, folder: Path, what: type[FileError]) -> Path:
    """A file that exists: the path itself, or the folder's file of that name."""
    for path in (Path(name_or_path), folder / f"{name_or_path}.yaml"):
        if _is_file(path):
            return path
    names = sorted(path.stem for path in folder.glob("*.yaml"))
    there = f"{folder} has {listing(names)}" if names else f"{folder} has none"
    message = f"there is no {what.thing} {described(name_or_path)}: {there}"
    raise what([message + near_miss(Path(name_or_path).stem, names)])


def text_of(path: Path, what: type[FileError]) -> str:
    """The file's text, of a size that is worth reading."""
    try:
        if not path.exists():
            raise what([f"{path}: there is no such file"])
        if not path.is_file():
            is_ = "a directory" if path.is_dir() else "no regular file"
            raise what([f"{path}: is {is_}: name {what.a_thing}'s YAML file"])
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise what([f"{path}: cannot be read: {error.strerror}"]) from None
    if len(data) > MAX_BYTES:
        raise what([f"{path}: is larger than {MAX_BYTES >> 20} MiB"])
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"is not UTF-8 text: byte 0x{data[error.start]:02x} in line {line}"
        raise what([f"{path}: {message}"]) from None


def nodes_of(
    document: str | Mapping[str, object], path: Path, what: type[FileError]
) -> tuple[Table, Document]:
    """The mapping that the document is, and what was wrong with it as YAML."""
    if isinstance(document, str):
        try:
            nodes = read_yaml(document)
        except YamlError as error:
            raise what([line(path, error.mark, "", error.message)]) from None
    else:
        nodes = Document(node_of(document))
    if nodes.root is None:
        raise what([line(path, None, "", f"is empty; {what.a_thing} has at least {what.needs}")])
    if not isinstance(nodes.root, Table):
        is_ = described(data_of(nodes.root))
        message = f"must be a mapping, such as `name: my-{what.thing}`, is {is_}"
        raise what([line(path, nodes.root.mark, "", message)])
    return nodes.root, nodes


def line(path: Path, mark: Mark | None, name: str, message: str) -> str:
    """One problem, as a user reads it."""
    place = f"{path}:{mark.line}:{mark.column}" if mark else f"{path}"
    return ": ".join(part for part in (place, name, message) if part)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
