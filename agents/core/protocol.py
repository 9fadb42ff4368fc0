"""The protocol: a state machine with no I/O, hosted by containers and by the simulator alike."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, TypeVar

import msgspec

from agents.core.errors import LocalError
from agents.core.interest import Interest
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.setting import Setting


class Parameters(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A protocol's or a membership's knobs: each with its default and where that comes from."""


P = TypeVar("P", bound=Parameters)


def make_parameters(kind: type[P], values: Mapping[str, Any]) -> P:
    """Checked parameters, or a `LocalError` that names the one at fault."""
    try:
        return msgspec.convert(dict(values), kind)
    except msgspec.ValidationError as error:
        raise LocalError(f"parameters of {kind.__qualname__}: {error}") from None


def change_parameters(parameters: P, changes: Mapping[str, Any]) -> P:
    """The same parameters with some changed, checked again."""
    return make_parameters(type(parameters), {**msgspec.structs.asdict(parameters), **changes})


class Protocol(ABC):
    """One peer's part in disseminating events.

    A host makes it, calls `start`, and from then on calls the other methods one at a time. A crash
    is the end of the object; a restart is a new one. `on_message` raises `RemoteError` for what it
    must not act on, having changed nothing.
    """

    name: ClassVar[str]
    Parameters: ClassVar[type[Parameters]] = Parameters
    messages: ClassVar[tuple[type[Message], ...]]
    """What it sends itself; its membership's come on top."""
    memberships: ClassVar[frozenset[str] | None] = None
    """The memberships that it can stand on, by name; `None` for any."""
    by_topic: ClassVar[bool] = True
    """Whether a topic can have parameters of its own."""
    passes_up: ClassVar[bool] = False
    """Whether an event's own psel means something to it."""
    searches: ClassVar[bool] = False
    """Whether it asks its neighbourhood for processes."""

    def __init__(self, port: Port, setting: Setting) -> None:
        self.port = port
        self.setting = setting

    @abstractmethod
    def start(self) -> None:
        """Begin to live; nothing is subscribed to yet."""

    @abstractmethod
    def stop(self) -> None:
        """Leave everything in good order."""

    @abstractmethod
    def subscribe(self, interest: Interest) -> None:
        """Take part in what this interest asks for."""

    @abstractmethod
    def unsubscribe(self, interest: Interest) -> None:
        """No longer take part in it."""

    @abstractmethod
    def publish(self, event: Event) -> None:
        """Disseminate an event, joining its community first if need be (CAMCAST 5.1)."""

    @abstractmethod
    def on_message(self, sender: PeerId, message: Message) -> None: ...

    @abstractmethod
    def on_timer(self, timer: Timer) -> None: ...

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        """Change parameters while running, for one topic."""
        raise LocalError(f"{self.name} has no parameters that can change while it runs")

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        """The tables, by community and by what they are for: for the journal and for status."""
        return {}

    def parameters_for(self, topic: str) -> Any:
        """This protocol's parameters for one topic, as the setting has them."""
        common, own = self.setting.parameters, self.setting.topic_parameters.get(topic, {})
        return make_parameters(self.Parameters, {**common, **own})
