"""Latency: rounds in one community, and the three cases on the way up."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import latency
from analysis.theory.communities import Hierarchy

PAPERS = Hierarchy.of_sizes((1000, 100, 10))
# ln N / ln ln N, with ln 1000 = 6.907755, ln 100 = 4.605170, ln 10 = 2.302585
R_1000 = 6.907755279 / 1.932644734
R_100 = 4.605170186 / 1.527179626
R_10 = 2.302585093 / 0.834032445
HIERARCHIES = st.lists(st.integers(3, 10**6), min_size=1, max_size=6).map(Hierarchy.of_sizes)


@pytest.mark.parametrize(("size", "expected"), [(1000, R_1000), (100, R_100), (10, R_10)])
def test_eq_12_by_hand(size: int, expected: float) -> None:
    assert latency.rounds(size) == pytest.approx(expected)
    assert latency.rounds(size, constant=1.5) == pytest.approx(expected + 1.5)


def test_the_cases_by_hand() -> None:
    assert latency.best(PAPERS) == pytest.approx(2 + R_10)
    assert latency.worst(PAPERS) == pytest.approx(R_1000 + R_100 + R_10 + 2)
    assert latency.average_as_printed(PAPERS) == pytest.approx((R_1000 + R_100 + R_10) / 2 + 2)
    assert latency.average(PAPERS) == pytest.approx(R_1000 / 2 + R_100 / 2 + R_10 + 2)


def test_the_bounds_by_hand() -> None:
    assert latency.best_bound(PAPERS) == pytest.approx(3 - 1 + R_1000)
    assert latency.worst_bound(PAPERS) == pytest.approx(3 * (R_1000 + 1))
    assert latency.average_bound(PAPERS) == pytest.approx(3 * (R_1000 / 2 + 1))


def test_the_constant_is_in_every_community_that_is_waited_for() -> None:
    assert latency.best(PAPERS, 2) == pytest.approx(latency.best(PAPERS) + 2)
    assert latency.average(PAPERS, 2) == pytest.approx(latency.average(PAPERS) + 1 + 1 + 2)
    assert latency.worst(PAPERS, 2) == pytest.approx(latency.worst(PAPERS) + 3 * 2)


def test_in_a_single_community_the_printed_average_is_below_the_best() -> None:
    single = PAPERS.up_to(0)
    assert latency.average_as_printed(single) == pytest.approx(R_1000 / 2)
    for case in (latency.best, latency.average, latency.worst):
        assert case(single) == pytest.approx(R_1000)


@given(HIERARCHIES, st.floats(0, 10))
def test_the_average_lies_between_best_and_worst(hierarchy: Hierarchy, constant: float) -> None:
    best, worst = latency.best(hierarchy, constant), latency.worst(hierarchy, constant)
    assert best - 1e-9 <= latency.average(hierarchy, constant) <= worst + 1e-9
    assert latency.average_as_printed(hierarchy, constant) <= worst + 1e-9


@given(HIERARCHIES, st.floats(0, 10))
def test_the_bounds_hold(hierarchy: Hierarchy, constant: float) -> None:
    rounding = 1e-9
    best_bound = latency.best_bound(hierarchy, constant)
    worst_bound = latency.worst_bound(hierarchy, constant)
    average_bound = latency.average_bound(hierarchy, constant)
    assert latency.best(hierarchy, constant) <= best_bound + rounding
    assert latency.worst(hierarchy, constant) <= worst_bound + rounding
    assert latency.average_as_printed(hierarchy, constant) <= average_bound + rounding


@given(st.integers(16, 10**9), st.integers(0, 10**9))
def test_from_e_to_the_e_on_more_processes_take_more_rounds(size: int, more: int) -> None:
    assert latency.rounds(size) <= latency.rounds(size + more)


def test_a_very_small_community_would_take_longer_than_a_large_one() -> None:
    assert latency.rounds(3) > latency.rounds(10**6)


@pytest.mark.parametrize("size", [-1, 0, 1, 2])
def test_below_three_processes_there_is_no_value(size: int) -> None:
    with pytest.raises(ValueError, match=f"^size must be finite and at least 3, is {size}$"):
        latency.rounds(size)


def test_the_constant_must_be_a_number() -> None:
    with pytest.raises(ValueError, match=r"^constant must be finite"):
        latency.best(PAPERS, math.nan)
