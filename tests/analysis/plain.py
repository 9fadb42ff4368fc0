"""The metrics a second time, in plain Python, from their definitions alone.

Written from the docstrings of `agents.core.journal` and `analysis.metrics`, over the records of a
full journal one after another; it shares no code with the analysis or the simulator's recorders.
"""

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from tests.analysis.folders import lines_of

Records = list[dict[str, Any]]
Values = dict[tuple[int, str, str], float]
"""By point, community and metric."""

DEFAULTS = {
    "community": "",
    "event": "",
    "topic": "",
    "hop": 0,
    "upward": False,
    "size": 0,
    "message": "",
    "duplicate": False,
    "parasite": False,
    "cause": "",
    "copies": 1,
}
TO_MS = 1e-6


def means(run: Path) -> Values:
    """Every metric of a run folder of the level `full`: its mean over repetitions."""
    found: dict[tuple[int, str, str], list[float]] = defaultdict(list)
    for point, values in _repetitions(run):
        for (community, name), value in values.items():
            found[point, community, name].append(value)
    return {key: statistics.mean(values) for key, values in found.items()}


def deviations(run: Path) -> Values:
    found: dict[tuple[int, str, str], list[float]] = defaultdict(list)
    for point, values in _repetitions(run):
        for (community, name), value in values.items():
            found[point, community, name].append(value)
    return {key: statistics.stdev(values) for key, values in found.items() if len(values) > 1}


def conservation(run: Path) -> dict[int, Counter[str]]:
    """By point: messages sent, received, and dropped by cause; what was refused had arrived."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    for point, records in _journals(run):
        for record in records:
            if record["kind"] in ("send", "receive"):
                found[point][record["kind"]] += 1
            elif record["kind"] == "drop" and record["cause"] != "refused":
                found[point][record["cause"]] += record["copies"]
    return found


def _repetitions(run: Path) -> Iterator[tuple[int, dict[tuple[str, str], float]]]:
    points = json.loads((run / "points.json").read_text())
    for point, records in _journals(run):
        experiment = points[point]["experiment"]
        yield point, _of_events(records, experiment) | _of_whole_run(records)


def _journals(run: Path) -> Iterator[tuple[int, Records]]:
    """Each repetition's records; where several files have them, one after another by their time."""
    found: dict[tuple[int, int], Records] = defaultdict(list)
    for path in sorted((run / "journal").iterdir()):
        header, *records = map(json.loads, lines_of(path))
        place = (header["point"], header["repetition"])
        found[place] += [DEFAULTS | record for record in records]
    for (point, _), records in found.items():
        yield point, sorted(records, key=lambda record: record["time"])


def _of_whole_run(records: Records) -> dict[tuple[str, str], float]:
    control = Counter(r["message"] for r in records if r["kind"] == "send" and not r["event"])
    sizes = defaultdict(list)
    for record in records:
        if record["kind"] == "table":
            sizes[record["community"], f"table {record['message']}"].append(record["size"])
    return {("*", f"control {kind}"): float(n) for kind, n in control.items()} | {
        key: statistics.mean(found) for key, found in sizes.items()
    }


def _of_events(records: Records, experiment: Mapping[str, Any]) -> dict[tuple[str, str], float]:
    stories: dict[str, list[dict[str, Any]]] = defaultdict(list)
    living, ever = _memberships(records)
    for publication in records:
        if publication["kind"] == "publish":
            rows = list(_rows(publication, records, living, ever, experiment))
            for row in [*rows, _everywhere(rows)]:
                stories[row["community"]].append(row)
    return {
        (community, name): value
        for community, rows in stories.items()
        for name, value in _metrics(rows).items()
        if value is not None
    }


def _memberships(records: Records) -> tuple[dict[str, dict[int, int]], set[str]]:
    """Who is a member at the end, and since when; and the communities anybody was ever in."""
    members: dict[str, dict[int, int]] = defaultdict(dict)
    for record in records:
        agent, community = record["agent"], record["community"]
        if record["kind"] == "join" and agent not in members[community]:
            members[community][agent] = record["time"]
        elif record["kind"] == "leave":
            members[community].pop(agent, None)
        elif record["kind"] == "crash":
            for those in members.values():
                those.pop(agent, None)
    return members, set(members)


