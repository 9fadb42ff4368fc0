"""Memberships on P-Grid, one at a time: the semi-structured and the structured (5.2.2, 5.2.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.core.errors import LocalError, RemoteError
from agents.core.membership import Membership, Population
from agents.core.messages import PeerId, ns
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.pgrid import PGrid
from agents.membership.pgrid.messages import (
    Declined,
    Directions,
    Entry,
    Listing,
    RefreshDue,
    Register,
    Replicate,
)
from agents.membership.pgrid.node import PGridNode
from agents.membership.pgrid.trie import key_of, packed
from agents.membership.scamp import Subscription, Welcome
from agents.membership.scamp_pgrid import ScampPGrid
from tests.support.ports import ListCarrier, ListPort

SCOPE = ".a.b"
SCOPE_FIRST = key_of(SCOPE)[0]


# One membership, on a node that is alone and so responsible for everything


class Lone:
    def __init__(
        self, kind: type[Membership], size: int = 3, parameters: Mapping[str, Any] = {}
    ) -> None:
        topics = Topics()
        topics.add_path(SCOPE)
        self.port = ListPort(0)
        directory = Directory(topics, {})
        self.node = PGridNode(self.port, Setting(topics, directory, kind, parameters))
        self.node.start()
        self.setting = Setting(topics, directory, kind, parameters, overlay=self.node)
        self.carrier = ListCarrier()
        population = Population((), size)
        self.membership = kind(self.port, self.setting, SCOPE, population, self.carrier)

    def registered(self, topic: str, *peers: PeerId) -> None:
        """They are, as far as the node knows."""
        entries = tuple(Entry(topic, peer, 1, True, 30_000) for peer in peers)
        self.node.on_message(77, Replicate(packed(""), entries))

    def refresh(self) -> None:
        (timer,) = {t for _, t in self.port.take_timers() if isinstance(t, RefreshDue)}
        self.node.on_timer(timer)

    def living(self, topic: str = SCOPE) -> list[PeerId]:
        return self.node.registrations.living(topic, self.port.now)


class Finder:
    """Remembers what was found, and has use for all topics but one."""

    def __init__(self, useless: str = "") -> None:
        self.found: list[tuple[str, Sequence[PeerId]]] = []
        self.useless = useless

    def __call__(self, topic: str, peers: Sequence[PeerId]) -> bool:
        self.found.append((topic, peers))
        return topic != self.useless


def test_the_structured_table_is_a_sample_of_those_registered_of_the_size_that_is_wanted() -> None:
    lone = Lone(PGrid, size=3)
    lone.registered(SCOPE, 5, 6, 7, 8, 9)

    lone.membership.join()

    assert lone.carrier.ready == 1
    assert len(set(lone.membership.members)) == 3
    assert set(lone.membership.members) <= {5, 6, 7, 8, 9}
    assert 0 in lone.living()


def test_it_is_drawn_anew_at_every_refresh() -> None:
    lone = Lone(PGrid, size=3)
    lone.registered(SCOPE, *range(5, 40))
    lone.membership.join()
    tables = {tuple(lone.membership.members)}

    for _ in range(5):
        lone.refresh()
        tables.add(tuple(lone.membership.members))

    assert len(tables) > 3
    assert lone.carrier.ready == 1


def test_it_gets_the_size_that_is_wanted_at_once() -> None:
    lone = Lone(PGrid, size=2)
    lone.registered(SCOPE, 5, 6, 7, 8, 9)
    lone.membership.join()

    lone.membership.resize(4)

    assert len(lone.membership.members) == 4


def test_it_gets_the_size_that_was_wanted_last_while_a_renewal_was_under_way() -> None:
    lone = Lone(PGrid, size=1)
    register = registering(lone)
    lone.membership.resize(3)

    lone.node.on_message(9, Listing(register.serial, 3, (5,)))

    (_, again) = lone.port.take_sent()[-1]
    assert isinstance(again, Register)
    assert (register.count, again.count) == (1, 3)
    lone.node.on_message(9, Listing(again.serial, 3, (5, 6, 7)))
    assert list(lone.membership.members) == [5, 6, 7]


def test_how_many_there_are_is_told_to_the_layer_above_before_it_is_a_member() -> None:
    lone = Lone(PGrid)
    lone.registered(SCOPE, 5, 6, 7, 8, 9)
    told: list[tuple[int, int]] = []
    lone.membership.on_size = lambda size: told.append((size, lone.carrier.ready))

    lone.membership.join()
    lone.registered(SCOPE, 10)
    lone.refresh()

    assert told == [(6, 0), (7, 1)]


def test_a_holder_that_has_only_begun_to_hear_of_them_empties_no_table() -> None:
    lone = Lone(PGrid, size=3)
    lone.registered(SCOPE, 5, 6, 7)
    told: list[int] = []
    lone.membership.on_size = told.append
    lone.membership.join()
    lone.node.registrations.keep_only(("none",))
    lone.registered(SCOPE, 8)

    lone.refresh()
    assert lone.membership.members[0] == 8
    assert len(set(lone.membership.members) & {5, 6, 7}) == 2

    lone.refresh()
    assert list(lone.membership.members) == [8]
    assert told == [4, 4, 2]


def test_it_is_empty_and_no_more_registered_once_left() -> None:
    lone = Lone(PGrid)
    lone.registered(SCOPE, 5)
    lone.membership.join()

    lone.membership.leave()

    assert lone.membership.members == ()
    assert lone.living() == [5]
    lone.refresh()
    assert lone.membership.members == ()


@pytest.mark.parametrize("kind", [PGrid, ScampPGrid])
def test_processes_of_other_topics_are_looked_up(kind: type[Membership]) -> None:
    lone = Lone(kind)
    lone.registered(".a", 5, 6, 7)
    finder = Finder()

    lone.membership.look_up([".a", "."], 2, finder)

    ((topic, peers),) = [(topic, peers) for topic, peers in finder.found if peers]
    assert topic == ".a"
    assert len(peers) == 2
    assert set(peers) <= {5, 6, 7}


def test_the_structured_version_looks_them_up_again_at_every_refresh() -> None:
    lone = Lone(PGrid)
    lone.registered(".a", 5, 6, 7)
    finder = Finder()
    lone.membership.look_up([".a"], 2, finder)
    lone.membership.join()

    lone.refresh()
    lone.refresh()
    lone.membership.leave()
    lone.refresh()

    assert len(finder.found) == 3


def test_the_structured_version_does_so_until_it_is_told_that_this_is_of_no_use() -> None:
    lone = Lone(PGrid)
    finder = Finder(useless=".")
    lone.membership.look_up([".a", "."], 2, finder)
    lone.membership.join()

    lone.refresh()
    lone.refresh()

    assert [topic for topic, _ in finder.found] == [".a", ".", ".a", ".a"]


def test_the_structured_version_has_no_messages_of_its_own() -> None:
    with pytest.raises(RemoteError):
        Lone(PGrid).membership.on_message(5, Welcome(SCOPE, False))


def test_who_is_first_in_its_topic_is_a_member_at_once() -> None:
    lone = Lone(ScampPGrid)

    lone.membership.join()

    assert lone.carrier.ready == 1
    assert lone.living() == [0]


def test_who_is_not_subscribes_through_those_whom_the_overlay_names() -> None:
    lone = Lone(ScampPGrid)
    lone.registered(SCOPE, 5, 6)

    lone.membership.join()
    (to,) = [to for to, message in lone.port.sent if isinstance(message, Subscription)]
    assert to in (5, 6)
    assert not lone.carrier.ready
    lone.membership.on_message(to, Welcome(SCOPE, False))

    assert lone.carrier.ready == 1
    assert list(lone.membership.members) == [to]


def test_who_was_told_that_it_is_first_subscribes_through_another_later_in_case_it_was_not() -> (
    None
):
    lone = Lone(ScampPGrid)
    lone.membership.join()
    lone.registered(SCOPE, 5)

    lone.refresh()
    assert not [m for _, m in lone.port.sent if isinstance(m, Subscription)]
    lone.refresh()
    lone.refresh()

    assert [to for to, m in lone.port.sent if isinstance(m, Subscription)] == [5]


def test_who_waits_for_the_dead_is_a_member_once_they_are_registered_no_more() -> None:
    lone = Lone(ScampPGrid)
    lone.registered(SCOPE, 5)
    lone.membership.join()
    lone.membership.on_message(6, Subscription(SCOPE, 6, 0, 0.0))
    lone.refresh()
    assert not lone.carrier.ready

    lone.port.now = ns(30)
    lone.refresh()

    assert lone.carrier.ready == 1
    assert (6, Welcome(SCOPE, False)) in lone.port.sent


def test_subscriptions_that_arrive_before_the_overlay_has_answered_are_held() -> None:
    lone = Lone(ScampPGrid)
    lone.node.trie.extend("1" if SCOPE_FIRST == "0" else "0", [9])
    lone.membership.join()

    lone.membership.on_message(5, Subscription(SCOPE, 5, 0, 0.0))

    assert not lone.carrier.ready
    assert not [m for _, m in lone.port.sent if isinstance(m, Welcome)]


def test_it_is_deregistered_when_it_leaves() -> None:
    lone = Lone(ScampPGrid)
    lone.membership.join()

    lone.membership.leave()

    assert lone.living() == []


def test_the_parameters_of_both_are_those_of_the_semi_structured_version() -> None:
    lone = Lone(ScampPGrid, parameters={"c": 2, "refresh_s": 3, "registration_lease_s": 7})

    assert lone.membership.parameters.c == 2
    assert lone.node.parameters.refresh_s == 3
    with pytest.raises(LocalError, match="registration_lease_s must be longer"):
        Lone(ScampPGrid, parameters={"refresh_s": 40})
    with pytest.raises(LocalError, match="isolation_s must be longer"):
        Lone(ScampPGrid, parameters={"isolation_s": 1})


@pytest.mark.parametrize("kind", [PGrid, ScampPGrid])
def test_a_peer_that_its_host_made_without_the_overlay_is_refused(kind: type[Membership]) -> None:
    topics = Topics()
    setting = Setting(topics, Directory(topics, {}), kind)

    with pytest.raises(LocalError, match="make_peer"):
        kind(ListPort(), setting, ".", Population((), 1), ListCarrier())


def test_a_holder_that_declines_is_replaced_by_one_that_a_search_finds() -> None:
    lone = Lone(PGrid)
    lone.node.on_message(9, Declined(registering(lone).serial))
    (to, again) = lone.port.take_sent()[-1]
    assert (to, type(again).__name__) == (9, "Ask")
    lone.node.on_message(9, Directions(again.serial, packed(SCOPE_FIRST), True, ()))  # type: ignore[attr-defined]
    (_, register) = lone.port.take_sent()[-1]
    assert isinstance(register, Register)
    lone.node.on_message(9, Listing(register.serial, 2, (5, 6)))

    assert lone.carrier.ready == 1
    assert list(lone.membership.members) == [5, 6]


def registering(lone: Lone) -> Register:
    """What the node of a member to be asks of 9, who is responsible for the topic."""
    lone.node.trie.extend("1" if SCOPE_FIRST == "0" else "0", [9])
    lone.membership.join()
    (_, ask) = lone.port.take_sent()[-1]
    assert type(ask).__name__ == "Ask"
    lone.node.on_message(9, Directions(ask.serial, packed(SCOPE_FIRST), True, ()))  # type: ignore[attr-defined]
    (_, register) = lone.port.take_sent()[-1]
    assert isinstance(register, Register)
    return register
