"""Draws: different positions, fair, independent of each other, and the same for ever."""

import math
from collections import Counter
from collections.abc import Iterable
from itertools import permutations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agents.core.draw import choice, derive, exponential, log_size, sample, sample_others, stream
from tests.support.ports import Scripted
from tests.support.properties import steady

BELOW_ONE = math.nextafter(1, 0)
"""The greatest number that `random()` gives."""


def assert_even(counts: Iterable[int], cells: int) -> None:
    """Chi-squared, with a bound six standard deviations off: the seeds are fixed, so it is only
    crossed by a draw that is not fair."""
    found = list(counts)
    assert len(found) == cells, "some cell was never drawn"
    expected = sum(found) / cells
    statistic = sum((count - expected) ** 2 for count in found) / expected
    freedom = cells - 1
    assert statistic < freedom + 6 * math.sqrt(2 * freedom)


# Samples


@steady
@given(st.integers(0, 200), st.integers(0, 250), st.integers(0, 1000))
def test_a_sample_is_of_different_positions_and_as_many_as_asked_for(
    size: int, count: int, seed: int
) -> None:
    drawn = sample(range(size), count, stream(seed).random)
    assert len(drawn) == len(set(drawn)) == min(count, size)
    assert set(drawn) <= set(range(size))


@steady
@given(st.integers(0, 200), st.integers(0, 250), st.integers(0, 1000))
def test_a_sample_of_others_is_as_large_and_without_me(size: int, count: int, seed: int) -> None:
    me = seed % (size + 5)
    drawn = sample_others(range(size), me, count, stream(seed).random)
    others = set(range(size)) - {me}
    assert len(drawn) == len(set(drawn)) == min(count, len(others))
    assert set(drawn) <= others


def test_a_sample_leaves_what_it_is_drawn_from_alone() -> None:
    items = list("abcdefgh")
    sample(items, 5, stream(1).random)
    assert items == list("abcdefgh")


def test_positions_are_different_even_where_items_are_alike() -> None:
    assert sample("aaa", 3, stream(1).random) == ["a", "a", "a"]


@pytest.mark.parametrize("draw", [0.0, BELOW_ONE])
def test_the_extremes_of_random_stay_within_bounds(draw: float) -> None:
    position = 0 if draw == 0 else -1
    for size in (1, 3, 100, 65_536):
        assert choice(range(size), lambda: draw) == range(size)[position]
        assert sample(range(size), 1, lambda: draw) == [range(size)[position]]


def test_a_sparse_sample_draws_again_where_it_hits_the_same_position() -> None:
    assert sample(range(100), 3, Scripted([0.1, 0.1, 0.5, 0.1, 0.2]).random) == [10, 50, 20]


@pytest.mark.parametrize(("size", "count"), [(5, 2), (4, 4), (40, 2), (41, 5)])
def test_every_position_is_drawn_equally_often(size: int, count: int) -> None:
    random = stream(1, "even", size, count).random
    drawn = Counter(x for _ in range(20_000) for x in sample(range(size), count, random))
    assert_even(drawn.values(), size)


@pytest.mark.parametrize(("size", "count"), [(4, 2), (4, 4), (17, 2)])
def test_every_order_is_drawn_equally_often(size: int, count: int) -> None:
    random = stream(1, "order", size, count).random
    drawn = Counter(tuple(sample(range(size), count, random)) for _ in range(30_000))
    assert_even(drawn.values(), len(list(permutations(range(size), count))))


@pytest.mark.parametrize(("size", "count", "me"), [(5, 2, 2), (5, 4, 0), (5, 2, 9), (18, 1, 17)])
def test_every_order_of_others_is_drawn_equally_often(size: int, count: int, me: int) -> None:
    random = stream(1, "others", size, count).random
    drawn = Counter(tuple(sample_others(range(size), me, count, random)) for _ in range(30_000))
    others = [peer for peer in range(size) if peer != me]
    assert_even(drawn.values(), len(list(permutations(others, count))))


