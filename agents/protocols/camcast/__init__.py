"""CAMCAST and daMulticast: community-aware event dissemination.

Papers: Baehni, Eugster, Guerraoui, Jurca, "Community-Aware Event Dissemination" (sections and
figures below are its), and Baehni, Eugster, Guerraoui, "Data-Aware Multicast" (the same algorithm
with larger topic tables).

A process is in one community for each of its topics. There it holds a topic table, which the
membership below keeps, and a super-topic table for each parent of the topic. An event goes to
floor(ln N + c) members of the community and, from a few of them, to a few processes of the
super-community: infect and die, upwards only, so that nobody gets what it is not interested in.

State, for each community: the membership, the events seen, the super-topic tables and, for each of
these, the search for contacts and the check of who is alive that may be going on.
Messages: `Spread` (an event), `ReqContact` and `AnsContact` (bootstrapping, Fig. 5), `Check` and
`Alive`, `NewProcessRequest` and `NewProcesses` (keeping in touch, Fig. 6).
Timers: `SearchTimeout`, `KeepTableUpdated`, `CheckTimeout`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Interest, topics_of
from agents.core.messages import (
    Event,
    Message,
    PeerId,
    ScopedMessage,
    ScopedTimer,
    Timer,
)
from agents.core.port import Port
from agents.core.protocol import Protocol, change_parameters
from agents.core.registry import protocols
from agents.core.setting import Setting
from agents.core.views import Seen
from agents.protocols.camcast.community import Community
from agents.protocols.camcast.messages import (
    Alive,
    AnsContact,
    CamcastParameters,
    Check,
    CheckTimeout,
    DaMulticastParameters,
    KeepTableUpdated,
    NewProcesses,
    NewProcessRequest,
    ReqContact,
    SearchTimeout,
    Spread,
)


class Camcast(Protocol):
    name = "camcast"
    Parameters = CamcastParameters
    searches = True
    passes_up = True
    messages = (Spread, ReqContact, AnsContact, Check, Alive, NewProcessRequest, NewProcesses)

    def __init__(self, port: Port, setting: Setting) -> None:
        super().__init__(port, setting)
        self.communities: dict[str, Community] = {}
        self.requests_seen = Seen(4096)
        self.configured: dict[str, CamcastParameters] = {}
        self.serials = _serials(port)

    def start(self) -> None:
        pass

    def stop(self) -> None:
        for topic in list(self.communities):
            self.communities.pop(topic).leave()

    def subscribe(self, interest: Interest) -> None:
        for topic in self._topics(interest):
            self._enter(topic).subscribed = True

    def unsubscribe(self, interest: Interest) -> None:
        for topic in self._topics(interest):
            community = self.communities.pop(topic, None)
            if community is not None:
                community.leave()

    def publish(self, event: Event) -> None:
        self._enter(self.setting.topics.require(event.topic)).publish(event)

    def configure(self, topic: str, changes: Mapping[str, Any]) -> None:
        parameters = change_parameters(self._parameters(topic), changes)
        self.configured[topic] = parameters
        community = self.communities.get(topic)
        if community is not None:
            community.apply(parameters)

    def views(self) -> Mapping[tuple[str, str], Sequence[PeerId]]:
        found: dict[tuple[str, str], Sequence[PeerId]] = {}
        for topic, community in self.communities.items():
            found[topic, "topic"] = community.membership.members
            for parent, table in community.tables.items():
                found[topic, f"super {parent}"] = table.peers
        return found

    def on_message(self, sender: PeerId, message: Message) -> None:
        match message:
            case Spread():
                self._on_spread(message)
            case ScopedMessage():
                self._community(message.scope).membership.on_message(sender, message)
            case ReqContact():
                self._on_req_contact(sender, message)
            case AnsContact():
                self._community(message.community).on_ans_contact(sender, message)
            case Check():
                self._on_check(sender, message)
            case Alive():
                self._community(message.community).on_alive(sender, message)
            case NewProcessRequest():
                self._on_new_process_request(sender, message)
            case NewProcesses():
                self._community(message.community).on_new_processes(sender, message)
            case _:
                raise RemoteError(f"{self.name} takes no {type(message).__name__}")

    def on_timer(self, timer: Timer) -> None:
        community = self.communities.get(timer.scope) if isinstance(timer, ScopedTimer) else None
        match community, timer:
            case None, _:
                pass  # the community was left meanwhile
            case Community(), KeepTableUpdated():
                community.on_keep_table_updated(timer)
            case Community(), SearchTimeout():
                community.on_search_timeout(timer)
            case Community(), CheckTimeout():
                community.on_check_timeout(timer)
            case Community(), ScopedTimer():
                community.membership.on_timer(timer)

    def _on_spread(self, message: Spread) -> None:
        event = message.event
        community = self._community(message.community)
        topics = self.setting.topics
        # A subtopic that we have not heard of is none of our business to judge (3.2.2).
        if event.topic in topics and not topics.includes(community.topic, event.topic):
            raise RemoteError(f"an event of {event.topic!r} has no place in {community.topic!r}")
        community.disseminate(event, message.hop)

    def _on_req_contact(self, sender: PeerId, request: ReqContact) -> None:
        requester = request.requester
        if requester == self.port.peer or not self.requests_seen.add(
            f"{requester}/{request.serial}"
        ):
            return
        for topic in request.scope:
            peers = self._known_of(topic, requester)
            if peers:
                answer = AnsContact(request.community, request.parent, topic, peers)
                self.port.send(requester, answer)
                return
        if request.ttl:
            onward = msgspec.structs.replace(request, ttl=request.ttl - 1)
            others = [p for p in self.setting.neighbourhood if p not in (sender, requester)]
            self.port.send_all(others, onward)

    def _on_check(self, sender: PeerId, check: Check) -> None:
        self._community(check.topic)  # who has left the community is none of its processes
        self.port.send(sender, Alive(check.community, check.parent, check.topic, check.serial))

    def _on_new_process_request(self, sender: PeerId, request: NewProcessRequest) -> None:
        peers = self._community(request.topic).other_members(request.count, sender)
        answer = NewProcesses(request.community, request.parent, request.topic, peers)
        self.port.send(sender, answer)

    def _known_of(self, topic: str, requester: PeerId) -> tuple[PeerId, ...]:
        """Processes of that topic that we know of, ourselves among them; the paper's Psi."""
        own = self.communities.get(topic)
        if own is not None:
            return tuple(peer for peer in own.some_members(own.parameters.z) if peer != requester)
        for community in self.communities.values():
            for table in community.tables.values():
                known = table.views[topic].peers if topic in table.views else ()
                others = tuple(peer for peer in known if peer != requester)
                if others:
                    return others
        return ()

    def _community(self, topic: str) -> Community:
        community = self.communities.get(topic)
        if community is None:
            raise RemoteError(f"not in the community of {topic!r}")
        return community

    def _enter(self, topic: str) -> Community:
        """SUBSCRIBE (Fig. 7): start the membership and the upkeep of links, if not yet done."""
        community = self.communities.get(topic)
        if community is None:
            parameters = self._parameters(topic)
            community = Community(self.port, self.setting, topic, parameters, self.serials)
            self.communities[topic] = community
            community.join()
        return community

    def _parameters(self, topic: str) -> CamcastParameters:
        """As they were last changed; as the setting has them otherwise."""
        known = self.configured.get(topic)
        return known or self.parameters_for(self.setting.topics.require(topic))

    def _topics(self, interest: Interest) -> tuple[str, ...]:
        names = topics_of(interest)
        if not names:
            raise LocalError(f"{self.name} is by topic, and {interest} names none")
        return tuple(self.setting.topics.require(name) for name in names)


class DaMulticast(Camcast):
    name = "damulticast"
    Parameters = DaMulticastParameters


def _serials(port: Port) -> Iterator[int]:
    """Each number once, and not those of another life: what is late must not be taken for new."""
    number = int(port.rng.random() * (1 << 31))
    while True:
        number += 1
        yield number


protocols.register(Camcast)
protocols.register(DaMulticast)
