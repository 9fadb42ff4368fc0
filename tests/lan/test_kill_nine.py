"""A command that is killed at any moment leaves nothing that `down` does not remove; a few of the many
times that `python -m tests.lan.kill_nine` tries."""

import os
import subprocess
import sys

import pytest

from tests.support.own_world import REPOSITORY

TRIALS = 4


@pytest.mark.slow
@pytest.mark.parametrize(
    "runtime",
    [
        pytest.param("namespace", marks=pytest.mark.root),
        pytest.param("docker", marks=pytest.mark.docker),
    ],
)
def test_down_removes_all_that_a_killed_command_left(runtime: str) -> None:
    done = subprocess.run(
        [
            *(sys.executable, "-m", "tests.lan.kill_nine"),
            *("--count", str(TRIALS), "--runtime", runtime),
        ],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
