"""CAMCAST's claims, judged by results written by hand."""

from typing import Any

import pytest

from analysis.intervals import Estimate
from analysis.job import Result
from analysis.papers.camcast import ITEMS
from analysis.papers.items import Claim
from tests.analysis.papers.built import Values, about, built, measured, verdicts

JUDGES = {item.id: item.judge for item in ITEMS}
SHARES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.9)
COLUMNS = ("1000-100-10", "100x3", "100x5")
G, D, A = ".a.d.g", ".a.d", ".a"


def judge(item: str, result: Result) -> list[Claim]:
    return list(JUDGES[item](result))


def rounds(name: str, values: tuple[float, ...]) -> tuple[str, list[tuple[Any, Values]]]:
    return name, [
        ({"hierarchy": column}, {("*", "rounds"): measured(value, 0.2)})
        for column, value in zip(COLUMNS, values, strict=True)
    ]


def stillborn(metric: str, by_community: dict[str, Any], gossip: float = 1.0) -> Any:
    """The same values at every share, or a function of the share."""

    def at(value: Any, share: float) -> Estimate | float:
        found: Estimate | float = value(share) if callable(value) else value
        return found

    own = [
        (
            {"algorithm": "camcast", "crashed": share},
            {(name, metric): at(value, share) for name, value in by_community.items()},
        )
        for share in SHARES
    ]
    other = [
        (
            {"algorithm": "gossip-broadcast", "crashed": share},
            dict.fromkeys([(name, metric) for name in by_community], gossip),
        )
        for share in SHARES
    ]
    return "camcast-figs-13-16", own + other


def weakly(metric: str, by_community: dict[str, float]) -> Any:
    return "camcast-figs-17-18", [
        ({"crashed": share}, {(name, metric): value for name, value in by_community.items()})
        for share in SHARES
    ]


# Table 1


def test_the_printed_rounds_themselves_hold() -> None:
    result = built(
        rounds("camcast-table-1", (8.91, 8.83, 13.08)),
        rounds("camcast-table-1-gossip", (4.63, 4.39, 4.31)),
    )
    assert verdicts(judge("cam-t1", result)) == [
        *["holds"] * 6,
        *["not measured"] * 3,  # PMcast
        *["holds"] * 2,
    ]


def test_a_column_of_table_1_that_is_off_differs_alone() -> None:
    result = built(
        rounds("camcast-table-1", (8.91, 8.83, 16)),
        rounds("camcast-table-1-gossip", (4.63, 3.5, 4.31)),
    )
    differing = [c.text for c in judge("cam-t1", result) if c.verdict == "differs"]
    assert differing == ["rounds, CAMCAST, 100 (j = 4)", "rounds, gossip, 100 (j = 2)"]


def test_rounds_beyond_the_worst_case_are_not_as_analysed() -> None:
    claims = judge("cam-t1", built(rounds("camcast-table-1", (8.91, 8.83, 20))))
    assert about(claims, "confirm the analysis").verdict == "differs"
    assert about(claims, "more levels").verdict == "holds"


def test_more_levels_must_take_more_rounds_beyond_chance() -> None:
    claims = judge("cam-t1", built(rounds("camcast-table-1", (8.91, 8.83, 9.1))))
    assert about(claims, "more levels").verdict == "differs"


def test_gossip_that_was_not_run_is_not_measured() -> None:
    claims = judge("cam-t1", built(rounds("camcast-table-1", (8.91, 8.83, 13.08))))
    claim = about(claims, "gossip, 1000")
    assert claim.verdict == "not measured"
    assert claim.note == "there is no run of camcast-table-1-gossip"


def test_nothing_run_is_nothing_measured() -> None:
    for item in ITEMS:
        assert set(verdicts(item.judge(built()))) == {"not measured"}


# Table 2


def parasites(camcast: float, gossip: tuple[float, ...]) -> Result:
    rows = [("camcast", (camcast,) * 3), ("gossip-broadcast", gossip)]
    return built(
        (
            "camcast-table-2",
            [
                ({"algorithm": name, "hierarchy": column}, {("*", "parasites"): value})
                for name, row in rows
                for column, value in zip(COLUMNS, row, strict=True)
            ],
        )
    )


def test_the_printed_parasites_themselves_hold() -> None:
    claims = judge("cam-t2", parasites(0, (11216, 1699, 3739)))
    assert verdicts(claims) == [*["holds"] * 6, *["not measured"] * 3]


def test_one_parasite_of_camcasts_is_one_too_many() -> None:
    claims = judge("cam-t2", parasites(0.01, (11216, 1699 * 1.02, 3739)))
    assert verdicts(claims)[:6] == [*["differs"] * 3, "holds", "differs", "holds"]


