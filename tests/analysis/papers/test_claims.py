"""Numbers and sentences judged."""

import pytest

from analysis.intervals import Estimate
from analysis.papers.claims import (
    Claims,
    apart,
    average,
    decimal,
    deviation,
    difference,
    everything,
    interval,
)
from analysis.papers.items import Measured
from tests.analysis.papers.built import built, measured

ALONE = Estimate(1, 5.0, None, None)


def claims(repetitions: int = 100) -> Claims:
    return Claims("it", Measured(built(("sweep", []), repetitions=repetitions), "sweep"))


@pytest.mark.parametrize(
    ("mean", "verdict", "by"),
    [
        (8.9, "holds", "0.0 %"),
        (10.0, "holds", "+12.4 %"),
        (7.6, "holds", "−14.6 %"),
        (10.3, "differs", "+15.7 %"),
        (7.5, "differs", "−15.7 %"),
    ],
)
def test_a_number_holds_within_its_tolerance(mean: float, verdict: str, by: str) -> None:
    claim = claims().number("rounds", 8.9, measured(mean, 0.25), 0.15, "we count otherwise")
    assert (claim.verdict, claim.deviation) == (verdict, by)
    assert claim.rule == "within 15 %: we count otherwise"
    assert claim.interval == f"{mean - 0.25:.2f} to {mean + 0.25:.2f}"


@pytest.mark.parametrize(("mean", "verdict"), [(0.0, "holds"), (0.01, "differs")])
def test_zero_is_zero_and_nothing_near_it(mean: float, verdict: str) -> None:
    claim = claims().number("parasites", 0, measured(mean), 0, "none by design")
    assert claim.verdict == verdict
    assert claim.rule == "exactly: none by design"


def test_what_no_run_has_is_not_measured() -> None:
    claim = claims().number("rounds", 8.9, None, 0.15, "")
    assert (claim.verdict, claim.measured) == ("not measured", "-")
    assert claim.note == "no run has a value for it"


def test_what_was_not_run_is_not_measured_and_named() -> None:
    missing = Claims("it", Measured(built(), "sweep"))
    claim = missing.number("rounds", 8.9, None, 0.15, "")
    assert claim.verdict == "not measured"
    assert claim.note == "there is no run of sweep"


def test_a_claim_from_fewer_repetitions_says_so() -> None:
    few = claims(3).sentence("it grows", "grows", "2", True, rule="more", note="slowly")
    assert few.note == "slowly; from 3 repetitions only, where the papers have 100"
    assert claims(100).sentence("it grows", "grows", "2", True, rule="more").note == ""


def test_why_it_does_not_hold_is_said_only_where_it_does_not() -> None:
    assert claims().sentence("a", "b", "c", True, rule="r", if_not="because").note == ""
    assert claims().sentence("a", "b", "c", False, rule="r", if_not="because").note == "because"


def test_the_error_of_a_difference_is_of_both() -> None:
    assert difference(measured(10, 3), measured(4, 4)) == Estimate(100, 6, 1, 11)
    assert difference(measured(10, 3), ALONE) == Estimate(1, 5, None, None)


def test_an_interval_that_was_cut_off_counts_with_its_longer_side() -> None:
    cut = Estimate(100, 1.0, 0.9, 1.0)
    assert difference(cut, measured(0)).high == pytest.approx(1.1)


def test_the_average_of_points_errs_as_they_do() -> None:
    assert average([measured(10, 1), measured(20, 3)]) == Estimate(100, 15, 13, 17)
    assert average([measured(10, 1), ALONE]) == Estimate(1, 7.5, None, None)
    assert average([]) is None


def test_intervals_that_touch_are_not_apart() -> None:
    assert apart(measured(1, 1), measured(4, 1))
    assert apart(measured(4, 1), measured(1, 1))
    assert not apart(measured(1, 1), measured(3, 1))
    assert apart(ALONE, measured(6))
    assert not apart(ALONE, measured(5))


def test_all_or_nothing() -> None:
    assert everything([ALONE, None]) is None
    assert everything([ALONE]) == [ALONE]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0, "0"), (10, "10"), (8.9, "8.90"), (11216.4, "11216"), (-1.5, "-1.50")],
)
def test_numbers_are_as_long_as_they_need_to_be(value: float, text: str) -> None:
    assert decimal(value) == text


def test_one_run_has_no_interval() -> None:
    assert interval(ALONE) == ""


def test_a_deviation_from_nothing_is_no_percentage() -> None:
    assert deviation(0, 0) == "0"
    assert deviation(2, 0) == "+2.00"
