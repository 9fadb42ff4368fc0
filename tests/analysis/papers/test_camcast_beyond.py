"""What we expect beyond the paper is judged by its rules, on numbers made for the purpose."""

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


def under_churn(arrived: float, reception: float) -> Result:
    """With upkeep; without it, half of ten upward messages arrive, and the reception is 0.8."""
    return built(
        (
            CHURN,
            [
                (
                    {"membership": version, "upkeep": upkeep, "psel": psel},
                    {
                        (".a.d", "upward"): 10.0,
                        (".a", "upward_received"): 10 * share,
                        (".a", "reception"): reached,
                    },
                )
                for version in VERSIONS
                for upkeep, share, reached in (
                    ("kept-up", arrived, reception),
                    ("left-alone", 0.5, 0.8),
                )
                for psel in CHURN_PSELS
            ],
        ),
        repetitions=3,
    )


def test_upkeep_has_to_let_more_messages_arrive_and_to_raise_the_reception() -> None:
    assert judged(under_churn(0.51, 0.81), "cam-churn") == ["holds", "holds"]
    assert judged(under_churn(0.51, 0.8), "cam-churn") == ["holds", "differs"]
    assert judged(under_churn(0.5, 0.81), "cam-churn") == ["differs", "holds"]


def test_nothing_is_said_of_what_was_not_measured() -> None:
    nothing = built(("another", []))
    for item in find(["camcast-beyond"]):
        assert set(verdicts(list(item.judge(nothing)))) == {"not measured"}
