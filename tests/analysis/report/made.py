"""A result made by hand: two runs, one that a paper speaks of and one that none does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from analysis.fidelity import Fact
from analysis.intervals import Estimate
from analysis.job import Metric, Result
from analysis.metrics.conservation import CAUSES
from analysis.papers.items import Claim, Curve, Figure, Item, Series
from analysis.runs import Run

CRASHED = (0, 0.25, 0.5)
COMMUNITIES = (".a", ".a.d")
TITLE = "What <script>alert('x')</script> & \"quotes\" do"


def experiment(**more: Any) -> dict[str, Any]:
    network = {"latency": "rounds", "loss": 0.15, "losses": []}
    return {"title": TITLE, "network": network, "faults": []} | more


def run(folder: Path, name: str, points: list[dict[str, Any]]) -> Run:
    path = folder / f"{name}-20260102-030405"
    path.mkdir()
    (path / "experiment.yaml").write_text(f"name: {name}\ntitle: {TITLE}\n")
    manifest = {
        "status": "done",
        "experiment": name,
        "engine": "sim",
        "seed": 7,
        "repetitions": 4,
        "started": "2026-01-02T03:04:05Z",
        "ended": "2026-01-02T03:04:09Z",
        "versions": {"python": "3.11.2", "testbed": "0.1.0"},
        "machine": {"system": "Linux", "cores": 2},
        "journals": {"point-0000-repetition-0000.jsonl": "0123"},
    }
    return Run(path, manifest, points, (), ())


def swept(folder: Path) -> Run:
    points = [
        {"index": i, "labels": {"algorithm": "camcast", "crashed": x}, "experiment": experiment()}
        for i, x in enumerate(CRASHED)
    ]
    return run(folder, "crashes", points)


FIDELITY = (
    Fact(what="rate, h001", asked=100, achieved=99.3, unit="Mbit/s", bound=5, ok=True),
    Fact(what="lag, worst <agent>", asked=None, achieved=312.5, unit="ms", bound=100, ok=False),
    Fact(what="full queues", asked=0, achieved=0, unit="", bound=None, ok=True),
)


def unfaithful(result: Result) -> Result:
    """Its second run measured the machine."""
    first, second = result.runs
    return replace(result, runs=(first, replace(second, fidelity=FIDELITY)))


def plain(folder: Path) -> Run:
    lossy = {"kind": "loss", "at": "1s", "loss": 0.9}
    return run(
        folder, "tour", [{"index": 0, "labels": {}, "experiment": experiment(faults=[lossy])}]
    )


def result(folder: Path, problems: tuple[str, ...] = ()) -> Result:
    metrics = [
        Metric(0, point, community, name, value)
        for point in range(len(CRASHED))
        for community in (*COMMUNITIES, "*")
        for name, value in {
            "reception": Estimate(4, 1 - 0.2 * point, 0.95 - 0.2 * point, 1 - 0.15 * point),
            "reliability": Estimate(4, 0.5, 0.25, 0.75),
            "sent": Estimate(4, 10_999 / (point + 1), 10_000 / (point + 1), 12_000 / (point + 1)),
            "members": Estimate(4, 100, 100, 100),
        }.items()
    ]
    metrics += [
        Metric(1, 0, ".a", "reception", Estimate(1, 0.875, None, None)),
        Metric(1, 0, ".a.d", "reception", Estimate(1, 1, None, None)),
        Metric(1, 0, ".a.d", "strange_new", Estimate(1, 0.0123, None, None)),
        Metric(1, 0, ".a.d", "table super .a", Estimate(3, 2.5, 2.25, 2.75)),
        Metric(1, 0, "*", "control Subscription", Estimate(3, 1234.5, 1200.0, 1269.0)),
    ]
    return Result(
        runs=(swept(folder), plain(folder)),
        metrics=tuple(metrics),
        conservation=(
            conserved(0, 0, sent=10_000, received=8_480, loss=1_520),
            conserved(0, 1, sent=10_000, received=6_000, loss=1_200, partition=2_000, crashed=800),
            conserved(0, 2, sent=0, received=0),
            conserved(1, 0, sent=1_000, received=800, loss=150, remainder=50),
        ),
        problems=problems,
    )


def conserved(folder: int, point: int, **counts: int) -> dict[str, Any]:
    none = dict.fromkeys(("sent", "received", *CAUSES, "remainder"), 0)
    return {"folder": folder, "point": point, "repetitions": 4, **none, **counts}


def claims(of: Result) -> list[Claim]:
    return [
        Claim(
            *("cam-1", "a < b & c", "8.91", "8.95", "8.80 to 9.10", "+0.4 %", "holds"),
            rule="within 15 %: <so>",
        ),
        Claim("cam-1", "reliable", "100 %", "50.0 %", "25 % to 75 %", "−50 %", "differs", "small"),
        Claim("cam-1", "on a LAN", "7 %", "", "", "", "not measured"),
    ]


def figure(
    name: str = "fig-15", metric: str = "reception", *, percent: bool = True, theory: bool = True
) -> Figure:
    return Figure(
        id=name,
        title=f"Fig. <{name}>",
        series=(
            Series("T0", "crashes", ".a", (("algorithm", "camcast"),)),
            Series("T1", "crashes", ".a.d", (("algorithm", "camcast"),)),
        ),
        axis="crashed",
        axis_title="Crashed processes",
        metric=metric,
        metric_title=metric.capitalize(),
        theory=curves if theory else None,
        percent=percent,
    )


def curves() -> list[Curve]:
    return [
        Curve("T1, eq. (3)", ((0, 1), (0.25, 0.75), (0.5, 0.5))),
        Curve("gossip", ((0, 1), (0.5, 0.9))),
    ]


def item(name: str = "cam-1", *experiments: str, figures: tuple[Figure, ...] = ()) -> Item:
    return Item(
        id=name,
        paper="camcast",
        title="Crashes & reception",
        engine="sim",
        experiments=experiments or ("crashes",),
        seconds=1,
        judge=claims,
        figures=figures or (figure(), figure("fig-13", "sent", percent=False, theory=False)),
    )
