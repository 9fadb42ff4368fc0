"""Experiment and topology files as frozen, validated objects.

`load_experiment` reads a file and gives an `ExperimentFile`, whose points are what an engine runs;
`load_topology` gives a `Topology`. Or they raise an `ExperimentError` or a `TopologyError` that has
every problem of the file, a line for each.
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
from testbed.model.errors import ExperimentError, FileError, TopologyError
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
    CrashHost,
    Fault,
    Freeze,
    LinkChange,
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
from testbed.model.lan_parts import HostGroup, Link, Switch
from testbed.model.rates import BitsPerSecond, format_rate, parse_rate
from testbed.model.sweep import Label
from testbed.model.topology import (
    TOPOLOGIES,
    Host,
    Topology,
    Wire,
    find_topology,
    load_topology,
    parse_topology,
)
from testbed.model.units import Nanoseconds, format_duration, parse_duration

__all__ = [
    "ONE_ROUND",
    "ROUNDS",
    "TOPOLOGIES",
    "AgentGroup",
    "BitsPerSecond",
    "Bootstrap",
    "Choice",
    "Chosen",
    "Churn",
    "Configure",
    "Crash",
    "CrashHost",
    "Distribution",
    "Expectation",
    "Experiment",
    "ExperimentError",
    "ExperimentFile",
    "Exponential",
    "Fault",
    "FileError",
    "Fixed",
    "Freeze",
    "Host",
    "HostGroup",
    "Label",
    "Latency",
    "Layer",
    "Link",
    "LinkChange",
    "Loss",
    "Nanoseconds",
    "Network",
    "PairLoss",
    "Partition",
    "Point",
    "Publication",
    "Restart",
    "Stillborn",
    "Switch",
    "TopicSettings",
    "Topology",
    "TopologyError",
    "Uniform",
    "WeaklyConsistent",
    "Wire",
    "find_experiment",
    "find_topology",
    "format_duration",
    "format_rate",
    "load_experiment",
    "load_topology",
    "parse",
    "parse_duration",
    "parse_rate",
    "parse_topology",
]