def _rows(
    publication: Mapping[str, Any],
    records: Records,
    living: Mapping[str, Mapping[int, int]],
    ever: set[str],
    experiment: Mapping[str, Any],
) -> Iterator[dict[str, Any]]:
    """What the event did in each community."""
    event, at = publication["event"], publication["time"]
    its = [
        record
        for record in records
        if record["event"] == event
        and record["kind"] in ("send", "receive", "deliver", "drop")
        and record["cause"] != "refused"
    ]
    audience = set(_including(publication["topic"], experiment))
    got = {record["agent"] for record in its if record["kind"] == "deliver"}
    came = {record["community"] for record in its}
    home = {publication["topic"], publication["community"]}
    for community in (audience & ever) | home | came:
        here = [record for record in its if record["community"] == community]
        meant = living.get(community, {}) if community in audience else {}
        members = {agent for agent, since in meant.items() if since <= at}
        received = [record for record in here if record["kind"] == "receive"]
        first = [record for record in received if not record["duplicate"]]
        up = [record for record in here if record["kind"] == "send" and record["upward"]]
        times = sorted(record["time"] - at for record in first)
        hops = [record["hop"] for record in first]
        yield {
            "community": community,
            "sent": sum(r["kind"] == "send" and not r["upward"] for r in here),
            "received": len(received),
            "duplicates": sum(r["duplicate"] for r in received),
            "parasites": sum(r["parasite"] for r in received),
            "dropped": sum(r["copies"] for r in here if r["kind"] == "drop"),
            "upward_sent": len(up),
            "upward_senders": len({r["agent"] for r in up}),
            "upward_received": sum(r["upward"] for r in received),
            "members": len(members),
            "reached": len(members & got),
            "hops": (min(hops), max(hops)) if hops else None,
            "ns": (times[0], statistics.median_low(times), times[-1]) if times else None,
        }


def _everywhere(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """All communities together; who is in two counts twice. The last arrival is known if every
    community that has living members got the event."""
    sums = {
        name: sum(row[name] for row in rows)
        for name in rows[0]
        if name not in ("community", "hops", "ns")
    }
    came = [row for row in rows if row["hops"]]
    whole = all(row["reached"] for row in rows if row["members"])
    hops = ns = None
    if came and whole:
        hops = (min(r["hops"][0] for r in came), max(r["hops"][1] for r in came))
        ns = (min(r["ns"][0] for r in came), None, max(r["ns"][2] for r in came))
    return {"community": "*", **sums, "hops": hops, "ns": ns}


def _metrics(rows: list[dict[str, Any]]) -> dict[str, float | None]:
    """Over a repetition's events in one community."""
    peopled = [row for row in rows if row["members"]]
    came = [row for row in rows if row["hops"]]
    received = sum(row["received"] for row in rows)
    useful = received - sum(row["duplicates"] for row in rows)
    timed = [row for row in came if row["ns"][1] is not None]
    return {
        "reception": _mean(row["reached"] / row["members"] for row in peopled),
        "reliability": _mean(row["reached"] == row["members"] for row in peopled),
        "members": _mean(row["members"] for row in rows),
        **{
            name: _mean(row[name] for row in rows)
            for name in ("sent", "received", "duplicates", "dropped", "parasites")
        },
        "useful": useful / len(rows),
        "efficiency": useful / received if received else None,
        "upward_sent": _mean(row["upward_sent"] for row in rows),
        "upward_received": _mean(row["upward_received"] for row in rows),
        "upward_share": _mean(min(1, r["upward_senders"] / r["members"]) for r in peopled),
        "first_hops": _mean(row["hops"][0] for row in came),
        "rounds": _mean(row["hops"][1] for row in came),
        "first_ms": _mean(row["ns"][0] * TO_MS for row in came),
        "median_ms": _mean(row["ns"][1] * TO_MS for row in timed),
        "last_ms": _mean(row["ns"][2] * TO_MS for row in came),
    }


def _including(topic: str, experiment: Mapping[str, Any]) -> Iterator[str]:
    """The topic, what includes it by its name, and further parents, with all that include those."""
    yield topic
    if topic == experiment["root"]:
        return
    above = [topic[: topic.rindex(".")] or "."]
    above += experiment["topics"].get(topic, {}).get("parents", [])
    for parent in above:
        yield from _including(parent, experiment)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None