def test_pmcast_is_not_measured_and_said_why() -> None:
    claim = about(judge("cam-t2", built()), "PMcast, 1000")
    assert (claim.printed, claim.verdict) == ("453", "not measured")
    assert "not implemented" in claim.note


# Figures 13 to 18


def test_messages_of_the_order_of_n_ln_n() -> None:
    result = built(stillborn("sent", {G: 11000.0, D: 400.0, A: 80.0}))
    assert verdicts(judge("cam-13", result)) == ["holds", "differs", "differs"]


def test_at_least_one_upward_message_by_the_lower_end_of_the_interval() -> None:
    result = built(stillborn("upward_sent", {G: measured(1.5, 0.4), D: measured(1.5, 0.6)}))
    up, further_up, _ = judge("cam-14", result)
    assert (up.verdict, further_up.verdict) == ("holds", "differs")


def test_what_gets_up_is_enough_if_those_above_receive_it() -> None:
    enough = built(stillborn("reception", {G: 1.0, D: 0.95, A: 0.91}))
    assert about(judge("cam-14", enough), "enough").verdict == "holds"
    too_little = built(stillborn("reception", {G: 1.0, D: 0.95, A: 0.6}))
    claim = about(judge("cam-14", too_little), "enough")
    assert claim.verdict == "differs"
    assert claim.measured == "Π_d 95.0 %, Π_a 60.0 %"
    assert "49 % are lost" in claim.note


def test_reception_that_does_not_depend_on_crashes_differs() -> None:
    def falling(share: float) -> Estimate:
        return measured(1 - share, 0.1)

    falls = {"*": falling, G: falling, D: falling, A: falling}
    assert (
        about(judge("cam-15", built(stillborn("reception", falls))), "depends").verdict == "holds"
    )
    one_stays = falls | {A: 0.9}
    claims = judge("cam-15", built(stillborn("reception", one_stays)))
    assert about(claims, "depends").verdict == "differs"


@pytest.mark.parametrize(("root", "verdict"), [(0.7, "holds"), (0.85, "differs")])
def test_reception_is_smaller_the_further_up(root: float, verdict: str) -> None:
    result = built(stillborn("reception", {"*": 0.98, G: 0.99, D: 0.8, A: root}))
    assert about(judge("cam-15", result), "further up").verdict == verdict


@pytest.mark.parametrize(("all_together", "verdict"), [(0.96, "holds"), (0.94, "differs")])
def test_reception_is_at_most_five_percent_below_gossips(all_together: float, verdict: str) -> None:
    result = built(stillborn("reception", {"*": all_together, G: 1.0, D: 0.8, A: 0.65}))
    claim = about(judge("cam-15", result), "gossip")
    assert claim.verdict == verdict
    assert "Π_g 0.0 %, Π_d 20.0 %, Π_a 35.0 %" in claim.note


def test_reliability_depends_on_the_community_if_any_two_are_apart() -> None:
    differs = built(
        stillborn("reliability", {G: measured(0.4, 0.1), D: 0.7, A: measured(0.65, 0.1)})
    )
    assert about(judge("cam-16", differs), "depends").verdict == "holds"
    same = built(stillborn("reliability", dict.fromkeys((G, D, A), measured(0.5, 0.1))))
    assert about(judge("cam-16", same), "depends").verdict == "differs"


def test_rapidly_is_faster_than_the_share_of_the_living() -> None:
    result = built(
        stillborn(
            "reliability", {G: 0.5, D: lambda share: 1 - 1.2 * share, A: lambda share: 1 - share}
        )
    )
    claims = judge("cam-16", result)
    assert about(claims, "Π_d rises").verdict == "holds"
    assert about(claims, "Π_a rises").verdict == "differs"


def test_much_better_is_ten_points() -> None:
    result = built(
        stillborn("reception", {D: 0.8, A: 0.7}), weakly("reception", {D: 0.91, A: 0.79})
    )
    claims = judge("cam-17", result)
    assert verdicts(claims) == ["holds", "differs"]
    assert claims[0].measured == "80.0 % → 91.0 %"
    assert claims[0].note == "+11.0 points"


def test_reliability_that_gets_worse_differs_with_what_the_model_expects() -> None:
    values = {G: 0.4, D: 0.6, A: 0.6}
    result = built(
        stillborn("reliability", values), weakly("reliability", values | {G: 0.3, A: 0.8})
    )
    claims = judge("cam-18", result)
    assert verdicts(claims) == ["differs", "differs", "holds"]
    assert claims[0].note.startswith("−10.0 points; ")
    assert "the model expects 37.6 % → 24.5 %" in claims[0].note


def test_much_better_cannot_be_said_of_one_sweep_alone() -> None:
    claims = judge("cam-17", built(stillborn("reception", {D: 0.8, A: 0.7})))
    assert verdicts(claims) == ["not measured"] * 2
    assert claims[0].note == "there is no run of camcast-figs-17-18"
