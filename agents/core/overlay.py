"""The overlay: what a peer takes part in once, below all the memberships that it has.

A membership serves one scope, and a peer has one for each. Where these share something of the
peer's own, such as its place in a structured overlay, that is an `Overlay`: the membership's class
names its class, the host makes the peer with `make_peer`, and every membership of the peer finds
it in `setting.overlay`. Its messages and timers have no scope and never meet the protocol.

A gateway is a peer that takes part in the overlay and in nothing else (CAMCAST 5.2.2): "these
gateways are not related to any community". The host makes it with `make_gateway`.

Whom a peer can turn to in order to come in stands in `setting.contacts`, under `OVERLAY`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Interest
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.core.setting import Setting

OVERLAY = "overlay"
"""The scope of those who can be asked to let a peer into the overlay. No topic has such a name."""


class OverlayMessage(Message, frozen=True):
    """A message of the overlay."""


class OverlayTimer(Timer, frozen=True):
    """A timer of the overlay."""


class Overlay(ABC):
    """One peer's part in the overlay, however many memberships it has."""

    messages: ClassVar[tuple[type[OverlayMessage], ...]]
    """A membership on top has them among its own."""

    def __init__(self, port: Port, setting: Setting) -> None:
        self.port = port
        self.setting = setting

    @abstractmethod
    def start(self) -> None:
        """Come in. Memberships may turn to it from now on, however long that takes."""

    @abstractmethod
    def stop(self) -> None:
        """Take part no longer, when all memberships have left. Others need not be told: they must
        get along with those who crash, too."""

    @abstractmethod
    def on_message(self, sender: PeerId, message: OverlayMessage) -> None:
        """As a protocol's: `RemoteError` for what it must not act on, having changed nothing."""

    @abstractmethod
    def on_timer(self, timer: OverlayTimer) -> None: ...


def make_peer(protocol: type[Protocol], port: Port, setting: Setting) -> Protocol:
    """The protocol, on the overlay that its membership needs, if it needs one."""
    kind = setting.membership.overlay
    if kind is None:
        return protocol(port, setting)
    overlay = kind(port, setting)
    return OnOverlay(overlay, protocol(port, replace(setting, overlay=overlay)))


def make_gateway(port: Port, setting: Setting) -> Protocol:
    """A peer in the overlay alone; one that does nothing where there is no overlay."""
    kind = setting.membership.overlay
    return Gateway(port, setting, None if kind is None else kind(port, setting))


class OnOverlay(Protocol):
    """A protocol and the overlay below it, to their host one protocol."""

    def __init__(self, overlay: Overlay, protocol: Protocol) -> None:
        super().__init__(protocol.port, protocol.setting)
        self.overlay = overlay
        self.protocol = protocol

    def start(self) -> None:
        self.overlay.start()
        self.protocol.start()

    def stop(self) -> None:
        self.protocol.stop()
        self.overlay.stop()

    def subscribe(self, interest: Interest) -> None:
        self.protocol.subscribe(interest)

    def unsubscribe(self, interest: Interest) -> None:
        self.protocol.unsubscribe(interest)

    def publish(self, event: Event) -> None:
        self.protocol.publish(event)

    def on_message(self, sender: PeerId, message: Message) -> None:
        if isinstance(message, OverlayMessage):
            self.overlay.on_message(sender, message)
        else:
            self.protocol.on_message(sender, message)

    def on_timer(self, timer: Timer) -> None:
        if isinstance(timer, OverlayTimer):
            self.overlay.on_timer(timer)
        else:
            self.protocol.on_timer(timer)

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        self.protocol.configure(topic, changes)

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        return self.protocol.views()


class Gateway(Protocol):
    """Takes part in the overlay and in no community."""

    def __init__(self, port: Port, setting: Setting, overlay: Overlay | None) -> None:
        super().__init__(port, setting)
        self.overlay = overlay

    def start(self) -> None:
        if self.overlay is not None:
            self.overlay.start()

    def stop(self) -> None:
        if self.overlay is not None:
            self.overlay.stop()

    def subscribe(self, interest: Interest) -> None:
        raise LocalError(
            f"an overlay gateway is in no community, and cannot subscribe to {interest}"
        )

    def unsubscribe(self, interest: Interest) -> None:
        pass  # it subscribed to nothing

    def publish(self, event: Event) -> None:
        raise LocalError(f"an overlay gateway is in no community, not in that of {event.topic!r}")

    def on_message(self, sender: PeerId, message: Message) -> None:
        if self.overlay is None or not isinstance(message, OverlayMessage):
            raise RemoteError(f"an overlay gateway takes no {type(message).__name__}")
        self.overlay.on_message(sender, message)

    def on_timer(self, timer: Timer) -> None:
        assert self.overlay is not None
        assert isinstance(timer, OverlayTimer)
        self.overlay.on_timer(timer)

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        pass  # it has no protocol whose parameters could change
