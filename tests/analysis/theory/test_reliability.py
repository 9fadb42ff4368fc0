"""Reliability: everybody on the way receives, and every passage upwards works."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import reliability, upward
from analysis.theory.communities import Community, Hierarchy

E = 2.718281828459045
E_TO_MINUS_5 = 0.006737946999
GOSSIP_5 = E**-E_TO_MINUS_5
PAPERS = Hierarchy.of_sizes((1000, 100, 10))
PIT = 1 - 0.15**5  # g·a = 5 messages, each lost with 0.15
CS = st.floats(-5, 50)


def test_an_event_passes_one_link_fewer_than_communities() -> None:
    assert reliability.camcast(PAPERS.up_to(0)) == pytest.approx(GOSSIP_5)
    assert reliability.camcast(PAPERS.up_to(1)) == pytest.approx(GOSSIP_5**2 * PIT)
    assert reliability.camcast(PAPERS) == pytest.approx(GOSSIP_5**3 * PIT**2)


def test_the_links_may_be_those_of_processes_that_draw_for_themselves() -> None:
    by_chance = reliability.camcast(PAPERS.up_to(1), upward.pit_by_chance)
    one_passes_nothing = 0.995 + 0.005 * (1 - 0.85 / 3) ** 3
    assert by_chance == pytest.approx(GOSSIP_5**2 * (1 - one_passes_nothing**1000))


def test_the_root_needs_no_link_of_its_own() -> None:
    mute_root = Hierarchy((Community(50), Community(10, g=0)))
    assert reliability.camcast(mute_root) == pytest.approx(GOSSIP_5**2 * PIT)


def test_as_printed_there_are_as_many_links_as_communities() -> None:
    assert reliability.camcast_as_printed([0, 5], [0.5, 0.9]) == pytest.approx(
        (1 / E) * 0.5 * GOSSIP_5 * 0.9
    )
    with pytest.raises(ValueError, match=r"^pits must be as many as cs, are 1 and 2$"):
        reliability.camcast_as_printed([0, 5], [0.5])


@given(st.lists(st.builds(Community, st.integers(1, 1000), CS), min_size=1, max_size=5))
def test_as_printed_is_never_above_the_corrected(communities: list[Community]) -> None:
    hierarchy = Hierarchy(tuple(communities))
    printed = reliability.camcast_as_printed(
        [community.c for community in communities], [upward.pit(each) for each in communities]
    )
    assert 0 <= printed <= reliability.camcast(hierarchy) + 1e-12 <= 1 + 1e-12


@given(st.lists(st.builds(Community, st.integers(1, 1000), CS), min_size=2, max_size=5))
def test_further_up_it_is_never_more_reliable(communities: list[Community]) -> None:
    hierarchy = Hierarchy(tuple(communities))
    below = hierarchy.up_to(hierarchy.x - 2)
    assert reliability.camcast(hierarchy) <= reliability.camcast(below)
    assert reliability.camcast(hierarchy) <= reliability.multicast([c.c for c in communities])


def test_the_alternatives_by_hand() -> None:
    assert reliability.broadcast(0) == pytest.approx(1 / E)
    assert reliability.multicast([0, 0, 5]) == pytest.approx(1 / E * 1 / E * GOSSIP_5)
    assert reliability.hierarchical(10, 5, 0) == pytest.approx(1 / E ** (10 * E_TO_MINUS_5 + 1))


def test_hierarchical_gossip_at_the_ends() -> None:
    assert reliability.hierarchical(3, 1000, 1000) == 1
    assert reliability.hierarchical(3, -1000, 1000) == 0
    assert reliability.hierarchical(3, 1000, -1000) == 0


@given(st.integers(1, 100), CS, CS)
def test_more_clusters_are_never_more_reliable(clusters: int, c1: float, c2: float) -> None:
    more = reliability.hierarchical(clusters + 1, c1, c2)
    assert 0 <= more <= reliability.hierarchical(clusters, c1, c2) <= 1


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("pits", lambda: reliability.camcast_as_printed([1], [1.1])),
        ("c", lambda: reliability.broadcast(math.nan)),
        ("c", lambda: reliability.multicast([1, math.inf])),
        ("clusters", lambda: reliability.hierarchical(0, 1, 1)),
        ("c1", lambda: reliability.hierarchical(2, math.nan, 1)),
        ("c2", lambda: reliability.hierarchical(2, 1, math.nan)),
    ],
)
def test_a_bad_argument_is_refused_by_name(name: str, call: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
