"""Random draws that come out the same on every machine and Python version.

Python promises the sequence of `Random.random()` for a seed, and of nothing built on it; so all
draws here are made of that one call. Streams are derived from a run's seed by name, so that one
peer's draws do not depend on another's.
"""

import math
from collections.abc import Callable, Sequence
from hashlib import blake2b
from random import Random
from typing import TypeVar

T = TypeVar("T")


def derive(seed: int, *name: str | int) -> int:
    """An independent seed for this seed and name."""
    text = "/".join((str(seed), *map(str, name)))
    return int.from_bytes(blake2b(text.encode(), digest_size=16).digest())


def stream(seed: int, *name: str | int) -> Random:
    """An independent stream for this seed and name."""
    return Random(derive(seed, *name))


def choice(items: Sequence[T], random: Callable[[], float]) -> T:
    return items[int(random() * len(items))]


def sample(items: Sequence[T], count: int, random: Callable[[], float]) -> list[T]:
    """`count` different positions of `items` in random order; all of them if there are fewer."""
    size = len(items)
    if count * 8 < size:
        taken: dict[int, None] = {}
        while len(taken) < count:
            taken[int(random() * size)] = None
        return [items[position] for position in taken]
    pool = list(items)
    count = min(count, size)
    for left in range(count):
        right = left + int(random() * (size - left))
        pool[left], pool[right] = pool[right], pool[left]
    return pool[:count]


def sample_others(
    items: Sequence[int], me: int, count: int, random: Callable[[], float]
) -> list[int]:
    """As `sample`, of `items` that are all different, never taking `me`."""
    drawn = sample(items, count + 1, random)
    if me in drawn:
        drawn.remove(me)
    return drawn[:count]


def exponential(mean: float, random: Callable[[], float]) -> float:
    return -mean * math.log(1.0 - random())


def log_size(size: int, extra: float) -> int:
    """The papers' floor(ln N + c), for tables and fanouts alike; never negative."""
    return max(0, math.floor(math.log(size) + extra)) if size > 0 else 0
