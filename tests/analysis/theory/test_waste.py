"""Parasite events and duplicates."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import waste


@pytest.mark.parametrize(
    ("n", "interested", "fanout", "printed"),
    [(1110, 10, 12, 11216), (300, 100, 10, 1699), (500, 100, 11, 3739)],
)
def test_table_2_comes_out_within_one_in_a_thousand(
    n: int, interested: int, fanout: int, printed: int
) -> None:
    parasites = waste.broadcast_parasites(n, interested, 5, 0.85)
    assert parasites == pytest.approx(fanout * 0.85 * (n - interested))
    assert parasites == pytest.approx(printed, rel=1e-3)


def test_where_all_are_interested_nothing_is_a_parasite() -> None:
    assert waste.broadcast_parasites(50, 50, 5, 0.85) == 0


def test_efficiency_is_the_useful_share_of_what_was_received() -> None:
    assert waste.efficiency(25, 75) == 25 / 100
    assert (waste.efficiency(3, 0), waste.efficiency(0, 3)) == (1, 0)


def test_the_expected_efficiency_by_hand() -> None:
    # 100 processes receive 100 · 9 · 0.85 = 765 copies from each other and 5 from below.
    assert waste.expected_efficiency(100, 5, 0.85, 5) == pytest.approx(100 / 770)


@given(st.integers(1, 1000), st.floats(0, 9), st.floats(0, 1), st.floats(1, 99), st.floats(0, 9))
def test_more_from_below_is_never_more_efficient(
    size: int, c: float, psucc: float, from_below: float, more: float
) -> None:
    less = waste.expected_efficiency(size, c, psucc, from_below)
    assert 0 < waste.expected_efficiency(size, c, psucc, from_below + more) <= less <= 1


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("n", lambda: waste.broadcast_parasites(0, 0, 5, 0.85)),
        ("interested", lambda: waste.broadcast_parasites(10, 11, 5, 0.85)),
        ("interested", lambda: waste.broadcast_parasites(10, -1, 5, 0.85)),
        ("psucc", lambda: waste.broadcast_parasites(10, 1, 5, 1.85)),
        ("useful", lambda: waste.efficiency(-1, 3)),
        ("duplicates", lambda: waste.efficiency(1, -3)),
        ("useful and duplicates", lambda: waste.efficiency(0, 0)),
        ("size", lambda: waste.expected_efficiency(0, 5, 0.85)),
        ("psucc", lambda: waste.expected_efficiency(10, 5, -0.85)),
        ("from_below", lambda: waste.expected_efficiency(10, 5, 0.85, -1)),
    ],
)
def test_a_bad_argument_is_refused_by_name(name: str, call: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=f"^{name} must"):
        call()
