"""Run folders: what one run leaves behind.

runs/<id>/experiment.yaml   the file as it was given
runs/<id>/points.json       every point of its sweep, resolved, with all defaults filled in
runs/<id>/manifest.json     status, seed, versions, machine, and the journals with their digests
runs/<id>/journal/          the journals
runs/<id>/failure.txt       if it failed: the whole trace
"""

import hashlib
import json
import os
import platform
import subprocess
import sys
import time
import traceback
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from agents.core.errors import LocalError
from testbed.model.files import ExperimentFile

PACKAGES = ("testbed", "msgspec", "pydantic", "pyyaml", "mininet", "pyroute2", "docker")
CODE = ("agents", "testbed", "images")
"""What has to do with what a journal says; the analysis only reads it, and experiments and topologies
are in an experiment's fingerprint."""
SOURCES = (".py", ".sh", ".yaml", "")
COMMIT_FILE = ".commit"
"""Beside our packages, where they were sent to another machine: the commit that they are of."""


def fingerprint(file: ExperimentFile) -> str:
    """Says which experiment it is: the same for the same points, seed and repetitions, and for the
    same code of a protocol that is somebody's own file, wherever that lies."""
    points = _points(file)
    for point in points:
        for layer in ("protocol", "membership"):
            named = point["experiment"][layer]
            named["name"] = _portable(named["name"])
    return hashlib.sha256(_dump(points).encode()).hexdigest()[:12]


def _portable(name: str) -> str:
    path, _, class_name = name.rpartition(":")
    if not path:
        return name
    content = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    return f"{Path(path).name}:{class_name} {content}"


class RunFolder:
    """One run's folder, whose manifest says at any time how far it has come."""

    def __init__(self, runs: Path, file: ExperimentFile, level: str) -> None:
        self.path = _new_folder(runs, file.name)
        self.journals = self.path / "journal"
        self.journals.mkdir()
        (self.path / "experiment.yaml").write_bytes(file.text.encode())
        (self.path / "points.json").write_bytes(_dump(_points(file)).encode())
        self._manifest: dict[str, Any] = {
            "status": "running",
            "experiment": file.name,
            "fingerprint": fingerprint(file),
            "engine": file.points[0].experiment.engine,
            "seed": file.seed,
            "points": len(file.points),
            "repetitions": file.repetitions,
            "level": level,
            "started": _utc_now(),
            "versions": versions(),
            "machine": machine(),
            "journals": {},
        }
        self._save()

    def finish(self, status: str, **facts: Any) -> None:
        """Say how it ended: `done`, `interrupted` or `failed`, by the error that is being handled."""
        self._manifest.update(status=status, ended=_utc_now(), **facts)
        self._save()
        error = sys.exc_info()[1]
        if status == "failed" and error is not None:
            path = self.path / "failure.txt"
            path.write_bytes("".join(traceback.format_exception(error)).encode(errors="replace"))
            error.add_note(f"the whole trace is in {path}")

    def _save(self) -> None:
        unfinished = self.path / "manifest.json.part"
        unfinished.write_bytes(_dump(self._manifest).encode())
        unfinished.replace(self.path / "manifest.json")


def read_manifest(run: Path) -> dict[str, Any]:
    manifest: dict[str, Any] = json.loads((run / "manifest.json").read_bytes())
    return manifest


def versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "code": code_digest(*CODE)}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    found["testbed"] = _own_version(found["testbed"])
    return found


def machine() -> dict[str, Any]:
    return {
        "system": platform.system(),
        "kernel": platform.release(),
        "architecture": platform.machine(),
        "cores": os.cpu_count(),
    }


@cache
def code_digest(*folders: str) -> str:
    """Of what lies in these of our folders: it changes with every edit, committed or not."""
    here = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    files = (path for folder in folders for path in (here / folder).rglob("*"))
    for path in sorted(path for path in files if path.suffix in SOURCES and path.is_file()):
        digest.update(f"{path.relative_to(here)} {path.stat().st_size}\n".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:12]


def _own_version(installed: str) -> str:
    """The commit that is checked out, where this is a checkout."""
    here = Path(__file__).resolve().parent.parent
    if (here / COMMIT_FILE).is_file():
        return (here / COMMIT_FILE).read_text()
    if not (here / ".git").exists():  # installed; what is around us may be somebody else's checkout
        return installed
    command = ["git", "-C", str(here), "describe", "--always", "--dirty", "--abbrev=12"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
    except (OSError, subprocess.SubprocessError):
        return installed
    return done.stdout.strip()


def _points(file: ExperimentFile) -> list[dict[str, Any]]:
    return [
        {
            "index": point.index,
            "labels": dict(point.labels),
            "experiment": point.experiment.model_dump(mode="json"),
        }
        for point in file.points
    ]


def _new_folder(runs: Path, name: str) -> Path:
    try:
        runs.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise LocalError(f"{runs} is not a folder: runs cannot be kept there") from None
    stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
    number = 0
    while True:
        path = runs / (f"{name}-{stamp}" + (f"-{number}" if number else ""))
        try:
            path.mkdir()
        except FileExistsError:
            number += 1
        else:
            return path


def _utc_now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _dump(value: Any) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
