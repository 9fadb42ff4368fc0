"""The membership: who else is there, as far as this peer needs to know.

Dissemination asks it for `members` and `sample`, has it `resize` its table, and asks one that
`looks_up` for processes of other topics. One membership serves one scope: a community, a cluster, or
(scope "") everybody. A `Carrier` lets the layer above spread its own news with the membership's
messages (CAMCAST 3.3: "using the updates of the underlying membership algorithm").
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Protocol as Structural

from agents.core.draw import sample
from agents.core.messages import Message, PeerId, ScopedMessage, ScopedTimer
from agents.core.port import Port
from agents.core.protocol import Parameters, make_parameters
from agents.core.setting import Setting

if TYPE_CHECKING:
    from agents.core.overlay import Overlay

Found = Callable[[str, Sequence[PeerId]], bool]
"""Is told of a topic and of processes in it, if there are any; says whether to look for that topic on."""


class Carrier(Structural):
    """The layer above, as a membership sees it."""

    def outgoing_news(self) -> bytes:
        """What the next message, or this peer's entry in one, shall carry; empty for nothing."""

    def incoming_news(self, peer: PeerId, news: bytes) -> None:
        """What that peer had to say, be it that others passed it on."""

    def membership_ready(self) -> None:
        """The peer is now a member of the scope."""


class Population:
    """Whom a static membership draws its table from, and how large it shall be."""

    __slots__ = ("peers", "size")

    def __init__(self, peers: Sequence[PeerId], size: int) -> None:
        self.peers = peers
        self.size = size


def _nobody_asks(_size: int) -> None:
    pass


class Membership(ABC):
    """One peer's knowledge of one scope."""

    name: ClassVar[str]
    Parameters: ClassVar[type[Parameters]] = Parameters
    messages: ClassVar[tuple[type[Message], ...]] = ()
    instant: ClassVar[bool] = False
    """Whether its tables are there from the first moment, known in advance."""
    overlay: ClassVar[type[Overlay] | None] = None
    """What one peer's memberships all stand on, if they do: see `agents.core.overlay`."""
    looks_up: ClassVar[bool] = False
    """Whether it can be asked for processes of other topics than its scope."""

    def __init__(
        self, port: Port, setting: Setting, scope: str, population: Population, carrier: Carrier
    ) -> None:
        self.port = port
        self.setting = setting
        self.scope = scope
        self.population = population
        self.carrier = carrier
        self.on_size: Callable[[int], None] = _nobody_asks
        """Is told how many are in the scope, this peer among them, whenever a membership has counted
        them; the few that can do. The layer above puts its own here."""
        self.parameters: Any = make_parameters(self.Parameters, setting.membership_parameters)

    @property
    @abstractmethod
    def members(self) -> Sequence[PeerId]:
        """Those whom this peer knows, itself not among them."""

    @abstractmethod
    def join(self) -> None:
        """Become a member; `carrier.membership_ready` is called when that is done."""

    @abstractmethod
    def leave(self) -> None: ...

    def resize(self, size: int) -> None:
        """The table shall now be of that size, where its size is not its own affair."""
        self.population = Population(self.population.peers, size)

    def sample(self, count: int) -> list[PeerId]:
        """That many different members at random, or all if there are fewer."""
        return sample(self.members, count, self.port.rng.random)

    def look_up(self, topics: Sequence[str], count: int, found: Found) -> None:
        """Find up to that many processes of each topic. `found` is told of each topic whom to know
        of it from then on, once or, until it says that this is of no use, again and again."""
        raise AssertionError(f"{self.name} looks up nobody, yet was asked for {topics!r}")

    def on_message(self, sender: PeerId, message: ScopedMessage) -> None:
        raise AssertionError(f"{self.name} has no messages, yet was handed {message!r}")

    def on_timer(self, timer: ScopedTimer) -> None:
        raise AssertionError(f"{self.name} has no timers, yet was handed {timer!r}")
