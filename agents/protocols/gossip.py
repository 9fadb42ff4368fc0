"""Gossip broadcast (a) and gossip multicast (b): what CAMCAST compares itself with (4.2).

(a) "Each time an event is sent, it is broadcast in the entire system": one table of ln n + c,
everybody gets everything and passes it on, and delivers it if interested.

(b) "The process has one membership table for every topic of interest", the first alternative of
3.1: a group for each topic, of all whose topics include it; an event goes round in the group of its
own topic only.

State: for each group its membership and the events seen. Messages: `Gossip`. Timers: the
membership's only. On first reception an event goes to floor(ln N + c) random members, and never
again: infect and die.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any

from msgspec import Meta

from agents.core.draw import log_size
from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Interest, topics_of
from agents.core.membership import Population
from agents.core.messages import (
    Event,
    EventMessage,
    Message,
    PeerId,
    ScopedMessage,
    ScopedTimer,
    Timer,
)
from agents.core.port import Port
from agents.core.protocol import Parameters, Protocol, change_parameters
from agents.core.registry import protocols
from agents.core.setting import Setting
from agents.core.views import Seen


class Gossip(EventMessage, frozen=True):
    pass


class GossipParameters(Parameters, frozen=True):
    c: Annotated[float, Meta(ge=-50, le=50)] = 5.0
    """Added to ln N for tables and fanouts (4.2); 5 in the simulations (6.1.1)."""


class Group:
    """One peer's part in one group: a membership, and infect and die over it."""

    __slots__ = (
        "audience",
        "c",
        "membership",
        "on_new",
        "port",
        "ready",
        "scope",
        "seen",
        "waiting",
    )

    def __init__(
        self,
        port: Port,
        setting: Setting,
        scope: str,
        audience: Callable[[], Sequence[PeerId]],
        c: float,
        on_new: Callable[[Event], None],
    ) -> None:
        self.port = port
        self.scope = scope
        self.audience = audience
        """Who is in the group as far as the directory knows, which may learn of more."""
        self.c = c
        self.on_new = on_new
        """Called once for each event, when it has been passed on."""
        self.seen = Seen()
        self.ready = False
        self.waiting: list[Event] = []
        self.membership = setting.membership(
            port, setting, scope, Population(audience(), self.fanout), self
        )

    @property
    def fanout(self) -> int:
        # This peer is in the group itself, be it that the directory does not know yet.
        return log_size(max(1, len(self.audience())), self.c)

    def set_c(self, c: float) -> None:
        self.c = c
        self.membership.resize(self.fanout)

    def leave(self) -> None:
        self.membership.leave()
        if self.ready:
            self.port.left(self.scope)

    def outgoing_news(self) -> bytes:
        return b""

    def incoming_news(self, peer: PeerId, news: bytes) -> None:
        raise RemoteError("gossip spreads no news with its membership")

    def membership_ready(self) -> None:
        self.ready = True
        self.port.joined(self.scope)
        waiting, self.waiting = self.waiting, []
        for event in waiting:
            self.spread(event, 0)

    def publish(self, event: Event) -> None:
        if self.ready:
            self.spread(event, 0)
        else:
            self.waiting.append(event)

    def spread(self, event: Event, hop: int) -> None:
        """Pass the event on if it is new."""
        if self.seen.add(event.id):
            self.port.send_all(self.membership.sample(self.fanout), Gossip(event, hop + 1))
            self.on_new(event)


class GossipBroadcast(Protocol):
    name = "gossip-broadcast"
    by_topic = False
    Parameters = GossipParameters
    messages = (Gossip,)

    def __init__(self, port: Port, setting: Setting) -> None:
        super().__init__(port, setting)
        self.interests: list[Interest] = []
        c = self.parameters_for("").c
        self.group = Group(port, setting, "", self._everyone, c, self._deliver)

    def start(self) -> None:
        self.group.membership.join()

    def stop(self) -> None:
        self.group.leave()

    def subscribe(self, interest: Interest) -> None:
        if interest not in self.interests:
            self.interests.append(interest)

    def unsubscribe(self, interest: Interest) -> None:
        if interest in self.interests:
            self.interests.remove(interest)

    def publish(self, event: Event) -> None:
        self.group.publish(event)

    def on_message(self, sender: PeerId, message: Message) -> None:
        if isinstance(message, Gossip):
            self.group.spread(message.event, message.hop)
        elif isinstance(message, ScopedMessage) and message.scope == "":
            self.group.membership.on_message(sender, message)
        else:
            raise RemoteError(f"gossip broadcast takes no {type(message).__name__}")

    def on_timer(self, timer: Timer) -> None:
        assert isinstance(timer, ScopedTimer)
        self.group.membership.on_timer(timer)

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        """For the one group that there is, whatever the topic."""
        self.group.set_c(change_parameters(self.parameters_for(""), changes).c)

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        return {("", "table"): self.group.membership.members}

    def _everyone(self) -> Sequence[PeerId]:
        return self.setting.directory.everyone

    def _deliver(self, event: Event) -> None:
        if any(interest.matches(event, self.setting.topics) for interest in self.interests):
            self.port.deliver(event)


