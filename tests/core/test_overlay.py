"""A protocol on its overlay, to its host one protocol; and gateways, on the overlay alone."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Topic
from agents.core.membership import Membership
from agents.core.messages import Event, Message, PeerId
from agents.core.overlay import (
    Overlay,
    OverlayMessage,
    OverlayTimer,
    make_gateway,
    make_peer,
)
from agents.core.protocol import Protocol
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from agents.protocols.camcast import Camcast
from agents.protocols.gossip import GossipBroadcast
from tests.support.ports import ListPort


class Ring(OverlayMessage, frozen=True):
    pass


class Rung(OverlayTimer, frozen=True):
    pass


class Rings(Overlay):
    """Writes down what happens to it."""

    messages = (Ring,)

    def __init__(self, port: ListPort, setting: Setting) -> None:
        super().__init__(port, setting)
        self.log: list[str] = []

    def start(self) -> None:
        self.log.append("start")

    def stop(self) -> None:
        self.log.append("stop")

    def on_message(self, sender: PeerId, message: OverlayMessage) -> None:
        self.log.append(f"message from {sender}")

    def on_timer(self, timer: OverlayTimer) -> None:
        self.log.append("timer")


class OnRings(Membership):
    name = "on rings"
    overlay = Rings

    @property
    def members(self) -> Sequence[PeerId]:
        return ()

    def join(self) -> None:
        assert isinstance(self.setting.overlay, Rings)
        self.setting.overlay.log.append(f"join {self.scope}")
        self.carrier.membership_ready()

    def leave(self) -> None:
        assert isinstance(self.setting.overlay, Rings)
        self.setting.overlay.log.append(f"leave {self.scope}")


def setting(membership: type[Membership]) -> Setting:
    topics = Topics()
    topics.add(".a")
    return Setting(topics, Directory(topics, {".a": [0]}), membership)


def peer() -> tuple[Protocol, Rings]:
    made = make_peer(Camcast, ListPort(), setting(OnRings))
    made.start()
    return made, made.overlay  # type: ignore[attr-defined]


def test_where_the_membership_needs_no_overlay_the_protocol_is_alone() -> None:
    assert type(make_peer(Camcast, ListPort(), setting(Static))) is Camcast


def test_the_overlay_is_there_before_the_protocol_and_goes_after_it() -> None:
    made, overlay = peer()

    made.subscribe(Topic(".a"))
    made.stop()

    assert overlay.log == ["start", "join .a", "leave .a", "stop"]


def test_all_memberships_of_a_peer_stand_on_the_same_overlay() -> None:
    made, overlay = peer()

    made.subscribe(Topic(".a"))
    made.subscribe(Topic("."))
    made.unsubscribe(Topic(".a"))

    assert overlay.log == ["start", "join .a", "join .", "leave .a"]


def test_the_overlays_messages_and_timers_never_meet_the_protocol() -> None:
    made, overlay = peer()

    made.on_message(7, Ring())
    made.on_timer(Rung())

    assert overlay.log == ["start", "message from 7", "timer"]
    with pytest.raises(RemoteError):
        Camcast(ListPort(), setting(Static)).on_message(7, Ring())


def test_all_else_is_the_protocols() -> None:
    made, _ = peer()

    made.subscribe(Topic(".a"))
    made.publish(Event("e", ".a"))
    made.configure(".a", {"z": 5})

    assert made.port.delivered == [(Event("e", ".a"), ".a")]  # type: ignore[attr-defined]
    assert set(made.views()) == {(".a", "topic"), (".a", "super .")}
    with pytest.raises(RemoteError, match="Message"):
        made.on_message(7, Message())


def test_a_gateway_is_in_the_overlay_and_in_nothing_else() -> None:
    gateway = make_gateway(ListPort(), setting(OnRings))
    overlay: Rings = gateway.overlay  # type: ignore[attr-defined]

    gateway.start()
    gateway.on_message(7, Ring())
    gateway.on_timer(Rung())
    gateway.configure(".a", {"z": 5})
    gateway.unsubscribe(Topic(".a"))
    gateway.stop()

    assert overlay.log == ["start", "message from 7", "timer", "stop"]
    assert gateway.views() == {}
    assert gateway.port.joined_communities == []  # type: ignore[attr-defined]
    with pytest.raises(RemoteError, match="gateway takes no Message"):
        gateway.on_message(7, Message())
    with pytest.raises(LocalError, match="in no community"):
        gateway.subscribe(Topic(".a"))
    with pytest.raises(LocalError, match="in no community"):
        gateway.publish(Event("e", ".a"))


def test_where_there_is_no_overlay_a_gateway_does_nothing() -> None:
    gateway = make_gateway(ListPort(), setting(Static))

    gateway.start()
    gateway.stop()

    assert gateway.port.sent == []  # type: ignore[attr-defined]
    with pytest.raises(RemoteError):
        gateway.on_message(7, Ring())


def test_a_broadcast_has_the_overlay_too() -> None:
    made = make_peer(GossipBroadcast, ListPort(), setting(OnRings))

    made.start()

    assert made.overlay.log == ["start", "join "]  # type: ignore[attr-defined]
