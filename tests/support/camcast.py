"""One CAMCAST process on a list port, with its tables as a test wants them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from agents.core.interest import Topic
from agents.core.membership import Membership
from agents.core.messages import Message, PeerId, Timer
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from agents.protocols.camcast import Camcast
from agents.protocols.camcast.community import Community
from agents.protocols.camcast.messages import TableNews
from agents.protocols.camcast.super_table import SuperTable
from tests.support.ports import ListPort, Scripted

ME = 0
NOTHING: Mapping[str, Any] = {}
Effects = list[tuple[PeerId, Message]]


def hierarchy(*names: str, **further_parents: Sequence[str]) -> Topics:
    """These topics and all above them; a last part's further parents by keyword."""
    topics = Topics()
    for name in names:
        topics.add_path(name)
    for last, parents in further_parents.items():
        (topic,) = (name for name in topics if name.rpartition(".")[2] == last)
        for parent in parents:
            topics.add_parent(topic, parent)
    return topics


class Peer:
    """A process whose every draw is scripted. Parameters that are not given: no upkeep.

    While it subscribes all draws are 0, so that whatever is drawn comes in the order given and its
    serials count from 1.
    """

    def __init__(
        self,
        topics: Topics,
        members: Mapping[str, Sequence[PeerId]] = NOTHING,
        *,
        protocol: type[Camcast] = Camcast,
        membership: type[Membership] = Static,
        membership_parameters: Mapping[str, Any] = NOTHING,
        topic_parameters: Mapping[str, Mapping[str, Any]] = NOTHING,
        contacts: Mapping[str, Sequence[PeerId]] = NOTHING,
        super_contacts: Mapping[str, Sequence[PeerId]] = NOTHING,
        neighbourhood: Sequence[PeerId] = (),
        **knobs: Any,
    ) -> None:
        self.port = ListPort(ME)
        self.draws()
        self.camcast = protocol(
            self.port,
            Setting(
                topics,
                Directory(topics, members),
                membership,
                membership_parameters,
                {"maintain_every_s": 0, **knobs},
                topic_parameters,
                contacts,
                super_contacts,
                neighbourhood,
            ),
        )
        self.camcast.start()

    def draws(self, *draws: float) -> None:
        """All that it may draw from now on."""
        self.port.rng = Scripted(draws)

    def subscribe(self, *names: str) -> Peer:
        self.draws(*[0.0] * 1000)
        for name in names:
            self.camcast.subscribe(Topic(name))
        self.draws()
        return self

    def settle(self) -> Peer:
        """Forget the effects so far."""
        self.port.take_sent()
        self.port.take_timers()
        return self

    def hear(self, sender: PeerId, message: Message, *draws: float) -> Effects:
        """What is sent because of the message, which takes exactly these draws."""
        self.port.sent.clear()
        self.draws(*draws)
        self.camcast.on_message(sender, message)
        self.drew_all()
        return self.port.take_sent()

    def fire(self, timer: Timer, *draws: float) -> Effects:
        """What is sent because of the timer, which takes exactly these draws."""
        self.port.sent.clear()
        self.draws(*draws)
        self.camcast.on_timer(timer)
        self.drew_all()
        return self.port.take_sent()

    def drew_all(self) -> None:
        assert isinstance(self.port.rng, Scripted)
        assert not self.port.rng.draws, "fewer draws than the test expects"

    def community(self, topic: str) -> Community:
        return self.camcast.communities[topic]

    def table(self, topic: str, parent: str) -> SuperTable:
        return self.community(topic).tables[parent]

    def known(self, topic: str, parent: str) -> dict[str, list[PeerId]]:
        """The super-topic table, by the topics whose processes stand there."""
        return {name: list(view) for name, view in self.table(topic, parent).views.items()}


def encoded(*news: TableNews) -> bytes:
    return msgspec.msgpack.encode(news)


def decoded(news: bytes) -> list[TableNews]:
    return msgspec.msgpack.decode(news, type=list[TableNews])


def to_each(peers: Iterable[PeerId], message: Message) -> Effects:
    return [(peer, message) for peer in peers]
