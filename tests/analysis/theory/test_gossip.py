"""One community on its own: the papers' ln N + c and e^(-e^-c), and what loss makes of them."""

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import gossip

PROBABILITIES = st.floats(0, 1)
E = 2.718281828459045


def test_targets_are_ln_n_plus_c() -> None:
    assert gossip.targets(1, 5) == 5
    assert gossip.targets(E**2, 1) == pytest.approx(2 + 1)


@pytest.mark.parametrize(
    ("size", "c", "expected"),
    [
        (1110, 5, 12),  # ln 1110 = 7.01
        (1000, 5, 11),  # 6.91
        (100, 5, 9),  # 4.61
        (84, 0, 4),  # 4.43
        (10, 5, 7),  # 2.30
        (5, 5, 4),  # 6.6, but there are only 4 others
        (1, 5, 0),
        (10, -50, 0),
    ],
)
def test_the_fanout_is_the_floor_and_at_most_everybody_else(
    size: int, c: float, expected: int
) -> None:
    assert gossip.fanout(size, c) == expected


@pytest.mark.parametrize(
    ("c", "expected"),
    [
        (0, 1 / E),
        (5, 1 / E**0.006737947),  # e^-5 = 0.006737947
        (-math.log(2), 1 / E**2),
        (-1000, 0),
        (1000, 1),
    ],
)
def test_the_reliability_of_one_gossip(c: float, expected: float) -> None:
    assert gossip.reliability(c) == pytest.approx(expected, abs=1e-9)


@given(st.floats(-800, 800), st.floats(0, 100))
def test_a_greater_c_is_never_less_reliable(c: float, more: float) -> None:
    assert 0 <= gossip.reliability(c) <= gossip.reliability(c + more) <= 1


# With loss


def test_a_given_other_is_hit_if_it_is_drawn_and_the_copy_arrives() -> None:
    assert gossip.hit(10, 5, 0.85) == pytest.approx(7 / 9 * 0.85)
    assert gossip.hit(1, 5, 0.85) == 0


def test_without_loss_and_in_a_large_community_the_papers_reliability_comes_out() -> None:
    size = 10**7
    for c in (-1, 0, 2, 5):
        hit = (math.log(size) + c) / size
        assert gossip.reliability_with_loss(size, hit) == pytest.approx(E ** -(E**-c), abs=1e-4)


def test_reliability_with_loss_by_hand() -> None:
    # Two others, each missed by both with 0.5 · 0.5: half a process is left out on the average.
    assert gossip.reliability_with_loss(2, 0.5) == pytest.approx(1 / E**0.5)
    # Of whom one has it from below: a quarter of one is left out.
    assert gossip.reliability_with_loss(2, 0.5, 2) == pytest.approx(1 / E**0.25)
    assert gossip.reliability_with_loss(2, 0.5, 3) == 1


def test_two_copies_at_two_members_are_at_the_same_one_every_other_time() -> None:
    assert gossip.different(2, 2) == pytest.approx(1.5)
    assert gossip.different(1, 10) == pytest.approx(1)
    assert gossip.different(0, 10) == 0
    assert gossip.different(7, 1) == 1


@pytest.mark.parametrize(("others", "hit"), [(0, 0.3), (5, 1)])
def test_all_receive_if_there_is_nobody_or_nothing_is_missed(others: float, hit: float) -> None:
    assert gossip.reliability_with_loss(others, hit) == 1


def test_the_share_reached_solves_its_equation() -> None:
    # Mean fanout 2: the giant component's r = 1 - e^-2r is 0.7968.
    assert gossip.share_reached(10**6, 2e-6) == pytest.approx(0.7968, abs=1e-4)
    # One other, whom the seed hits with 0.5: r = 1 - 0.5^(1 + r).
    share = 0.690093068
    assert share == pytest.approx(1 - 0.5 ** (1 + share))
    assert gossip.share_reached(1, 0.5) == pytest.approx(share)


def test_nobody_is_reached_without_seeds_below_one_copy_each() -> None:
    assert gossip.share_reached(100, 0.005, seeds=0) == pytest.approx(0, abs=1e-9)
    assert gossip.share_reached(100, 0.5, seeds=0) == pytest.approx(1)
    assert (gossip.share_reached(3, 1, seeds=0), gossip.share_reached(3, 1)) == (0, 1)
    assert gossip.share_reached(3, 0) == 0


@given(st.floats(0, 1000), PROBABILITIES, PROBABILITIES)
def test_more_hits_reach_no_fewer(others: float, one: float, another: float) -> None:
    fewer, more = sorted((one, another))
    reached = gossip.share_reached(others, fewer)
    assert -1e-6 <= reached <= gossip.share_reached(others, more) + 1e-6 <= 1 + 1e-6


def test_an_event_dies_out_by_the_least_root() -> None:
    # q = (1/4 + 3q/4)²: 9q² - 10q + 1 = 0 has the roots 1/9 and 1.
    assert gossip.dies_out(2, 0.75) == pytest.approx(1 / 9)


@pytest.mark.parametrize(
    ("fanout", "arrival", "expected"), [(0, 1, 1), (5, 0, 1), (4, 0.25, 1), (1, 1, 0), (7, 1, 0)]
)
def test_an_event_dies_out_surely_below_one_copy_each_and_never_without_loss(
    fanout: int, arrival: float, expected: float
) -> None:
    assert gossip.dies_out(fanout, arrival) == expected


@given(st.integers(0, 20), PROBABILITIES, PROBABILITIES)
def test_better_channels_let_an_event_die_out_no_more_often(
    fanout: int, one: float, another: float
) -> None:
    worse, better = sorted((one, another))
    assert 0 <= gossip.dies_out(fanout, better) <= gossip.dies_out(fanout, worse) + 1e-3 <= 1.001


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("size", lambda: gossip.targets(0, 5)),
        ("c", lambda: gossip.targets(10, math.nan)),
        ("size", lambda: gossip.fanout(-1, 5)),
        ("c", lambda: gossip.reliability(math.inf)),
        ("size", lambda: gossip.hit(0, 5, 0.5)),
        ("arrival", lambda: gossip.hit(10, 5, 1.5)),
        ("others", lambda: gossip.reliability_with_loss(-1, 0.5)),
        ("hit", lambda: gossip.reliability_with_loss(1, -0.5)),
        ("seeds", lambda: gossip.reliability_with_loss(1, 0.5, 0)),
        ("arrivals", lambda: gossip.different(-1, 3)),
        ("members", lambda: gossip.different(1, 0.5)),
        ("others", lambda: gossip.share_reached(-1, 0.5)),
        ("hit", lambda: gossip.share_reached(1, 2)),
        ("seeds", lambda: gossip.share_reached(1, 0.5, -1)),
        ("fanout", lambda: gossip.dies_out(-1, 0.5)),
        ("arrival", lambda: gossip.dies_out(1, math.nan)),
    ],
)
def test_a_bad_argument_is_refused_by_name(name: str, call: Callable[[], float]) -> None:
    with pytest.raises(ValueError, match=f"^{name} must be"):
        call()
