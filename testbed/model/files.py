"""Experiment files: found, read, and checked at every point of their sweeps.

    text ─► nodes ─► for each point: variables replaced ─► data ─► models ─► checks

What any step finds is a field and a sentence; here it gets its place in the file, and all of it
together is one `ExperimentError`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from testbed.model.checks import check_between
from testbed.model.draft import Draft, read_experiment
from testbed.model.errors import ExperimentError, FieldPath, Found, field_text, listing
from testbed.model.expect import at_point, check_where
from testbed.model.experiment import Experiment
from testbed.model.layers import Layers, anchored
from testbed.model.places import Topologies
from testbed.model.reading import find_file, line, nodes_of, text_of
from testbed.model.sweep import (
    MAX_POINTS,
    Label,
    Sweep,
    body_of,
    check_variables,
    read_sweep,
    substituted,
    used,
)
from testbed.model.yaml_nodes import (
    Document,
    Entry,
    Mark,
    Node,
    Table,
    data_of,
    locate,
    node_of,
)

MAX_RUNS = 1_000_000
"""Of all points and repetitions together."""


@dataclass(frozen=True, slots=True)
class Point:
    """One combination of a sweep's values; the only one where there is no sweep."""

    index: int
    labels: Mapping[str, Label]
    """By axis: the value, or the name of the case."""
    experiment: Experiment


@dataclass(frozen=True, slots=True)
class ExperimentFile:
    """All that a file says, with nothing left to check."""

    name: str
    title: str | None
    path: Path
    text: str
    seed: int
    repetitions: int
    points: tuple[Point, ...]
    axes: Mapping[str, tuple[Label, ...]]


def find_experiment(name_or_path: str, folder: Path) -> Path:
    """A file that exists: the path itself, or that experiment of the folder."""
    return find_file(name_or_path, folder, ExperimentError)


def load_experiment(path: Path, overrides: Mapping[str, object] | None = None) -> ExperimentFile:
    """Read a file; `overrides` replace fields at its top, and `None` leaves them as they are.

    A protocol's file is looked for from the experiment's folder; one in `overrides`, which come
    from a command line, from the current folder.
    """
    return parse(text_of(path, ExperimentError), path, overrides)


def parse(
    document: str | Mapping[str, object],
    path: Path = Path("experiment.yaml"),
    overrides: Mapping[str, object] | None = None,
) -> ExperimentFile:
    """As `load_experiment`, from a text or from data; `path` is what errors call it."""
    root, nodes = nodes_of(document, path, ExperimentError)
    text = (
        document
        if isinstance(document, str)
        else yaml.safe_dump(data_of(node_of(document)), sort_keys=False)
    )
    return _Reading(root, nodes, path, text, overrides or {}).result()


@dataclass(slots=True)
class _Problem:
    axes: list[str]
    """Those that put the field where it is."""
    points: set[int] = field(default_factory=set)


