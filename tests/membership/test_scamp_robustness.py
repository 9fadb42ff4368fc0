"""SCAMP holds whatever it is told: news for the layer above, nonsense, and anything in any order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.codec import Codec
from agents.core.draw import stream
from agents.core.errors import LocalError, RemoteError
from agents.core.messages import PeerId, ScopedMessage, ns
from agents.membership.scamp import (
    ForwardedSubscription,
    HeartbeatDue,
    Scamp,
    ScampHeartbeat,
    Subscription,
    SubscriptionKept,
    Unsubscription,
    Welcome,
)
from tests.support.scamp import BEATS, EPOCH, LEASE, ME, Peer, S, member

# News


def test_welcomes_heartbeats_and_kept_messages_carry_news() -> None:
    peer = member(news=b"n", **BEATS)

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0)) + peer.fire(HeartbeatDue(S, EPOCH))

    kinds = (Welcome(S, False, b"n"), SubscriptionKept(S, b"n"), ScampHeartbeat(S, b"n"))
    assert sent == [(5, kind) for kind in kinds]


def test_news_is_handed_up_unless_it_is_empty() -> None:
    peer = member(view=[1])
    news = [Welcome(S, False, b"a"), SubscriptionKept(S, b"b"), ScampHeartbeat(S, b"c")]
    silent = [Welcome(S, False), SubscriptionKept(S), ScampHeartbeat(S)]

    for message in [*news, *silent]:
        peer.hear(1, message)

    assert peer.carrier.heard == [(1, b"a"), (1, b"b"), (1, b"c")]


def test_news_that_the_layer_above_refuses_does_not_cost_the_welcome() -> None:
    peer = Peer([7]).join()

    def refuse(sender: PeerId, news: bytes) -> None:
        raise RemoteError("no such news")

    peer.carrier.incoming_news = refuse  # type: ignore[method-assign]
    with pytest.raises(RemoteError, match="no such news"):
        peer.hear(7, Welcome(S, False, b"x"))

    assert (peer.view, peer.carrier.ready) == ([7], 1)


# What others do wrong


def state(scamp: Scamp) -> dict[str, Any]:
    values = {key: value for key, value in vars(scamp).items() if key.startswith("_")}
    for table in ("_view", "_in_view"):
        values[table] = list(zip(values[table].peers, values[table].expires_at, strict=True))
    values["_held"] = dict(values["_held"])
    return values


class Strange(ScopedMessage, frozen=True):
    pass


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (1, Strange(S)),
        (1, Unsubscription(S, 1)),
        (1, Subscription(S, ME, 0, 0.0)),
        (ME, ScampHeartbeat(S)),
        (ME, SubscriptionKept(S)),
        (ME, Welcome(S, False)),
        (ME, Subscription(S, ME, 0, 1.0)),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(sender: PeerId, message: ScopedMessage) -> None:
    peer = member(view=[1, 2], in_view=[1])
    before = state(peer.scamp)

    with pytest.raises(RemoteError):
        peer.hear(sender, message)

    assert state(peer.scamp) == before
    assert (peer.port.sent, peer.port.timers) == ([], [])


def test_a_newcomer_is_not_welcomed_back() -> None:
    peer = Peer([7]).join()

    with pytest.raises(RemoteError):
        peer.hear(7, Welcome(S, True))

    assert peer.carrier.ready == 0


@pytest.mark.parametrize("left", [False, True])
def test_who_is_no_member_refuses_everything(left: bool) -> None:
    peer = Peer()
    if left:
        peer.join().scamp.leave()
    for message in (Welcome(S, False), ForwardedSubscription(S, 5, 1), ScampHeartbeat(S)):
        with pytest.raises(RemoteError, match="not a member"):
            peer.hear(1, message)
    assert (peer.view, peer.in_view) == ([], [])


@pytest.mark.parametrize(
    "knobs",
    [
        {"c": -1},
        {"lease_s": -1},
        {"lease_s": 5},
        {"heartbeat_s": 5, "isolation_s": 5},
        {"join_timeout_s": 0},
        {"max_forwards": 0},
        {"capacity": 1},
        {"fanout": 3},
    ],
)
def test_impossible_parameters_are_our_own_mistake(knobs: dict[str, Any]) -> None:
    with pytest.raises(LocalError, match="ScampParameters"):
        Peer(**knobs)


# Anything in any order


PEERS = st.integers(0, 12)
NEWS = st.sampled_from([b"", b"n"])
MESSAGES = st.one_of(
    st.builds(Subscription, st.just(S), PEERS, st.integers(0, 20), st.floats(0, 1)),
    st.builds(ForwardedSubscription, st.just(S), PEERS, st.integers(0, 12)),
    st.builds(Welcome, st.just(S), st.booleans(), NEWS),
    st.builds(SubscriptionKept, st.just(S), NEWS),
    st.builds(ScampHeartbeat, st.just(S), NEWS),
    st.builds(Unsubscription, st.just(S), st.none() | PEERS),
)
STEPS = st.lists(
    st.one_of(
        st.tuples(PEERS, MESSAGES),
        st.tuples(st.just("timer"), st.integers(0, 50)),
        st.tuples(st.just("wait"), st.integers(1, 60)),
        st.just(("leave", 0)),
        st.just(("join", 0)),
    ),
    max_size=40,
)


@given(STEPS, st.lists(PEERS, max_size=3), st.booleans(), st.integers(0, 99))
def test_whatever_happens_views_are_bounded_and_never_hold_their_owner(
    steps: list[tuple[Any, Any]], contacts: list[PeerId], timed: bool, seed: int
) -> None:
    timing = {**LEASE, **BEATS} if timed else {}
    peer = Peer(contacts, capacity=4, max_forwards=8, c=1, **timing)
    peer.port.rng = stream(seed)
    scamp, port, joins = peer.scamp, peer.port, 0
    for what, value in steps:
        if what == "join":
            if not scamp._joined:
                joins += 1
                scamp.join()
        elif what == "leave":
            scamp.leave()
        elif what == "wait":
            port.now += ns(value)
        elif what == "timer":
            if port.timers:
                scamp.on_timer(port.timers.pop(value % len(port.timers))[1])  # type: ignore[arg-type]
        else:
            before = state(scamp)
            try:
                scamp.on_message(what, value)
            except RemoteError:
                assert state(scamp) == before
        for view in (scamp._view, scamp._in_view):
            assert ME not in view
            assert len(view.peers) == len(set(view.peers)) == len(view.expires_at) <= 4
        assert peer.carrier.ready <= joins
        assert len({t for _, t in port.timers if getattr(t, "epoch", 0) == scamp._epoch}) == len(
            [t for _, t in port.timers if getattr(t, "epoch", 0) == scamp._epoch]
        )
    assert ME not in [to for to, _ in port.sent]


@given(PEERS, MESSAGES)
def test_every_message_survives_the_wire(sender: PeerId, message: ScopedMessage) -> None:
    codec = Codec(Scamp.messages)
    assert codec.decode(codec.encode(sender, message)) == (sender, message)
