"""`bin/bench simulator`: prints what was measured beside what was aimed at. CPU seconds throughout.

Each part runs in a process of its own, so that one's memory and garbage do not weigh on another.
"""

import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

from benchmarks.simulator.parts import (
    NODES,
    engine_rate,
    epidemic_rate,
    hundred_thousand,
    simpy_rate,
    table_1,
)


def alone(part: Callable[..., Any], *arguments: object) -> Any:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(part, *arguments).result()


missed: list[str] = []


def line(what: str, measured: str, aim: str, met: bool | None) -> None:
    verdict = "" if met is None else ("met" if met else "NOT MET")
    if met is False:
        missed.append(what)
    print(f"{what:<52}{measured:>18}   {aim:<22}{verdict}", flush=True)


def main() -> None:
    print(f"Python {sys.version.split()[0]}, CPU seconds\n")
    engine = alone(engine_rate)
    line("engine alone, events/s", f"{engine:,.0f}", "at least 1,000,000", engine >= 1e6)
    push = alone(epidemic_rate, "none")
    line(
        f"epidemic push, {NODES:,} nodes, events/s", f"{push:,.0f}", "at least 400,000", push >= 4e5
    )
    simpy = alone(simpy_rate)
    line("  the same in SimPy, events/s", f"{simpy:,.0f}", "", None)
    line("  ratio", f"{push / simpy:.1f}", "at least 4", push / simpy >= 4)
    for level in ("counts", "full"):
        rate = alone(epidemic_rate, level)
        line(f"  with a journal of level {level}, events/s", f"{rate:,.0f}", "", None)
    gib, seconds = alone(hundred_thousand)
    line("gossip broadcast, 100,000 nodes, GiB", f"{gib:.2f}", "at most 2", gib <= 2)
    line("  and CPU seconds, tables included", f"{seconds:.1f}", "", None)
    spent = alone(table_1)
    line("CAMCAST Table 1, 300 runs on one core, s", f"{spent:.1f}", "at most 60", spent <= 60)


if __name__ == "__main__":
    main()
    sys.exit(1 if missed else 0)
