"""The engine: integer time, and what is due at each tick, first in, first out.

What is due soon lies in a ring of lists, one for each of the next 4,096 ticks; what is due later
lies in a dictionary of lists with a heap over its ticks. An entry is a plain tuple, and a whole
list of them is handed over at once: that is what makes it fast. Order needs no sequence numbers,
for a delay is at least one tick and a list keeps the order of its appends.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

Entry = tuple[int, int, Any]

RING = 4096
_MASK = RING - 1


class Engine:
    """Knows the time, and what is to be handed to `process` when."""

    __slots__ = ("_far", "_far_ticks", "_process", "_ring", "tick")

    def __init__(self, process: Callable[[list[Entry]], None]) -> None:
        self.tick = 0
        self._process = process
        self._ring: list[list[Entry]] = [[] for _ in range(RING)]
        self._far: dict[int, list[Entry]] = {}
        self._far_ticks: list[int] = []

    def slot(self, delay: int) -> list[Entry]:
        """The list to append to for what is due in `delay` ticks, at least one."""
        if delay < RING:
            return self._ring[(self.tick + delay) & _MASK]
        due = self.tick + delay
        entries = self._far.get(due)
        if entries is None:
            entries = self._far[due] = []
            heappush(self._far_ticks, due)
        return entries

    def run(self, until: int, finished: Callable[[], bool]) -> None:
        """Go on until that tick is done, nothing is due any more, or `finished` says so."""
        ring, far, far_ticks, process = self._ring, self._far, self._far_ticks, self._process
        empty = 0
        while self.tick < until:
            if empty >= RING:
                if not far_ticks:
                    return
                self.tick = min(far_ticks[0], until + 1) - 1
            self.tick += 1
            if self.tick > until:
                self.tick = until
                return
            slot = ring[self.tick & _MASK]
            if far_ticks and far_ticks[0] == self.tick:
                # These were appended at least a ring's length ago, so they come first.
                early = far.pop(heappop(far_ticks))
                slot[:0] = early
            if not slot:
                empty += 1
                continue
            empty = 0
            try:
                process(slot)
            finally:  # what raised must not come round again with the ring
                slot.clear()
            if finished():
                return
