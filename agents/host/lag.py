"""How late an agent's event loop is: whether the machine keeps up with what it is asked to emulate.

A timer once a second sees how much later than asked it is called. It is sparse, since an idle agent
shall use next to no CPU. Time for which the agent was frozen is no lag.
"""

import asyncio
import signal
from collections.abc import Callable

EVERY_S = 1.0


class Lag:
    """Measures from `start` on, and calls back with every tick."""

    def __init__(self, on_tick: Callable[[], None]) -> None:
        self.max_ns = 0
        self.ticks = 0
        self._sum_ns = 0
        self._on_tick = on_tick
        self._thawed = False

    @property
    def mean_ns(self) -> int:
        return self._sum_ns // self.ticks if self.ticks else 0

    def start(self) -> None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGCONT, self._on_thaw)
        self._set()

    def _set(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + EVERY_S
        loop.call_at(due, self._tick, due)

    def _tick(self, due: float) -> None:
        loop = asyncio.get_running_loop()
        # A signal that came at the same time is handled before what is put off here.
        loop.call_soon(self._note, round((loop.time() - due) * 1e9))
        self._set()
        self._on_tick()

    def _on_thaw(self) -> None:
        self._thawed = True

    def _note(self, lag_ns: int) -> None:
        if self._thawed:
            self._thawed = False
            return
        self.ticks += 1
        self._sum_ns += lag_ns
        self.max_ns = max(self.max_ns, lag_ns)
