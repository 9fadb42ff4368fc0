"""Taking out of a file's data what is wrong, so that the rest can be looked at.

`path` leads to a field of data that are dictionaries and lists; a field that is not there is no
mistake, for something around it may have been taken out before.
"""

from typing import Any

from testbed.model.errors import FieldPath


def blank(data: Any, path: FieldPath) -> None:
    """Put nothing in the field's place."""
    around = _around(data, path)
    if path and _has(around, path[-1]):
        around[path[-1]] = None


def remove(data: Any, path: FieldPath) -> None:
    """Take the key out with what stands behind it."""
    around = _around(data, path)
    if path and isinstance(around, dict):
        around.pop(path[-1], None)


def _around(data: Any, path: FieldPath) -> Any:
    for step in path[:-1]:
        data = data[step] if _has(data, step) else None
    return data


def _has(data: Any, step: str | int) -> bool:
    match data:
        case dict():
            return step in data
        case list():
            return isinstance(step, int) and step < len(data)
    return False
