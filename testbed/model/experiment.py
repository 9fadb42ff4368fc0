"""The experiment: one point of a file's sweep, with every default filled in.

What is a rule about one field alone stands here, with the field; what concerns several is in
`checks`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, model_validator

from agents.core.codec import MAX_BODY
from agents.core.journal import Level
from agents.core.topics import ROOT, Topics
from testbed.model.distributions import Fixed, Latency
from testbed.model.errors import described
from testbed.model.expect import Expectation
from testbed.model.faults import Fault
from testbed.model.parts import (
    MAX_AGENTS,
    MAX_ITEMS,
    Amount,
    Name,
    Part,
    Probability,
    Title,
    TopicList,
    TopicName,
)
from testbed.model.topology import Topology
from testbed.model.units import Nanoseconds, format_duration

MAX_EVENT_BYTES = MAX_BODY - 1_000
"""Ours: what the frame and the event's own fields may take on top."""
MAX_PUBLICATIONS = 1_000_000
MAX_REPETITIONS = 1_000_000


def _some_time(ns: int) -> int:
    if ns == 0:
        raise ValueError("must be more than 0s")
    return ns


def _tick(ns: int) -> int:
    if ns < 1_000:
        raise ValueError(f"must be at least 1us, is {format_duration(ns)}")
    return ns


def _publisher(value: object) -> object:
    if value == "random" or (type(value) is int and 0 <= value < MAX_AGENTS):
        return value
    raise ValueError(f"must be random or an agent's number, is {described(value)}")


Duration = Annotated[Nanoseconds, AfterValidator(_some_time)]
Tick = Annotated[Nanoseconds, AfterValidator(_tick)]
Publisher = Annotated[Literal["random"] | int, BeforeValidator(_publisher)]


class Layer(Part):
    """A protocol or a membership by name, and its parameters: the mapping's other keys."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[str, Field(strict=True, min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _by_bare_name(cls, data: Any) -> Any:
        return {"name": data} if isinstance(data, str) else data

    @property
    def parameters(self) -> dict[str, Any]:
        """Those that the file gives; the others have their defaults."""
        return dict(self.model_extra or {})


class TopicSettings(Part):
    """What one topic has beyond its name."""

    parents: tuple[TopicName, ...] = ()
    """On top of the parent that the name says (CAMCAST 3.6)."""
    parameters: Mapping[str, Any] = {}
    """The protocol's, where this topic has others than the rest."""


class AgentGroup(Part):
    """Agents who are in several topics."""

    topics: TopicList
    count: Amount

    @model_validator(mode="after")
    def _once_each(self) -> Self:
        if len(set(self.topics)) < len(self.topics):
            raise ValueError("names a topic twice in topics")
        return self


class PairLoss(Part):
    """The loss from one community to another, in place of the network's."""

    from_: TopicName = Field(alias="from")
    to: TopicName
    loss: Probability


class Network(Part):
    latency: Latency = Fixed.model_validate({"fixed": "1ms"})
    """`rounds`: a message sent in one round arrives in the next, and a round counts as 1 s."""
    loss: Probability = 0.0
    losses: Annotated[tuple[PairLoss, ...], Field(max_length=MAX_ITEMS)] = ()
    tick: Tick = 1_000_000
    """The simulator's resolution."""


class Bootstrap(Part):
    """How agents come into the system."""

    contacts: Amount = 1
    """How many members of its community an agent knows when it joins, drawn among those who joined
    before it."""
    gateways: Amount = 0
    """If more than 0, the contacts are the first so many members of each community that are up
    instead (CAMCAST 5.2.1)."""
    super_contacts: Amount = 0
    """Members of each super-community that it knows (CAMCAST 3.3)."""
    neighbourhood: Amount = 8
    """How many random agents it can ask when it searches (CAMCAST 3.3). The number is ours."""
    spacing: Nanoseconds = 0
    """Between two agents' joins."""
    overlay_gateways: Amount = 0
    """Agents in no community, through whom the others come into an overlay. They are numbered behind
    all others, start before them, and are never drawn for a fault."""


