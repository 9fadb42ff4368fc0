"""What we expect beyond the paper is judged by its rules, on numbers made for the purpose."""

from collections.abc import Sequence
from typing import Any

from analysis.job import Result
from analysis.papers.camcast_beyond import CHURN, CHURN_PSELS, CRASHED, LOSS
from analysis.papers.camcast_lan import VERSIONS
from analysis.papers.registry import find
from tests.analysis.papers.built import built, measured, verdicts


def run(experiment: str, *points: tuple[dict[str, Any], float]) -> Result:
    """The same reception in both communities, with every membership."""
    return built(
        (
            experiment,
            [
                (
                    {"membership": version, **labels},
                    {(place, "reception"): measured(value, 0.02) for place in (".a.d", ".a")},
                )
                for version in VERSIONS
                for labels, value in points
            ],
        ),
        repetitions=3,
    )


def judged(result: Result, name: str) -> list[str]:
    (item,) = find([name])
    return verdicts(list(item.judge(result)))


def under_loss(value: float) -> Result:
    return run(LOSS, ({"loss": 0, "psel": 1}, 1.0), ({"loss": 0.15, "psel": 1}, value))


def test_fifteen_percent_lost_may_cost_five_points_and_no_more() -> None:
    assert judged(under_loss(0.96), "cam-loss") == ["holds", "holds"]
    assert judged(under_loss(0.94), "cam-loss") == ["differs", "differs"]


def test_most_of_the_living_are_seven_of_ten() -> None:
    at = {"crashed": 0.3, "psel": 1}
    assert judged(run(CRASHED, (at, 0.7)), "cam-crashed") == ["holds"]
    assert judged(run(CRASHED, (at, 0.69)), "cam-crashed") == ["differs"]


def under_churn(gained: Sequence[float], raised: Sequence[float]) -> Result:
    """Without upkeep 0.8 of ten messages arrive, and the reception is 0.8; with it, by repetition,
    so much more."""
    none = [0.0] * len(gained)
    return built(
        (
            CHURN,
            [
                (
                    {"membership": version, "upkeep": upkeep, "psel": psel},
                    {
                        (".a.d", "upward_sent"): [10.0 for _ in gained],
                        (".a", "upward_received"): [8 + 10 * more for more in messages],
                        (".a", "reception"): [0.8 + more for more in reached],
                    },
                )
                for version in VERSIONS
                for upkeep, messages, reached in (
                    ("kept-up", gained, raised),
                    ("left-alone", none, none),
                )
                for psel in CHURN_PSELS
            ],
        ),
        repetitions=3,
    )


UP, DOWN, EITHER = (0.09, 0.1, 0.11), (-0.09, -0.1, -0.11), (0.1, -0.1, 0.02)


def test_upkeep_has_to_let_more_messages_arrive_and_to_raise_the_reception() -> None:
    assert judged(under_churn(UP, UP), "cam-churn") == ["holds", "holds"]
    assert judged(under_churn(UP, DOWN), "cam-churn") == ["holds", "differs"]
    assert judged(under_churn(DOWN, UP), "cam-churn") == ["differs", "holds"]


def test_what_chance_may_have_done_is_unclear() -> None:
    assert judged(under_churn(UP, EITHER), "cam-churn") == ["holds", "unclear"]
    assert judged(under_churn(EITHER, UP), "cam-churn") == ["unclear", "holds"]


def test_one_repetition_of_three_memberships_tells_nothing_of_chance() -> None:
    assert judged(under_churn((0.1,), (0.1,)), "cam-churn") == ["unclear", "unclear"]


def test_one_membership_is_not_all_of_them() -> None:
    only_v1 = built(
        (
            CHURN,
            [
                (
                    {"membership": "V1", "upkeep": upkeep, "psel": psel},
                    {(".a.d", "upward_sent"): [1.0], (".a", "upward_received"): [1.0]},
                )
                for upkeep in ("kept-up", "left-alone")
                for psel in CHURN_PSELS
            ],
        )
    )
    assert judged(only_v1, "cam-churn") == ["not measured", "not measured"]


def test_what_is_ours_is_said_to_be_and_is_held_against_no_papers_repetitions() -> None:
    (item,) = find(["cam-churn"])
    claims = list(item.judge(under_churn(UP, UP)))
    assert all(claim.ours for claim in claims)
    assert not any("the papers have" in claim.note for claim in claims)


def test_nothing_is_said_of_what_was_not_measured() -> None:
    nothing = built(("another", []))
    for item in find(["camcast-beyond"]):
        assert set(verdicts(list(item.judge(nothing)))) == {"not measured"}
