"""Parameters, checked one by one against what a protocol or a membership says of its own.

The class's `Parameters` are a msgspec Struct; so every rule stands there, once, and here only the
sentences.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec

from testbed.model.errors import FieldPath, Found, described, listing, suggestion

_WRONG_TYPE = re.compile(r"Expected `(?P<type>[^`]+)`, got `[^`]+`")
_OUT_OF_BOUNDS = re.compile(r"Expected `(?P<type>[^`]+)` (?P<sign>>=|<=|>|<) (?P<bound>\S+)")
_WRONG_LENGTH = re.compile(r"Expected `[^`]+` of length (?P<sign>>=|<=|==) (?P<bound>\d+)")
_PLACE = re.compile(r" - at `\$(?P<place>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<name>[^`]+)`")

_TYPES = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "bool": "true or false",
    "null": "empty",
    "array": "a list",
    "object": "a mapping (key: value)",
}
_SIGNS = {">=": "at least", "<=": "at most", ">": "more than", "<": "less than", "==": "exactly"}


class ParameterCheck:
    """Knows one class's parameters, and whose they are."""

    def __init__(self, owner: str, kind: object) -> None:
        """A `ValueError` says what is wrong with the class itself."""
        self._owner = owner
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            raise ValueError(f"the Parameters of {owner} are no subclass of Parameters")
        self._kind = kind
        self._types = {field.encode_name: field.type for field in msgspec.structs.fields(kind)}

    def each(self, values: Mapping[str, Any], path: FieldPath) -> list[Found]:
        """What is wrong with single parameters."""
        found = []
        for name, value in values.items():
            if name not in self._types:
                there = suggestion(name, self._types) or ", which has none"
                message = f"is no parameter of {self._owner}{there}"
                found.append(Found((*path, name), message, True))
                continue
            try:
                msgspec.convert(value, self._types[name])
            except msgspec.ValidationError as error:
                message = _sentence(str(error), value, self._types[name])
                found.append(Found((*path, name), message))
        return found

    def together(self, values: Mapping[str, Any], path: FieldPath) -> list[Found]:
        """What is wrong with parameters that are each right."""
        try:
            msgspec.convert(dict(values), self._kind)
        except msgspec.ValidationError as error:
            missing = _MISSING.match(str(error))
            if missing:
                message = f"is missing: {self._owner} has no default for it"
                return [Found((*path, missing["name"]), message)]
            return [Found(path, f"{self._owner} cannot have these parameters: {error}")]
        except Exception as error:  # the class's own code, which may be anybody's
            told = f"{type(error).__name__}: {error}"
            return [Found(path, f"{self._owner} fails on these parameters: {told}")]
        return []


def _sentence(message: str, value: object, kind: object) -> str:
    inner = _PLACE.search(message)
    where = f" at {inner['place'].lstrip('.')}" if inner else ""
    message = _PLACE.sub("", message)
    is_ = "" if inner else f", is {described(value)}"
    if match := _WRONG_TYPE.fullmatch(message):
        names = [_TYPES.get(name, name) for name in match["type"].split(" | ")]
        return f"must be {listing(names, 'or')}{where}{is_}"
    if match := _OUT_OF_BOUNDS.fullmatch(message):
        bound = match["bound"].removesuffix(".0")
        return f"must be {_SIGNS[match['sign']]} {bound}{where}{is_}"
    if match := _WRONG_LENGTH.fullmatch(message):
        return f"must be of {_SIGNS[match['sign']]} {match['bound']} in length{where}{is_}"
    if message.startswith("Invalid enum value") and (choices := _choices(kind)):
        return f"must be {listing(choices, 'or')}{where}{is_}"
    return f"{message[:1].lower()}{message[1:].replace('`', '')}{where}{is_}"


def _choices(kind: object) -> list[str]:
    if get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    return [str(choice) for choice in get_args(kind)] if get_origin(kind) is Literal else []
