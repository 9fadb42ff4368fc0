"""What SCAMP's members do with another's subscription until somebody keeps it."""

from __future__ import annotations

import pytest

from agents.core.messages import PeerId
from agents.membership.scamp import (
    AnswerDue,
    ForwardedSubscription,
    ScampHeartbeat,
    Subscription,
    SubscriptionKept,
    Welcome,
)
from tests.support.scamp import EPOCH, ME, Peer, S, member

# Acting as the contact


def test_a_contact_with_an_empty_view_keeps_the_newcomer_itself() -> None:
    peer = member()

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0))

    assert sent == [(5, Welcome(S, False)), (5, SubscriptionKept(S))]
    assert (peer.view, peer.in_view) == ([5], [5])


def test_a_contact_sends_one_copy_to_each_of_its_view() -> None:
    peer = member(view=[1, 2, 3])

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0))

    copy = ForwardedSubscription(S, 5, 1)
    assert sent == [(5, Welcome(S, False)), (1, copy), (2, copy), (3, copy)]
    assert (peer.view, peer.in_view) == ([1, 2, 3], [5])


def test_c_further_copies_go_to_random_members() -> None:
    peer = member(view=[1, 2, 3], c=2)
    peer.draws(0.99, 0.34)

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0))

    copy = ForwardedSubscription(S, 5, 1)
    assert sent == [(5, Welcome(S, False)), *((to, copy) for to in (1, 2, 3, 3, 2))]


def test_the_copy_that_would_go_to_the_subscriber_goes_to_another() -> None:
    peer = member(view=[1, 5, 3])
    peer.draws(0.99)

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0))

    copy = ForwardedSubscription(S, 5, 1)
    assert sent == [(5, Welcome(S, False)), (1, copy), (3, copy), (3, copy)]


def test_a_contact_that_knows_only_the_subscriber_keeps_it_as_it_is() -> None:
    peer = member(view=[5])

    sent = peer.hear(5, Subscription(S, 5, 0, 0.0))

    assert sent == [(5, Welcome(S, False)), (5, SubscriptionKept(S))]
    assert peer.view == [5]


def test_a_renewal_gets_the_copies_it_asks_for_and_enters_no_in_view() -> None:
    peer = member(view=[1, 2, 3], c=2)
    peer.draws(0.99, 0.0)

    sent = peer.hear(5, Subscription(S, 5, 2, 0.0))

    copy = ForwardedSubscription(S, 5, 1)
    assert sent == [(5, Welcome(S, True)), (3, copy), (2, copy)]
    assert peer.in_view == []


def test_a_newcomer_holds_requests_until_it_is_welcomed_itself() -> None:
    peer = Peer([7], indirection=False).join()
    assert peer.hear(5, Subscription(S, 5, 0, 1.0)) == []

    sent = peer.hear(7, Welcome(S, False))

    assert sent == [(5, Welcome(S, False)), (7, ForwardedSubscription(S, 5, 1))]


def test_a_newcomer_whose_contacts_are_silent_twice_answers_those_who_asked_it() -> None:
    peer = Peer([7, 8]).join()
    peer.hear(5, Subscription(S, 5, 0, 0.0))
    for request in (1, 2, 3):
        assert [type(m) for _, m in peer.fire(AnswerDue(S, EPOCH, request))] == [Subscription]

    sent = peer.fire(AnswerDue(S, EPOCH, 4))

    assert sent == [
        (5, Welcome(S, False)),
        (5, SubscriptionKept(S)),
        (7, Subscription(S, ME, 0, 0.0)),
    ]
    assert (peer.view, peer.carrier.ready) == ([5], 0)
    assert [to for to, _ in peer.fire(AnswerDue(S, EPOCH, 5))] == [8]
    assert [to for to, _ in peer.fire(AnswerDue(S, EPOCH, 6))] == [7]


# Copies on their way


@pytest.mark.parametrize(("draw", "to"), [(0.25, 1), (0.49, 1), (0.5, 2), (0.75, 3), (0.99, 3)])
def test_a_copy_goes_on_to_a_random_neighbour_one_hop_further(draw: float, to: PeerId) -> None:
    peer = member(view=[1, 2, 3])
    peer.draws(draw)

    sent = peer.hear(1, ForwardedSubscription(S, 5, 4))

    assert (sent, peer.view) == ([(to, ForwardedSubscription(S, 5, 5))], [1, 2, 3])


