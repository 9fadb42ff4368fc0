"""What CAMCAST says of its LAN is judged as its rules have it, on numbers made for the purpose."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from analysis.intervals import Estimate
from analysis.job import Result
from analysis.papers.camcast_lan import LAN, PSELS, SIMULATED, VERSIONS
from analysis.papers.items import Claim
from analysis.papers.registry import find
from analysis.theory import upward
from analysis.theory.communities import Community
from tests.analysis.papers.built import about, built, measured

SIZES = {"V1": (84, 27), "V2": (79, 28), "V3": (79, 28)}

Value = Callable[[str, float], float]
"""By membership and psel."""


def expected_upward(version: str, psel: float, place: int) -> float:
    size = SIZES[version][place]
    return upward.arrived(Community(size, c=0, g=psel * size, a=2, z=4, psucc=1))


def as_the_paper_says(half: float = 0.01, **other: Value) -> Result:
    """Every claim holds; `other` replaces single metrics on the LAN, `half` is of every interval."""
    ahead = {"V1": 0.0, "V2": 0.05, "V3": 0.06}
    good: dict[str, Value] = {
        "reception": lambda version, psel: min(1.0, 0.9 + psel + ahead[version]),
        "reliability": lambda version, psel: min(1.0, 0.93 + psel + ahead[version]),
        "efficiency": lambda version, psel: 0.5 - 0.3 * psel + ahead[version],
        "rounds": lambda version, psel: 9 - 3 * psel,
    }

    def points(changes: dict[str, Value]) -> list[tuple[dict[str, Any], dict[Any, Any]]]:
        found = []
        for version in VERSIONS:
            for psel in PSELS:
                values = {
                    (community, name): measured(value(version, psel), half)
                    for name, value in {**good, **changes}.items()
                    if name != "upward_received"
                    for community in (".a.d", ".a", "*")
                }
                values[".a.d.g", "upward_share"] = measured(psel)
                for place, community in enumerate((".a.d", ".a")):
                    count = changes.get("upward_received")
                    values[community, "upward_received"] = measured(
                        count(version, psel) if count else expected_upward(version, psel, place),
                        0.5,
                    )
                found.append(({"membership": version, "psel": psel}, values))
        return found

    return built((LAN, points(other)), (SIMULATED, points({})), repetitions=10)


def judged(result: Result, name: str) -> list[Claim]:
    (item,) = find([name])
    return list(item.judge(result))


def test_numbers_as_the_paper_has_them_make_every_claim_hold() -> None:
    result = as_the_paper_says()

    verdicts = {
        claim.text: claim.verdict for item in find(["camcast-lan"]) for claim in item.judge(result)
    }

    assert len(verdicts) == 37
    assert set(verdicts.values()) == {"holds"}


def test_nothing_is_claimed_of_what_was_not_measured() -> None:
    nothing = built(("another", []))

    for item in find(["camcast-lan"]):
        assert {claim.verdict for claim in item.judge(nothing)} == {"not measured"}


def test_a_reliability_of_one_half_at_psel_one_tenth_is_not_very_high() -> None:
    result = as_the_paper_says(reliability=lambda version, psel: 0.5 if psel <= 0.1 else 1.0)

    claims = judged(result, "cam-21")

    assert about(claims, "very high").verdict == "differs"
    assert about(claims, "7 % of the processes").verdict == "differs"
    assert "V1 50.0 %" in about(claims, "very high").measured


def test_one_membership_is_enough_to_show_what_is_possible() -> None:
    result = as_the_paper_says(reliability=lambda version, psel: 1.0 if version == "V3" else 0.5)

    assert about(judged(result, "cam-22"), "reliability in Π_a with 7 %").verdict == "holds"


def test_a_structured_membership_that_does_worse_contradicts_the_order() -> None:
    result = as_the_paper_says(reception=lambda version, psel: 0.7 if version == "V3" else 0.9)

    assert about(judged(result, "cam-19"), "V3 ≥ V2 ≥ V1").verdict == "differs"


def test_memberships_that_chance_may_have_put_in_order_are_unclear() -> None:
    result = as_the_paper_says(
        reception=lambda version, psel: {"V1": 0.9, "V2": 0.89, "V3": 0.905}[version]
    )

    claims = judged(result, "cam-19")

    assert about(claims, "V3 ≥ V2 ≥ V1").verdict == "unclear"
    assert "beyond chance: none" in about(claims, "V3 ≥ V2 ≥ V1").note


def test_two_that_may_be_apart_or_close_are_unclear() -> None:
    result = as_the_paper_says(
        reception=lambda version, psel: {"V1": 0.9, "V2": 0.905, "V3": 0.95}[version],
        half=0.05,
    )

    assert about(judged(result, "cam-19"), "V1 and V2 perform differently").verdict == "unclear"


def test_v1_above_v3_contradicts_the_order_though_neither_is_apart_from_v2() -> None:
    result = as_the_paper_says(
        reception=lambda version, psel: {"V1": 0.93, "V2": 0.915, "V3": 0.9}[version]
    )

    claim = about(judged(result, "cam-19"), "V3 ≥ V2 ≥ V1")

    assert claim.verdict == "differs"
    assert "V3 < V1" in claim.note


def test_seven_percent_is_of_one_membership_and_of_everybody() -> None:
    good_above = as_the_paper_says(
        reliability=lambda version, psel: 1.0 if version == "V3" else 0.5
    )
    claim = about(judged(good_above, "cam-22"), "all three communities")

    assert claim.verdict == "holds"
    assert "V3 7.0 %" in claim.note


def test_differences_of_single_runs_are_nobodys() -> None:
    whole = as_the_paper_says()
    single = replace(
        whole,
        metrics=tuple(
            replace(m, value=Estimate(1, m.value.mean, None, None)) for m in whole.metrics
        ),
    )

    claims = judged(single, "cam-19")

    for words in ("V3 ≥ V2 ≥ V1", "V1 and V2 perform differently", "simulator agree"):
        assert about(claims, words).verdict == "unclear"


def test_two_that_are_surely_close_do_not_differ() -> None:
    result = as_the_paper_says(reception=lambda version, psel: 0.9)

    assert about(judged(result, "cam-19"), "V1 and V2 perform differently").verdict == "differs"


def test_engines_are_compared_at_every_point_or_not_at_all() -> None:
    whole = as_the_paper_says()
    lacking = replace(
        whole,
        metrics=tuple(m for m in whole.metrics if (m.folder, m.point, m.name) != (1, 0, "rounds")),
    )

    claim = about(judged(lacking, "cam-25"), "simulator agree")

    assert (claim.verdict, claim.ours) == ("not measured", True)


def test_upward_messages_a_fifth_off_are_not_in_proportion() -> None:
    result = as_the_paper_says(
        upward_received=lambda version, psel: 1.2 * expected_upward(version, psel, 0)
    )

    claims = [claim for claim in judged(result, "cam-27") if "N·psel" in claim.text]

    assert [claim.verdict for claim in claims] == ["differs"] * 3
    assert "20.0 %" in claims[0].note


def test_engines_that_differ_are_said_to() -> None:
    result = as_the_paper_says(rounds=lambda version, psel: 19 - 3 * psel)

    claim = about(judged(result, "cam-25"), "simulator agree")

    assert (claim.verdict, claim.measured) == ("differs", "0 of 24 points")
    assert "overtake" in claim.note