class Publication(Part):
    """One line of the workload: events of one topic, `every` so often."""

    topic: TopicName
    at: Nanoseconds = 0
    count: Annotated[int, Field(strict=True, ge=1, le=MAX_PUBLICATIONS)] = 1
    every: Nanoseconds = 1_000_000_000
    publisher: Publisher = "random"
    """`random`: a living member of the topic's community, drawn for each event."""
    bytes: Annotated[int, Field(strict=True, ge=0, le=MAX_EVENT_BYTES)] = 64
    psel: Probability | None = None
    """These events' own probability of being passed up (CAMCAST 5.3.2.1)."""


class Experiment(Part):
    """One point of a sweep. `model_dump(mode="json")` is a document that can be read again."""

    name: Name
    title: Title | None = None
    engine: Literal["sim", "lan"] = "sim"
    topology: Topology | None = None
    """Machines, switches and links, by the name of a file in `topologies/`, by a path, or as a
    mapping. The simulator takes only who is in it, and where."""
    transport: Literal["udp", "tcp"] = "udp"
    """What carries messages on the LAN."""
    protocol: Layer
    membership: Layer = Layer(name="static")
    root: TopicName = ROOT
    topic_settings: Mapping[TopicName, TopicSettings] = Field(default={}, alias="topics")
    communities: Annotated[Mapping[TopicName, Amount], Field(min_length=1)]
    """How many agents are in a topic and in no other. They, the root and the overlay gateways are
    the topology's where there is one and the file does not say otherwise."""
    agents: Annotated[tuple[AgentGroup, ...], Field(max_length=MAX_ITEMS)] = ()
    """On top: agents of several topics."""
    network: Network = Network()
    bootstrap: Bootstrap = Bootstrap()
    workload: Annotated[tuple[Publication, ...], Field(min_length=1, max_length=MAX_ITEMS)]
    faults: Annotated[tuple[Fault, ...], Field(max_length=MAX_ITEMS)] = ()
    warm_up: Nanoseconds = 0
    """On the LAN: at least so long passes between the last join and the first event or fault. If
    joining took longer than the file has it, all that follows is later by as much."""
    duration: Duration | None = None
    """Without it a run ends when workload and faults are done and no message is in flight."""
    repetitions: Annotated[int, Field(strict=True, ge=1, le=MAX_REPETITIONS)] = 1
    seed: Annotated[int, Field(strict=True, ge=0, lt=1 << 63)] = 1
    journal: Level = "full"
    expect: Annotated[tuple[Expectation, ...], Field(max_length=MAX_ITEMS)] = ()
    """What the analysis must find at this point."""

    def topics(self) -> Topics:
        """The hierarchy, built anew: it can be added to without a trace here."""
        topics = Topics(self.root)
        for topic in self.communities:
            topics.add_path(topic)
        for topic, settings in self.topic_settings.items():
            for parent in settings.parents:
                topics.add_parent(topic, parent)
        return topics

    def groups(self) -> list[tuple[tuple[str, ...], int]]:
        """Agents by what topics they are in, in the order in which they are numbered, from 0."""
        alone = [((topic,), count) for topic, count in self.communities.items()]
        several = [(group.topics, group.count) for group in self.agents]
        gateways: list[tuple[tuple[str, ...], int]] = [((), self.bootstrap.overlay_gateways)]
        return [(topics, count) for topics, count in alone + several + gateways if count]

    @property
    def counted(self) -> bool:
        """Beside a draft: here every agent is accounted for."""
        return True

    @property
    def size(self) -> int:
        """How many agents there are, overlay gateways among them."""
        return sum(count for _topics, count in self.groups())

    @property
    def overlay_gateways(self) -> range:
        """The numbers of those who are in no community."""
        return range(self.size - self.bootstrap.overlay_gateways, self.size)

    def starting_order(self) -> list[int]:
        """All agents, in the order in which they start."""
        gateways = self.overlay_gateways
        return [*gateways, *range(gateways.start)]
