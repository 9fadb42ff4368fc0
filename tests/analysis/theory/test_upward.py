"""Upward messages: how many, and whether one arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import upward
from analysis.theory.communities import Community

LARGE = Community(1000)
LAN = Community(84, c=0, g=8.4, a=2, z=4, psucc=1)
COMMUNITIES = st.builds(
    Community,
    size=st.integers(1, 10_000),
    g=st.floats(0, 100),
    a=st.floats(0, 10),
    z=st.integers(1, 10),
    psucc=st.floats(0, 1),
)


def test_the_susceptible_are_those_who_received_and_elect_themselves() -> None:
    assert upward.susceptible(LARGE) == pytest.approx(1000 * 0.005)
    assert upward.susceptible(LARGE, 0.8) == pytest.approx(1000 * 0.005 * 0.8)


def test_g_times_a_upward_messages_are_sent_and_psucc_of_them_arrive() -> None:
    assert upward.sent(LARGE) == pytest.approx(5 * 1)
    assert upward.arrived(LARGE) == pytest.approx(5 * 1 * 0.85)
    assert upward.sent(LAN) == pytest.approx(84 * 0.1 * 0.5 * 4)


def test_upward_messages_grow_in_proportion_to_who_received() -> None:
    assert upward.sent(LARGE, 0.5) == pytest.approx(2.5)
    assert upward.arrived(LARGE, 0.5) == pytest.approx(2.125)


def test_pit_is_one_less_the_power_of_the_expected_number() -> None:
    lost_five_times = 0.15 * 0.15 * 0.15 * 0.15 * 0.15
    assert upward.none_arrives(LARGE) == pytest.approx(lost_five_times)
    assert upward.pit(LARGE) == pytest.approx(0.9999240625)


def test_by_chance_it_is_the_product_over_the_processes() -> None:
    # Two processes; each elects itself with 1/2, and sends to its one super-process then.
    pair = Community(2, g=1, a=1, z=1, psucc=0.5)
    one_passes_nothing = 0.5 + 0.5 * 0.5
    assert upward.pit_by_chance(pair) == pytest.approx(1 - one_passes_nothing * one_passes_nothing)
    assert upward.pit(pair) == pytest.approx(1 - 0.5)


def test_by_chance_the_papers_setting_misses_one_event_in_twenty_four() -> None:
    one_sends_to_nobody = (1 - 0.85 / 3) * (1 - 0.85 / 3) * (1 - 0.85 / 3)
    one_passes_nothing = 0.995 + 0.005 * one_sends_to_nobody
    assert upward.none_arrives_by_chance(LARGE) == pytest.approx(one_passes_nothing**1000)
    assert upward.none_arrives_by_chance(LARGE) == pytest.approx(1 / 24, abs=1e-3)


def test_what_is_wasted_is_as_good_as_lost() -> None:
    assert upward.none_arrives_by_chance(LARGE, wasted=0.2) == pytest.approx(
        upward.none_arrives_by_chance(LARGE, psucc=0.85 * 0.8)
    )
    assert upward.none_arrives_by_chance(LARGE, wasted=1) == 1


@given(COMMUNITIES, st.floats(0, 1))
def test_eq_6_is_never_below_what_comes_by_chance(community: Community, received: float) -> None:
    assert upward.pit_by_chance(community, received) <= upward.pit(community, received) + 1e-9


@given(COMMUNITIES, st.floats(0, 1), st.floats(0, 1))
def test_the_more_received_it_the_likelier_it_goes_up(
    community: Community, one: float, another: float
) -> None:
    fewer, more = sorted((one, another))
    assert 0 <= upward.pit(community, fewer) <= upward.pit(community, more) + 1e-9 <= 1 + 1e-9
    assert upward.arrived(community, fewer) <= upward.sent(community, more) + 1e-9


@pytest.mark.parametrize(
    ("community", "expected"),
    [
        (Community(50, psucc=0), 0),
        (Community(50, psucc=1), 1),
        (Community(50, g=0), 0),
        (Community(50, a=0), 0),
    ],
)
def test_pit_at_the_ends(community: Community, expected: float) -> None:
    assert upward.pit(community) == expected


def test_by_chance_all_who_elect_themselves_and_send_to_all_without_loss_reach_it() -> None:
    assert upward.pit_by_chance(Community(3, g=3, a=2, z=2, psucc=1)) == 1


def test_a_share_outside_0_to_1_is_refused_by_name() -> None:
    for function in (upward.susceptible, upward.sent, upward.arrived, upward.pit):
        with pytest.raises(ValueError, match=r"^received must be from 0 to 1, is 1\.5$"):
            function(LARGE, 1.5)
    with pytest.raises(ValueError, match=r"^received must be"):
        upward.pit_by_chance(LARGE, -0.1)
    with pytest.raises(ValueError, match=r"^wasted must be"):
        upward.none_arrives_by_chance(LARGE, wasted=2)
    with pytest.raises(ValueError, match=r"^psucc must be"):
        upward.none_arrives_by_chance(LARGE, psucc=-1)
