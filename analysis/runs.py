"""Run folders as the analysis finds them: what was run, which journals there are, what is missing."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from analysis import fidelity
from analysis.errors import AnalysisError
from analysis.fidelity import Fact

JOURNAL_ENDINGS = (".jsonl", ".jsonl.gz")


@dataclass(frozen=True)
class Run:
    """One run folder."""

    path: Path
    manifest: Mapping[str, Any]
    points: Sequence[Mapping[str, Any]]
    """By index: `labels` (the sweep's values) and the resolved `experiment`."""
    journals: tuple[Path, ...]
    problems: tuple[str, ...]
    """What the folder lacks, a sentence each."""
    fidelity: tuple[Fact, ...] = ()
    """What was asked of the machine, and what it did; of a run on the LAN."""

    @property
    def name(self) -> str:
        return str(self.manifest.get("experiment", self.path.name))

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the machine did not do as asked, a sentence each."""
        return tuple(
            f"{self.path}: not as asked: {fact.sentence}" for fact in self.fidelity if not fact.ok
        )

    def labels(self, point: int) -> Mapping[str, Any]:
        found = self.points[point]["labels"] if point < len(self.points) else {}
        return dict(found)


def read_runs(paths: Sequence[Path]) -> list[Run]:
    """Each once: the same run twice would look like twice as many repetitions."""
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise AnalysisError(f"{path} is given twice")
        seen.add(path.resolve())
    if not paths:
        raise AnalysisError("there is no run to analyse")
    return [read_run(path) for path in paths]


def read_run(path: Path) -> Run:
    """What is there. Nothing to read at all is an error; anything less than all is a problem."""
    if not path.is_dir():
        reason = "it is a file" if path.exists() else "there is no such folder"
        raise AnalysisError(f"{path} is no run folder: {reason}")
    manifest = _json(path / "manifest.json")
    if not isinstance(manifest, dict):
        raise AnalysisError(f"{path} is no run folder: it has no manifest.json that can be read")
    folder = path / "journal"
    names = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    journals = [name for name in names if name.endswith(JOURNAL_ENDINGS)]
    points = _json(path / "points.json")
    problems = list(_problems(path, manifest, names, journals))
    if not _are_points(points):
        points = []
        problems.append(
            f"{path}: points.json cannot be read: points have only numbers, and who is meant by an "
            "event is not known from a full journal"
        )
    found = tuple(folder / name for name in journals)
    facts, unreadable = fidelity.read(path)
    return Run(path, manifest, points, found, (*problems, *unreadable), facts)


def _are_points(data: Any) -> bool:
    return isinstance(data, list) and all(
        isinstance(point, dict)
        and isinstance(point.get("index"), int)
        and isinstance(point.get("labels"), dict)
        and isinstance(point.get("experiment"), dict)
        and {"root", "topics", "communities", "agents"} <= point["experiment"].keys()
        for point in data
    )


def _problems(
    path: Path, manifest: Mapping[str, Any], names: Sequence[str], journals: Sequence[str]
) -> list[str]:
    problems = []
    status = manifest.get("status")
    if status != "done":
        problems.append(f"{path}: the run is not complete, its manifest says {status!r}")
    missing = [name for name in manifest.get("journals") or () if name not in journals]
    if missing:
        problems.append(f"{path}: {_journals_are(missing)} missing: {_some(missing)}")
    unfinished = [name for name in names if name.endswith(".part")]
    if unfinished:
        problems.append(
            f"{path}: {_journals_are(unfinished)} unfinished and left out: {_some(unfinished)}"
        )
    if not journals:
        problems.append(f"{path}: there is no journal in it")
    # What whoever ran it noticed: an agent that did not take part, a journal that was not there.
    problems += [f"{path}: {problem}" for problem in manifest.get("problems") or ()]
    return problems


def _journals_are(names: Sequence[str]) -> str:
    return "1 journal is" if len(names) == 1 else f"{len(names)} journals are"


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:3]) + (", …" if len(names) > 3 else "")


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return None