class _Reading:
    """The reading of one file: its problems, or its points."""

    def __init__(
        self,
        root: Table,
        document: Document,
        path: Path,
        text: str,
        overrides: Mapping[str, object],
    ) -> None:
        self.path = path
        self.text = text
        self.original = root
        given = {key: value for key, value in overrides.items() if value is not None}
        self.overridden = set(given)
        self.root = root.with_entries(
            {key: Entry(None, node_of(value)) for key, value in given.items()}
        )
        self.layers = Layers()
        self.topologies = Topologies()
        self.problems: dict[tuple[Mark | None, str, str], _Problem] = {}
        for problem in document.problems:
            key = (problem.mark, field_text(problem.path), problem.message)
            self.problems[key] = _Problem([])

    def result(self) -> ExperimentFile:
        sweep = read_sweep(self.root.get("sweep"))
        body = body_of(self.root)
        self._note(self.root, sweep.found)
        self._note(self.root, self._explained(check_variables(body, sweep)))
        self._note(self.root, self._too_many(sweep))
        points = self._points(body, sweep)
        if self.problems:
            raise ExperimentError(self._lines(sweep))
        first = points[0].experiment
        return ExperimentFile(
            name=first.name,
            title=first.title,
            path=self.path,
            text=self.text,
            seed=first.seed,
            repetitions=first.repetitions,
            points=tuple(points),
            axes={axis.name: axis.labels for axis in sweep.axes},
        )

    def _points(self, body: Table, sweep: Sweep) -> list[Point]:
        points = []
        for index, position in enumerate(sweep.points()):
            if index == MAX_POINTS:
                break
            here = substituted(body, sweep.values(position))
            labels = sweep.labels(position)
            experiment, found = self._experiment(here)
            found += check_between(experiment, labels)
            found += check_where(experiment.expect or (), sweep.axes, sweep.broken)
            found += self.layers.check(experiment)
            self._note(here, found, index)
            if not isinstance(experiment, Draft):
                meant = at_point(experiment.expect, labels)
                here_only = experiment.model_copy(update={"expect": meant})
                points.append(Point(index, labels, here_only))
        return points

    def _experiment(self, body: Table) -> tuple[Experiment | Draft, list[Found]]:
        data = self._data(body)
        found = self.topologies.settle(data, self._folder("topology"))
        experiment, more = read_experiment(data)
        if found and "communities" not in body.entries:
            # They would have been the topology's.
            more = [problem for problem in more if problem.path != ("communities",)]
        return experiment, found + more

    def _folder(self, key: str) -> Path:
        """Where the files are looked for that a field names."""
        return Path.cwd() if key in self.overridden else self.path.parent.absolute()

    def _data(self, body: Table) -> dict[str, object]:
        """The plain data, in which a class in a file is named by an absolute path."""
        data: dict[str, object] = data_of(body)
        for key in ("protocol", "membership"):
            folder = self._folder(key)
            value = data.get(key)
            if isinstance(value, dict) and "name" in value:
                value["name"] = anchored(value["name"], folder)
            elif isinstance(value, str):
                data[key] = anchored(value, folder)
        return data

    def _too_many(self, sweep: Sweep) -> list[Found]:
        if sweep.count > MAX_POINTS:
            message = f"has {sweep.count} combinations, at most {MAX_POINTS} can be"
            return [Found(("sweep",), message)]
        node = self.root.get("repetitions")
        repetitions = data_of(node) if node else 1
        if type(repetitions) is int and sweep.count * repetitions > MAX_RUNS:
            runs = f"{sweep.count} points with {repetitions} repetitions"
            return [Found(("repetitions",), f"{runs} are more than {MAX_RUNS} runs")]
        return []

    def _explained(self, found: Iterable[Found]) -> Iterable[Found]:
        """Say so where an axis is without use only because of an override."""
        before = {axis for axis, _ in used(body_of(self.original))}
        names = listing(sorted(self.overridden))
        for problem in found:
            path = problem.path
            if path[0] == "sweep" and path[1] in before and path[1] not in self._used_axes():
                yield problem._replace(message=f"{problem.message} ({names} was overridden)")
            else:
                yield problem

    def _used_axes(self) -> set[str]:
        return {axis for axis, _ in used(body_of(self.root))}

    def _note(self, root: Node, found: Iterable[Found], point: int | None = None) -> None:
        """Keep each problem once, with its place and the points where it is one."""
        for problem in found:
            place = locate(root, problem.path, problem.at_key)
            if place.broken:
                continue
            key = (place.mark, self._field(place.path), problem.message)
            kept = self.problems.setdefault(key, _Problem(place.axes))
            if point is not None:
                kept.points.add(point)

    def _field(self, path: FieldPath) -> str:
        text = field_text(path)
        return f"{text} (overridden)" if path and path[0] in self.overridden else text

    def _lines(self, sweep: Sweep) -> list[str]:
        def order(item: tuple[tuple[Mark | None, str, str], _Problem]) -> tuple[Mark, str]:
            mark, name, _ = item[0]
            return mark or Mark(0, 0), name

        return [
            line(self.path, mark, name, message + self._with(problem, sweep))
            for (mark, name, message), problem in sorted(self.problems.items(), key=order)
        ]

    def _with(self, problem: _Problem, sweep: Sweep) -> str:
        """The sweep's values that a problem depends on, as it was first met."""
        if not problem.points:
            return ""
        blamed = sweep.blamed(problem.points) if sweep.count <= MAX_POINTS else []
        position = next(p for n, p in enumerate(sweep.points()) if n in problem.points)
        labels = sweep.labels(position)
        values = [f"{axis} = {labels[axis]}" for axis in labels if axis in (*problem.axes, *blamed)]
        return f" (with {', '.join(values)})" if values else ""
