"""Ctrl-C and a service manager's stop: both end a command in good order, and neither its cleaning up."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager

_STOPPING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def sigterm_interrupts() -> Iterator[None]:
    """SIGTERM cleans up as Ctrl-C does."""
    before = signal.signal(signal.SIGTERM, lambda *_: _interrupt())
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


def _interrupt() -> None:
    raise KeyboardInterrupt
