"""Experiment files as frozen, validated objects.

`load_experiment` reads a file and gives an `ExperimentFile`, whose points are what an engine runs;
or it raises an `ExperimentError` that has every problem of the file, a line for each.
"""

from testbed.model.distributions import (
    ONE_ROUND,
    ROUNDS,
    Choice,
    Distribution,
    Exponential,
    Fixed,
    Latency,
    Uniform,
)
from testbed.model.errors import ExperimentError
from testbed.model.expect import Expectation
from testbed.model.experiment import (
    AgentGroup,
    Bootstrap,
    Experiment,
    Layer,
    Network,
    PairLoss,
    Publication,
    TopicSettings,
)
from testbed.model.faults import (
    Chosen,
    Churn,
    Configure,
    Crash,
    Fault,
    Loss,
    Partition,
    Restart,
    Stillborn,
    WeaklyConsistent,
)
from testbed.model.files import (
    ExperimentFile,
    Point,
    find_experiment,
    load_experiment,
    parse,
)
from testbed.model.sweep import Label
from testbed.model.units import Nanoseconds, format_duration, parse_duration

__all__ = [
    "ONE_ROUND",
    "ROUNDS",
    "AgentGroup",
    "Bootstrap",
    "Choice",
    "Chosen",
    "Churn",
    "Configure",
    "Crash",
    "Distribution",
    "Expectation",
    "Experiment",
    "ExperimentError",
    "ExperimentFile",
    "Exponential",
    "Fault",
    "Fixed",
    "Label",
    "Latency",
    "Layer",
    "Loss",
    "Nanoseconds",
    "Network",
    "PairLoss",
    "Partition",
    "Point",
    "Publication",
    "Restart",
    "Stillborn",
    "TopicSettings",
    "Uniform",
    "WeaklyConsistent",
    "find_experiment",
    "format_duration",
    "load_experiment",
    "parse",
    "parse_duration",
]
