"""Small run folders, as the simulator really leaves them."""

import gzip
from collections.abc import Mapping
from pathlib import Path

from testbed.model.files import parse
from testbed.sim.batch import simulate

SMALL: Mapping[str, object] = {
    "name": "small",
    "protocol": "gossip-broadcast",
    "communities": {".": 3, ".a": 5},
    "network": {"latency": "rounds", "loss": 0.1},
    "workload": [{"topic": ".a", "count": 2}],
    "repetitions": 2,
    "journal": "full",
}


def simulated(runs: Path, document: Mapping[str, object] = SMALL, **fields: object) -> Path:
    """The folder of a run that was just made."""
    return simulate(parse({**document, **fields}), runs, 1, lambda done, total: None).path


def lines_of(journal: Path) -> list[bytes]:
    data = journal.read_bytes()
    return (gzip.decompress(data) if journal.suffix == ".gz" else data).splitlines()


def unpacked(run: Path) -> Path:
    """The run's first journal, now without compression."""
    (packed, *_) = sorted((run / "journal").iterdir())
    plain = packed.with_suffix("")
    plain.write_bytes(gzip.decompress(packed.read_bytes()))
    packed.unlink()
    return plain
