"""How one leaves a SCAMP group, who takes its place, and what those do who lose a neighbour."""

from __future__ import annotations

import pytest

from agents.core.messages import PeerId
from agents.membership.scamp import (
    AnswerDue,
    ExpiryDue,
    HeartbeatDue,
    RenewalDue,
    Subscription,
    SubscriptionKept,
    Unsubscription,
    Welcome,
)
from tests.support.scamp import BEATS, EPOCH, LEASE, ME, Peer, S, member


def test_in_neighbours_replace_the_leaver_by_its_neighbours_in_turn_but_the_last_drops_it() -> None:
    peer = member(view=[8, 9], in_view=[1, 2, 3, 4])

    peer.scamp.leave()

    assert peer.port.sent == [
        (1, Unsubscription(S, 8)),
        (2, Unsubscription(S, 9)),
        (3, Unsubscription(S, 8)),
        (4, Unsubscription(S, None)),
        (8, Unsubscription(S, None)),
        (9, Unsubscription(S, None)),
    ]
    assert (peer.view, peer.in_view) == ([], [])


@pytest.mark.parametrize("c", [0, 1, 2, 3, 9])
def test_all_but_c_plus_one_replace_the_leaver(c: int) -> None:
    peer = member(view=[8, 9], in_view=[1, 2, 3, 4], c=c)

    peer.scamp.leave()

    farewells = [message for to, message in peer.port.sent if to < 8]
    replaced = [m for m in farewells if isinstance(m, Unsubscription) and m.replacement is not None]
    assert (len(farewells), len(replaced)) == (4, max(0, 4 - (c + 1)))


def test_nobody_is_told_to_replace_the_leaver_by_itself() -> None:
    peer = member(view=[1, 2], in_view=[1, 2, 3])

    peer.scamp.leave()

    assert peer.port.sent == [
        (1, Unsubscription(S, 2)),
        (2, Unsubscription(S, 1)),
        (3, Unsubscription(S, None)),
    ]


def test_leaving_what_was_not_joined_does_nothing() -> None:
    peer = Peer([7])
    peer.scamp.leave()
    assert peer.port.sent == []


def test_the_replacement_takes_the_leavers_place_and_is_told() -> None:
    peer = member(view=[1, 2])

    sent = peer.hear(1, Unsubscription(S, 9))

    assert (sent, peer.view) == ([(9, SubscriptionKept(S))], [2, 9])


@pytest.mark.parametrize("replacement", [None, ME, 2])
def test_without_a_usable_replacement_the_leaver_is_dropped(replacement: PeerId | None) -> None:
    peer = member(view=[1, 2])

    assert (peer.hear(1, Unsubscription(S, replacement)), peer.view) == ([], [2])


def test_the_leaver_is_dropped_from_the_in_view_too() -> None:
    peer = member(view=[1, 2], in_view=[1, 3])

    peer.hear(1, Unsubscription(S, None))

    assert (peer.view, peer.in_view) == ([2], [3])


def test_who_did_not_have_the_leaver_in_view_takes_no_replacement() -> None:
    peer = member(view=[1, 2], in_view=[3])

    assert peer.hear(3, Unsubscription(S, 9)) == []
    assert (peer.view, peer.in_view) == ([1, 2], [])


def test_who_loses_its_last_neighbour_subscribes_again_through_one_who_has_it() -> None:
    peer = member(view=[1], in_view=[3])
    peer.draws(0.0)

    sent = peer.hear(1, Unsubscription(S, None))

    assert sent == [(3, Subscription(S, ME, 0, 1.0))]


def test_who_loses_its_last_neighbour_and_knows_nobody_stays_a_member() -> None:
    peer = member(view=[1])

    assert peer.hear(1, Unsubscription(S, None)) == []
    assert peer.hear(5, Subscription(S, 5, 0, 0.0))[0] == (5, Welcome(S, False))


def test_timers_of_an_earlier_membership_do_nothing() -> None:
    peer = member(view=[1], in_view=[2], **LEASE, **BEATS)
    peer.scamp.leave()
    old = [t(S, EPOCH) for t in (HeartbeatDue, RenewalDue, ExpiryDue)] + [AnswerDue(S, EPOCH, 1)]
    peer.port.take_sent()
    for timer in old:
        assert peer.fire(timer) == []

    peer.draws(0.25, 0.0)
    peer.scamp.join()
    fresh = peer.port.take_timers()
    for timer in old:
        assert peer.fire(timer) == []

    assert len(fresh) == 2
    assert peer.port.timers == []
