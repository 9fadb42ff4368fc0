"""For every test: the same examples each time, no clock to fail by, and what its tier needs."""

import os
import shutil
import signal

import pytest
from hypothesis import settings

from tests.support.properties import steady

settings.register_profile("steady", steady)
settings.load_profile("steady")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Shells let what they run in the background ignore it, and so would all that tests start.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tiers that cannot run here, and say why."""
    lacking = {}
    if os.geteuid() != 0:
        lacking = {"root": "needs root", "docker": "needs root", "kernel": "needs root"}
    elif shutil.which("dockerd") is None:
        lacking = {"docker": "needs dockerd, of Debian's docker.io"}
    for item in items:
        for tier, reason in lacking.items():
            if item.get_closest_marker(tier):
                item.add_marker(pytest.mark.skip(reason=reason))
