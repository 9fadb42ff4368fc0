"""Ctrl-C and a service manager's stop: both end a command in good order, and neither its cleaning up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """SIGTERM does what Ctrl-C does at the moment, which is asyncio's affair while that runs."""
    before = signal.signal(signal.SIGTERM, lambda _number, frame: _interrupt(frame))
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """For what an impatient second Ctrl-C must not leave half done."""
    before = {number: signal.signal(number, signal.SIG_IGN) for number in _STOPPING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(frame: FrameType | None) -> None:
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler):  # a shell's background job ignores Ctrl-C
        raise KeyboardInterrupt
    handler(signal.SIGINT, frame)
