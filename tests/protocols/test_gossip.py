"""Gossip of either kind: given this state and this input, exactly these effects."""

from __future__ import annotations

from typing import Any

import pytest

from agents.core.errors import LocalError, RemoteError
from agents.core.interest import Topic, TopicSet
from agents.core.messages import Event, ns
from agents.core.registry import protocols
from agents.membership.scamp import AnswerDue, ScampHeartbeat, Subscription, Unsubscription, Welcome
from agents.protocols.camcast.messages import Spread
from agents.protocols.gossip import Gossip, GossipBroadcast, GossipMulticast
from tests.support.gossip import ITALY, ME, Kind, Peer, to


@pytest.fixture(params=[GossipBroadcast, GossipMulticast], ids=lambda kind: kind.name)
def kind(request: pytest.FixtureRequest) -> type[GossipBroadcast] | type[GossipMulticast]:
    chosen: type[GossipBroadcast] | type[GossipMulticast] = request.param
    return chosen


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
