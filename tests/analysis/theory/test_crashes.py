"""Figs 13 to 18: the papers' formulas with crashed processes put in, and our model."""

import random
from collections.abc import Callable
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.theory import crashes, upward
from analysis.theory.communities import Community, Hierarchy
from analysis.theory.crashes import Outlook

LARGE = Community(1000)
PAPERS = Hierarchy.of_sizes((1000, 100, 10))
MODELS = (crashes.stillborn, crashes.weakly_consistent)
Model = Callable[[Hierarchy, float], tuple[Outlook, ...]]
SHARES = st.floats(0, 1)


# The papers' formulas


def test_half_the_processes_send_half_the_messages_of_which_a_quarter_arrive() -> None:
    assert crashes.ideal_sent(LARGE, 0.5) == 0.5 * 1000 * 11
    assert crashes.ideal_upward_sent(LARGE, 0.5) == pytest.approx(0.5 * 5)
    assert crashes.ideal_upward_arrived(LARGE, 0.5) == pytest.approx(0.25 * 5 * 0.85)


def test_with_half_crashed_eq_6_loses_each_of_two_and_a_half_messages_with_0_575() -> None:
    assert crashes.ideal_pit(LARGE, 0.5) == pytest.approx(1 - 0.575**2.5)


def test_with_none_crashed_the_ideal_curves_begin_where_the_papers_formulas_are() -> None:
    assert crashes.ideal_sent(LARGE, 0) == 1000 * 11
    assert crashes.ideal_upward_sent(LARGE, 0) == upward.sent(LARGE)
    assert crashes.ideal_upward_arrived(LARGE, 0) == upward.arrived(LARGE)
    assert crashes.ideal_pit(LARGE, 0) == upward.pit(LARGE)


@pytest.mark.parametrize(
    "curve",
    [
        crashes.ideal_sent,
        crashes.ideal_upward_sent,
        crashes.ideal_upward_arrived,
        crashes.ideal_pit,
    ],
)
def test_the_ideal_curves_fall_to_nothing(curve: Callable[[Community, float], float]) -> None:
    values = [curve(LARGE, tenths / 10) for tenths in range(11)]
    assert values == sorted(values, reverse=True)
    assert values[0] > 0
    assert values[10] == 0


# The model


def test_a_publisher_alone_reaches_everybody_there_is() -> None:
    for model in MODELS:
        (alone,) = model(Hierarchy.of_sizes([1]), 0.3)
        assert (alone.reception, alone.reliability, alone.sent) == (1, 1, 0)
        assert (alone.upward_sent, alone.upward_arrived) == (0, 0)


def test_a_community_of_two_by_hand() -> None:
    # A root of one above two who both tell the other and pass it up; half of it arrives.
    low = Community(2, g=2, a=1, z=1, psucc=0.5)
    _, root = crashes.weakly_consistent(Hierarchy((low, Community(1))), 0)
    # One copy that arrives with 1/2 is below one copy each: the model lets it die out.
    assert (root.reached, root.reception) == (0, 0)

    sure = Community(2, g=2, a=1, z=1, psucc=1)
    below, root = crashes.weakly_consistent(Hierarchy((sure, Community(1))), 0)
    assert (below.reception, below.reliability, below.sent) == (1, 1, 2)
    assert (below.upward_sent, below.upward_arrived, root.reception) == (2, 2, 1)


def test_a_sure_community_of_which_a_quarter_passes_up_by_hand() -> None:
    # All four receive; each passes it up with 1/4, to the one super-process.
    low = Community(4, g=1, a=1, z=1, psucc=1)
    below, root = crashes.stillborn(Hierarchy((low, Community(1))), 0)
    assert below.upward_sent == pytest.approx(4 * 0.25)
    assert root.reached == root.reception == pytest.approx(1 - 0.75**4)


def test_without_crashes_the_model_has_the_numbers_of_the_papers_setting() -> None:
    low, middle, root = crashes.stillborn(PAPERS, 0)
    assert low.sent == pytest.approx(1000 * 11, rel=1e-3)
    assert low.upward_sent == pytest.approx(5, rel=1e-3)
    assert low.upward_arrived == pytest.approx(5 * 0.85, rel=1e-3)
    # Four in a hundred events are passed up by nobody, and that happens twice on the way.
    assert middle.reception == pytest.approx(1 - 0.0422, abs=1e-3)
    assert middle.sent == pytest.approx((1 - 0.0422) * 900, rel=1e-3)
    assert root.reception == pytest.approx((1 - 0.0422) * (1 - 0.0398), abs=2e-3)
    assert (root.upward_sent, root.upward_arrived) == (0, 0)


def test_both_kinds_of_failure_are_the_same_where_there_is_none() -> None:
    assert crashes.stillborn(PAPERS, 0) == crashes.weakly_consistent(PAPERS, 0)


@pytest.mark.parametrize("crashed", [0.1, 0.3, 0.5, 0.7])
def test_events_fare_better_further_up_when_failures_are_weakly_consistent(crashed: float) -> None:
    still, weak = crashes.stillborn(PAPERS, crashed), crashes.weakly_consistent(PAPERS, crashed)
    assert all(w.reception > s.reception for s, w in zip(still[1:], weak[1:], strict=True))
    assert all(w.upward_sent > s.upward_sent for s, w in zip(still[:2], weak[:2], strict=True))


