"""`bin/bench analysis [--records N]`: the whole job on ten million records, and on a small run.

The journals are those that the simulator leaves, compressed, one for each repetition. DuckDB reads
the same files in the same run and computes what the job's two largest frames hold: the least that
any analysis could take here. Each part runs in a process of its own.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from benchmarks.analysis import floor, journals, parts


def alone(part: Callable[..., Any], *arguments: object) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(part, *arguments).result()


def line(what: str, seconds: float | None = None, cpu: float | None = None, note: str = "") -> None:
    shown = [f"{value:.1f}" if value is not None else "" for value in (seconds, cpu)]
    print(f"{what:<48}{shown[0]:>8}{shown[1]:>10}   {note}".rstrip(), flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="bin/bench analysis")
    parser.add_argument("--records", type=int, default=10_000_000, help="at least so many")
    wanted = parser.parse_args().records
    print(f"Python {sys.version.split()[0]}, {len(os.sched_getaffinity(0))} cores\n")
    print(f"{'':<48}{'seconds':>8}{'of CPU':>10}")
    with tempfile.TemporaryDirectory(prefix="testbed-bench-") as folder:
        small = alone(journals.small, Path(folder))
        line("Spark: a session starts and ends", alone(parts.start_up))
        line("testbed analyze, a small run", alone(parts.command, small))
        run, records, seconds = alone(journals.large, Path(folder), wanted)
        size = sum(path.stat().st_size for path in (run / "journal").iterdir())
        line(
            "simulating the large run, for its journals",
            seconds,
            note=f"{records:,} records, {size / 2**20:,.0f} MiB compressed",
        )
        job = alone(parts.job, run)
        line(
            "Spark: the whole job", job.seconds, job.cpu, f"{records / job.seconds:,.0f} records/s"
        )
        for phase, (spent, cpu) in job.phases.items():
            line(f"  {phase}", spent, cpu)
        least = alone(floor.compute, run)
        line(
            "DuckDB: the floor",
            least.seconds,
            least.cpu,
            f"{records / least.seconds:,.0f} records/s",
        )
        line("  ratio", job.seconds / least.seconds, job.cpu / least.cpu)
        agree = (least.sent, least.received) == (job.sent, job.received)
        print(
            f"\nboth counted {job.sent:,} sent and {job.received:,} received"
            if agree
            else f"\nNOT THE SAME: {least} {job}"
        )
    return 0 if agree else 1


if __name__ == "__main__":
    sys.exit(main())
