"""For tests of LANs: a place to keep their state in, and an engine for those that need one."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.engine import engine
from tests.support.lan_user import LanUser

__all__ = ["engine"]

BOTH_RUNTIMES = [
    pytest.param("namespace", marks=pytest.mark.root),
    pytest.param("docker", marks=pytest.mark.docker),
]


@pytest.fixture
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder where LANs are kept during the test."""
    folder = tmp_path / "state"
    monkeypatch.setenv("TESTBED_STATE", str(folder))
    return folder


@pytest.fixture
def user(state: Path, tmp_path: Path) -> Iterator[LanUser]:
    """Somebody with a LAN, which is gone afterwards."""
    someone = LanUser(tmp_path, f"t{secrets.token_hex(4)}")
    yield someone
    someone.do("down")
    assert not (state / someone.name).exists()


@pytest.fixture(params=BOTH_RUNTIMES)
def runtime(request: pytest.FixtureRequest) -> str:
    """Each of them; the tests' own engine is there for Docker."""
    if request.param == "docker":
        request.getfixturevalue("engine")
    return str(request.param)
