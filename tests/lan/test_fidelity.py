"""What a machine achieved: the worst counts, and nothing counts twice."""

from typing import Any

from testbed.lan.fidelity import MAX_LAG_MS, Fact, Fidelity

MS = 1_000_000


def status(
    agent: int = 0, lag_ms: float = 1, overflow: int = 0, dropped: int = 0
) -> dict[str, Any]:
    return {
        "agent": agent,
        "life": 0,
        "lag_max_ns": round(lag_ms * MS),
        "overflow": overflow,
        "dropped": {"overflow": dropped} if dropped else {},
    }


def fact(fidelity: Fidelity, words: str) -> Fact:
    (found,) = [fact for fact in fidelity.facts() if words in fact.what]
    return found


def test_nothing_is_said_of_what_nobody_measured() -> None:
    assert Fidelity().facts() == []


def test_the_worst_agent_counts_and_is_held_against_the_bound() -> None:
    fidelity = Fidelity()
    fidelity.note_agents([status(0, lag_ms=3), status(1, lag_ms=MAX_LAG_MS + 1)])
    fidelity.note_agents([status(0, lag_ms=2)])

    lag = fact(fidelity, "lag")

    assert (lag.achieved, lag.ok) == (MAX_LAG_MS + 1, False)


def test_what_an_agent_dropped_is_counted_once_however_often_it_is_asked() -> None:
    fidelity = Fidelity()
    for _ in range(8):  # points that share a bring-up
        fidelity.note_agents([status(0, overflow=2), status(1, dropped=1)], "first")
    fidelity.note_agents([status(0, overflow=4)], "second")

    dropped = fact(fidelity, "full queues")

    assert (dropped.achieved, dropped.ok) == (7, False)


def test_lateness_within_its_bound_is_fine() -> None:
    fidelity = Fidelity()
    fidelity.note_lateness(40 * MS)
    fidelity.note_lateness(10 * MS)

    assert (fact(fidelity, "lateness").achieved, fact(fidelity, "lateness").ok) == (40.0, True)


def test_links_are_taken_over_as_they_were_measured() -> None:
    link = {"what": "loss", "asked": 5.0, "achieved": 5.1, "unit": "%", "bound": 0.5, "ok": True}
    fidelity = Fidelity()
    fidelity.note_links([link])

    assert fidelity.facts() == [Fact(**link)]
