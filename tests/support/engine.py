"""A Docker engine for the tests: real, their own, and only there while somebody uses it.

Test processes share one. Whoever uses it holds a lock; a shell beside the engine waits until nobody
does, and then ends it by its process number. So it goes even when the tests are killed. What the
engine keeps, an image above all, stays for the next time.
"""

import fcntl
import hashlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from testbed.lan.runtimes.docker import engine_answers
from tests.support.waiting import wait_until

REPOSITORY = Path(__file__).parents[2]
DATA = REPOSITORY / ".venv" / "engine"

# dockerd, its options and the lock of those who use it.
GUARDED = """
dockerd --bridge=none --iptables=false --ip6tables=false --data-root "$1" --exec-root "$2/exec" \\
  --pidfile "$2/pid" --host "unix://$2/socket" >"$2/log" 2>&1 </dev/null &
engine=$!
exec 9>"$2/users"
flock 9
kill "$engine"
wait "$engine"
"""


@contextmanager
def docker_engine() -> Iterator[str]:
    """The address of an engine, as long as the block lasts."""
    # Sockets have short paths, and a repository may not.
    name = hashlib.sha256(os.fsencode(REPOSITORY)).hexdigest()[:8]
    folder = Path(tempfile.gettempdir(), f"testbed-engine-{os.getuid()}-{name}")
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid()
    address = f"unix://{folder}/socket"
    with (folder / "users").open("a") as users:
        with (folder / "starting").open("a") as starting:
            fcntl.flock(starting, fcntl.LOCK_EX)
            fcntl.flock(users, fcntl.LOCK_SH)
            if not engine_answers(address):
                _start(folder, address)
        yield address


def _start(folder: Path, address: str) -> None:
    DATA.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["setsid", "--fork", "sh", "-c", GUARDED, "sh", DATA, folder],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    wait_until(lambda: engine_answers(address), f"the engine answers (its log: {folder}/log)")


@pytest.fixture(scope="session")
def engine() -> Iterator[str]:
    """The address of a Docker engine; `DOCKER_HOST` names it, as for a user."""
    with docker_engine() as address, pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", address)
        yield address
