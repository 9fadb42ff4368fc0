"""Places in P-Grid's trie: what a meeting does to two of them, and who lies in which direction."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.draw import stream
from agents.core.messages import PeerId
from agents.membership.pgrid.messages import KEY_BITS
from agents.membership.pgrid.trie import (
    Outcome,
    Trie,
    bits,
    common_length,
    key_of,
    opposite,
    packed,
    unpacked,
)
from tests.support.properties import steady

ME, OTHER = 1, 2
PATHS = st.text("01", max_size=KEY_BITS)


def trie(path: str, *references: Sequence[PeerId], refmax: int = 4, seed: int = 0) -> Trie:
    made = Trie(ME, refmax, stream(seed).random)
    for bit, level in zip(path, references or [()] * len(path), strict=True):
        made.extend(bit, level)
    return made


def meet(
    mine: Trie,
    path: str,
    *references: Sequence[PeerId],
    maxl: int = 6,
    further: bool = False,
) -> Outcome:
    levels = references or [()] * len(path)
    return mine.meet(OTHER, path, levels, maxl=maxl, further=further)


@steady
@given(PATHS)
def test_a_path_comes_back_from_the_wire(path: str) -> None:
    assert unpacked(packed(path)) == path


def test_a_topics_key_is_as_long_as_a_path_can_be_and_always_the_same() -> None:
    assert len(key_of(".soccer")) == len(bits(0)) == KEY_BITS
    assert key_of(".soccer") == "10001010101001101000111001000011"
    assert key_of(".soccer") != key_of(".tennis")


@pytest.mark.parametrize(
    ("one", "other", "length"),
    [("", "", 0), ("0", "1", 0), ("01", "0", 1), ("010", "011", 2), ("01", "01", 2)],
)
def test_the_common_part_of_two_paths(one: str, other: str, length: int) -> None:
    assert common_length(one, other) == common_length(other, one) == length


# Meetings: the four cases of the paper


def test_two_at_the_same_place_part_and_refer_to_each_other() -> None:
    mine = trie("0", [7])

    outcome = meet(mine, "0", [8])

    assert {mine.path, outcome.path} == {"00", "01"}
    assert mine.references[1] == [OTHER]
    assert outcome.references[2] == [ME]


def test_who_goes_which_way_is_drawn() -> None:
    ways = []
    for seed in range(40):
        mine = trie("", seed=seed)
        meet(mine, "")
        ways.append(mine.path)

    assert 10 <= ways.count("0") <= 30
    assert ways.count("0") + ways.count("1") == 40


def test_a_path_that_is_long_enough_grows_no_more() -> None:
    mine = trie("01", [7], [8])

    outcome = meet(mine, "01", [], [], maxl=2)

    assert (mine.path, outcome.path) == ("01", "01")


def test_the_shorter_goes_the_other_way_than_the_longer() -> None:
    mine = trie("011", [], [], [5])

    outcome = meet(mine, "01", [], [])

    assert outcome.path == "010"
    assert outcome.references[3] == [ME]
    assert mine.path == "011"
    assert sorted(mine.references[2]) == [OTHER, 5]


def test_the_same_holds_when_we_are_the_shorter() -> None:
    mine = trie("01", [], [])

    outcome = meet(mine, "011", [], [], [5])

    assert mine.path == "010"
    assert mine.references[2] == [OTHER]
    assert outcome.path == "011"
    assert sorted(outcome.references[3]) == [ME, 5]


def test_references_at_the_last_common_level_are_shared() -> None:
    mine = trie("01", [3, 4], [5], refmax=4)

    outcome = meet(mine, "00", [4, 6], [7])

    assert sorted(mine.references[0]) == sorted(outcome.references[1]) == [3, 4, 6]
    assert mine.references[1] == [5]


def test_of_shared_references_each_keeps_refmax_at_random() -> None:
    kept = set()
    for seed in range(50):
        mine = trie("01", [3], [5], refmax=1, seed=seed)
        outcome = meet(mine, "00", [6], [7])
        kept.add((mine.references[0][0], outcome.references[1][0]))

    assert kept == {(3, 3), (3, 6), (6, 3), (6, 6)}


def test_those_who_parted_long_ago_meet_each_others_references() -> None:
    mine = trie("01", [3], [5, 8, 9])

    outcome = meet(mine, "00", [4], [6, 7, 10], further=True)

    assert (mine.path, outcome.path) == ("01", "00")
    assert len(outcome.our_meetings) == len(outcome.its_meetings) == 2
    assert set(outcome.our_meetings) <= {6, 7, 10}
    assert set(outcome.its_meetings) <= {5, 8, 9}


def test_but_not_deeper_than_they_may() -> None:
    outcome = meet(trie("01", [3], [5]), "00", [4], [6])

    assert (outcome.our_meetings, outcome.its_meetings) == ([], [])


def test_nobody_is_to_meet_itself_or_the_one_it_just_met() -> None:
    outcome = meet(trie("01", [3], [OTHER]), "00", [4], [ME], further=True)

    assert (outcome.our_meetings, outcome.its_meetings) == ([], [])


@steady
@given(
    PATHS,
    PATHS,
    st.integers(0, KEY_BITS),
    st.booleans(),
    st.lists(st.integers(0, 9), max_size=4),
    st.integers(0, 99),
)
def test_whatever_two_meet_paths_only_grow_and_references_lie_on_the_other_side(
    path: str, other: str, maxl: int, further: bool, peers: list[PeerId], seed: int
) -> None:
    mine = trie(path, *[peers] * len(path), seed=seed)

    outcome = meet(mine, other, *[peers] * len(other), maxl=maxl, further=further)

    assert mine.path.startswith(path)
    assert outcome.path.startswith(other)
    assert len(mine.path) + len(outcome.path) <= len(path) + len(other) + 2
    assert len(mine.references) == len(mine.path)
    assert all(len(level) <= 4 for level in mine.references)
    assert all(ME not in level for level in mine.references)
    assert all(1 <= level <= len(outcome.path) for level in outcome.references)
    if OTHER not in peers and mine.path != path:
        assert outcome.path.startswith(path + opposite(mine.path[len(path)]))


# Directions


def test_towards_a_key_lie_the_references_of_the_level_where_it_leaves_our_path() -> None:
    mine = trie("010", [1000], [2000, 2001], [3000])

    assert mine.towards("1" * 32) == [1000]
    assert sorted(mine.towards("00" + "1" * 30)) == [2000, 2001]
    assert mine.towards("011" + "0" * 29) == [3000]
    assert mine.towards("010" + "0" * 29) == []
    assert mine.covers("010" + "0" * 29)
    assert sorted(mine.known()) == [1000, 2000, 2001, 3000]


def test_a_peer_that_tells_its_path_is_referred_to_at_its_level_if_there_is_room() -> None:
    mine = trie("01", [3], [5], refmax=2)

    mine.note(7, "110")
    mine.note(8, "1")
    mine.note(9, "00")
    mine.note(10, "01")
    mine.note(11, "0")

    assert mine.references == [[3, 7], [5, 9]]


def test_a_reference_that_is_elsewhere_by_now_is_dropped() -> None:
    mine = trie("01", [3, 4], [5])

    mine.note(3, "")
    mine.note(4, "00")
    mine.drop(5)

    assert mine.references == [[], [4]]


def test_who_gives_up_a_level_is_responsible_for_both_of_its_sides() -> None:
    mine = trie("010", [3], [4], [5])

    mine.retreat(2)

    assert (mine.path, mine.references) == ("0", [[3]])
    assert mine.covers("00" + "1" * 30)


def test_random_keys_lie_where_they_are_wanted() -> None:
    mine = trie("010", [3], [4], [5])

    assert mine.key_under("0101").startswith("0101")
    assert mine.key_across(2).startswith("00")
    assert len(mine.key_across(2)) == KEY_BITS
