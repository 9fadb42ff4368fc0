"""Communities and hierarchies: their derived numbers, and what is refused."""

import math
from dataclasses import replace
from typing import Any

import pytest

from analysis.theory.communities import Community, Hierarchy

LARGE, MIDDLE, ROOT = Community(1000), Community(100, c=2, z=4), Community(10)
HIERARCHY = Hierarchy((LARGE, MIDDLE, ROOT))


def test_the_defaults_are_those_of_the_papers_simulations() -> None:
    assert (LARGE.c, LARGE.g, LARGE.a, LARGE.z, LARGE.psucc) == (5, 5, 1, 3, 0.85)


def test_psel_is_g_of_n_and_pa_is_a_of_z() -> None:
    assert (LARGE.psel, LARGE.pa) == (0.005, 1 / 3)


def test_in_a_very_small_community_everybody_passes_events_up_to_no_more_than_all() -> None:
    tiny = Community(4, g=5, a=3, z=2)
    assert (tiny.psel, tiny.pa) == (1, 1)


def test_targets_are_real_and_the_fanout_is_whole() -> None:
    assert LARGE.targets == pytest.approx(6.907755 + 5)
    assert LARGE.fanout == 11


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 0),
        ("size", -3),
        ("c", math.nan),
        ("c", math.inf),
        ("g", -0.1),
        ("g", math.nan),
        ("a", -1),
        ("a", math.inf),
        ("z", 0),
        ("psucc", -0.01),
        ("psucc", 1.01),
        ("psucc", math.nan),
    ],
)
def test_a_bad_parameter_is_refused_by_name(name: str, value: float) -> None:
    changes: dict[str, Any] = {name: value}
    with pytest.raises(ValueError, match=f"^{name} must be"):
        replace(LARGE, **changes)


def test_a_hierarchy_sums_up_its_communities() -> None:
    assert (HIERARCHY.x, HIERARCHY.n, HIERARCHY.n_max) == (3, 1000 + 100 + 10, 1000)
    assert (HIERARCHY.c_max, HIERARCHY.z_max) == (5, 4)
    assert HIERARCHY.below_the_root == (LARGE, MIDDLE)


def test_communities_of_sizes_are_alike_in_all_else() -> None:
    assert Hierarchy.of_sizes([7, 5]).communities == (Community(7), Community(5))
    assert Hierarchy.of_sizes([7, 5], MIDDLE).communities == (
        Community(7, c=2, z=4),
        Community(5, c=2, z=4),
    )


def test_the_way_to_a_community_ends_there() -> None:
    assert HIERARCHY.up_to(0).communities == (LARGE,)
    assert HIERARCHY.up_to(1).communities == (LARGE, MIDDLE)
    assert HIERARCHY.up_to(2) == HIERARCHY


@pytest.mark.parametrize("position", [-1, 3])
def test_there_is_no_way_to_a_community_that_is_not_there(position: int) -> None:
    with pytest.raises(ValueError, match=f"^position must be from 0 to 2, is {position}$"):
        HIERARCHY.up_to(position)


def test_a_hierarchy_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^communities must not be empty$"):
        Hierarchy(())