class GossipMulticast(Protocol):
    name = "gossip-multicast"
    Parameters = GossipParameters
    messages = (Gossip,)

    def __init__(self, port: Port, setting: Setting) -> None:
        super().__init__(port, setting)
        self.groups: dict[str, Group] = {}
        self.subscribed: list[str] = []
        self.configured: dict[str, GossipParameters] = {}
        self._topics_followed = -1
        """The version of the hierarchy whose subtopics were joined."""

    def start(self) -> None:
        pass

    def stop(self) -> None:
        for topic in list(self.groups):
            self.groups.pop(topic).leave()

    def subscribe(self, interest: Interest) -> None:
        for topic in self._topics(interest):
            if topic not in self.subscribed:
                self.subscribed.append(topic)
        self._topics_followed = -1
        self._follow_subtopics()

    def unsubscribe(self, interest: Interest) -> None:
        dropped = self._topics(interest)
        self.subscribed = [topic for topic in self.subscribed if topic not in dropped]
        for topic in list(self.groups):
            # Groups elsewhere, which this peer only publishes to, are not meant.
            meant = any(self.setting.topics.includes(upper, topic) for upper in dropped)
            if meant and not self._wants(topic):
                self.groups.pop(topic).leave()

    def publish(self, event: Event) -> None:
        self._join(self.setting.topics.require(event.topic)).publish(event)

    def on_message(self, sender: PeerId, message: Message) -> None:
        self._follow_subtopics()
        if isinstance(message, Gossip):
            self._group(message.event.topic).spread(message.event, message.hop)
        elif isinstance(message, ScopedMessage):
            self._group(message.scope).membership.on_message(sender, message)
        else:
            raise RemoteError(f"gossip multicast takes no {type(message).__name__}")

    def on_timer(self, timer: Timer) -> None:
        assert isinstance(timer, ScopedTimer)
        self._follow_subtopics()
        group = self.groups.get(timer.scope)
        if group is not None:
            group.membership.on_timer(timer)

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        parameters = change_parameters(self._parameters(topic), changes)
        self.configured[topic] = parameters
        if topic in self.groups:
            self.groups[topic].set_c(parameters.c)

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        return {(topic, "table"): group.membership.members for topic, group in self.groups.items()}

    def _wants(self, topic: str) -> bool:
        return any(self.setting.topics.includes(mine, topic) for mine in self.subscribed)

    def _follow_subtopics(self) -> None:
        """A subscriber "has to be informed of the creation of any new subtopics" (1.2)."""
        topics = self.setting.topics
        if self._topics_followed != topics.version:
            self._topics_followed = topics.version
            for topic in topics:
                if self._wants(topic):
                    self._join(topic)

    def _group(self, topic: str) -> Group:
        group = self.groups.get(topic)
        if group is None:
            raise RemoteError(f"not in the group of {topic!r}")
        return group

    def _join(self, topic: str) -> Group:
        group = self.groups.get(topic)
        if group is None:
            audience = partial(self.setting.directory.audience, topic)
            c = self._parameters(topic).c
            group = Group(self.port, self.setting, topic, audience, c, self._deliver)
            self.groups[topic] = group
            group.membership.join()
        return group

    def _deliver(self, event: Event) -> None:
        if self._wants(event.topic):
            self.port.deliver(event)

    def _parameters(self, topic: str) -> GossipParameters:
        """As they were last changed; as the setting has them otherwise."""
        known = self.configured.get(topic)
        return known or self.parameters_for(self.setting.topics.require(topic))

    def _topics(self, interest: Interest) -> tuple[str, ...]:
        names = topics_of(interest)
        if not names:
            raise LocalError(f"gossip multicast is by topic, and {interest} names none")
        return tuple(self.setting.topics.require(name) for name in names)


protocols.register(GossipBroadcast)
protocols.register(GossipMulticast)
