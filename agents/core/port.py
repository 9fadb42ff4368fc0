"""The port: the only way in which a protocol touches the world."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from random import Random

from agents.core.messages import Event, Message, PeerId, Timer


class Port(ABC):
    """What a host gives a protocol. All of it returns at once; nothing here waits."""

    __slots__ = ("peer", "rng")

    peer: PeerId
    """Who we are."""
    rng: Random
    """This peer's own stream. Draw with `agents.core.draw`, or with `random()` alone."""

    @property
    @abstractmethod
    def now(self) -> int:
        """Nanoseconds since the run began."""

    @abstractmethod
    def send(self, to: PeerId, message: Message) -> None:
        """Best effort: it may arrive once, or not at all."""

    @abstractmethod
    def send_all(self, peers: Sequence[PeerId], message: Message) -> None:
        """The same message to each of them; cheaper than sending it one by one."""

    @abstractmethod
    def after(self, delay_ns: int, timer: Timer) -> None:
        """Get `timer` back, in `on_timer`, when that time has passed."""

    @abstractmethod
    def deliver(self, event: Event, community: str = "") -> None:
        """Hand an event to the application, at most once for each community."""

    @abstractmethod
    def joined(self, community: str) -> None:
        """This peer now takes part in the community and can publish to it."""

    @abstractmethod
    def left(self, community: str) -> None:
        """This peer no longer takes part in the community."""
