"""Topologies: machines, switches and links, and which agents run where.

    text ─► nodes ─► data ─► models ─► checks

A file in `topologies/`, or a mapping in an experiment, becomes a frozen `Topology`; what is wrong
with a file is one `TopologyError` that has every problem, a line for each.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from agents.core.errors import LocalError
from agents.core.topics import ROOT
from testbed.model.errors import FieldPath, Found, TopologyError, field_text
from testbed.model.lan_parts import MAX_HOSTS, MAX_SWITCHES, HostGroup, Link, NodeName, Switch
from testbed.model.parts import Amount, Name, Part, Title, TopicName
from testbed.model.reading import find_file, line, nodes_of, text_of
from testbed.model.salvage import blank, remove
from testbed.model.topology_checks import check_topology
from testbed.model.wording import findings
from testbed.model.yaml_nodes import Mark, data_of, locate

TOPOLOGIES = Path(__file__).resolve().parent.parent.parent / "topologies"
"""The project's own."""


@dataclass(frozen=True, slots=True)
class Host:
    """One machine."""

    number: int
    """From 1."""
    name: str
    group: str
    switch: str
    slots: int
    link: Link


@dataclass(frozen=True, slots=True)
class Wire:
    """A link where it hangs: from a host or a switch up to a switch."""

    node: str
    switch: str
    link: Link
    host: int | None = None
    """The host's number; `None` for a switch's uplink."""


class Topology(Part):
    """`model_dump(mode="json")` is a document that can be read again."""

    name: Name
    title: Title | None = None
    root: TopicName = ROOT
    """The topic above all others."""
    switches: Annotated[Mapping[NodeName, Switch], Field(min_length=1, max_length=MAX_SWITCHES)]
    hosts: Annotated[tuple[HostGroup, ...], Field(min_length=1, max_length=MAX_HOSTS)]
    """In groups of machines that are alike."""
    communities: Annotated[Mapping[TopicName, Amount], Field(min_length=1)]
    """How many agents are in a topic, unless an experiment says otherwise. Agents are numbered in
    this order, from 0."""
    gateways: Amount = 0
    """Overlay gateways: agents in no community, behind all others."""

    @property
    def size(self) -> int:
        """How many agents there are, gateways among them."""
        return sum(self.communities.values()) + self.gateways

    @property
    def slots(self) -> int:
        """How many agents there is room for."""
        return sum(group.count * group.agents for group in self.hosts)

    @property
    def needs_netem(self) -> bool:
        """Whether some link takes a kernel with sch_netem."""
        return any(wire.link.needs_netem for wire in self.links())

    def host_list(self) -> list[Host]:
        """All machines, in the order in which they are numbered."""
        named = [(name, group) for group in self.hosts for name in group.names()]
        return [
            Host(number, name, group.name, group.switch, group.agents, group.link)
            for number, (name, group) in enumerate(named, 1)
        ]

    def placement(self, agents: int | None = None) -> list[tuple[int, int]]:
        """For each agent its host's number and its slot there: one after another to all hosts, then
        to all that have a second slot, and so on."""
        agents = self.size if agents is None else agents
        if agents > self.slots:
            raise LocalError(
                f"topology {self.name} has room for {self.slots} agents, not for {agents}: "
                f"add hosts, or agents to a host"
            )
        hosts = self.host_list()
        most = max(host.slots for host in hosts)
        places = (
            (host.number, slot) for slot in range(most) for host in hosts if slot < host.slots
        )
        return list(islice(places, agents))

    def switch_list(self) -> list[str]:
        """All switches, each behind the one above it."""
        below: dict[str | None, list[str]] = {}
        for name, switch in self.switches.items():
            below.setdefault(switch.uplink, []).append(name)
        order = list(below[None])
        for name in order:  # grows meanwhile
            order += below.get(name, ())
        return order

    def links(self) -> list[Wire]:
        """Every link: those between switches from the top down, then those of the hosts."""
        between = [
            Wire(name, uplink, self.switches[name].link)
            for name in self.switch_list()
            if (uplink := self.switches[name].uplink) is not None
        ]
        return between + [
            Wire(host.name, host.switch, host.link, host.number) for host in self.host_list()
        ]

    def route(self, one: Host, other: Host) -> list[Link]:
        """The links that a packet takes from one host to another."""
        up, down = self._above(one.switch), self._above(other.switch)
        while len(up) > 1 and len(down) > 1 and up[-2] == down[-2]:
            up.pop()
            down.pop()
        climb = [self.switches[name].link for name in up[:-1]]
        descend = [self.switches[name].link for name in reversed(down[:-1])]
        return [one.link, *climb, *descend, other.link]

    def _above(self, switch: str) -> list[str]:
        """The switch and those above it, up to the root."""
        way, here = [switch], self.switches[switch].uplink
        while here is not None:
            way.append(here)
            here = self.switches[here].uplink
        return way


