"""Which communities an event is meant for: those of its topic and of all that include it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from analysis.frames import frame
from analysis.runs import Run


def audiences(spark: SparkSession, runs: Sequence[Run]) -> DataFrame:
    """`folder`, `point`, `topic`, `community`: a row for each community that a topic concerns."""
    rows = [
        (number, int(point["index"]), topic, community)
        for number, run in enumerate(runs)
        for point in run.points
        for topic, above in including(point["experiment"]).items()
        for community in above
    ]
    columns = {"folder": "int", "point": "long", "topic": "string", "community": "string"}
    return frame(spark, columns, rows)


def including(experiment: Mapping[str, Any]) -> dict[str, list[str]]:
    """Every topic of a resolved experiment, with itself and all topics that include it."""
    root = experiment["root"]
    further = {name: settings["parents"] for name, settings in experiment["topics"].items()}
    named = [*experiment["communities"], *(t for g in experiment["agents"] for t in g["topics"])]
    return {topic: _upwards(topic, root, further) for topic in _paths(named, root)}


def _paths(topics: Iterable[str], root: str) -> list[str]:
    found: dict[str, None] = {}
    for topic in topics:
        while topic != root:
            found[topic] = None
            topic = _parent(topic)
    return [*found, root]


def _upwards(topic: str, root: str, further: Mapping[str, Sequence[str]]) -> list[str]:
    found: dict[str, None] = {}
    waiting = [topic]
    while waiting:
        name = waiting.pop(0)
        if name not in found:
            found[name] = None
            if name != root:
                waiting += [_parent(name), *further.get(name, ())]
    return list(found)


def _parent(topic: str) -> str:
    return topic.rpartition(".")[0] or "."
