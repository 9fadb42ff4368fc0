"""Durations: written with a unit, kept as whole nanoseconds."""

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from testbed.model.errors import described

UNITS = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
}
LONGEST = (1 << 63) - 1
"""Nanoseconds that fit the journal's 64 bits: 292 years."""

_DURATION = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) ?([A-Za-zµμ]+)")
_NUMBER = re.compile(r"-?[0-9.]+")


def parse_duration(value: object) -> int:
    """The nanoseconds of `10ms`; a `ValueError` says what would have been right."""
    if value == 0 and not isinstance(value, bool | str):
        return 0
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a duration such as 5s or 10ms, is {described(value)}")
    text = str(value).strip()
    if _NUMBER.fullmatch(text) and not text.startswith("-"):
        raise ValueError(f"{text} has no unit: write {text}s or {text}ms")
    if text.startswith("-"):
        raise ValueError(f"must not be negative, is {described(value)}")
    match = _DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a duration such as 5s or 10ms, is {described(value)}")
    number, unit = match.groups()
    if unit not in UNITS:
        raise ValueError(
            f"has the unknown unit '{unit}' in {described(value)}: write ns, us, ms, s, min or h"
        )
    exact = Decimal(number) * UNITS[unit]
    if exact > LONGEST:
        raise ValueError(f"must be at most 292 years, is {described(value)}")
    if exact != exact.to_integral_value():
        raise ValueError(f"must be whole nanoseconds, is {described(value)}")
    return int(exact)


def format_duration(ns: int) -> str:
    """The shortest exact way to write it: `10ms`."""
    if ns == 0:
        return "0s"
    unit = next(name for name in reversed(UNITS) if ns % UNITS[name] == 0)
    return f"{ns // UNITS[unit]}{unit}"


Nanoseconds = Annotated[
    int,
    BeforeValidator(parse_duration),
    PlainSerializer(format_duration, return_type=str, when_used="json"),
]
"""A field that is written `10ms` in a file and is an `int` of nanoseconds in the program."""
