"""Hierarchical gossip broadcast (c): what CAMCAST compares itself with (4.2).

"Creates subcommunities that do not depend on the interests of the processes in each community and
connects these to reduce the overall memory complexity." The system is cut into C clusters of m
processes by their numbers. A process has a table of ln m + c1 of its own cluster and one of
ln C + c2 processes of other clusters, each of another one where there are enough (4.4.2). On first
reception it passes the event to all of both: C·m·(ln C + ln m + c1 + c2) messages in all (eq. 5).

State: both tables, the events seen. Messages: `Gossip`. Timers: none.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated

from msgspec import Meta

from agents.core.draw import choice, log_size, sample
from agents.core.errors import RemoteError
from agents.core.interest import Interest
from agents.core.messages import Event, Message, PeerId, Timer
from agents.core.port import Port
from agents.core.protocol import Parameters, Protocol
from agents.core.registry import protocols
from agents.core.setting import Setting
from agents.core.views import Seen
from agents.protocols.gossip import Gossip


class HierarchicalParameters(Parameters, frozen=True):
    clusters: Annotated[int, Meta(ge=1)] = 3
    """C; as many as there are communities in the papers' hierarchy (daMulticast VI-E.2)."""
    c1: Annotated[float, Meta(ge=-50, le=50)] = 5.0
    """Added to ln m; 5 is the c of CAMCAST 6.1.1."""
    c2: Annotated[float, Meta(ge=-50, le=50)] = 5.0
    """Added to ln C; likewise."""


class HierarchicalGossip(Protocol):
    name = "hierarchical-gossip"
    by_topic = False
    Parameters = HierarchicalParameters
    messages = (Gossip,)
    memberships = frozenset({"static"})
    """Its two tables are drawn from the directory: nothing here builds clusters at run time."""

    def __init__(self, port: Port, setting: Setting) -> None:
        super().__init__(port, setting)
        self.interests: list[Interest] = []
        self.seen = Seen()
        self.inside: Sequence[PeerId] = ()
        self.outside: Sequence[PeerId] = ()

    def start(self) -> None:
        parameters = self.parameters_for("")
        everyone, random = self.setting.directory.everyone, self.port.rng.random
        count = min(parameters.clusters, len(everyone))
        mine = self.port.peer % count
        cluster = range(mine, len(everyone), count)
        others = [peer for peer in sample(cluster, len(cluster), random) if peer != self.port.peer]
        self.inside = others[: log_size(len(cluster), parameters.c1)]
        outer = [number for number in range(count) if number != mine]
        links = min(log_size(count, parameters.c2), len(everyone) - len(cluster))
        self.outside = _representatives(outer, links, count, len(everyone), random)
        self.port.joined("")

    def stop(self) -> None:
        self.port.left("")

    def subscribe(self, interest: Interest) -> None:
        if interest not in self.interests:
            self.interests.append(interest)

    def unsubscribe(self, interest: Interest) -> None:
        if interest in self.interests:
            self.interests.remove(interest)

    def publish(self, event: Event) -> None:
        self._spread(event, 0)

    def on_message(self, sender: PeerId, message: Message) -> None:
        if not isinstance(message, Gossip):
            raise RemoteError(f"{self.name} takes no {type(message).__name__}")
        self._spread(message.event, message.hop)

    def on_timer(self, timer: Timer) -> None:
        raise AssertionError(f"{self.name} has no timers, yet was handed {timer!r}")

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        return {("", "inside"): self.inside, ("", "outside"): self.outside}

    def _spread(self, event: Event, hop: int) -> None:
        if not self.seen.add(event.id):
            return
        copy = Gossip(event, hop + 1)
        self.port.send_all(self.inside, copy)
        self.port.send_all(self.outside, copy)
        if any(interest.matches(event, self.setting.topics) for interest in self.interests):
            self.port.deliver(event)


def _representatives(
    clusters: Sequence[int], links: int, count: int, size: int, random: Callable[[], float]
) -> list[PeerId]:
    """`links` different processes, one of each cluster in turn, the clusters in random order."""
    chosen: dict[PeerId, None] = {}
    order = sample(clusters, len(clusters), random)
    while len(chosen) < links:
        for cluster in order:
            members = [peer for peer in range(cluster, size, count) if peer not in chosen]
            if members and len(chosen) < links:
                chosen[choice(members, random)] = None
    return list(chosen)


protocols.register(HierarchicalGossip)
