"""The topology that an experiment names: found, read, and asked for what the file leaves out."""

from pathlib import Path
from typing import Any

from testbed.model.errors import Found, TopologyError, described
from testbed.model.topology import Topology, load_topology, read_topology


class Topologies:
    """Reads each file once, however many points a sweep has."""

    def __init__(self) -> None:
        self._read: dict[tuple[str, Path], Topology | TopologyError] = {}

    def settle(self, data: dict[str, Any], folder: Path) -> list[Found]:
        """Put the topology in place of its name, and its communities, root and gateways where the
        data have none; or `None` in its place, and say what is wrong. A relative path is looked for
        from the folder."""
        given = data.get("topology")
        if given is None:
            data.pop("topology", None)
            return []
        topology, found = self._topology(given, folder)
        data["topology"] = topology
        if topology is not None:
            data.setdefault("root", topology.root)
            data.setdefault("communities", dict(topology.communities))
            bootstrap = data.setdefault("bootstrap", {})
            if isinstance(bootstrap, dict) and topology.gateways:
                bootstrap.setdefault("overlay_gateways", topology.gateways)
        return found

    def _topology(self, given: object, folder: Path) -> tuple[Topology | None, list[Found]]:
        match given:
            case dict():
                topology, found = read_topology(given)
                return topology, [
                    problem._replace(path=("topology", *problem.path)) for problem in found
                ]
            case str():
                named = self._named(given, folder)
                if isinstance(named, Topology):
                    return named, []
                return None, [Found(("topology",), problem) for problem in named.problems]
        message = f"must be a topology's name, its file, or a mapping, is {described(given)}"
        return None, [Found(("topology",), message)]

    def _named(self, name: str, folder: Path) -> Topology | TopologyError:
        key = (name, folder)
        if key not in self._read:
            try:
                self._read[key] = load_topology(_anchored(name, folder))
            except TopologyError as error:
                self._read[key] = error
        return self._read[key]


def _anchored(name: str, folder: Path) -> str:
    """A file's path, made independent of where the reader stands; a name as it is."""
    is_path = "/" in name or name.endswith((".yaml", ".yml"))
    return str(folder / name) if is_path else name
