"""daMulticast's claims, judged by results written by hand."""

from typing import Any

from analysis.papers.damulticast import ITEMS
from tests.analysis.papers.built import about, built, verdicts

JUDGES = {item.id: item.judge for item in ITEMS}
T2, T1, T0 = ".t0.t1.t2", ".t0.t1", ".t0"


def sweep(name: str, values: dict[tuple[str, str], float]) -> Any:
    return name, [({"failed": share}, values) for share in (0, 0.1, 0.3, 0.4, 0.5, 0.9)]


def stillborn(values: dict[tuple[str, str], float]) -> Any:
    return sweep("damulticast-figs-8-10", values)


def test_good_reliability_is_read_from_what_the_living_send() -> None:
    # With 30 % failed, all the living send 7700, 630 and 49.
    values = {(T2, "sent"): 7700.0, (T1, "sent"): 0.95 * 630, (T0, "sent"): 0.8 * 49}
    claims = JUDGES["da-8"](built(stillborn(values)))
    good = [claim for claim in claims if "good reliability" in claim.text]
    assert verdicts(good) == ["holds", "holds", "differs"]
    assert [claim.measured for claim in good] == ["100.0 %", "95.0 %", "80.0 %"]


def test_at_least_one_event_goes_up() -> None:
    claims = JUDGES["da-9"](built(stillborn({(T2, "upward_sent"): 3.0, (T1, "upward_sent"): 0.9})))
    assert verdicts(claims) == ["holds", "differs", "not measured"]


def test_smaller_further_up_is_judged_for_a_process_and_for_all() -> None:
    values = {
        (community, metric): value
        for metric, row in (("reception", (0.99, 0.8, 0.6)), ("reliability", (0.3, 0.6, 0.5)))
        for community, value in zip((T2, T1, T0), row, strict=True)
    }
    claims = JUDGES["da-10"](built(stillborn(values)))
    assert about(claims, "reception probability is smaller").verdict == "holds"
    by_reliability = about(claims, "reliability is smaller")
    assert by_reliability.verdict == "differs"
    assert "least likely where there are most" in by_reliability.note


def test_much_better_is_judged_above_for_a_process_and_everywhere_for_all() -> None:
    before = {(T1, "reception"): 0.8, (T0, "reception"): 0.6} | dict.fromkeys(
        [(T2, "reliability"), (T1, "reliability"), (T0, "reliability")], 0.5
    )
    after = before | {(T1, "reception"): 0.95, (T0, "reliability"): 0.7}
    claims = JUDGES["da-11"](built(stillborn(before), sweep("damulticast-fig-11", after)))
    assert verdicts(claims) == ["holds", "differs", "differs", "differs", "holds"]


def test_nothing_run_is_nothing_measured() -> None:
    for item in ITEMS:
        assert set(verdicts(item.judge(built()))) == {"not measured"}
