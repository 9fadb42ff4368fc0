"""Views and seen ids: bounded, repeatable, and the same as a plain list would have it."""

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agents.core.draw import stream
from agents.core.views import Seen, View
from tests.support.properties import steady

PEERS = st.integers(0, 9)


# Views


def test_a_view_takes_each_peer_once_until_it_is_full() -> None:
    view = View(2)
    assert view.add(7)
    assert not view.add(7)
    assert not view.full
    assert view.add(3)
    assert view.full
    assert not view.add(5)
    assert list(view) == [7, 3]


def test_a_view_can_begin_with_peers_as_far_as_they_fit() -> None:
    assert View(3, [4, 4, 2, 9, 1]).peers == [4, 2, 9]


def test_the_last_peer_takes_the_place_of_a_removed_one() -> None:
    view = View(4, [1, 2, 3, 4])
    assert view.remove(2)
    assert view.peers == [1, 4, 3]
    assert view.remove(3)
    assert view.peers == [1, 4]
    assert not view.remove(3)


def test_a_replacement_takes_the_place_of_the_old_peer() -> None:
    view = View(3, [1, 2, 3])
    assert view.replace(2, 9)
    assert view.peers == [1, 9, 3]


@pytest.mark.parametrize(("old", "new"), [(7, 9), (1, 3), (1, 1), (7, 1)])
def test_no_replacement_for_a_stranger_nor_by_one_who_is_there(old: int, new: int) -> None:
    view = View(3, [1, 2, 3])
    assert not view.replace(old, new)
    assert view.peers == [1, 2, 3]


def test_a_sample_is_of_different_peers_of_the_view() -> None:
    view = View(100, range(100))
    for count in (0, 1, 5, 50, 100, 200):
        drawn = view.sample(count, stream(1, count).random)
        assert len(drawn) == len(set(drawn)) == min(count, 100)
        assert set(drawn) <= set(view)
    assert view.peers == list(range(100))


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), PEERS),
        st.tuples(st.just("remove"), PEERS),
        st.tuples(st.just("replace"), PEERS, PEERS),
    )
)


class PlainView:
    """What a view is to do, said with the least cleverness."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.peers: list[int] = []

    def add(self, peer: int) -> bool:
        fits = peer not in self.peers and len(self.peers) < self.capacity
        self.peers += [peer] * fits
        return fits

    def remove(self, peer: int) -> bool:
        if peer not in self.peers:
            return False
        *others, last = self.peers
        self.peers = [last if known == peer else known for known in others]
        return True

    def replace(self, old: int, new: int) -> bool:
        if old not in self.peers or new in self.peers:
            return False
        self.peers = [new if known == old else known for known in self.peers]
        return True


@steady
@given(st.integers(0, 6), OPERATIONS)
def test_a_view_does_as_a_plain_list_would(
    capacity: int, operations: list[tuple[Any, ...]]
) -> None:
    view, plain = View(capacity), PlainView(capacity)
    for name, *peers in operations:
        assert getattr(view, name)(*peers) is getattr(plain, name)(*peers)
        assert list(view) == plain.peers
        assert len(view) == len(set(view)) <= capacity
        assert view.full is (len(view) == capacity)
        assert all((peer in view) is (peer in plain.peers) for peer in range(10))


# Seen


def test_an_id_is_new_once() -> None:
    seen = Seen()
    assert seen.add("a")
    assert not seen.add("a")
    assert "a" in seen
    assert "b" not in seen
    assert len(seen) == 1


def test_the_oldest_id_is_forgotten_and_then_new_again() -> None:
    seen = Seen(2)
    assert [seen.add(key) for key in "abc"] == [True, True, True]
    assert [key in seen for key in "abc"] == [False, True, True]
    assert seen.add("a")
    assert [key in seen for key in "abc"] == [True, False, True]


def test_hearing_an_id_again_makes_it_no_younger() -> None:
    seen = Seen(2)
    for key in "abac":
        seen.add(key)
    assert "a" not in seen


def test_without_capacity_every_id_is_new() -> None:
    seen = Seen(0)
    assert seen.add("a")
    assert seen.add("a")
    assert len(seen) == 0


@steady
@given(st.integers(0, 5), st.lists(st.sampled_from("abcdefgh"), max_size=60))
def test_seen_does_as_a_plain_list_would(capacity: int, keys: list[str]) -> None:
    seen, plain = Seen(capacity), list[str]()
    for key in keys:
        assert seen.add(key) is (key not in plain)
        if key not in plain:
            plain = [*plain, key][-capacity:] if capacity else []
        assert len(seen) == len(plain)
        assert all((known in seen) is (known in plain) for known in "abcdefgh")
