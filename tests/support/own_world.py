"""A world of one's own: a Python module with processes, network and mounts that nobody else has.

What it finds there is its own or what it started, and when it ends, however it ends, all of that does.
"""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def run_alone(module: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run a module as the first process of new namespaces; what it prints goes where ours does."""
    unshare = ["unshare", "--pid", "--fork", "--kill-child", "--mount", "--mount-proc", "--net"]
    return subprocess.run(
        [*unshare, sys.executable, "-m", module, *arguments],
        cwd=REPOSITORY,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
        check=False,
        text=True,
    )


def is_alone() -> bool:
    """Whether this is the first process of its world."""
    return os.getpid() == 1


def reap_orphans() -> None:
    """Others' children that ended are ours to bury, as they are any first process's."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return
        if not pid:
            return
