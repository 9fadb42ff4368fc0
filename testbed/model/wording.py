"""Pydantic's findings as sentences, at the fields of the file."""

from collections.abc import Callable, Sequence
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag, ValidationError
from pydantic_core import ErrorDetails

from testbed.model import distributions, faults
from testbed.model.errors import FieldPath, Found, described, near_miss, suggestion

_TAGS = {f"<{kind}>" for kind in (*faults.KINDS, *distributions.KINDS, distributions.ROUNDS)}
_NO_FIELDS = {*_TAGS, "[key]"}
"""Steps of Pydantic's locations that are not in the file: which model of a union it was, and that
it was about a mapping's key."""


def findings(
    error: ValidationError, model: type[BaseModel], file_only: Sequence[str] = ()
) -> list[Found]:
    """All that is wrong with what was to be such a model, each once and each with its field;
    `file_only` are keys that a file has at its top beside the model's."""
    details = error.errors(include_url=False)
    found = (_finding(detail, model, file_only) for detail in details if not _is_echo(detail))
    return list(dict.fromkeys(found))


def _is_echo(detail: ErrorDetails) -> bool:
    """Whether a list is too short only because its items were refused before."""
    return detail["type"] == "too_short" and bool(detail["input"])


def _finding(detail: ErrorDetails, model: type[BaseModel], file_only: Sequence[str]) -> Found:
    kind, value, location = detail["type"], detail["input"], detail["loc"]
    path = tuple(step for step in location if step not in _NO_FIELDS)
    match kind:
        case "missing" if isinstance(path[-1], int):
            return Found(path[:-1], f"must have {path[-1] + 1} items, has {len(value)}")
        case "missing":
            return Found(path, "is missing")
        case "extra_forbidden":
            path = (*(step for step in location[:-1] if step not in _NO_FIELDS), location[-1])
            known = _keys_beside(location, model)
            if len(location) == 1:
                known += file_only
            return Found(path, f"is not known here{suggestion(str(path[-1]), known)}", True)
        case "fault":
            return _fault_kind(path, value)
    return Found(path, _sentence(detail), location[-1:] == ("[key]",))


def _fault_kind(path: FieldPath, value: Any) -> Found:
    if not isinstance(value, dict):
        return Found(path, f"must be a mapping with a kind, is {described(value)}")
    kind = value.get("kind")
    if kind is None:
        return Found((*path, "kind"), f"is missing{suggestion('', faults.KINDS)}")
    known = suggestion(str(kind), faults.KINDS)
    return Found((*path, "kind"), f"{described(kind)} is no kind of fault{known}")


def _sentence(detail: ErrorDetails) -> str:
    context = detail.get("ctx", {})
    is_ = f"is {described(detail['input'])}"
    kind = detail["type"]
    if kind == "value_error":
        return str(context["error"])
    if kind == "literal_error":
        return _literal(context["expected"], detail["input"])
    if kind in _BOUNDS:
        words, key = _BOUNDS[kind]
        return f"must be {words} {context[key]:.20g}, {is_}"
    if kind in _TYPES:
        return f"must be {_TYPES[kind]}, {is_}{_hint(kind, detail['input'])}"
    if kind in _LENGTHS:
        return _LENGTHS[kind](context)
    return f"{detail['msg'][:1].lower()}{detail['msg'][1:]}, {is_}"


def _literal(expected: str, value: object) -> str:
    choices = expected.replace("'", "")
    names = choices.replace(" or ", ", ").split(", ")
    return f"must be {choices}, is {described(value)}{near_miss(str(value), names)}"


def _hint(kind: str, value: object) -> str:
    if value is None:
        return ": give a value, or remove the key"
    if kind == "string_type" and isinstance(value, bool | int | float):
        return ": put it in quotes"
    return ""


_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}
_TYPES = {
    "int_type": "a whole number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_type": "true or false",
    "dict_type": "a mapping (key: value)",
    "mapping_type": "a mapping (key: value)",
    "model_type": "a mapping (key: value)",
    "model_attributes_type": "a mapping (key: value)",
    "tuple_type": "a list",
    "list_type": "a list",
}


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


_LENGTHS: dict[str, Callable[[dict[str, Any]], str]] = {
    "too_short": lambda c: (
        f"must have at least {_items(c['min_length'])}, has {c['actual_length']}"
    ),
    "too_long": lambda c: f"must have at most {_items(c['max_length'])}, has {c['actual_length']}",
    "string_too_short": lambda c: "must not be empty",
}


def _keys_beside(location: tuple[str | int, ...], model: type[BaseModel]) -> list[str]:
    """The keys that are known where the last step of the location is not."""
    place: Any = model
    for step in location[:-1]:
        place = _inside(place, step)
    return _keys(place)


def _keys(model: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in model.model_fields.items()]


def _inside(place: Any, step: str | int) -> Any:
    """The type that one more step of a location leads to."""
    options = [option for option in _options(place) if option is not type(None)]
    for option in options:
        if step in _tags(option):
            return option
    place = options[0]
    while get_origin(place) is Annotated:
        place = _options(get_args(place)[0])[0]
    if isinstance(place, type) and issubclass(place, BaseModel):
        fields = place.model_fields.items()
        return next(f.annotation for name, f in fields if (f.alias or name) == step)
    arguments = get_args(place)
    return arguments[0] if isinstance(step, int) else arguments[-1]


def _options(place: Any) -> tuple[Any, ...]:
    """The types of a union, or the one type that it is."""
    if get_origin(place) is Annotated and get_origin(get_args(place)[0]) in (Union, UnionType):
        place = get_args(place)[0]
    return get_args(place) if get_origin(place) in (Union, UnionType) else (place,)


def _tags(option: Any) -> list[str]:
    extras = get_args(option)[1:] if get_origin(option) is Annotated else ()
    return [extra.tag for extra in extras if isinstance(extra, Tag)]