def test_every_item_is_chosen_equally_often() -> None:
    random = stream(1, "choice").random
    assert_even(Counter(choice("abcdefg", random) for _ in range(20_000)).values(), 7)


# Exponential times


def test_exponential_times_are_finite_and_never_negative() -> None:
    assert exponential(5, lambda: 0.0) == 0
    assert 0 < exponential(5, lambda: BELOW_ONE) < 200


def test_exponential_times_have_the_mean_and_the_median_that_was_asked_for() -> None:
    random = stream(1, "exponential").random
    times = sorted(exponential(3.0, random) for _ in range(40_000))
    assert sum(times) / len(times) == pytest.approx(3.0, rel=0.03)
    assert times[len(times) // 2] == pytest.approx(3.0 * math.log(2), rel=0.03)


# Table sizes


@pytest.mark.parametrize(
    ("size", "extra", "entries"),
    [
        (1110, 5, 12),  # everybody in CAMCAST's simulations, 6.1.1
        (1000, 5, 11),
        (100, 5, 9),
        (10, 5, 7),
        (1, 5, 5),
        (1, 0, 0),
        (2, 0, 0),
        (3, 0, 1),
        (1000, 0.5, 7),
        (10, -5, 0),
        (1000, -50, 0),
        (0, 5, 0),
    ],
)
def test_a_table_of_n_members_has_floor_of_ln_n_plus_c_entries(
    size: int, extra: float, entries: int
) -> None:
    assert log_size(size, extra) == entries


# Streams


def test_a_stream_is_the_same_for_the_same_seed_and_name() -> None:
    first, second = stream(7, "peer", 3), stream(7, "peer", 3)
    assert [first.random() for _ in range(10)] == [second.random() for _ in range(10)]


def test_any_other_seed_or_name_is_another_stream() -> None:
    names: list[tuple[str | int, ...]] = [(), ("network",), ("peer",)]
    names += [("peer", peer) for peer in range(50)]
    names += [("peer", peer, life) for peer in range(50) for life in range(5)]
    seeds = [derive(seed, *name) for seed in range(20) for name in names]
    assert len(set(seeds)) == len(seeds)


def test_neighbouring_streams_have_nothing_to_do_with_each_other() -> None:
    first = [stream(1, "peer", peer).random() for peer in range(2000)]
    assert_even(Counter(int(value * 20) for value in first).values(), 20)
    pairs = Counter((int(a * 5), int(b * 5)) for a, b in zip(first[::2], first[1::2], strict=True))
    assert_even(pairs.values(), 25)


def test_one_streams_draws_do_not_depend_on_anothers() -> None:
    alone = [stream(1, "b").random() for _ in range(3)]
    other = stream(1, "a")
    beside = []
    for _ in range(3):
        other.random()
        beside.append(stream(1, "b").random())
    assert beside == alone


# Journals of old runs can be made again only as long as these stay as they are.


def test_the_derivation_of_seeds_has_not_changed() -> None:
    assert derive(0) == 24261745499028060129598755968870053228
    assert derive(1, "peer", 7) == 83941895660830213759157189397256792972
    assert derive(5, "repetition", 3) == 52612531344525800247392366263113153974
    assert stream(0, "peer", 0).random() == 0.9688717625903889
    assert stream(1, "network").random() == 0.4337562966277073


def test_the_draws_have_not_changed() -> None:
    random = stream(1, "a").random
    assert sample(range(10), 4, random) == [9, 5, 8, 2]
    assert sample(range(1000), 4, random) == [51, 272, 560, 631]
    assert sample_others(range(20), 3, 5, random) == [6, 19, 15, 9, 1]
    assert choice("abcdef", random) == "d"
    assert exponential(2.0, random) == pytest.approx(1.9903413491976332, rel=1e-15)
    # Where one way of sampling gives way to the other.
    assert sample(range(16), 2, stream(1, "bounds").random) == [5, 9]
