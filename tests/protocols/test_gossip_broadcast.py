"""Gossip broadcast: everybody is told everything, and delivers what it is interested in."""

from __future__ import annotations

import pytest

from agents.core.draw import log_size
from agents.core.errors import LocalError
from agents.core.interest import Box, Range, Topic
from agents.core.messages import Event
from agents.protocols.gossip import Gossip, GossipBroadcast
from tests.support.gossip import ITALY, SYSTEM, Peer, receivers, run, to


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


def test_a_broadcast_costs_n_times_ln_n_plus_c_and_is_delivered_to_the_interested() -> None:
    exchange = run(GossipBroadcast, SYSTEM, ITALY)

    assert exchange.carried == 160 * log_size(160, 5)
    assert receivers(exchange) == list(range(50, 160))
