"""For tests of LANs: a place to keep their state in, and an engine for those that need one."""

from pathlib import Path

import pytest

from tests.support.engine import engine

__all__ = ["engine"]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where LANs are kept during the test."""
    folder = tmp_path / "state"
    monkeypatch.setenv("TESTBED_STATE", str(folder))
    return folder
