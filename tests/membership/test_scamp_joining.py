"""How one comes into a SCAMP group: whom a newcomer asks, how often, and when it is ready."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from agents.core.errors import LocalError
from agents.core.messages import PeerId, ns
from agents.core.registry import memberships
from agents.membership.scamp import AnswerDue, Scamp, ScampHeartbeat, Subscription, Welcome
from tests.support.scamp import EPOCH, ME, Peer, S


def test_is_found_by_its_name() -> None:
    assert memberships.load("scamp") is Scamp


@pytest.mark.parametrize("contacts", [(), (ME,)])
def test_who_has_no_contact_but_itself_is_the_first_member_and_ready_at_once(
    contacts: Sequence[PeerId],
) -> None:
    peer = Peer(contacts).join()

    assert (peer.port.sent, peer.port.timers) == ([], [])
    assert (peer.view, peer.carrier.ready) == ([], 1)


def test_a_newcomer_asks_its_first_contact_and_is_not_ready_yet() -> None:
    peer = Peer([ME, 7, 8]).join()

    assert peer.port.sent == [(7, Subscription(S, ME, 0, 1.0))]
    assert peer.port.timers == [(ns(2), AnswerDue(S, EPOCH, 1))]
    assert (peer.view, peer.carrier.ready) == ([], 0)


def test_without_indirection_the_contact_is_asked_to_act_itself() -> None:
    peer = Peer([7], indirection=False).join()

    assert peer.port.sent == [(7, Subscription(S, ME, 0, 0.0))]


def test_the_newcomers_view_starts_with_whoever_welcomes_it() -> None:
    peer = Peer([7]).join()

    sent = peer.hear(9, Welcome(S, False))

    assert (sent, peer.view, peer.carrier.ready) == ([], [9], 1)


def test_a_second_welcome_gives_a_second_neighbour_but_no_second_readiness() -> None:
    peer = Peer([7, 8]).join()
    peer.hear(7, Welcome(S, False))

    peer.hear(8, Welcome(S, False))

    assert (peer.view, peer.carrier.ready) == ([7, 8], 1)


def test_joining_twice_is_our_own_mistake() -> None:
    with pytest.raises(LocalError, match="twice"):
        Peer().join().scamp.join()


def test_an_unanswered_newcomer_asks_its_contacts_in_turn_and_without_a_walk() -> None:
    peer = Peer([7, 8]).join()

    sent = [message for n in (1, 2, 3) for message in peer.fire(AnswerDue(S, EPOCH, n))]

    assert sent == [(to, Subscription(S, ME, 0, 0.0)) for to in (8, 7, 8)]
    assert peer.port.timers[1:] == [(ns(2), AnswerDue(S, EPOCH, n)) for n in (2, 3, 4)]


def test_an_answer_that_is_overdue_but_came_is_not_asked_for_again() -> None:
    peer = Peer([7, 8]).join()
    peer.hear(7, Welcome(S, False))

    assert peer.fire(AnswerDue(S, EPOCH, 1)) == []


def test_the_timer_of_an_earlier_request_does_nothing() -> None:
    peer = Peer([7, 8]).join()
    peer.fire(AnswerDue(S, EPOCH, 1))

    assert peer.fire(AnswerDue(S, EPOCH, 1)) == []


def test_contacts_are_looked_up_anew_at_each_attempt() -> None:
    contacts = [7]
    peer = Peer(contacts).join()
    contacts[:] = [9]
    assert [to for to, _ in peer.fire(AnswerDue(S, EPOCH, 1))] == [9]

    contacts.clear()

    assert [to for to, _ in peer.fire(AnswerDue(S, EPOCH, 2))] == [9]


def test_a_newcomer_that_hears_a_member_asks_it_too_after_its_contacts() -> None:
    peer = Peer([7]).join()
    peer.hear(5, ScampHeartbeat(S))
    peer.draws(0.0, 0.0)

    assert peer.fire(AnswerDue(S, EPOCH, 1)) == [(5, Subscription(S, ME, 0, 0.0))]
    assert peer.fire(AnswerDue(S, EPOCH, 2)) == [(7, Subscription(S, ME, 0, 0.0))]


def test_readiness_is_told_once_for_each_join() -> None:
    peer = Peer([7]).join()
    for ready in (1, 2):
        peer.hear(7, Welcome(S, False))
        assert peer.carrier.ready == ready
        peer.scamp.leave()
        peer.join()