def find_topology(name_or_path: str, folder: Path = TOPOLOGIES) -> Path:
    """A file that exists: the path itself, or that topology of the folder."""
    return find_file(name_or_path, folder, TopologyError)


def load_topology(name_or_path: str | Path, folder: Path = TOPOLOGIES) -> Topology:
    """By its name in the folder, or by the path of its file."""
    path = find_topology(str(name_or_path), folder)
    return parse_topology(text_of(path, TopologyError), path)


def parse_topology(
    document: str | Mapping[str, object], path: Path = Path("topology.yaml")
) -> Topology:
    """From a text or from data; `path` is what errors call it."""
    root, nodes = nodes_of(document, path, TopologyError)
    topology, found = read_topology(data_of(root))
    problems: dict[tuple[Mark | None, str, str], None] = {
        (p.mark, field_text(p.path), p.message): None for p in nodes.problems
    }
    for problem in found:
        place = locate(root, problem.path, problem.at_key)
        if not place.broken:
            problems[(place.mark, field_text(place.path), problem.message)] = None
    if problems or topology is None:
        raise TopologyError(line(path, *problem) for problem in sorted(problems, key=_in_order))
    return topology


def _in_order(problem: tuple[Mark | None, str, str]) -> tuple[Mark, str]:
    mark, name, _ = problem
    return mark or Mark(0, 0), name


class _Draft(Part):
    """A topology in which some parts are wrong, and `None` stands for each of those."""

    root: TopicName | None = ROOT
    switches: Mapping[NodeName, Switch | None] | None = None
    hosts: tuple[HostGroup | None, ...] | None = None
    communities: Mapping[TopicName, Amount | None] | None = None
    gateways: Amount | None = 0

    def check(self) -> list[Found]:
        return check_topology(self.root, self.switches, self.hosts, self.communities, self.gateways)


def read_topology(data: dict[str, Any]) -> tuple[Topology | None, list[Found]]:
    """The topology, or what is wrong with it. The data are used up."""
    try:
        topology = Topology.read(data)
    except ValidationError as error:
        found = findings(error, Topology)
        return None, found + _behind(data, found)
    found = check_topology(
        topology.root,
        topology.switches,
        topology.hosts,
        topology.communities,
        topology.gateways,
    )
    return (None if found else topology), found


def _behind(data: dict[str, Any], found: Iterable[Found]) -> list[Found]:
    """What else is wrong, between those parts that are right in themselves."""
    _take_out(data, found)
    try:
        return _Draft.read(_drafted(data)).check()
    except ValidationError as error:
        # A mapping with an unknown key shows what else is wrong with it once the key is gone.
        more = findings(error, Topology)
    _take_out(data, more)
    try:
        return more + _Draft.read(_drafted(data)).check()
    except ValidationError:
        return more


def _take_out(data: dict[str, Any], found: Iterable[Found]) -> None:
    for problem in found:
        if not problem.at_key:
            blank(data, _part(problem.path))
        elif len(problem.path) == 2 and problem.path[0] in ("switches", "communities"):
            # Without all their names, neither switches nor agents can be counted on.
            blank(data, problem.path[:1])
        elif problem.path[0] == "switches":
            blank(data, problem.path[:2])  # the key may have been meant for its uplink
        else:
            remove(data, problem.path)


def _drafted(data: dict[str, Any]) -> dict[str, Any]:
    return {key: data[key] for key in _Draft.model_fields if key in data}


def _part(path: FieldPath) -> FieldPath:
    """The smallest part around a field that can be missing from a draft."""
    return path[:2] if path[0] in ("switches", "hosts", "communities") else path[:1]