@pytest.mark.parametrize("draw", [0.0, 0.2499])
def test_a_copy_is_kept_with_one_chance_in_one_more_than_the_view_has(draw: float) -> None:
    peer = member(view=[1, 2, 3])
    peer.draws(draw)

    sent = peer.hear(1, ForwardedSubscription(S, 5, 4))

    assert (sent, peer.view) == ([(5, SubscriptionKept(S))], [1, 2, 3, 5])


def test_an_empty_view_always_keeps() -> None:
    peer = member()
    peer.draws(0.999)

    assert peer.hear(1, ForwardedSubscription(S, 5, 4)) == [(5, SubscriptionKept(S))]


def test_who_is_told_that_it_was_kept_notes_it_in_its_in_view() -> None:
    peer = member(view=[1])

    assert peer.hear(5, SubscriptionKept(S)) == []

    assert peer.in_view == [5]


def test_who_has_the_subscriber_already_tells_it_and_passes_the_copy_on() -> None:
    peer = member(view=[1, 5, 3])
    peer.draws(0.5)

    sent = peer.hear(1, ForwardedSubscription(S, 5, 4))

    assert sent == [(5, ScampHeartbeat(S)), (3, ForwardedSubscription(S, 5, 5))]


def test_who_knows_only_the_subscriber_passes_the_copy_back() -> None:
    peer = member(view=[5])

    sent = peer.hear(1, ForwardedSubscription(S, 5, 4))

    assert sent == [(5, ScampHeartbeat(S)), (1, ForwardedSubscription(S, 5, 5))]


def test_nobody_keeps_its_own_subscription() -> None:
    peer = member(view=[1, 2])
    peer.draws(0.0)

    sent = peer.hear(1, ForwardedSubscription(S, ME, 4))

    assert (sent, peer.view) == ([(1, ForwardedSubscription(S, ME, 5))], [1, 2])


def test_with_an_empty_view_ones_own_subscription_goes_back() -> None:
    peer = member()

    sent = peer.hear(1, ForwardedSubscription(S, ME, 4))

    assert (sent, peer.view) == ([(1, ForwardedSubscription(S, ME, 5))], [])


def test_a_copy_at_its_last_hop_is_kept_whatever_is_drawn() -> None:
    peer = member(view=[1, 2, 3], max_forwards=9)
    peer.draws(0.99)

    sent = peer.hear(1, ForwardedSubscription(S, 5, 9))

    assert (sent, peer.view) == ([(5, SubscriptionKept(S))], [1, 2, 3, 5])


def test_a_copy_at_its_last_hop_ends_where_its_subscriber_is_known() -> None:
    peer = member(view=[1, 5], max_forwards=9)

    assert peer.hear(1, ForwardedSubscription(S, 5, 9)) == [(5, ScampHeartbeat(S))]


def test_a_full_view_keeps_nobody_and_passes_on() -> None:
    peer = member(view=[1, 2], capacity=2, max_forwards=9)
    peer.draws(0.0, 0.5, 0.99)

    assert peer.hear(1, ForwardedSubscription(S, 5, 1)) == [(2, ForwardedSubscription(S, 5, 2))]
    assert peer.hear(1, ForwardedSubscription(S, 5, 9)) == []
    assert peer.view == [1, 2]


# Indirection


def test_a_walk_spends_one_over_the_degree_and_goes_on_over_both_views() -> None:
    peer = member(view=[1, 2], in_view=[3, 4])
    peer.draws(0.0, 0.99)

    for to in (1, 4):
        sent = peer.hear(9, Subscription(S, 5, 0, 0.75))
        assert sent == [(to, Subscription(S, 5, 0, 0.5))]
    assert peer.in_view == [3, 4]


@pytest.mark.parametrize("budget", [0.25, 0.1, 0.0])
def test_who_spends_the_last_of_a_walks_budget_acts_as_the_contact(budget: float) -> None:
    peer = member(view=[1, 2], in_view=[3, 4])

    sent = peer.hear(9, Subscription(S, 5, 0, budget))

    assert [to for to, _ in sent] == [5, 1, 2]
    assert peer.in_view == [3, 4, 5]


def test_a_walk_ends_at_who_has_nobody() -> None:
    assert member().hear(9, Subscription(S, 5, 0, 1.0))[0] == (5, Welcome(S, False))


def test_a_walk_that_leads_to_its_subscriber_goes_back() -> None:
    walk = Subscription(S, ME, 0, 0.5)

    assert member(view=[1]).hear(9, walk) == [(9, walk)]
    assert Peer([7]).join().hear(9, walk) == [(9, walk)]
