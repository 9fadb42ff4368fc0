"""Rates of links: written with a unit, kept as whole bits per second."""

import re
from decimal import Decimal
from typing import Annotated

from pydantic import BeforeValidator, PlainSerializer

from testbed.model.errors import described

UNITS = {"bit": 1, "kbit": 1_000, "mbit": 1_000_000, "gbit": 1_000_000_000}
"""As `tc` has them, where `bps` would be bytes."""
LEAST = 1_000
"""Ours: a full datagram takes twelve seconds."""
GREATEST = 1_000_000_000_000
"""Ours: 1,000gbit, more than a machine can copy."""

_RATE = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) ?([A-Za-z/]+)")
_NUMBER = re.compile(r"[0-9.]+")


def parse_rate(value: object) -> int:
    """The bits per second of `100mbit`; a `ValueError` says what would have been right."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError(f"must be a rate such as 100mbit or 1gbit, is {described(value)}")
    text = str(value).strip()
    if value == 0 or text == "0":
        raise ValueError("must be more than 0: a link that carries nothing is a loss of 1")
    if text.startswith("-"):
        raise ValueError(f"must not be negative, is {described(value)}")
    if _NUMBER.fullmatch(text):
        raise ValueError(f"{text} has no unit: write {text}mbit or {text}kbit")
    match = _RATE.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a rate such as 100mbit or 1gbit, is {described(value)}")
    number, unit = match.groups()
    if unit not in UNITS:
        raise ValueError(
            f"has the unknown unit '{unit}' in {described(value)}: write bit, kbit, mbit or gbit"
        )
    exact = Decimal(number) * UNITS[unit]
    if exact == 0:
        raise ValueError("must be more than 0: a link that carries nothing is a loss of 1")
    if not LEAST <= exact <= GREATEST:
        least, greatest = format_rate(LEAST), format_rate(GREATEST)
        raise ValueError(f"must be {least} to {greatest}, is {described(value)}")
    if exact != exact.to_integral_value():
        raise ValueError(f"must be whole bits per second, is {described(value)}")
    return int(exact)


def format_rate(bits: int) -> str:
    """The shortest exact way to write it: `100mbit`."""
    unit = next(name for name in reversed(UNITS) if bits % UNITS[name] == 0)
    return f"{bits // UNITS[unit]}{unit}"


BitsPerSecond = Annotated[
    int,
    BeforeValidator(parse_rate),
    PlainSerializer(format_rate, return_type=str, when_used="json"),
]
"""A field that is written `100mbit` in a file and is an `int` of bits per second in the program."""
