"""What is measured, each part to be called in a process of its own."""

import resource
import tempfile
import time
from pathlib import Path

from benchmarks.simulator import engine_alone, epidemic, simpy_peer
from testbed.model import load_experiment
from testbed.sim.batch import simulate

EXPERIMENTS = Path(__file__).resolve().parent.parent.parent / "experiments"
NODES = 10_000
EVENTS = 4


def engine_rate() -> float:
    began = time.process_time()
    return engine_alone.events() / (time.process_time() - began)


def epidemic_rate(recorder: str) -> float:
    """Messages received in a CPU second, the building of tables not counted."""
    scenario = epidemic.world_of(NODES, EVENTS, recorder)
    world = scenario.world
    for node in range(NODES):
        world.start(node)
    began = time.process_time()
    scenario.run()
    return world.received / (time.process_time() - began)


def simpy_rate() -> float:
    env, nodes = simpy_peer.build(NODES)
    began = time.process_time()
    return simpy_peer.messages(env, nodes, 1) / (time.process_time() - began)


def hundred_thousand() -> tuple[float, float]:
    """GiB at the most, and CPU seconds, for one event to 100,000 nodes, building included."""
    began = time.process_time()
    epidemic.world_of(100_000, 1, "counts").run()
    spent = time.process_time() - began
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20, spent


def table_1() -> float:
    """CPU seconds for Table 1 whole, 300 runs, on one core."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.process_time()
        file = load_experiment(EXPERIMENTS / "camcast-table-1.yaml")
        simulate(file, Path(folder), 1, lambda done, total: None)
        return time.process_time() - began
