"""`bin/bench lan [TOPOLOGY]`: a floor, then `up` and `down` on both runtimes, as ratios to it.

Needs root and a Docker engine. The first run on a machine builds the containers' image, which is
not counted.
"""

import sys
import time
from collections.abc import Callable

from benchmarks.lan.floor import floor
from testbed.cli.up import order_for
from testbed.lan.down import take_down
from testbed.lan.runtimes import RuntimeName
from testbed.lan.state import require_root
from testbed.lan.up import holding, join_now, raise_lan
from testbed.model.topology import Topology, load_topology

NAME = "benchmark"


class Quiet:
    def begin(self, _what: str) -> Callable[[int, int], None]:
        return lambda _done, _total: None


def main(topology_name: str = "three-tier") -> bool:
    require_root("the benchmark")
    topology = load_topology(topology_name)
    machines = len(topology.host_list())
    stands, gone = floor(machines)
    print(f"{topology_name}: {machines} machines, {topology.size} agents\n")
    print(f"{'':<42}{'seconds':>9}{'to floor':>10}   aim")
    _line("bare containers and cables", stands, stands, "the floor")
    _line("  and gone", gone, stands, "")
    met = True
    runtimes: tuple[RuntimeName, ...] = ("docker", "namespace")
    for runtime in runtimes:
        met &= _measure(runtime, topology, stands)
    return met


def _measure(runtime: RuntimeName, topology: Topology, stands: float) -> bool:
    order = order_for(topology, NAME, runtime, seed=1)
    with holding(NAME) as ledger:
        began = time.monotonic()
        try:
            lan = raise_lan(order, ledger, Quiet())
            standing = time.monotonic() - began
            joined = join_now(lan, order.experiment, Quiet())
            taken = time.monotonic() - began
        finally:
            began = time.monotonic()
            take_down(ledger)
            down = time.monotonic() - began
    if joined.stragglers:
        print(f"{len(joined.stragglers)} agents did not come to take part")
    return all(
        (
            _line(f"{runtime}: up until the LAN stands", standing, stands, "1.3", 1.3),
            _line(f"{runtime}: up until all have joined", taken, stands, "2.5", 2.5),
            _line(f"{runtime}: down", down, stands, "4 s", 4 / stands),
            not joined.stragglers,
        )
    )


def _line(what: str, seconds: float, stands: float, aim: str, most: float | None = None) -> bool:
    met = most is None or seconds / stands <= most
    verdict = "" if most is None else ("met" if met else "NOT MET")
    print(f"{what:<42}{seconds:>9.2f}{seconds / stands:>10.2f}   {aim:<10}{verdict}", flush=True)
    return met


if __name__ == "__main__":
    sys.exit(0 if main(*sys.argv[1:]) else 1)
