"""Gossip broadcast and multicast: given this state and this input, exactly these effects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.core.draw import log_size
from agents.core.errors import LocalError, RemoteError, TopicError
from agents.core.interest import AnyOf, Box, Interest, Range, Topic, TopicSet
from agents.core.membership import Membership
from agents.core.messages import Event, Message, PeerId, Timer, ns
from agents.core.registry import protocols
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.scamp import (
    AnswerDue,
    HeartbeatDue,
    Scamp,
    ScampHeartbeat,
    Subscription,
    Unsubscription,
    Welcome,
)
from agents.membership.static import Static
from agents.protocols.camcast.messages import Spread
from agents.protocols.gossip import Gossip, GossipBroadcast, GossipMulticast
from tests.support.ports import Exchange, ListPort

ME = 0
NAMES = (".s", ".s.i", ".s.f", ".t")
COMMUNITIES: dict[str, list[PeerId]] = {
    ".": [0, 1],
    ".s": [2, 3],
    ".s.i": [4, 5, 6],
    ".t": [7],
}
ITALY = Event("e", ".s.i", b"Forza Azzurri")


def hierarchy() -> Topics:
    topics = Topics()
    for name in NAMES:
        topics.add(name)
    return topics


class Peer:
    """One process on a list port, over static tables unless it is given contacts."""

    def __init__(
        self,
        protocol: type[GossipBroadcast] | type[GossipMulticast],
        communities: Mapping[str, Sequence[PeerId]] = COMMUNITIES,
        *,
        contacts: Mapping[str, Sequence[PeerId]] | None = None,
        topic_parameters: Mapping[str, Mapping[str, Any]] | None = None,
        peer: PeerId = ME,
        **parameters: Any,
    ) -> None:
        self.port = ListPort(peer)
        self.topics = hierarchy()
        membership: type[Membership] = Static if contacts is None else Scamp
        quiet = {} if contacts is None else {"lease_s": 0, "heartbeat_s": 0}
        setting = Setting(
            self.topics,
            Directory(self.topics, communities),
            membership,
            membership_parameters=quiet,
            parameters=parameters,
            topic_parameters=topic_parameters or {},
            contacts=contacts or {},
        )
        self.protocol = protocol(self.port, setting)
        self.protocol.start()

    def subscribe(self, *interests: Interest) -> Peer:
        for interest in interests:
            self.protocol.subscribe(interest)
        return self

    def publish(self, event: Event) -> list[tuple[PeerId, Message]]:
        """What is sent because of it, by receiver."""
        self.port.sent.clear()
        self.protocol.publish(event)
        return by_receiver(self.port.take_sent())

    def hear(self, sender: PeerId, message: Message) -> list[tuple[PeerId, Message]]:
        """What is sent because of the message, by receiver."""
        self.port.sent.clear()
        self.protocol.on_message(sender, message)
        return by_receiver(self.port.take_sent())

    def fire(self, timer: Timer) -> list[tuple[PeerId, Message]]:
        self.port.sent.clear()
        self.protocol.on_timer(timer)
        return by_receiver(self.port.take_sent())

    @property
    def delivered(self) -> list[tuple[Event, str]]:
        return self.port.delivered

    @property
    def joined(self) -> list[str]:
        return self.port.joined_communities

    @property
    def left(self) -> list[str]:
        return self.port.left_communities

    @property
    def tables(self) -> dict[str, list[PeerId]]:
        views = self.protocol.views()
        assert {name for _, name in views} <= {"table"}
        return {scope: sorted(peers) for (scope, _), peers in views.items()}


def by_receiver(sent: list[tuple[PeerId, Message]]) -> list[tuple[PeerId, Message]]:
    return sorted(sent, key=lambda item: item[0])


def to(peers: Sequence[PeerId], message: Message) -> list[tuple[PeerId, Message]]:
    return [(peer, message) for peer in peers]


@pytest.fixture(params=[GossipBroadcast, GossipMulticast], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[GossipBroadcast] | type[GossipMulticast]:
    chosen: type[GossipBroadcast] | type[GossipMulticast] = request.param
    return chosen


Kind = type[GossipBroadcast] | type[GossipMulticast]


# Both


def test_are_found_by_their_names() -> None:
    assert protocols.load("gossip-broadcast") is GossipBroadcast
    assert protocols.load("gossip-multicast") is GossipMulticast


@pytest.mark.parametrize("impossible", [{"c": 51}, {"c": -51}, {"c": "five"}, {"fanout": 3}])
def test_impossible_parameters_are_our_own_mistake(kind: Kind, impossible: dict[str, Any]) -> None:
    with pytest.raises(LocalError, match="GossipParameters"):
        Peer(kind, **impossible).subscribe(Topic("."))


def test_an_event_goes_to_ln_n_plus_c_different_members_and_no_more(kind: Kind) -> None:
    peer = Peer(kind, {".s": range(100)}, c=2.5).subscribe(Topic(".s"))

    sent = peer.publish(Event("e", ".s"))

    receivers = [receiver for receiver, _ in sent]
    assert len(set(receivers)) == len(receivers) == 7  # floor(4.6 + 2.5)
    assert ME not in receivers
    assert sent == to(receivers, Gossip(Event("e", ".s"), 1))


def test_what_is_new_is_passed_on_a_hop_further_and_delivered(kind: Kind) -> None:
    peer = Peer(kind).subscribe(Topic(".s"))

    sent = peer.hear(4, Gossip(ITALY, 3))

    assert {message for _, message in sent} == {Gossip(ITALY, 4)}
    assert peer.delivered == [(ITALY, "")]


def test_what_was_seen_is_neither_passed_on_nor_delivered_again(kind: Kind) -> None:
    peer = Peer(kind).subscribe(Topic(".s"))
    peer.hear(4, Gossip(ITALY, 3))

    assert peer.hear(5, Gossip(ITALY, 1)) == []
    assert peer.publish(ITALY) == []
    assert peer.delivered == [(ITALY, "")]


def test_what_was_published_here_is_delivered_here_and_not_passed_on_when_it_returns(
    kind: Kind,
) -> None:
    peer = Peer(kind).subscribe(Topic(".s"))
    peer.publish(ITALY)

    assert peer.hear(4, Gossip(ITALY, 2)) == []
    assert peer.delivered == [(ITALY, "")]


def test_several_interests_in_one_event_deliver_it_once(kind: Kind) -> None:
    peer = Peer(kind).subscribe(Topic("."), Topic(".s"), TopicSet((".s.i", ".t")))

    peer.hear(4, Gossip(ITALY, 1))

    assert peer.delivered == [(ITALY, "")]


def test_one_unsubscription_ends_an_interest_however_often_it_was_subscribed(kind: Kind) -> None:
    peer = Peer(kind).subscribe(Topic(".s"), Topic(".s"))

    peer.protocol.unsubscribe(Topic(".s"))
    peer.publish(ITALY)

    assert peer.delivered == []


def test_ending_an_interest_that_was_not_there_changes_nothing(kind: Kind) -> None:
    peer = Peer(kind).subscribe(Topic(".s"))

    peer.protocol.unsubscribe(Topic(".t"))
    peer.publish(ITALY)

    assert peer.left == []
    assert peer.delivered == [(ITALY, "")]


def test_events_that_are_published_before_the_group_is_joined_wait_for_that(kind: Kind) -> None:
    peer = Peer(kind, {}, contacts={"": [7], ".s.i": [7]})
    later = Event("f", ".s.i")
    scope = "" if kind is GossipBroadcast else ".s.i"

    peer.protocol.publish(ITALY)
    peer.protocol.publish(later)
    assert peer.port.take_sent() == [(7, Subscription(scope, ME, 0, 1.0))]
    assert peer.joined == []

    peer.protocol.on_message(7, Welcome(scope, False))
    assert peer.port.take_sent() == [(7, Gossip(ITALY, 1)), (7, Gossip(later, 1))]
    assert peer.joined == [scope]


def test_who_is_in_no_directory_yet_reaches_its_neighbours_all_the_same(kind: Kind) -> None:
    peer = Peer(kind, {}, contacts={}, c=1).subscribe(Topic(".s.i"))
    scope = "" if kind is GossipBroadcast else ".s.i"
    peer.hear(7, Subscription(scope, 7, 0, 0.0))
    assert peer.tables == {scope: [7]}

    assert peer.publish(ITALY) == [(7, Gossip(ITALY, 1))]


def test_the_memberships_timers_reach_it(kind: Kind) -> None:
    peer = Peer(kind, {}, contacts={"": [7], ".t": [7]}).subscribe(Topic(".t"))
    [(delay, timer)] = peer.port.take_timers()

    assert isinstance(timer, AnswerDue)
    assert delay == ns(2)
    assert peer.fire(timer) == [(7, Subscription(timer.scope, ME, 0, 0.0))]


def test_news_on_the_memberships_messages_is_refused(kind: Kind) -> None:
    peer = Peer(kind, {}, contacts={}).subscribe(Topic(".s.i"))
    scope = "" if kind is GossipBroadcast else ".s.i"

    with pytest.raises(RemoteError, match="spreads no news"):
        peer.hear(7, ScampHeartbeat(scope, b"news"))


def test_what_is_no_message_of_gossips_is_refused(kind: Kind) -> None:
    peer = Peer(kind).subscribe(Topic(".s"))

    with pytest.raises(RemoteError, match="takes no Spread"):
        peer.hear(1, Spread(ITALY, 1, ".s.i"))

    assert (peer.port.sent, peer.delivered) == ([], [])


@pytest.mark.parametrize("scope", [".t", "nonsense"])
def test_a_membership_message_for_another_scope_is_refused(kind: Kind, scope: str) -> None:
    peer = Peer(kind, {}, contacts={}).subscribe(Topic(".s"))
    before = peer.tables

    with pytest.raises(RemoteError):
        peer.hear(7, Subscription(scope, 7, 0, 0.0))

    assert (peer.tables, peer.port.sent) == (before, [])


def test_who_stops_says_good_bye_to_its_neighbours(kind: Kind) -> None:
    peer = Peer(kind, {}, contacts={}).subscribe(Topic(".s.i"))
    scope = "" if kind is GossipBroadcast else ".s.i"
    peer.hear(7, Subscription(scope, 7, 0, 0.0))

    peer.protocol.stop()

    assert (7, Unsubscription(scope)) in peer.port.take_sent()
    assert peer.left == [scope]


def test_who_stops_before_it_has_joined_leaves_nothing(kind: Kind) -> None:
    peer = Peer(kind, {}, contacts={"": [7], ".t": [7]}).subscribe(Topic(".t"))

    peer.protocol.stop()

    assert (peer.joined, peer.left) == ([], [])


# Broadcast


def test_broadcast_joins_everybody_at_the_start_whatever_it_subscribes_to() -> None:
    peer = Peer(GossipBroadcast)
    assert peer.joined == [""]

    peer.subscribe(Topic(".t"))

    assert peer.joined == [""]
    assert peer.tables == {"": [1, 2, 3, 4, 5, 6, 7]}


def test_broadcast_passes_on_what_it_is_not_interested_in() -> None:
    peer = Peer(GossipBroadcast).subscribe(Topic(".t"))

    sent = peer.hear(4, Gossip(ITALY, 1))

    assert sent == to([1, 2, 3, 4, 5, 6, 7], Gossip(ITALY, 2))
    assert peer.delivered == []


def test_broadcast_publishes_what_it_does_not_subscribe_to() -> None:
    peer = Peer(GossipBroadcast)

    assert peer.publish(ITALY) == to([1, 2, 3, 4, 5, 6, 7], Gossip(ITALY, 1))
    assert peer.delivered == []


def test_broadcast_passes_on_events_of_topics_that_it_has_not_heard_of() -> None:
    peer = Peer(GossipBroadcast).subscribe(Topic("."))
    unknown = Event("e", ".new")

    assert len(peer.hear(4, Gossip(unknown, 1))) == 7
    assert peer.delivered == []


def test_broadcast_takes_interests_in_content() -> None:
    peer = Peer(GossipBroadcast).subscribe(Box({"goals": Range(2, 9)}))
    dull, good = (Event(str(n), ".t", attributes={"goals": n}) for n in (1, 3))

    peer.hear(1, Gossip(dull, 1))
    peer.hear(1, Gossip(good, 1))

    assert peer.delivered == [(good, "")]


def test_broadcast_changes_its_fanout_while_it_runs_whatever_the_topic() -> None:
    peer = Peer(GossipBroadcast, {".": range(100)}, c=0)
    assert len(peer.publish(Event("1"))) == 4

    peer.protocol.configure(".s", {"c": -2})
    assert len(peer.publish(Event("2"))) == 2

    with pytest.raises(LocalError, match="GossipParameters"):
        peer.protocol.configure(".s", {"c": 1000})
    assert len(peer.publish(Event("3"))) == 2


def test_broadcast_forgets_no_interest_but_the_one_that_ended() -> None:
    peer = Peer(GossipBroadcast).subscribe(Topic(".s"), Topic(".t"))

    peer.protocol.unsubscribe(Topic(".s"))
    peer.hear(1, Gossip(ITALY, 1))
    peer.hear(1, Gossip(Event("f", ".t"), 1))

    assert peer.delivered == [(Event("f", ".t"), "")]


# Multicast


def test_multicast_joins_the_groups_of_a_topic_and_of_all_below_it() -> None:
    peer = Peer(GossipMulticast)
    assert peer.joined == []

    peer.subscribe(Topic(".s"))

    assert peer.joined == [".s", ".s.i", ".s.f"]


def test_a_groups_table_has_those_whose_topics_include_it() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic("."))

    assert peer.tables == {
        ".": [1],
        ".s": [1, 2, 3],
        ".s.i": [1, 2, 3, 4, 5, 6],
        ".s.f": [1, 2, 3],
        ".t": [1, 7],
    }


def test_an_event_goes_round_in_the_group_of_its_own_topic_only() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic("."))

    assert peer.publish(Event("1", ".t")) == to([1, 7], Gossip(Event("1", ".t"), 1))
    assert peer.hear(2, Gossip(Event("2", ".s"), 1)) == to([1, 2, 3], Gossip(Event("2", ".s"), 2))


def test_multicast_joins_a_group_to_publish_there_and_is_delivered_nothing() -> None:
    peer = Peer(GossipMulticast)

    assert peer.publish(ITALY) == to([1, 2, 3, 4, 5, 6], Gossip(ITALY, 1))
    peer.hear(4, Gossip(Event("f", ".s.i"), 1))

    assert peer.joined == [".s.i"]
    assert peer.delivered == []


def test_an_event_of_a_group_that_one_is_not_in_is_refused() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))

    for topic in (".", ".t", ".new"):
        with pytest.raises(RemoteError, match=f"not in the group of '{topic}'"):
            peer.hear(1, Gossip(Event("e", topic), 1))

    assert (peer.port.sent, peer.delivered) == ([], [])


def test_multicast_follows_new_subtopics_and_no_other_new_topics() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))
    for name in (".s.new", ".s.new.er", ".t.new"):
        peer.topics.add(name)

    peer.hear(1, Gossip(Event("e", ".s.new.er"), 1))

    assert peer.joined == [".s", ".s.i", ".s.f", ".s.new", ".s.new.er"]
    assert peer.delivered == [(Event("e", ".s.new.er"), "")]


def test_multicast_follows_a_topic_that_is_put_under_a_further_parent() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))
    peer.topics.add_parent(".t", ".s")

    peer.hear(1, Gossip(Event("e", ".t"), 1))

    assert peer.joined == [".s", ".s.i", ".s.f", ".t"]


def test_a_timer_is_occasion_enough_to_follow_new_subtopics() -> None:
    peer = Peer(GossipMulticast, {}, contacts={}).subscribe(Topic(".s"))
    peer.topics.add(".s.new")

    peer.fire(HeartbeatDue(".s", 0))

    assert peer.joined == [".s", ".s.i", ".s.f", ".s.new"]


def test_unsubscribing_leaves_the_groups_of_the_topic_and_of_all_below_it() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"), Topic(".t"))

    peer.protocol.unsubscribe(Topic(".s"))

    assert peer.left == [".s", ".s.i", ".s.f"]
    assert list(peer.tables) == [".t"]


def test_groups_that_another_interest_asks_for_are_not_left() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"), Topic(".s.i"))

    peer.protocol.unsubscribe(Topic(".s"))

    assert peer.left == [".s", ".s.f"]
    peer.hear(4, Gossip(ITALY, 1))
    assert peer.delivered == [(ITALY, "")]


def test_unsubscribing_a_subtopic_of_what_is_subscribed_leaves_nothing() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"), Topic(".s.i"))

    peer.protocol.unsubscribe(Topic(".s.i"))

    assert peer.left == []


def test_unsubscribing_leaves_a_group_that_was_only_published_to() -> None:
    peer = Peer(GossipMulticast)
    peer.publish(ITALY)
    peer.publish(Event("f", ".t"))

    peer.protocol.unsubscribe(Topic(".s.i"))

    assert peer.left == [".s.i"]
    assert list(peer.tables) == [".t"]


def test_who_subscribes_again_joins_again() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".t"))
    peer.protocol.unsubscribe(Topic(".t"))

    peer.subscribe(Topic(".t"))

    assert (peer.joined, peer.left) == ([".t", ".t"], [".t"])
    assert peer.publish(Event("e", ".t")) == to([1, 7], Gossip(Event("e", ".t"), 1))


def test_the_timers_of_a_group_that_was_left_do_nothing() -> None:
    peer = Peer(GossipMulticast, {}, contacts={".t": [7]}).subscribe(Topic(".t"))
    timers = peer.port.take_timers()
    peer.protocol.unsubscribe(Topic(".t"))
    assert timers

    for _, timer in timers:
        assert peer.fire(timer) == []
    peer.subscribe(Topic(".t"))
    for _, timer in timers:
        assert peer.fire(timer) == []

    assert peer.joined == []


@pytest.mark.parametrize(
    ("interest", "groups"),
    [
        (TopicSet((".t", ".s.i")), [".s.i", ".t"]),
        (AnyOf((Topic(".t"), TopicSet((".s.f",)))), [".s.f", ".t"]),
    ],
)
def test_an_interest_in_several_topics_joins_the_groups_of_each(
    interest: Interest, groups: list[str]
) -> None:
    peer = Peer(GossipMulticast).subscribe(interest)
    assert peer.joined == groups

    peer.protocol.unsubscribe(interest)

    assert peer.left == groups


def test_an_interest_that_names_no_topic_is_our_own_mistake() -> None:
    with pytest.raises(LocalError, match="by topic, and Box"):
        Peer(GossipMulticast).subscribe(Box({"goals": Range(2, 9)}))


def test_topics_that_are_not_known_are_named() -> None:
    peer = Peer(GossipMulticast)
    for act in (peer.protocol.subscribe, peer.protocol.unsubscribe):
        with pytest.raises(TopicError, match=r"'\.new' is not known"):
            act(Topic(".new"))
    with pytest.raises(TopicError, match=r"'\.new' is not known"):
        peer.publish(Event("e", ".new"))


def test_multicast_changes_the_fanout_of_one_topic_while_it_runs() -> None:
    everybody = {".s": range(100), ".t": range(100)}
    peer = Peer(GossipMulticast, everybody, c=0).subscribe(Topic(".s"), Topic(".t"))

    peer.protocol.configure(".s", {"c": -2})

    assert len(peer.publish(Event("1", ".s"))) == 2
    assert len(peer.publish(Event("2", ".t"))) == 4


def test_a_change_made_before_a_group_is_joined_holds_in_it() -> None:
    peer = Peer(GossipMulticast, {".s": range(100)}, c=0)

    peer.protocol.configure(".s", {"c": 2})

    assert len(peer.publish(Event("1", ".s"))) == 6


def test_a_topic_can_have_a_fanout_of_its_own() -> None:
    everybody = {".s": range(100), ".t": range(100)}
    peer = Peer(GossipMulticast, everybody, topic_parameters={".s": {"c": 1}}, c=3)

    assert len(peer.publish(Event("1", ".s"))) == 5
    assert len(peer.publish(Event("2", ".t"))) == 7


def test_who_stops_leaves_every_group() -> None:
    peer = Peer(GossipMulticast).subscribe(Topic(".s"))
    peer.publish(Event("e", ".t"))

    peer.protocol.stop()

    assert peer.left == [".s", ".s.i", ".s.f", ".t"]
    assert peer.tables == {}


# Whole systems


def run(kind: Kind, communities: Mapping[str, Sequence[PeerId]], event: Event) -> Exchange:
    """Everybody over static tables; the last one publishes."""
    exchange, topics = Exchange(seed=1), hierarchy()
    setting = Setting(topics, Directory(topics, communities), Static)
    for topic, peers in communities.items():
        for peer in peers:
            node = exchange.host(peer, lambda port: kind(port, setting))
            node.start()
            node.subscribe(Topic(topic))
    node.publish(event)
    exchange.deliver_mail()
    assert exchange.errors == []
    return exchange


SYSTEM = {".t": range(50), ".": range(50, 60), ".s.i": range(60, 160)}


def receivers(exchange: Exchange) -> list[PeerId]:
    return [peer for peer, port in exchange.ports.items() for _ in port.delivered]


def test_a_broadcast_costs_n_times_ln_n_plus_c_and_is_delivered_to_the_interested() -> None:
    exchange = run(GossipBroadcast, SYSTEM, ITALY)

    assert exchange.carried == 160 * log_size(160, 5)
    assert receivers(exchange) == list(range(50, 160))


def test_a_multicast_costs_the_same_of_its_audience_and_reaches_nobody_else() -> None:
    exchange = run(GossipMulticast, SYSTEM, ITALY)

    assert exchange.carried == 110 * log_size(110, 5)
    assert receivers(exchange) == list(range(50, 160))
