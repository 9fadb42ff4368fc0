"""Run folders to analyse, from the simulator."""

import gzip
import os
import time
from pathlib import Path

from testbed.model.files import parse
from testbed.sim.batch import simulate

NODES = 2_000
PER_EVENT = 47_000
"""Records of one event among so many nodes, about."""
REPETITIONS = 10


def small(folder: Path) -> Path:
    """Three repetitions of a hundred agents."""
    return _simulate(folder, "small", 100, 2, 3)


def large(folder: Path, records: int) -> tuple[Path, int, float]:
    """The run, how many records it has, and the seconds it took."""
    began = time.perf_counter()
    events = -(-records // (PER_EVENT * REPETITIONS))
    run = _simulate(folder, "large", NODES, events, REPETITIONS)
    spent = time.perf_counter() - began
    return run, sum(map(_lines, (run / "journal").iterdir())), spent


def _simulate(folder: Path, name: str, nodes: int, events: int, repetitions: int) -> Path:
    document = {
        "name": name,
        "protocol": {"name": "camcast", "c": 5},
        "communities": {".": nodes // 50, ".a": nodes // 10, ".a.b": nodes - nodes // 10},
        "network": {"latency": {"uniform": ["1ms", "20ms"]}, "loss": 0.15},
        "workload": [{"topic": ".a.b", "at": "10ms", "count": events, "every": "1s"}],
        "faults": [{"kind": "stillborn", "fraction": 0.05}],
        "repetitions": repetitions,
        "journal": "full",
    }
    cores = len(os.sched_getaffinity(0))
    return simulate(parse(document), folder, cores, lambda done, total: None).path


def _lines(journal: Path) -> int:
    with gzip.open(journal) as file:
        return sum(1 for _ in file) - 1
