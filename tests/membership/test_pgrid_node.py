"""One P-Grid node on a port whose effects are lists: exactly what it does upon each input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agents.core.codec import Codec
from agents.core.errors import LocalError, RemoteError
from agents.core.messages import Message, PeerId, ns
from agents.core.overlay import OverlayMessage
from agents.core.protocol import make_parameters
from agents.membership.pgrid.messages import (
    AnswerDue,
    Ask,
    Declined,
    Deregister,
    Directions,
    Entry,
    Find,
    Listing,
    Meet,
    Met,
    PGridParameters,
    RefreshDue,
    Register,
    Replicate,
)
from agents.membership.pgrid.node import PGridNode
from agents.membership.pgrid.requests import ATTEMPTS
from agents.membership.pgrid.trie import key_of, opposite, packed
from tests.support.pgrid import node_on
from tests.support.ports import ListPort

ME = 0
TOPIC = ".t"
KEY = key_of(TOPIC)
HERE = KEY[:2]
"""A path that is responsible for the topic."""
ELSEWHERE = opposite(KEY[0]) + "0"
LEASE_MS = 30_000
Effects = list[tuple[PeerId, Message]]


class Peer:
    """A node and its port. It is settled, at a path that the test wants."""

    def __init__(
        self,
        path: str = "",
        *references: Sequence[PeerId],
        contacts: Sequence[PeerId] = (),
        **parameters: Any,
    ) -> None:
        self.port = ListPort(ME)
        self.contacts = list(contacts)
        self.node: PGridNode = node_on(self.port, self.contacts, **parameters)
        self.node.start()
        for bit, level in zip(path, references or [()] * len(path), strict=True):
            self.node.trie.extend(bit, level)
        self.refresh = [timer for _, timer in self.port.timers if isinstance(timer, RefreshDue)]

    def hear(self, sender: PeerId, message: OverlayMessage) -> Effects:
        self.port.sent.clear()
        self.node.on_message(sender, message)
        return list(self.port.sent)

    def answer(self, sender: PeerId, kind: type[OverlayMessage], *fields: Any) -> Effects:
        """Answer the last question that the sender was asked."""
        asked = [message for to, message in self.port.sent if to == sender]
        return self.hear(sender, kind(asked[-1].serial, *fields))  # type: ignore[attr-defined]

    def wait(self) -> Effects:
        """Let all that is waited for be waited for in vain, once."""
        self.port.sent.clear()
        timers = self.port.take_timers()
        for _, timer in timers:
            if isinstance(timer, AnswerDue):
                self.node.on_timer(timer)
        return list(self.port.sent)

    def silence(self) -> Effects:
        """As long as it takes until somebody else is asked."""
        effects: Effects = []
        for _ in range(ATTEMPTS):
            effects = self.wait()
        return effects

    def register(self, peer: PeerId, topic: str = TOPIC, version: int = 1) -> Effects:
        return self.hear(peer, Register(9, topic, version, 10))

    def living(self, topic: str = TOPIC) -> list[PeerId]:
        return self.node.registrations.living(topic, self.port.now)


def listing(effects: Effects) -> tuple[int, list[PeerId]]:
    (found,) = [message for _, message in effects if isinstance(message, Listing)]
    return found.registered, sorted(found.peers)


def kinds(effects: Effects) -> list[tuple[PeerId, str]]:
    return [(to, type(message).__name__) for to, message in effects]

    # Coming in

    peer = Peer()

    assert peer.node.settled
    assert peer.port.sent == []
    assert peer.hear(5, Ask(1, 77)) == [(5, Directions(1, packed(""), True, ()))]


def test_a_newcomer_asks_a_contact_for_somebody_beside_itself() -> None:
    peer = Peer(contacts=[5])

    ((to, asked),) = peer.port.sent

    assert not peer.node.settled
    assert to == 5
    assert isinstance(asked, Ask)
    assert asked.avoid == ME


def test_it_follows_directions_and_meets_whoever_is_responsible() -> None:
    peer = Peer(contacts=[5])
    (_, asked) = peer.port.sent[-1]
    assert isinstance(asked, Ask)

    ((to, next_asked),) = peer.hear(5, Directions(asked.serial, packed("1"), False, (6,)))
    assert (to, type(next_asked)) == (6, Ask)
    ((to, meet),) = peer.answer(6, Directions, packed("0"), True, ())

    assert isinstance(meet, Meet)
    assert (to, meet.path, meet.references, meet.settled) == (6, packed(""), (), False)


def newcomer_in_meeting() -> Peer:
    peer = Peer(contacts=[5])
    peer.answer(5, Directions, packed(""), True, ())
    return peer


def test_it_is_settled_when_it_takes_over_half_of_what_the_other_was_responsible_for() -> None:
    peer = newcomer_in_meeting()
    entry = Entry(TOPIC, 8, 3, True, 5000)
    half = KEY[0]

    sent = peer.answer(
        5,
        Met,
        packed(half),
        ((1, (5,)),),
        packed(""),
        packed(opposite(half)),
        True,
        (),
        (),
        0,
        (entry,),
    )

    assert peer.node.settled
    assert peer.node.trie.path == half
    assert peer.node.trie.references == [[5]]
    assert peer.living() == [8]
    # The other is still responsible for both halves until it hears that we know.
    assert (5, Replicate(packed(half), ())) in sent


def test_it_is_not_when_the_other_is_responsible_for_less_than_its_own_new_place() -> None:
    peer = newcomer_in_meeting()

    sent = peer.answer(
        5, Met, packed("1"), ((1, (5,)),), packed("01"), packed("01"), True, (), (), 0, ()
    )

    assert not peer.node.settled
    assert peer.node.trie.path == "1"
    assert (5, "Ask") in kinds(sent)


def test_a_newcomer_answers_no_search_and_is_met_by_nobody_who_is_settled() -> None:
    peer = Peer(contacts=[5])

    assert peer.hear(7, Ask(1, 0)) == [(7, Directions(1, packed(""), False, (5,)))]
    assert peer.hear(7, Find(2, TOPIC, 3)) == [(7, Declined(2))]
    assert peer.hear(7, Meet(3, packed(""), (), (), 0, True, 0)) == [(7, Declined(3))]


def test_who_reaches_nobody_at_all_begins_alone_in_the_end() -> None:
    peer = Peer(contacts=[5])

    for _ in range(200):
        if peer.node.settled:
            break
        peer.wait()

    assert peer.node.settled
    assert peer.node.trie.path == ""


def test_who_does_not_answer_is_asked_again_and_then_the_next() -> None:
    peer = Peer("1", [5, 6], contacts=[])
    found: list[Any] = []
    topic = next(f".{n}" for n in range(99) if key_of(f".{n}")[0] == "0")
    peer.node.search_peers(topic, 2, lambda *listed: found.append(listed))
    ((first, question),) = peer.port.take_sent()

    for _ in range(ATTEMPTS - 1):
        assert peer.wait() == [(first, question)]
    ((second, _),) = peer.wait()

    assert {first, second} == {5, 6}
    assert peer.node.trie.references == [[second]]
    assert not found


def test_a_search_goes_back_to_those_named_before_when_all_named_since_are_dead() -> None:
    peer = Peer("1", [5])
    peer.contacts.append(9)
    topic = next(f".{n}" for n in range(99) if key_of(f".{n}")[0] == "0")
    found: list[Any] = []
    peer.node.search_peers(topic, 2, lambda *listed: found.append(listed))
    peer.answer(5, Directions, packed("01"), False, (6, 7))

    assert kinds(peer.silence()) == [(7, "Ask")]
    assert kinds(peer.silence()) == [(9, "Ask")]
    peer.answer(9, Directions, packed("00"), True, ())
    assert kinds(peer.port.sent)[-1] == (9, "Find")
    peer.answer(9, Listing, 4, (3, 8))

    assert found == [(4, [3, 8])]


def test_the_one_who_answered_is_asked_directly_the_next_time() -> None:
    peer = Peer("1", [5])
    topic = next(f".{n}" for n in range(99) if key_of(f".{n}")[0] == "0")
    found: list[Any] = []

    def search() -> None:
        peer.port.sent.clear()
        peer.node.search_peers(topic, 2, lambda *listed: found.append(listed))

    search()
    peer.answer(5, Directions, packed("0"), True, ())
    peer.answer(5, Listing, 1, (3,))
    search()
    assert kinds(peer.port.sent) == [(5, "Find")]
    peer.answer(5, Declined)
    assert kinds(peer.port.sent)[-1] == (5, "Ask")

    assert found == [(1, [3])]


def test_who_asks_for_what_is_being_asked_gets_the_same_answer() -> None:
    peer = Peer("1", [5])
    topic = next(f".{n}" for n in range(99) if key_of(f".{n}")[0] == "0")
    found: list[Any] = []
    for number in range(3):
        peer.node.search_peers(topic, 2, lambda *listed, n=number: found.append((n, *listed)))

    assert kinds(peer.port.sent) == [(5, "Ask")]
    peer.answer(5, Directions, packed("0"), True, ())
    peer.answer(5, Listing, 1, (3,))

    assert found == [(0, 1, [3]), (1, 1, [3]), (2, 1, [3])]


# Registrations


def test_who_registers_is_told_of_those_who_were_there_before() -> None:
    peer = Peer(HERE)

    assert listing(peer.register(5)) == (0, [])
    assert listing(peer.register(6)) == (1, [5])
    assert listing(peer.register(5, version=2)) == (1, [6])
    assert listing(peer.hear(7, Find(1, TOPIC, 10))) == (2, [5, 6])
    assert listing(peer.hear(7, Find(1, TOPIC, 1)))[0] == 2


def test_who_is_not_responsible_declines() -> None:
    peer = Peer(ELSEWHERE, [5], [6])

    assert peer.register(7) == [(7, Declined(9))]
    assert peer.hear(7, Find(1, TOPIC, 10)) == [(7, Declined(1))]
    assert peer.living() == []


def test_a_registration_that_is_not_renewed_ends() -> None:
    peer = Peer(HERE)
    peer.register(5)
    peer.port.now += ns(20)
    peer.register(6)
    peer.port.now += ns(10)

    assert peer.living() == [6]


def test_who_leaves_is_gone_at_once_and_old_word_of_it_does_not_bring_it_back() -> None:
    peer = Peer(HERE)
    peer.register(5, version=1)

    peer.hear(5, Deregister(TOPIC, 2))
    peer.hear(8, Replicate(packed(HERE), (Entry(TOPIC, 5, 1, True, 9000),)))

    assert peer.living() == []


def test_a_registration_is_taken_to_the_replicas() -> None:
    peer = Peer(HERE)
    peer.node.replicas.add(8)

    sent = peer.register(5, version=4)

    assert (8, Replicate(packed(HERE), (Entry(TOPIC, 5, 4, True, LEASE_MS),))) in sent


def test_a_replica_passes_on_who_is_new_and_not_who_is_renewed() -> None:
    peer = Peer(HERE)
    peer.node.replicas.add(9)
    new, renewed = Entry(TOPIC, 5, 1, True, 9000), Entry(TOPIC, 5, 2, True, 9000)

    assert peer.hear(8, Replicate(packed(HERE), (new,))) == [(9, Replicate(packed(HERE), (new,)))]
    assert peer.hear(8, Replicate(packed(HERE), (renewed,))) == []
    assert list(peer.node.replicas) == [9, 8]


def test_a_lease_that_others_tell_of_is_never_longer_than_our_own() -> None:
    peer = Peer(HERE)

    peer.hear(8, Replicate(packed(HERE), (Entry(TOPIC, 5, 1, True, 10 * LEASE_MS),)))
    peer.port.now += ns(30)

    assert peer.living() == []


def test_what_belongs_elsewhere_is_not_kept() -> None:
    peer = Peer(ELSEWHERE, [5], [6])

    peer.hear(8, Replicate(packed(HERE), (Entry(TOPIC, 5, 1, True, 9000),)))

    assert peer.living() == []


def test_our_own_registration_is_kept_here_where_we_are_responsible() -> None:
    peer = Peer(HERE)
    listed: list[Any] = []
    peer.register(5)

    peer.node.register(TOPIC, 3, lambda *told: listed.append(told))

    assert listed == [(1, [5])]
    assert peer.living() == [5, ME]
    peer.node.deregister(TOPIC)
    assert peer.living() == [5]


def test_it_is_renewed_at_every_refresh_until_it_is_taken_back() -> None:
    peer = Peer(ELSEWHERE, [5], [6])
    listed: list[Any] = []
    peer.node.register(TOPIC, 3, lambda *told: listed.append(told))
    peer.answer(5, Directions, packed(HERE), True, ())
    peer.answer(5, Listing, 2, (7, 8))

    peer.port.now += ns(10)
    peer.port.sent.clear()
    peer.node.on_timer(peer.refresh[0])
    (renewal,) = [m for to, m in peer.port.sent if to == 5 and isinstance(m, Register)]
    peer.hear(5, Listing(renewal.serial, 2, (7, 9)))
    peer.node.deregister(TOPIC)

    assert renewal.version == ns(10)
    assert listed == [(2, [7, 8]), (2, [7, 9])]
    ((to, word),) = peer.port.take_sent()
    assert (to, type(word)) == (5, Deregister)
    peer.node.on_timer(peer.refresh[0])
    assert not [m for _, m in peer.port.sent if isinstance(m, Register)]


def test_a_registration_that_somebody_waits_for_is_tried_again_soon() -> None:
    peer = Peer(ELSEWHERE, [5], [6])
    peer.node.register(TOPIC, 3, lambda *_: None)

    for _ in range(2 * ATTEMPTS):
        peer.wait()
    peer.contacts.append(9)
    sent = peer.wait()

    assert (9, "Ask") in kinds(sent)


def test_what_it_says_can_be_read_however_many_it_knows_and_wants() -> None:
    newcomer = Peer(contacts=range(100))
    said = newcomer.hear(200, Ask(1, 0))

    for ask_for in (PGridNode.search_peers, PGridNode.register):
        peer = Peer(ELSEWHERE, [5], [])
        ask_for(peer.node, TOPIC, 3000, lambda *_: None)
        said += peer.answer(5, Directions, packed(HERE), True, ())

    assert [name for _, name in kinds(said)] == ["Directions", "Find", "Register"]
    codec = Codec(PGridNode.messages)
    for _, message in said:
        assert codec.decode(codec.encode(ME, message)) == (ME, message)


# Meetings


def test_a_meeting_of_two_at_the_same_place_parts_them() -> None:
    peer = Peer("", maxl=3)
    peer.register(5)

    sent = peer.hear(8, Meet(1, packed(""), (), (), 0, True, 0))

    ((to, met),) = [(to, m) for to, m in sent if isinstance(m, Met)]
    mine, its = peer.node.trie.path, opposite(peer.node.trie.path)
    assert (to, met.path, met.after, met.before) == (8, packed(its), packed(mine), packed(""))
    assert met.references == ((1, (ME,)),)
    assert [entry.peer for entry in met.entries] == ([5] if KEY.startswith(its) else [])


def test_who_parted_answers_for_both_until_the_other_says_that_it_knows() -> None:
    peer = Peer("", maxl=3)
    peer.register(5)
    peer.hear(8, Meet(1, packed(""), (), (), 0, False, 0))
    mine, its = peer.node.trie.path, opposite(peer.node.trie.path)
    at_its = int(its + "0" * 31, 2)

    assert peer.hear(9, Ask(2, at_its)) == [(9, Directions(2, packed(mine), True, ()))]
    peer.hear(8, Replicate(packed(its), ()))
    assert peer.hear(9, Ask(3, at_its)) == [(9, Directions(3, packed(mine), False, (8,)))]


def test_who_asks_again_gets_the_same_answer_and_no_second_meeting() -> None:
    peer = Peer("", maxl=3)
    meet = Meet(1, packed(""), (), (), 0, True, 0)

    first = peer.hear(8, meet)
    again = peer.hear(8, meet)

    assert again == [effect for effect in first if isinstance(effect[1], Met)]
    assert peer.node.meetings.count == 1


def test_who_waits_for_an_answer_declines_to_be_met() -> None:
    peer = Peer("0", [5])
    peer.node.meetings.arrange(5, 0)

    assert peer.hear(8, Meet(1, packed("1"), ((),), (), 0, True, 0)) == [(8, Declined(1))]


def test_meetings_wait_for_each_other() -> None:
    peer = Peer("0", [5])
    peer.node.meetings.arrange(5, 0)
    peer.node.meetings.arrange(6, 1)
    assert kinds(peer.port.sent) == [(5, "Meet")]

    ((to, meet),) = peer.answer(5, Declined)

    assert isinstance(meet, Meet)
    assert (to, meet.depth) == (6, 1)


def test_replicas_that_hold_other_registrations_exchange_them() -> None:
    peer = Peer(HERE, maxl=2)
    peer.register(5)

    sent = peer.hear(8, Meet(1, packed(HERE), ((), ()), (9,), 0, True, 123))

    (met,) = [m for _, m in sent if isinstance(m, Met)]
    assert [entry.peer for entry in met.entries] == [5]
    assert list(peer.node.replicas) == [8, 9]
    assert (9, Replicate(packed(HERE), ())) in sent  # so that it knows us too


def test_replicas_that_hold_the_same_exchange_nothing() -> None:
    peer = Peer(HERE, maxl=2)
    peer.register(5)
    digest = peer.node.registrations.digest(HERE, peer.port.now)

    sent = peer.hear(8, Meet(1, packed(HERE), ((), ()), (), 0, True, digest))

    (met,) = [m for _, m in sent if isinstance(m, Met)]
    assert met.entries == ()


# Staying


def refreshed(peer: Peer) -> Effects:
    peer.port.sent.clear()
    peer.node.on_timer(peer.refresh[0])
    return peer.port.take_sent()


def test_references_are_asked_whether_they_live_and_the_dead_are_dropped() -> None:
    peer = Peer("01", [5, 6], [7])

    asked = [kinds(refreshed(peer)) for _ in range(2)]
    for _ in range(2 * ATTEMPTS):
        peer.wait()

    assert [one for one in asked[0] if one[0] in (5, 6)][-2:] == [(5, "Ask"), (6, "Ask")]
    assert (7, "Ask") in asked[1]
    assert peer.node.trie.references == [[], []]


def test_where_nobody_is_left_on_the_other_side_the_level_is_given_up() -> None:
    peer = Peer("01", [5], [])

    for _ in range(3):
        refreshed(peer)
        while peer.port.timers and any(isinstance(t, AnswerDue) for _, t in peer.port.timers):
            for to, message in peer.port.take_sent():
                if to == 5 and isinstance(message, Ask):
                    peer.node.on_message(5, Directions(message.serial, packed("1"), False, ()))
                elif to == 5 and isinstance(message, Meet):
                    peer.node.on_message(5, Declined(message.serial))
            peer.wait()

    assert peer.node.trie.path == "0"


def test_timers_of_a_refresh_do_not_multiply() -> None:
    peer = Peer("", contacts=[])

    for _ in range(5):
        refreshed(peer)

    assert [timer for _, timer in peer.port.timers].count(RefreshDue()) == 6  # each sets the next


# Nonsense


@pytest.mark.parametrize(
    "message",
    [
        Meet(1, packed("01"), ((),), (), 0, True, 0),
        Register(1, "é", 1, 3),
        Find(1, "é", 3),
        Replicate(packed(""), (Entry("é", 1, 1, True, 9),)),
        OverlayMessage(),
    ],
)
def test_nonsense_is_refused_and_changes_nothing(message: OverlayMessage) -> None:
    peer = Peer("0", [5])

    with pytest.raises(RemoteError):
        peer.hear(8, message)

    assert (peer.node.trie.path, peer.node.trie.references) == ("0", [[5]])
    assert peer.port.sent == []


def test_our_own_words_from_another_are_refused() -> None:
    with pytest.raises(RemoteError, match="ours"):
        Peer().hear(ME, Ask(1, 2))


def test_an_answer_counts_from_the_one_who_was_asked_only() -> None:
    peer = Peer("0", [5])
    peer.node.meetings.arrange(5, 0)
    (_, meet) = peer.port.sent[-1]
    assert isinstance(meet, Meet)

    with pytest.raises(RemoteError, match="6 answers what 5 was asked"):
        peer.hear(6, Declined(meet.serial))
    with pytest.raises(RemoteError, match="no answer"):
        peer.hear(5, Listing(meet.serial, 0, ()))
    assert peer.hear(5, Declined(12345)) == []  # too late, whatever it was about


@pytest.mark.parametrize(
    ("path", "references"), [("1", ()), ("", ()), ("0000", ()), ("00", ((3, (7,)),))]
)
def test_a_meeting_that_leads_where_it_cannot_is_refused(
    path: str, references: tuple[tuple[int, tuple[PeerId, ...]], ...]
) -> None:
    peer = Peer("0", [5])
    peer.node.meetings.arrange(5, 0)
    (_, meet) = peer.port.sent[-1]
    assert isinstance(meet, Meet)
    at = packed("1")

    with pytest.raises(RemoteError):
        peer.hear(5, Met(meet.serial, packed(path), references, at, at, True, (), (), 0, ()))

    assert (peer.node.trie.path, peer.node.trie.references) == ("0", [[5]])


def test_a_lease_must_outlast_a_refresh() -> None:
    with pytest.raises(LocalError, match="registration_lease_s must be longer than refresh_s"):
        make_parameters(PGridParameters, {"refresh_s": 30})
