"""What the papers print, done again: experiments run, analysed together, judged, and reported.

    items ─► their experiments, each once ─► run folders ─► one analysis ─► claims, report.html

<out>/<experiment>-<time>/   run folders, used again if they are of the same experiment and code
<out>/report.html, figures/  of the last time
<out>/state.json             what came out for each item when it was last judged
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agents.core.errors import LocalError
from analysis.papers.items import Claim, Item, Verdict
from testbed.lan.state import require_root
from testbed.model import ExperimentFile, find_experiment, load_experiment
from testbed.runs import CODE, code_digest, fingerprint, read_manifest, versions
from testbed.sim.batch import simulate

EXPERIMENTS = Path(__file__).resolve().parent.parent / "experiments"
STATE = "state.json"

Advance = Callable[[int, int], None]


class Watcher(Protocol):
    """Who is told how far it has come."""

    def begin(self, what: str) -> Advance: ...


@dataclass(frozen=True)
class Reproduced:
    claims: tuple[Claim, ...]
    report: Path
    runs: Mapping[str, Path]
    """By experiment."""
    reused: int
    """How many of them were there already."""
    problems: tuple[str, ...]
    """What the analysis could not read, and what the machine did not do as asked."""


@dataclass(frozen=True)
class Last:
    """How an item was last judged."""

    holds: int
    differs: int
    not_measured: int
    unclear: int = 0
    repetitions: int | None = None
    """If they were given, and not the experiments' own."""
    seed: int | None = None
    """Likewise."""
    code: str = ""
    """What had run and judged it, as a digest."""


def judging_code() -> str:
    return code_digest(*CODE, "analysis", "experiments")


def reproduce(
    items: Sequence[Item],
    out: Path,
    watcher: Watcher,
    seed: int | None = None,
    repetitions: int | None = None,
    fresh: bool = False,
) -> Reproduced:
    """All of it. What was interrupted goes on with the experiment that was under way."""
    files = _experiments(items, {"seed": seed, "repetitions": repetitions})
    engines = {name: _engine_of(file) for name, file in files.items()}
    with _alone_in(out):
        runs: dict[str, Path] = {}
        reused = 0
        for name, file in files.items():
            found = None if fresh else finished_run(out, file)
            reused += found is not None
            runs[name] = found or engines[name](file, out, watcher)
        # Spark and altair take seconds to import, and workers must not be forked from a process
        # that has a JVM.
        from analysis.job import analyse
        from analysis.report import write

        result = analyse([*runs.values()], progress=watcher.begin("analysing"))
        by_item = {item.id: tuple(item.judge(result)) for item in items}
        _remember(out, by_item, repetitions, seed)
        papers = dict.fromkeys(item.paper for item in items)
        report = write(result, out, items, f"Reproduced: {', '.join(papers)}")
    claims = tuple(claim for found in by_item.values() for claim in found)
    return Reproduced(claims, report, runs, reused, (*result.problems, *result.warnings))


def finished_run(out: Path, file: ExperimentFile) -> Path | None:
    """The latest whole run of this very experiment by this very code, if there is one."""
    wanted = {"status": "done", "fingerprint": fingerprint(file)}
    found = []
    for path in out.glob(f"{file.name}-*"):
        try:
            manifest = read_manifest(path)
            same = all(manifest[key] == value for key, value in wanted.items())
            same = same and _that_matter(manifest["versions"]) == _that_matter(versions())
            whole = all((path / "journal" / name).is_file() for name in manifest["journals"])
        except (OSError, ValueError, KeyError, TypeError):
            continue  # no run folder, or one that was left in the middle of something
        if same and whole:
            found.append((manifest.get("started", ""), path))
    return max(found)[1] if found else None


def _that_matter(versions: Mapping[str, str]) -> dict[str, str]:
    """Without the commit: another one may have the same code, and an edit is of the same one."""
    return {name: version for name, version in versions.items() if name != "testbed"}


def last_verdicts(out: Path) -> dict[str, Last]:
    """By item's id; nothing of what cannot be read."""
    try:
        items = json.loads((out / STATE).read_text())["items"].items()
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}
    last = {}
    for id, found in items:
        with suppress(TypeError):
            last[str(id)] = Last(**found)
    return last


def _experiments(
    items: Sequence[Item], overrides: Mapping[str, object]
) -> dict[str, ExperimentFile]:
    names = dict.fromkeys(name for item in items for name in item.experiments)
    return {name: load_experiment(find_experiment(name, EXPERIMENTS), overrides) for name in names}


def _simulated(file: ExperimentFile, out: Path, watcher: Watcher) -> Path:
    cores = len(os.sched_getaffinity(0))
    return simulate(file, out, cores, watcher.begin(f"simulating {file.name}")).path


def _on_the_lan(file: ExperimentFile, out: Path, watcher: Watcher) -> Path:
    # Here, because what is simulated has to run where the LAN's packages are not.
    from testbed.lan.running import run

    return run(file, "reproduce", "auto", out, watcher).path


Engine = Callable[[ExperimentFile, Path, Watcher], Path]
"""Runs an experiment and leaves its folder."""
ENGINES: Mapping[str, Engine] = {"sim": _simulated, "lan": _on_the_lan}


def _engine_of(file: ExperimentFile) -> Engine:
    engine = file.points[0].experiment.engine
    if engine == "lan":
        require_root(f"{file.name}, which runs on the LAN,")
    return ENGINES[engine]


def _remember(
    out: Path,
    claims: Mapping[str, Sequence[Claim]],
    repetitions: int | None,
    seed: int | None = None,
) -> None:
    def count(id: str, verdict: Verdict) -> int:
        return sum(claim.verdict == verdict for claim in claims[id])

    now = {
        id: Last(
            holds=count(id, "holds"),
            differs=count(id, "differs"),
            unclear=count(id, "unclear"),
            not_measured=count(id, "not measured"),
            repetitions=repetitions,
            seed=seed,
            code=judging_code(),
        )
        for id in claims
    }
    items: dict[str, Any] = {id: vars(last) for id, last in (last_verdicts(out) | now).items()}
    unfinished = out / f"{STATE}.part"
    unfinished.write_text(json.dumps({"items": items}, indent=1) + "\n")
    unfinished.replace(out / STATE)


@contextmanager
def _alone_in(out: Path) -> Iterator[None]:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except (FileExistsError, NotADirectoryError):
        raise LocalError(f"{out} is not a folder: runs cannot be kept there") from None
    with (out / ".lock").open("w") as lock:
        try:
            # Of a process, where flock is of an open file: workers that outlive a killed parent
            # would go on to hold that.
            fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            raise LocalError(
                f"another `testbed reproduce` is at work in {out}: wait for it, or name another "
                "folder with --out"
            ) from None
        yield
