"""The super-topic table: what holds of it whatever happens, and what each operation does."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.errors import RemoteError
from agents.core.messages import PeerId
from agents.core.topics import Topics
from agents.protocols.camcast.messages import MAX_SCOPE
from agents.protocols.camcast.super_table import Entry, SuperTable
from tests.support.properties import steady


def diamond() -> Topics:
    """Above `.a.x`: `.a` and `.b.y`, which do not include each other; `.b`; the root."""
    topics = Topics()
    for name in (".a.x", ".b.y", ".c"):
        topics.add_path(name)
    topics.add_parent(".a.x", ".b.y")
    return topics


PARENT = ".a.x"
ABOVE = [PARENT, ".b.y", ".a", ".b", "."]


def table(capacity: int = 3, **views: Sequence[PeerId]) -> SuperTable:
    """With these views; a topic by its last part, and `root` for the root."""
    made = SuperTable(diamond(), PARENT, capacity)
    names = {"x": PARENT, "y": ".b.y", "a": ".a", "b": ".b", "root": "."}
    for last, peers in views.items():
        made.merge(names[last], peers)
    return made


def shown(one: SuperTable) -> dict[str, list[PeerId]]:
    return {topic: list(view) for topic, view in one.views.items()}


# Examples


def test_an_empty_table_is_incomplete_and_covers_nothing() -> None:
    empty = table()

    assert (shown(empty), empty.complete, empty.entries, empty.peers) == ({}, False, [], [])
    assert not any(empty.covered(topic) for topic in ABOVE)


def test_the_nearest_come_before_what_includes_them() -> None:
    assert table().nearest_first() == [PARENT, ".b.y", ".a", ".b", "."]


def test_it_is_complete_with_processes_of_the_parent_and_with_no_others() -> None:
    assert table(x=[1]).complete
    assert not table(a=[1], y=[2]).complete


def test_topics_where_the_ways_up_part_stand_side_by_side() -> None:
    both = table(a=[1, 2], y=[2])

    assert shown(both) == {".a": [1, 2], ".b.y": [2]}
    assert both.entries == [(".a", 1), (".a", 2), (".b.y", 2)]
    assert both.peers == [1, 2]


def test_a_nearer_topic_replaces_only_what_includes_it() -> None:
    assert shown(table(a=[1], b=[2], y=[3])) == {".a": [1], ".b.y": [3]}
    assert shown(table(a=[1], y=[3], x=[4])) == {PARENT: [4]}


def test_a_covered_topic_is_not_taken_in() -> None:
    assert shown(table(y=[1], b=[2], root=[3])) == {".b.y": [1]}


def test_favourites_stay_and_only_free_places_are_filled() -> None:
    assert shown(table(2, x=[1])) == {PARENT: [1]}
    full = table(2, x=[1, 2])

    full.merge(PARENT, [3, 1])

    assert shown(full) == {PARENT: [1, 2]}


def test_the_dead_leave_and_are_not_taken_back_until_they_show_life() -> None:
    one = table(x=[1, 2])

    one.bury(PARENT, 1)
    one.merge(PARENT, [1])
    assert shown(one) == {PARENT: [2]}
    assert one.buried(PARENT, [1, 2, 3]) == [1]

    assert one.revive(PARENT, 1)
    one.merge(PARENT, [1])
    assert shown(one) == {PARENT: [2, 1]}
    assert not one.revive(PARENT, 1)


def test_one_who_is_dead_to_one_topic_may_be_known_of_another() -> None:
    one = table(a=[1], y=[1])

    one.bury(".a", 1)

    assert shown(one) == {".b.y": [1]}
    assert one.buried(".b.y", [1]) == []


def test_a_stranger_cannot_be_buried() -> None:
    one = table(x=[1])

    one.bury(PARENT, 9)
    one.bury(".a", 1)

    assert (shown(one), one.dead) == ({PARENT: [1]}, [])


def test_only_the_last_dead_are_remembered() -> None:
    one = table(1)
    for peer in range(6):
        one.merge(PARENT, [peer])
        one.bury(PARENT, peer)

    assert one.dead == [(PARENT, peer) for peer in (2, 3, 4, 5)]


def test_a_search_widens_topic_by_topic_up_to_the_root() -> None:
    one = table()

    steps = [(one.widen(), list(one.scope)) for _ in range(6)]

    assert steps == [(True, ABOVE[: n + 1]) for n in range(5)] + [(False, ABOVE)]


def test_a_search_does_not_widen_to_what_is_covered() -> None:
    one = table(y=[1])
    while one.widen():
        pass

    assert one.scope == [PARENT, ".b.y", ".a"]
    assert one.wanted() == (PARENT, ".a")


def test_finding_something_narrows_the_search_and_losing_it_does_not_widen_it() -> None:
    one = table()
    while one.widen():
        pass

    one.merge(".b.y", [1])
    assert one.scope == [PARENT, ".b.y", ".a"]
    one.bury(".b.y", 1)
    assert one.wanted() == (PARENT, ".b.y", ".a")


def test_finding_the_parent_ends_the_search() -> None:
    one = table()
    one.widen()

    one.merge(PARENT, [1])

    assert one.scope == []


def test_hearing_of_the_dead_alone_does_not_end_the_search() -> None:
    one = table(x=[1])
    one.bury(PARENT, 1)
    one.widen()

    one.merge(PARENT, [1])

    assert one.scope == [PARENT]


def test_the_scope_has_a_bound() -> None:
    topics = Topics()
    deepest = topics.add_path(".a" * (MAX_SCOPE + 20))
    deep = SuperTable(topics, deepest, 3)
    while deep.widen():
        pass

    assert deep.scope == deep.nearest_first()[:MAX_SCOPE]


@pytest.mark.parametrize("topic", ABOVE)
def test_the_parent_and_all_above_it_have_a_place(topic: str) -> None:
    table().check_topic(topic)


@pytest.mark.parametrize("topic", [".c", ".a.x.z", ".nowhere", ""])
def test_any_other_topic_is_refused(topic: str) -> None:
    with pytest.raises(RemoteError, match="does not lie above"):
        table().check_topic(topic)


# Whatever happens

Operation = Callable[[SuperTable], object]

topics_above = st.sampled_from(ABOVE)
some_peers = st.integers(0, 12)


def _merge(topic: str, peers: list[PeerId]) -> Operation:
    def merge(one: SuperTable) -> None:
        before = {name: list(view) for name, view in one.views.items()}
        covered = one.covered(topic)
        fresh = [peer for peer in dict.fromkeys(peers) if (topic, peer) not in one.dead]
        one.merge(topic, peers)
        if covered or not fresh:
            assert shown(one) == before
            return
        kept = {
            name: view
            for name, view in before.items()
            if name != topic and not one.topics.includes(name, topic)
        }
        filled = list(dict.fromkeys([*before.get(topic, []), *fresh]))[: one.capacity]
        assert shown(one) == {**kept, topic: filled}

    return merge


def _bury(topic: str, peer: PeerId) -> Operation:
    def bury(one: SuperTable) -> None:
        was_there = (topic, peer) in one.entries
        left: list[Entry] = [entry for entry in one.entries if entry != (topic, peer)]
        one.bury(topic, peer)
        assert sorted(one.entries) == sorted(left)
        assert not was_there or one.dead[-1] == (topic, peer)

    return bury


def _revive(topic: str, peer: PeerId) -> Operation:
    def revive(one: SuperTable) -> None:
        before = shown(one)
        was_dead = bool(one.buried(topic, [peer]))
        assert one.revive(topic, peer) is was_dead
        assert one.buried(topic, [peer]) == []
        assert shown(one) == before

    return revive


def _widen(one: SuperTable) -> None:
    if not one.complete:  # a complete table searches for nothing
        before = list(one.scope)
        more = one.widen()
        assert one.scope[: len(before)] == before
        assert len(one.scope) == len(before) + more


def _resize(capacity: int) -> Operation:
    def resize(one: SuperTable) -> None:
        before = shown(one)
        one.resize(capacity)
        assert shown(one) == {topic: view[:capacity] for topic, view in before.items()}

    return resize


operations = st.one_of(
    st.builds(_merge, topics_above, st.lists(some_peers, max_size=6)),
    st.builds(_bury, topics_above, some_peers),
    st.builds(_revive, topics_above, some_peers),
    st.just(_widen),
    st.builds(_resize, st.integers(1, 5)),
)


def assert_sound(one: SuperTable) -> None:
    topics, views = one.topics, one.views
    for topic, view in views.items():
        one.check_topic(topic)
        assert 0 < len(view) <= one.capacity == view.capacity
        assert len(set(view)) == len(view)
    assert not any(near != far and topics.includes(far, near) for near in views for far in views), (
        "of two topics where one includes the other, the nearer passes events on"
    )
    assert not set(one.entries) & set(one.dead)
    assert len(set(one.dead)) == len(one.dead)
    if one.complete:
        assert list(views) == [PARENT]
        assert one.scope == []
    if one.scope:
        assert one.scope[0] == one.wanted()[0] == PARENT
        assert len(set(one.scope)) == len(one.scope)
        assert not any(one.covered(topic) for topic in one.scope)
        assert not set(one.wanted()) & set(views)


@steady
@given(st.integers(1, 5), st.lists(operations, max_size=40))
def test_a_table_stays_sound_whatever_happens_to_it(
    capacity: int, history: list[Operation]
) -> None:
    one = table(capacity)
    for operation in history:
        operation(one)
        assert_sound(one)


@steady
@given(st.lists(st.tuples(topics_above, st.lists(some_peers, max_size=4)), max_size=12))
def test_who_is_told_of_everything_knows_the_nearest(
    told: list[tuple[str, list[PeerId]]],
) -> None:
    one = table()
    for topic, peers in told:
        one.merge(topic, peers)

    heard = {topic for topic, peers in told if peers}
    nearest = {
        topic
        for topic in heard
        if not any(near != topic and one.topics.includes(topic, near) for near in heard)
    }
    assert set(one.views) == nearest


# Those who take others' places


def test_successors_take_the_places_of_those_who_are_not_among_them() -> None:
    one = table(x=[1, 2, 3])

    one.clear(PARENT, [3, 4, 5])
    one.merge(PARENT, [3, 4, 5])

    assert list(one.views[PARENT]) == [3, 4, 5]


def test_those_who_are_not_among_few_successors_stay_once_and_no_second_time() -> None:
    one = table(x=[1, 2, 3])

    one.clear(PARENT, [4])
    one.merge(PARENT, [4])
    assert sorted(one.views[PARENT]) == [1, 2, 4]

    one.clear(PARENT, [4, 5])
    one.merge(PARENT, [4, 5])
    assert sorted(one.views[PARENT]) == [4, 5]


def test_who_is_among_the_successors_again_may_be_missing_once_more_later() -> None:
    one = table(x=[1, 2])

    for successors, standing in (([2], [1, 2]), ([1], [1, 2]), ([2], [1, 2]), ([2], [2])):
        one.clear(PARENT, successors)
        one.merge(PARENT, successors)
        assert sorted(one.views[PARENT]) == standing


def test_nobody_makes_room_for_the_dead_alone() -> None:
    one = table(x=[1, 2, 3])
    one.bury(PARENT, 3)

    one.clear(PARENT, [3])

    assert sorted(one.views[PARENT]) == [1, 2]
