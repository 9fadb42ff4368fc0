"""The command line as a user meets it: a process of its own, in a folder of the user's."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]


def start(
    folder: Path,
    *arguments: str | Path,
    stdout: int = subprocess.PIPE,
    before: Callable[[], None] | None = None,
    packages: Path | None = None,
    source: Path = REPOSITORY,
) -> subprocess.Popen[str]:
    """`packages` is a folder of installed packages beside ours, `source` where ours are."""
    path = [source] if packages is None else [source, packages]
    return subprocess.Popen(
        [sys.executable, "-m", "testbed", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path)), "PYTHONSAFEPATH": "1"},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,
    )


def run(
    folder: Path,
    *arguments: str | Path,
    stdout: int = subprocess.PIPE,
    before: Callable[[], None] | None = None,
    packages: Path | None = None,
    source: Path = REPOSITORY,
) -> subprocess.CompletedProcess[str]:
    process = start(
        folder, *arguments, stdout=stdout, before=before, packages=packages, source=source
    )
    output, errors = process.communicate()
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def refusal(done: subprocess.CompletedProcess[str]) -> str:
    """The one line of standard error by which a command says why it could not do it."""
    assert done.stdout in ("", None)
    assert done.stderr.startswith("testbed: ")
    assert done.stderr.endswith("\n")
    assert done.stderr.count("\n") == 1
    return done.stderr.removeprefix("testbed: ").removesuffix("\n")
