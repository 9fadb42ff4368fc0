"""A draft: an experiment in which some parts are wrong, and `None` stands for each of those.

It lets the checks go on behind a mistake, so that a user hears of all mistakes at once.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field, ValidationError

from agents.core.journal import Level
from agents.core.topics import ROOT
from testbed.model.distributions import Latency
from testbed.model.errors import FieldPath, Found
from testbed.model.expect import Expectation
from testbed.model.experiment import (
    AgentGroup,
    Bootstrap,
    Duration,
    Experiment,
    Layer,
    Network,
    PairLoss,
    Publication,
    Tick,
    TopicSettings,
)
from testbed.model.faults import Fault
from testbed.model.parts import Amount, Part, TopicName
from testbed.model.salvage import blank, remove
from testbed.model.topology import Topology
from testbed.model.units import Nanoseconds
from testbed.model.wording import findings

FILE_ONLY_KEYS = ("sweep",)
"""What a file has at its top beside an experiment's fields."""


class DraftNetwork(Part):
    latency: Latency | None = Network().latency
    losses: tuple[PairLoss | None, ...] | None = ()
    tick: Tick | None = Network().tick


class Draft(Part):
    """Those fields of an experiment that have something to do with other fields."""

    engine: Literal["sim", "lan"] | None = "sim"
    topology: Topology | None = None
    transport: Literal["udp", "tcp"] | None = "udp"
    warm_up: Nanoseconds | None = 0
    journal: Level | None = "full"
    protocol: Layer | None = None
    membership: Layer | None = Layer(name="static")
    root: TopicName | None = ROOT
    topic_settings: Mapping[TopicName, TopicSettings | None] | None = Field(
        default={}, alias="topics"
    )
    communities: Mapping[TopicName, Amount | None] | None = None
    agents: tuple[AgentGroup | None, ...] | None = ()
    network: DraftNetwork | None = DraftNetwork()
    bootstrap: Bootstrap | None = Bootstrap()
    workload: tuple[Publication | None, ...] | None = None
    faults: tuple[Fault | None, ...] | None = ()
    duration: Duration | None = None
    expect: tuple[Expectation | None, ...] | None = ()
    counted: bool = True
    """Whether all communities are in it, so that agents can be counted."""


_NOTHING = Draft(
    engine=None,
    membership=None,
    root=None,
    topics=None,
    agents=None,
    network=None,
    bootstrap=None,
    faults=None,
    expect=None,
)
_KEYS = tuple(field.alias or name for name, field in Draft.model_fields.items())
_IN_PARTS = ("topics", "communities", "agents", "workload", "faults", "expect")
"""Sections that consist of parts which can be right or wrong on their own."""


def read_experiment(data: dict[str, Any]) -> tuple[Experiment | Draft, list[Found]]:
    """The experiment, or what can be saved of it and what is wrong with the rest.

    The data are used up.
    """
    try:
        return Experiment.read(data), []
    except ValidationError as error:
        found = findings(error, Experiment, FILE_ONLY_KEYS)
    # A mapping with an unknown key shows what else is wrong with it once the key is gone.
    _take_out(data, found)
    try:
        return Draft.read(_drafted(data)), found
    except ValidationError as error:
        more = findings(error, Experiment, FILE_ONLY_KEYS)
    _take_out(data, more)
    try:
        return Draft.read(_drafted(data)), found + more
    except ValidationError:
        return _NOTHING, found + more


def _take_out(data: dict[str, Any], found: Iterable[Found]) -> None:
    for problem in found:
        if problem.at_key:
            remove(data, problem.path)
            if problem.path[0] == "communities":
                data["counted"] = False
        else:
            blank(data, _part(problem.path))


def _drafted(data: dict[str, Any]) -> dict[str, Any]:
    """Only what a draft has."""
    kept = {key: data[key] for key in _KEYS if key in data}
    network = kept.get("network")
    if isinstance(network, dict):
        fields = DraftNetwork.model_fields
        kept["network"] = {key: value for key, value in network.items() if key in fields}
    return kept


def _part(path: FieldPath) -> FieldPath:
    """The smallest part around a field that can be missing from a draft."""
    match path:
        case ("network", "losses", *_):
            return path[:3]
        case ("network", *_):
            return path[:2]
        case (section, *_) if section in _IN_PARTS:
            return path[:2]
    return path[:1]
