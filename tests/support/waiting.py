"""Waiting for a condition, and never for a time."""

import time
from collections.abc import Callable

PATIENCE_S = 120.0
"""So long that only what never comes makes a test fail."""


def wait_until(condition: Callable[[], object], what: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, f"waited in vain until {what}"
        time.sleep(0.01)
