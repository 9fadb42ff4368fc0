"""What a machine is told: who it is, who else is on the LAN, and what its agents shall run.

It is written by whoever starts the machine, as `machine.json` in the folder that they share, and
read once by the supervisor. Whatever is wrong in it is one sentence.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from agents.core.errors import LocalError
from agents.core.interest import Interest, Topic
from agents.core.membership import Membership
from agents.core.messages import PeerId
from agents.core.protocol import Protocol, make_parameters
from agents.core.registry import memberships, protocols
from agents.core.topics import Topics

FILE = "machine.json"

Port = Annotated[int, Meta(ge=1, le=65_535)]
Number = Annotated[int, Meta(ge=0)]


class MachineError(LocalError):
    """A machine was told something that does not fit together."""


class Machine(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One machine of a LAN and its agents. Agents are numbered over the whole LAN, from 0."""

    host: Annotated[int, Meta(ge=1)]
    name: str
    epoch_ns: Number
    """When the run began, by the kernel's monotonic clock, which all machines share."""
    run: str
    seed: int
    point: Number = 0
    repetition: Number = 0
    transport: Literal["udp", "tcp"] = "udp"
    addresses: list[tuple[str, Port]]
    """Of every agent on the LAN, by its number."""
    agents: list[Number]
    """Those on this machine, by slot."""
    root: str = "."
    topics: list[tuple[str, list[str]]] = []
    """Names and further parents, in an order in which they can be added."""
    communities: dict[str, list[Number]] = {}
    """Who is in which, everywhere: what static tables are drawn from."""
    interests: dict[int, list[str]] = {}
    """The topics of this machine's agents; an overlay's gateway has none. Who is left out takes
    part in nothing until an application has it do so."""
    protocol: str
    membership: str
    """Both by name, or by place: `path/to/file.py:ClassName`."""
    parameters: dict[str, Any] = {}
    membership_parameters: dict[str, Any] = {}
    topic_parameters: dict[str, dict[str, Any]] = {}
    configured: list[tuple[str, dict[str, Any]]] = []
    """Changes that were made while running, by topic: who restarts has them too."""

    def make_topics(self) -> Topics:
        """The hierarchy, checked."""
        found = Topics(self.root)
        for name, further_parents in self.topics:
            if name == self.root:
                for parent in further_parents:
                    found.add_parent(name, parent)
            else:
                found.add(name, further_parents)
        return found

    def is_gateway(self, agent: PeerId) -> bool:
        """Whether the agent is there for the overlay alone."""
        return self.interests.get(agent) == []

    def load(self) -> tuple[type[Protocol], type[Membership]]:
        """The classes that the agents run, with parameters that they take."""
        protocol, membership = protocols.load(self.protocol), memberships.load(self.membership)
        can = protocol.memberships
        if can is not None and membership.name not in can:
            raise MachineError(
                f"{protocol.name} needs {' or '.join(sorted(can))} as its membership, "
                f"not {membership.name}"
            )
        for own in ({}, *self.topic_parameters.values()):
            make_parameters(protocol.Parameters, {**self.parameters, **own})
        make_parameters(membership.Parameters, self.membership_parameters)
        return protocol, membership


class Residents:
    """Who on the LAN is interested in what, for the records that one agent writes."""

    def __init__(self, machine: Machine, me: PeerId) -> None:
        self.kinds: list[tuple[Interest, ...]] = []
        self.kind_of = [0] * len(machine.addresses)
        self._numbers: dict[tuple[Interest, ...], int] = {}
        named: list[list[str]] = [[] for _ in machine.addresses]
        for topic, members in machine.communities.items():
            for agent in members:
                named[agent].append(topic)
        for agent, topics in enumerate(named):
            self.set(agent, [Topic(name) for name in topics])
        self.set(me, [Topic(name) for name in machine.interests.get(me, [])])

    def of(self, agent: PeerId) -> tuple[Interest, ...]:
        return self.kinds[self.kind_of[agent]]

    def set(self, agent: PeerId, interests: Sequence[Interest]) -> None:
        key = tuple(interests)
        if key not in self._numbers:
            self._numbers[key] = len(self.kinds)
            self.kinds.append(key)
        self.kind_of[agent] = self._numbers[key]


def read_machine(folder: Path) -> Machine:
    """What the folder's `machine.json` says, checked; a `MachineError` says what is wrong."""
    path = folder / FILE
    try:
        machine = msgspec.json.decode(path.read_bytes(), type=Machine)
    except OSError as error:
        raise MachineError(f"{path} cannot be read: {error.strerror}") from None
    except msgspec.DecodeError as error:
        raise MachineError(f"{path}: {error}") from None
    try:
        _check(machine)
    except LocalError as error:
        raise MachineError(f"{path}: {error}") from None
    return machine


def _check(machine: Machine) -> None:
    known = len(machine.addresses)
    everywhere = [("agents", machine.agents), *machine.communities.items()]
    for place, numbers in everywhere:
        for number in numbers:
            if number >= known:
                raise MachineError(
                    f"{place} names agent {number}, and there are addresses of {known} agents only"
                )
        if len(set(numbers)) < len(numbers):
            raise MachineError(f"{place} names an agent twice")
    topics = machine.make_topics()
    for topic in (*machine.communities, *machine.topic_parameters):
        topics.require(topic)
    for agent, names in machine.interests.items():
        if agent not in machine.agents:
            raise MachineError(f"interests are given of agent {agent}, who is on another machine")
        for name in names:
            topics.require(name)
