"""Memory complexity: table entries of a process."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import memory
from analysis.theory.communities import Community, Hierarchy

PAPERS = Hierarchy.of_sizes((1000, 100, 10))
LN_1000, LN_100, LN_10 = 6.907755279, 4.605170186, 2.302585093


def test_the_root_has_one_table_and_all_others_have_two() -> None:
    assert memory.at_the_root(Community(10)) == pytest.approx(LN_10 + 5)
    assert memory.below_the_root(Community(1000)) == pytest.approx(LN_1000 + 5 + 3)


def test_unrelated_topics_add_up() -> None:
    two = (Community(1000), Community(100, c=1, z=2))
    assert memory.of_unrelated_topics(two) == pytest.approx(LN_1000 + 5 + 3 + LN_100 + 1 + 2)
    assert memory.of_unrelated_topics(()) == 0


def test_damulticast_keeps_b_plus_one_times_ln_s() -> None:
    assert memory.damulticast_topic_table(1000, 3) == pytest.approx(4 * LN_1000)
    assert memory.damulticast(1000, 3, 3) == pytest.approx(4 * LN_1000 + 3)


def test_broadcast_multicast_and_hierarchical_by_hand() -> None:
    assert memory.broadcast(1000, 5) == pytest.approx(LN_1000 + 5)
    assert memory.multicast(PAPERS) == pytest.approx(LN_1000 + LN_100 + LN_10 + 3 * 5)
    assert memory.hierarchical(10, 100, 1, 2) == pytest.approx(LN_10 + LN_100 + 1 + 2)


def test_at_the_root_multicast_keeps_more_and_for_the_lowest_topic_less() -> None:
    assert memory.at_the_root(PAPERS.communities[-1]) < memory.multicast(PAPERS)
    assert memory.below_the_root(PAPERS.communities[0]) > memory.multicast(PAPERS.up_to(0))


@given(st.integers(1, 10**6), st.integers(0, 10**6), st.floats(-5, 50))
def test_a_larger_community_takes_no_smaller_table(size: int, more: int, c: float) -> None:
    assert memory.at_the_root(Community(size, c)) <= memory.at_the_root(Community(size + more, c))


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("b", lambda: memory.damulticast_topic_table(10, -1)),
        ("size", lambda: memory.damulticast_topic_table(0, 3)),
        ("z", lambda: memory.damulticast(10, 3, 0)),
        ("n", lambda: memory.broadcast(-5, 5)),
        ("clusters", lambda: memory.hierarchical(0, 10, 1, 1)),
        ("m", lambda: memory.hierarchical(10, 0, 1, 1)),
        ("c1", lambda: memory.hierarchical(10, 10, float("nan"), 1)),
        ("c2", lambda: memory.hierarchical(10, 10, 1, float("inf"))),
    ],
)
def test_a_bad_argument_is_refused_by_name(name: str, call: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
