"""How one stays in a SCAMP group: leases and their renewal, heartbeats and their absence."""

from __future__ import annotations

from agents.core.messages import ns
from agents.membership.scamp import (
    LEAST_COPIES,
    RENEWAL_AT,
    AnswerDue,
    ExpiryDue,
    ForwardedSubscription,
    HeartbeatDue,
    RenewalDue,
    ScampHeartbeat,
    Subscription,
    SubscriptionKept,
    Unsubscription,
    Welcome,
)
from tests.support.scamp import BEATS, EPOCH, LEASE, ME, Peer, S, member

# Leases


def test_a_lease_is_renewed_through_a_member_of_the_view_which_stays_as_it_is() -> None:
    peer = Peer([7], **LEASE).join()
    peer.hear(7, Welcome(S, False))
    renewal = (ns(100 * RENEWAL_AT), RenewalDue(S, EPOCH))
    assert renewal in peer.port.take_timers()
    peer.draws(0.0)

    sent = peer.fire(RenewalDue(S, EPOCH))

    assert sent == [(7, Subscription(S, ME, LEAST_COPIES, 1.0))]
    assert peer.port.timers == [renewal, (ns(2), AnswerDue(S, EPOCH, 2))]
    assert peer.hear(9, Welcome(S, True)) == []
    assert (peer.view, peer.carrier.ready) == ([7], 1)
    assert peer.fire(AnswerDue(S, EPOCH, 2)) == []


def test_a_renewal_asks_for_as_many_copies_as_views_took_the_member_in_since_the_last() -> None:
    peer = member(view=[1], **LEASE)
    for keeper in range(1, 7):
        peer.hear(keeper, SubscriptionKept(S))
    peer.hear(6, Unsubscription(S, None))
    peer.hear(1, ScampHeartbeat(S))
    peer.draws(0.0)

    assert peer.fire(RenewalDue(S, EPOCH)) == [(1, Subscription(S, ME, 5, 1.0))]


def test_when_copies_were_lost_the_next_renewal_asks_for_one_fewer_down_to_the_least() -> None:
    peer = member(view=[1], **LEASE)
    for keeper in range(1, 6):
        peer.hear(keeper, SubscriptionKept(S))
    asked = []
    for _ in range(4):
        peer.draws(0.0)
        [(_, request)] = peer.fire(RenewalDue(S, EPOCH))
        assert isinstance(request, Subscription)
        asked.append(request.copies)
        peer.hear(1, Welcome(S, True))

    assert asked == [5, 4, LEAST_COPIES, LEAST_COPIES]


def test_an_unanswered_renewal_goes_to_a_contact_as_a_newcomers_would_then_round_again() -> None:
    peer = Peer([7], **LEASE).join()
    peer.hear(8, Welcome(S, False))
    peer.draws(0.0, 0.0, 0.0)

    sent = peer.fire(RenewalDue(S, EPOCH))
    sent += peer.fire(AnswerDue(S, EPOCH, 2)) + peer.fire(AnswerDue(S, EPOCH, 3))

    assert sent == [
        (8, Subscription(S, ME, LEAST_COPIES, 1.0)),
        (7, Subscription(S, ME, 0, 0.0)),
        (8, Subscription(S, ME, LEAST_COPIES, 0.0)),
    ]


def test_entries_expire_each_at_its_time_with_one_timer_for_all() -> None:
    peer = Peer(**LEASE).join()
    peer.port.take_timers()
    for second, other in [(0, 1), (10, 2), (30, 3)]:
        peer.port.now = ns(second)
        peer.hear(other, Welcome(S, False))
    assert peer.port.take_timers() == [(ns(100), ExpiryDue(S, EPOCH))]

    views = []
    for second in (100, 110):
        peer.port.now = ns(second)
        peer.fire(ExpiryDue(S, EPOCH))
        views.append((sorted(peer.view), peer.port.take_timers()))

    assert views == [
        ([2, 3], [(ns(10), ExpiryDue(S, EPOCH))]),
        ([3], [(ns(20), ExpiryDue(S, EPOCH))]),
    ]


def test_when_the_last_entry_expires_the_next_one_sets_the_timer_again() -> None:
    peer = member(view=[1], **LEASE)
    peer.port.now = ns(100)
    peer.fire(ExpiryDue(S, EPOCH))
    assert (peer.view, peer.port.timers) == ([], [])

    peer.hear(2, Welcome(S, False))

    assert peer.port.timers == [(ns(100), ExpiryDue(S, EPOCH))]


