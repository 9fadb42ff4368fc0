"""Message complexity: the numbers of the papers' hierarchy by hand, and that bounds are bounds."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import messages
from analysis.theory.communities import Community, Hierarchy

PAPERS = Hierarchy.of_sizes((1000, 100, 10))
LN_1000, LN_100, LN_10, LN_2 = 6.907755279, 4.605170186, 2.302585093, 0.693147181
COMMUNITIES = st.builds(
    Community,
    size=st.integers(3, 5000),
    c=st.floats(0, 20),
    g=st.floats(0, 100),
    a=st.floats(0, 10),
    z=st.integers(1, 10),
    psucc=st.floats(0, 1),
)
HIERARCHIES = st.builds(Hierarchy, st.lists(COMMUNITIES, min_size=1, max_size=5).map(tuple))


def test_a_community_sends_n_times_ln_n_plus_c_at_most() -> None:
    assert messages.in_community(Community(1000)) == pytest.approx(1000 * (LN_1000 + 5))


def test_and_n_times_the_floor_of_it_in_practice() -> None:
    assert messages.in_community_expected(Community(1000)) == 1000 * 11
    assert messages.in_community_expected(Community(100)) == 100 * 9
    assert messages.in_community_expected(Community(10)) == 10 * 7


INSIDE = 1000 * (LN_1000 + 5) + 100 * (LN_100 + 5) + 10 * (LN_10 + 5)


def test_eq_1_has_upward_messages_of_every_community_but_the_root() -> None:
    assert messages.in_all(PAPERS) == pytest.approx(INSIDE + 2 * (5 * 1 * 0.85))


def test_eq_1_counts_the_publications_upward_messages_and_not_the_roots() -> None:
    eager, quiet = Community(20, g=7, a=2, z=2, psucc=1), Community(20, g=0)
    inside = 2 * 20 * (math.log(20) + 5)
    assert messages.in_all(Hierarchy((eager, quiet))) == pytest.approx(inside + 7 * 2)
    assert messages.in_all(Hierarchy((quiet, eager))) == pytest.approx(inside)


def test_a_single_community_is_plain_gossip() -> None:
    assert messages.in_all(PAPERS.up_to(0)) == pytest.approx(messages.broadcast(1000, 5))


def test_eqs_2_and_3_by_hand() -> None:
    assert messages.bound(PAPERS) == pytest.approx(
        3 * 1000 * (LN_1000 + 5) + 3 * 1000 * LN_1000 * 3
    )
    assert messages.looser_bound(PAPERS) == pytest.approx(3 * 1000 * LN_1000 * (1 + 5 + 3))


@given(HIERARCHIES)
def test_eq_1_is_below_eq_2_is_below_eq_3(hierarchy: Hierarchy) -> None:
    rounding = 1 + 1e-12
    assert messages.in_all(hierarchy) <= messages.bound(hierarchy) * rounding
    assert messages.bound(hierarchy) <= messages.looser_bound(hierarchy) * rounding


def test_communities_of_two_would_break_eq_2_and_are_refused() -> None:
    pairs = Hierarchy.of_sizes((2, 2, 2, 2), Community(2, c=0, g=2, a=30, z=30, psucc=1))
    inside = 4 * 2 * LN_2
    as_printed = inside + 4 * 2 * LN_2 * 30
    assert messages.in_all(pairs) == pytest.approx(inside + 3 * (2 * 30))
    assert messages.in_all(pairs) > as_printed
    for function in (messages.bound, messages.looser_bound):
        with pytest.raises(ValueError, match=r"^n_max must be at least 3"):
            function(pairs)


def test_broadcast_by_hand() -> None:
    assert messages.broadcast(1110, 5) == pytest.approx(1110 * (7.012115292 + 5))


def test_eq_4_is_eq_1_without_upward_messages() -> None:
    assert messages.multicast(PAPERS) == pytest.approx(INSIDE)
    assert messages.multicast_bound(PAPERS) == pytest.approx(3 * 1000 * (5 + LN_1000))


@given(HIERARCHIES)
def test_eq_4_is_below_its_bound_and_below_eq_1(hierarchy: Hierarchy) -> None:
    cost = messages.multicast(hierarchy)
    assert cost <= messages.multicast_bound(hierarchy) * (1 + 1e-12)
    assert cost <= messages.in_all(hierarchy)


def test_in_the_joint_group_all_gossip_with_the_publications_c() -> None:
    hierarchy = Hierarchy((Community(1000, c=2), Community(110, c=9)))
    assert messages.multicast_in_joint_group(hierarchy) == pytest.approx(1110 * (7.012115292 + 2))


def test_eq_5_by_hand() -> None:
    assert messages.hierarchical(10, 100, 1, 2) == pytest.approx(
        10 * 100 * (1 + 2 + LN_10 + LN_100)
    )
    assert messages.hierarchical_bound(10, 1000, 1, 2) == pytest.approx(
        10 * 1000 * (1 + 2 + LN_10 + LN_1000)
    )
    assert messages.hierarchical_looser_bound(10, 1000, 1, 2) == pytest.approx(
        10 * 1000 * (1 + 2 + LN_1000 + LN_1000)
    )


@given(st.integers(1, 100), st.integers(1, 100), st.integers(101, 1000), st.floats(0, 9))
def test_eq_5_is_below_its_bounds_for_clusters_no_larger_than_communities(
    clusters: int, m: int, n_max: int, c: float
) -> None:
    cost = messages.hierarchical(clusters, m, c, c)
    bound = messages.hierarchical_bound(clusters, n_max, c, c)
    assert cost <= bound <= messages.hierarchical_looser_bound(clusters, n_max, c, c)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("n", lambda: messages.broadcast(0, 5)),
        ("c", lambda: messages.broadcast(10, math.nan)),
        ("clusters", lambda: messages.hierarchical(0, 5, 1, 1)),
        ("m", lambda: messages.hierarchical(5, -1, 1, 1)),
        ("c1", lambda: messages.hierarchical(5, 5, math.inf, 1)),
        ("c2", lambda: messages.hierarchical(5, 5, 1, math.nan)),
        ("n_max", lambda: messages.hierarchical_bound(5, 0, 1, 1)),
        ("clusters", lambda: messages.hierarchical_looser_bound(5, 5, 1, 1)),
        ("clusters", lambda: messages.hierarchical_looser_bound(-1, 5, 1, 1)),
        ("c_max", lambda: messages.looser_bound(Hierarchy((Community(10, c=-1),)))),
    ],
)
def test_a_bad_argument_is_refused_by_name(name: str, call: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
