"""Intervals: Student's, known only from two repetitions on, and within what is possible."""

import pytest

from analysis.intervals import Estimate, estimate, t_975


@pytest.mark.parametrize(
    ("degrees", "quantile"),
    # From the printed tables of Student's distribution.
    [(1, 12.706), (2, 4.303), (9, 2.262), (30, 2.042), (40, 2.021), (60, 2.000), (120, 1.980)],
)
def test_the_quantiles_are_those_of_the_tables(degrees: int, quantile: float) -> None:
    assert t_975(degrees) == pytest.approx(quantile, abs=0.0006)


def test_the_quantiles_fall_towards_the_normal_distributions() -> None:
    found = [t_975(degrees) for degrees in range(1, 2000)]
    assert found == sorted(found, reverse=True)
    assert t_975(10**9) == pytest.approx(1.959964, abs=1e-6)


@pytest.mark.parametrize("degrees", [0, -1])
def test_there_is_none_without_a_degree_of_freedom(degrees: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        t_975(degrees)


def test_an_interval_lies_around_the_mean() -> None:
    # Of 1, 2, 3, 4: the deviation is 1.291, and 3.182 × 1.291 / 2 = 2.054.
    found = estimate(4, 2.5, 1.2909944)
    assert (found.low, found.high) == pytest.approx((0.446, 4.554), abs=0.0005)


def test_a_single_repetition_has_none() -> None:
    assert estimate(1, 2.5, None) == Estimate(1, 2.5, None, None)


def test_repetitions_that_agree_have_an_interval_of_no_width() -> None:
    assert estimate(3, 2.5, 0.0) == Estimate(3, 2.5, 2.5, 2.5)


def test_a_shares_interval_ends_at_0_and_1_and_a_numbers_does_not() -> None:
    assert estimate(2, 0.5, 0.5, is_share=True) == Estimate(2, 0.5, 0.0, 1.0)
    wide = estimate(2, 0.5, 0.5)
    assert wide.low is not None
    assert wide.high is not None
    assert wide.low < 0
    assert wide.high > 1
