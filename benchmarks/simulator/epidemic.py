"""An epidemic push: gossip broadcast, as users run it, in a world of many nodes."""

from testbed.model.experiment import Experiment
from testbed.sim.count_recorder import CountRecorder
from testbed.sim.full_recorder import FullRecorder
from testbed.sim.scenario import Scenario


def world_of(nodes: int, events: int, recorder: str = "none") -> Scenario:
    """Ready to run, with its tables still to be drawn as the nodes start."""
    experiment = Experiment.read(
        {
            "name": "epidemic",
            "protocol": {"name": "gossip-broadcast", "c": 5},
            "communities": {".": nodes},
            "network": {"latency": {"fixed": "1ms"}},
            "workload": [{"topic": ".", "at": "10ms", "count": events, "every": "100ms"}],
        }
    )
    scenario = Scenario(experiment, seed=1)
    world, topics = scenario.world, scenario.topics
    if recorder == "counts":
        world.recorder = CountRecorder(world, topics, _forget)
    elif recorder == "full":
        world.recorder = FullRecorder(world, topics, scenario.codec, _forget)
    return scenario


def _forget(lines: bytes) -> None:
    pass
