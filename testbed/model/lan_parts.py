"""What a topology is made of: links, switches, and hosts in groups that are alike."""

from typing import Annotated

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from testbed.model.errors import described
from testbed.model.parts import Part, Probability
from testbed.model.rates import BitsPerSecond
from testbed.model.units import Nanoseconds, format_duration

MAX_HOSTS = 4_000
"""Ours. The addresses of 198.18.0.0/15 would do for 131,070; but a host with its two agents takes
some 80 MB, so that 4,000 of them fill the largest machines there are."""
MAX_SLOTS = 1_000
"""Agents of one host. Ours: each has a port, counted from 9000."""
MAX_SWITCHES = 1_000
MAX_PORTS = 1_023
"""Of one switch: Linux numbers a bridge's ports with ten bits, and none is 0."""
MAX_NODE_NAME = 30
"""Ours: so that any host's name, with its number and that of its LAN, is a name for a machine."""

_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")
_NODE_LETTERS = _LETTERS | frozenset("0123456789-")


def _node_name(name: str) -> str:
    if not 1 <= len(name) <= MAX_NODE_NAME or not _NODE_LETTERS.issuperset(name):
        raise ValueError(
            f"must be 1 to {MAX_NODE_NAME} of the letters a-z, digits and '-', is {described(name)}"
        )
    if name[0] not in _LETTERS:
        raise ValueError(f"must begin with a letter, is {described(name)}")
    return name


NodeName = Annotated[str, Field(strict=True), AfterValidator(_node_name)]


class Link(Part):
    """A cable: the same in both directions, and each direction on its own."""

    rate: BitsPerSecond | None = None
    """`None` for as fast as the machine can."""
    loss: Probability = 0.0
    """Of the packets in one direction."""
    delay: Nanoseconds = 0
    """In one direction: a round trip over the link takes twice that."""
    jitter: Nanoseconds = 0
    """How far a packet's delay may be from `delay`, to either side."""
    reorder: Probability = 0.0
    """Packets that overtake the delayed ones."""
    duplicate: Probability = 0.0
    corrupt: Probability = 0.0
    """Packets in which one bit is wrong."""

    @field_validator("jitter")
    @classmethod
    def _varies_a_delay(cls, jitter: int, info: ValidationInfo) -> int:
        delay = info.data.get("delay")
        if jitter and delay == 0:
            raise ValueError("is without a delay: give one that it can vary, such as delay: 20ms")
        if delay is not None and jitter > delay:
            raise ValueError(
                f"must be at most the delay of {format_duration(delay)}, "
                f"is {format_duration(jitter)}: nothing arrives before it was sent"
            )
        return jitter

    @field_validator("reorder")
    @classmethod
    def _overtakes_something(cls, reorder: float, info: ValidationInfo) -> float:
        if reorder and info.data.get("delay") == 0:
            raise ValueError("is without a delay: only packets that wait can be overtaken")
        return reorder

    @property
    def needs_netem(self) -> bool:
        """Whether it takes a kernel with sch_netem; rate and loss can be had without."""
        return bool(self.delay or self.jitter or self.reorder or self.duplicate or self.corrupt)


class Switch(Part):
    """All but one have an uplink, so that they form a tree."""

    uplink: NodeName | None = None
    """The switch above."""
    link: Link = Link()
    """To the switch above."""


class HostGroup(Part):
    """Machines that are alike. One has the group's name, several have it with numbers from 1."""

    name: NodeName
    count: Annotated[int, Field(strict=True, ge=1, le=MAX_HOSTS)] = 1
    switch: NodeName
    agents: Annotated[int, Field(strict=True, ge=1, le=MAX_SLOTS)] = 2
    """Slots: how many agents each has room for (CAMCAST 6.2 has two)."""
    link: Link = Link()

    def names(self) -> list[str]:
        if self.count == 1:
            return [self.name]
        return [f"{self.name}{number}" for number in range(1, self.count + 1)]
