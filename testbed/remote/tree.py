"""Our own code as an archive that is named by its content, so that the same code runs there."""

import gzip
import hashlib
import io
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from agents.core.errors import LocalError
from testbed.runs import COMMIT_FILE, versions

HERE = Path(__file__).resolve().parents[2]
PARTS = (
    *("agents", "analysis", "bin", "experiments", "images", "requirements", "testbed"),
    *("topologies", "pyproject.toml"),
)
"""Of the repository: what it takes to run commands. Tests and benchmarks stay here."""


@dataclass(frozen=True)
class Tree:
    name: str
    """By content: the same files give the same name on any machine."""
    environments: str
    """The name of what the locks ask for; trees that ask for the same share it."""
    archive: bytes


def pack(root: Path = HERE) -> Tree:
    if not (root / "bin" / "testbed").is_file():
        raise LocalError(
            f"{root} has no bin/testbed, so that this code cannot be sent to another machine: "
            "run it from a checkout, or say with --remote-path where one is there"
        )
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in _files(root)}
    files[COMMIT_FILE] = versions()["testbed"].encode()
    content = hashlib.sha256()
    locks = hashlib.sha256()
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for name in sorted(files):
            line = f"{name} {hashlib.sha256(files[name]).hexdigest()}\n".encode()
            content.update(line)
            if name.startswith("requirements/"):
                locks.update(line)
            entry = tarfile.TarInfo(name)
            entry.size = len(files[name])
            entry.mode = 0o755 if files[name].startswith(b"#!") else 0o644
            archive.addfile(entry, io.BytesIO(files[name]))
    return Tree(
        content.hexdigest()[:16],
        locks.hexdigest()[:16],
        gzip.compress(packed.getvalue(), compresslevel=6, mtime=0),
    )


def _files(root: Path) -> Iterator[Path]:
    for part in PARTS:
        path = root / part
        if path.is_file():
            yield path
        for found in path.rglob("*") if path.is_dir() else ():
            hidden = any(name.startswith(".") for name in found.relative_to(root).parts)
            if found.is_file() and not hidden and "__pycache__" not in found.parts:
                yield found