@pytest.mark.parametrize("model", MODELS)
def test_the_more_are_crashed_the_less_is_received(model: Model) -> None:
    # Up to 0.9: with all but the publisher crashed, its community of one has received everything.
    for position in range(3):
        outlooks = [model(PAPERS, twentieths / 20)[position] for twentieths in range(19)]
        for metric in ("reception", "reliability", "sent", "upward_sent", "upward_arrived"):
            values = [getattr(outlook, metric) for outlook in outlooks]
            assert values == sorted(values, reverse=True), metric


@given(
    st.lists(
        st.builds(
            Community,
            size=st.integers(1, 300),
            c=st.floats(-3, 9),
            g=st.floats(0, 20),
            a=st.floats(0, 6),
            z=st.integers(1, 5),
            psucc=SHARES,
        ),
        min_size=1,
        max_size=4,
    ),
    SHARES,
    st.sampled_from(MODELS),
)
def test_what_the_model_says_hangs_together(
    communities: list[Community], crashed: float, model: Model
) -> None:
    outlooks = model(Hierarchy(tuple(communities)), crashed)
    assert len(outlooks) == len(communities)
    reached_below = 1.0
    for community, outlook in zip(communities, outlooks, strict=True):
        assert 0 <= outlook.took_hold <= outlook.reached + 1e-9 <= reached_below + 2e-9
        assert 0 <= outlook.reliability <= outlook.took_hold
        assert 0 <= outlook.reception <= outlook.reached + 1e-9
        assert 0 <= outlook.sent <= community.size * community.fanout + 1e-9
        assert 0 <= outlook.upward_arrived <= outlook.upward_sent + 1e-9
        reached_below = outlook.reached


def test_with_no_fanout_only_who_hears_from_below_receives() -> None:
    low, silent = Community(4, g=4, a=1, z=1, psucc=1), Community(10, c=-50)
    _, outlook = crashes.weakly_consistent(Hierarchy((low, silent)), 0)
    assert (outlook.reached, outlook.took_hold, outlook.sent) == (1, 0, 0)
    # Four copies, each at any of the ten: two may be at the same one.
    assert outlook.reception == pytest.approx(1 - 0.9**4)


def test_who_hears_from_below_need_not_be_hit_by_anybody_beside_it() -> None:
    # 6.2.1's small communities: a fanout of 3 alone leaves somebody out two times in three.
    low, small = Community(79, c=0, g=79, a=2, z=4, psucc=1), Community(28, c=0, psucc=1)
    alone, above = (crashes.stillborn(Hierarchy(way), 0)[-1] for way in ((small,), (low, small)))
    assert alone.reliability == pytest.approx(1 / 3, abs=0.02)
    assert above.reception == pytest.approx(1, abs=1e-3)
    assert above.reliability == pytest.approx(1, abs=0.01)


def test_the_model_agrees_with_playing_it() -> None:
    """One community of 60, infect and die, 40 % stillborn: reception, and all that is sent."""
    rng = random.Random(7)
    community, living = Community(60, c=1), 36
    receptions: list[float] = []
    sent: list[int] = []
    for _ in range(2000):
        reached, active, copies = {0}, [0], 0
        while active:
            sender = active.pop()
            others = [peer for peer in range(community.size) if peer != sender]
            for peer in rng.sample(others, community.fanout):
                copies += 1
                if peer < living and rng.random() < 0.85 and peer not in reached:
                    reached.add(peer)
                    active.append(peer)
        receptions.append(len(reached) / living)
        sent.append(copies)
    (outlook,) = crashes.stillborn(Hierarchy((community,)), 0.4)
    assert outlook.reception == pytest.approx(mean(receptions), abs=0.03)
    assert outlook.sent == pytest.approx(mean(sent), rel=0.04)


def infected(rng: random.Random, community: Community, first: set[int]) -> set[int]:
    """All that are reached of those who have the event first, by infect and die with no loss."""
    reached, active = set(first), list(first)
    while active:
        sender = active.pop()
        others = [peer for peer in range(community.size) if peer != sender]
        for peer in rng.sample(others, community.fanout):
            if peer not in reached:
                reached.add(peer)
                active.append(peer)
    return reached


def test_the_model_agrees_with_playing_an_event_that_comes_from_below() -> None:
    """Two communities as 6.2.1 has them, passed up by one in five: all of 28 receive."""
    rng = random.Random(11)
    low, high = Community(79, c=0, g=15.8, a=2, z=4, psucc=1), Community(28, c=0, psucc=1)
    complete: list[bool] = []
    for _ in range(4000):
        passing = [peer for peer in infected(rng, low, {0}) if rng.random() < 0.2]
        seeds = {peer for _ in passing for peer in rng.sample(range(28), 4) if rng.random() < 0.5}
        complete.append(len(infected(rng, high, seeds)) == 28)
    _, outlook = crashes.stillborn(Hierarchy((low, high)), 0)
    assert outlook.reliability == pytest.approx(mean(complete), abs=0.04)


@pytest.mark.parametrize("crashed", [-0.1, 1.1, float("nan")])
def test_a_share_outside_0_to_1_is_refused_by_name(crashed: float) -> None:
    calls: list[Callable[[], object]] = [
        lambda: crashes.ideal_sent(LARGE, crashed),
        lambda: crashes.ideal_upward_sent(LARGE, crashed),
        lambda: crashes.ideal_upward_arrived(LARGE, crashed),
        lambda: crashes.ideal_pit(LARGE, crashed),
        lambda: crashes.stillborn(PAPERS, crashed),
        lambda: crashes.weakly_consistent(PAPERS, crashed),
    ]
    for call in calls:
        with pytest.raises(ValueError, match=r"^crashed must be from 0 to 1"):
            call()
