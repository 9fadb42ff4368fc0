"""Arguments that make no sense are refused, by name."""

import math


def probability(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must be from 0 to 1, is {value}")
    return value


def possible(name: str, value: float) -> float:
    """A probability whose logarithm is taken."""
    if not 0 < value <= 1:
        raise ValueError(f"{name} must be above 0 and at most 1, is {value}")
    return value


def at_least(least: float, name: str, value: float) -> float:
    if not least <= value < math.inf:
        raise ValueError(f"{name} must be finite and at least {least}, is {value}")
    return value


def finite(name: str, value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{name} must be finite, is {value}")
    return value
