"""Trade-offs: CAMCAST set to the c1 of the proofs equals the other, and what it keeps then."""

import math
from collections.abc import Callable

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from analysis.theory import memory, reliability, tradeoffs
from analysis.theory.communities import Community, Hierarchy

E = 2.718281828459045
PIT = 1 / E**0.01  # ln pit = -0.01
LN_2, LN_3, LN_10, LN_100 = 0.693147181, 1.098612289, 2.302585093, 4.605170186

XS = st.integers(1, 8)
PITS = st.floats(0.5, 1)


# By hand


def test_against_broadcast_by_hand() -> None:
    # x = 2, ln pit = -0.01, c = 0
    limits = tradeoffs.broadcast_range(2, PIT)
    assert limits.low == 0
    assert limits.high == pytest.approx(-math.log(0.02))
    assert tradeoffs.broadcast_c1(0, 2, PIT) == pytest.approx(-math.log(1 - 0.02) + LN_2)
    assert tradeoffs.broadcast_z(1000, 100, 0, 2, PIT) == pytest.approx(
        LN_10 + math.log(0.98) - LN_2
    )


def test_against_multicast_by_hand() -> None:
    # x = 3, ln pit = -0.01, c = ln 2
    limits = tradeoffs.multicast_range(PIT)
    assert limits.low == 0
    assert limits.high == pytest.approx(LN_100)
    assert tradeoffs.multicast_c1(LN_2, PIT) == pytest.approx(LN_2 - math.log(1 - 2 * 0.01))
    assert tradeoffs.multicast_z(100, LN_2, 3, PIT) == pytest.approx(
        2 * (LN_100 + LN_2) + math.log(0.98)
    )


def test_against_hierarchical_gossip_by_hand() -> None:
    # C = 2 clusters, x = 3, ln pit = -0.01: -ln(3·1.01/3) <= c < -ln(3·0.01/3)
    limits = tradeoffs.hierarchical_range(2, 3, PIT)
    assert limits.low == pytest.approx(-math.log(1.01))
    assert limits.high == pytest.approx(LN_100)
    assert tradeoffs.hierarchical_c1(0, 2, 3, PIT) == pytest.approx(LN_3 - math.log(3 - 0.03))
    assert tradeoffs.hierarchical_z(0, 2, 3, PIT) == pytest.approx(LN_2 + math.log(2.97) - LN_3)


# What the proofs say of them


@given(XS, PITS, st.floats(0, 1))
def test_the_c1_against_broadcast_gives_its_reliability(x: int, pit: float, where: float) -> None:
    limits = tradeoffs.broadcast_range(x, pit)
    assume(limits.high > 0)
    c = where * min(limits.high, 30) * 0.99
    c1 = tradeoffs.broadcast_c1(c, x, pit)
    assert c1 >= -1e-9
    assert reliability.camcast_as_printed([c1] * x, [pit] * x) == pytest.approx(
        reliability.broadcast(c), abs=1e-9
    )


@given(XS, PITS, st.floats(0, 1))
def test_the_c1_against_multicast_gives_its_reliability(x: int, pit: float, where: float) -> None:
    c = where * min(tradeoffs.multicast_range(pit).high, 30) * 0.99
    c1 = tradeoffs.multicast_c1(c, pit)
    assert c1 >= c - 1e-9
    assert reliability.camcast_as_printed([c1] * x, [pit] * x) == pytest.approx(
        reliability.multicast([c] * x), abs=1e-9
    )


@given(st.integers(1, 50), XS, PITS, st.floats(0, 1))
def test_the_c1_against_hierarchical_gossip_gives_its_reliability(
    clusters: int, x: int, pit: float, where: float
) -> None:
    limits = tradeoffs.hierarchical_range(clusters, x, pit)
    c = limits.low + where * (min(limits.high, 30) - limits.low) * 0.99
    c1 = tradeoffs.hierarchical_c1(c, clusters, x, pit)
    assert c1 >= -1e-9
    assert reliability.camcast_as_printed([c1] * x, [pit] * x) == pytest.approx(
        reliability.hierarchical(clusters, c, c), abs=1e-9
    )


def test_at_the_limit_of_z_both_keep_the_same() -> None:
    x, size, c, pit = 3, 100, 2.0, 0.999
    n = 5000
    kept = math.log(size) + tradeoffs.broadcast_c1(c, x, pit)
    assert kept + tradeoffs.broadcast_z(n, size, c, x, pit) == pytest.approx(memory.broadcast(n, c))

    kept = math.log(size) + tradeoffs.multicast_c1(c, pit)
    alike = Hierarchy.of_sizes([size] * x, Community(size, c=c))
    assert kept + tradeoffs.multicast_z(size, c, x, pit) == pytest.approx(memory.multicast(alike))

    kept = math.log(size) + tradeoffs.hierarchical_c1(c, 7, x, pit)
    assert kept + tradeoffs.hierarchical_z(c, 7, x, pit) == pytest.approx(
        memory.hierarchical(7, size, c, c)
    )


# Limits


def test_with_sure_links_there_is_no_upper_limit() -> None:
    assert tradeoffs.broadcast_range(3, 1).high == math.inf
    assert tradeoffs.multicast_c1(1000, 1) == 1000
    assert tradeoffs.broadcast_c1(1000, 3, 1) == pytest.approx(1000 + LN_3)
    assert tradeoffs.hierarchical_c1(1000, 8, 3, 1) == pytest.approx(1000 - LN_3)


def test_with_poor_links_no_broadcast_can_be_equalled() -> None:
    limits = tradeoffs.broadcast_range(3, 0.5)  # -ln(3 · 0.693) < 0
    assert limits.high < limits.low
    assert 0 not in limits


def test_the_upper_end_is_not_in_the_range() -> None:
    limits = tradeoffs.multicast_range(PIT)
    assert limits.low in limits
    assert limits.high not in limits
    with pytest.raises(ValueError, match=r"^c must be from 0\.0 to below"):
        tradeoffs.multicast_c1(limits.high, PIT)


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("pit", lambda: tradeoffs.broadcast_range(3, 0)),
        ("pit", lambda: tradeoffs.multicast_range(1.1)),
        ("pit", lambda: tradeoffs.hierarchical_range(3, 3, -1)),
        ("x", lambda: tradeoffs.broadcast_range(0, 0.9)),
        ("x", lambda: tradeoffs.multicast_z(10, 1, 0, 0.9)),
        ("x", lambda: tradeoffs.hierarchical_range(3, -1, 0.9)),
        ("clusters", lambda: tradeoffs.hierarchical_range(0, 3, 0.9)),
        ("clusters", lambda: tradeoffs.hierarchical_z(1, 0, 3, 0.9)),
        ("n", lambda: tradeoffs.broadcast_z(0, 10, 1, 3, 0.99)),
        ("size", lambda: tradeoffs.broadcast_z(10, 0, 1, 3, 0.99)),
        ("size", lambda: tradeoffs.multicast_z(-1, 1, 3, 0.9)),
        ("c", lambda: tradeoffs.broadcast_c1(-0.1, 3, 0.99)),
        ("c", lambda: tradeoffs.broadcast_c1(9, 3, 0.99)),
        ("c", lambda: tradeoffs.multicast_c1(math.nan, 0.99)),
        ("c", lambda: tradeoffs.hierarchical_c1(99, 3, 3, 0.99)),
    ],
)
def test_a_bad_argument_is_refused_by_name(name: str, call: Callable[[], object]) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