def test_a_copy_of_a_later_subscription_prolongs_an_entry_with_the_chance_of_a_keep() -> None:
    peer = member(view=[1, 5], **LEASE)
    peer.port.now = ns(80)
    peer.draws(0.34, 0.0, 0.33)

    passed_on = peer.hear(1, ForwardedSubscription(S, 5, 1))
    kept = peer.hear(1, ForwardedSubscription(S, 5, 1))

    assert passed_on == [(5, ScampHeartbeat(S)), (1, ForwardedSubscription(S, 5, 2))]
    assert kept == [(5, SubscriptionKept(S))]
    peer.port.now = ns(100)
    peer.fire(ExpiryDue(S, EPOCH))
    assert peer.view == [5]
    assert peer.port.timers[-1] == (ns(80), ExpiryDue(S, EPOCH))


def test_a_copy_of_the_same_subscription_prolongs_nothing() -> None:
    peer = member(view=[1, 5], **LEASE)
    peer.port.now = ns(1)
    peer.draws(0.0)

    sent = peer.hear(1, ForwardedSubscription(S, 5, 1))

    assert sent == [(5, ScampHeartbeat(S)), (1, ForwardedSubscription(S, 5, 2))]


def test_a_contact_does_not_count_entries_whose_peers_have_renewed_elsewhere() -> None:
    peer = member(view=[1, 2], **LEASE)
    peer.port.now = ns(50)
    peer.hear(3, Welcome(S, False))
    peer.port.now = ns(85)

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0))

    assert sent == [(5, Welcome(S, False)), (3, ForwardedSubscription(S, 5, 1))]


def test_without_heartbeats_an_in_view_entry_lasts_a_lease() -> None:
    peer = member(view=[1], in_view=[2, 3], **LEASE)
    peer.port.now = ns(60)
    peer.hear(3, SubscriptionKept(S))
    peer.port.now = ns(120)

    peer.hear(4, SubscriptionKept(S))

    assert sorted(peer.in_view) == [3, 4]


# Heartbeats and isolation


def test_the_first_heartbeat_comes_at_random_within_a_period() -> None:
    peer = Peer(**BEATS).join(0.5)
    assert peer.port.timers == [(ns(2.5), HeartbeatDue(S, EPOCH))]


def test_heartbeats_go_to_the_view_once_a_period() -> None:
    peer = member(view=[1, 2], in_view=[3], **BEATS)

    sent = peer.fire(HeartbeatDue(S, EPOCH))

    assert sent == [(1, ScampHeartbeat(S)), (2, ScampHeartbeat(S))]
    assert peer.port.timers == [(ns(5), HeartbeatDue(S, EPOCH))]


def test_who_hears_no_heartbeat_for_long_subscribes_again_through_its_view() -> None:
    peer = member(view=[1], **BEATS)
    beat = HeartbeatDue(S, EPOCH)
    peer.port.now = ns(10)
    peer.hear(3, ScampHeartbeat(S))
    peer.port.now = ns(29)
    assert peer.fire(beat) == [(1, ScampHeartbeat(S))]
    peer.port.now = ns(30)
    peer.draws(0.0)

    sent = peer.fire(beat)

    assert sent == [(1, ScampHeartbeat(S)), (1, Subscription(S, ME, LEAST_COPIES, 1.0))]
    assert (peer.view, peer.carrier.ready) == ([1], 1)


def test_the_isolated_subscribe_at_a_bounded_rate() -> None:
    peer = member(view=[1], **BEATS)
    peer.draws(0.0, 0.0, 0.0)
    asked = []
    for second in range(0, 61, 5):
        peer.port.now = ns(second)
        if any(isinstance(m, Subscription) for _, m in peer.fire(HeartbeatDue(S, EPOCH))):
            asked.append(second)
            peer.hear(1, Welcome(S, True))

    assert asked == [20, 40, 60]


def test_the_isolated_with_an_empty_view_ask_a_contact() -> None:
    peer = Peer([7], **BEATS).join()
    peer.draws(0.0)
    peer.hear(7, Welcome(S, False))
    peer.hear(7, Unsubscription(S, None))
    peer.hear(8, Welcome(S, True))
    peer.port.now = ns(20)

    assert peer.fire(HeartbeatDue(S, EPOCH)) == [(7, Subscription(S, ME, 0, 1.0))]


def test_the_isolated_who_know_nobody_wait() -> None:
    peer = member(**BEATS)
    peer.port.now = ns(1000)

    assert peer.fire(HeartbeatDue(S, EPOCH)) == []
    assert peer.port.timers == [(ns(5), HeartbeatDue(S, EPOCH))]


def test_who_is_not_heard_any_more_leaves_the_in_view() -> None:
    peer = member(view=[1], in_view=[2, 3], **BEATS)
    peer.port.now = ns(15)
    peer.hear(3, ScampHeartbeat(S))
    peer.port.now = ns(21)

    peer.hear(3, ScampHeartbeat(S))

    assert peer.in_view == [3]
