"""Whatever the bytes: a topology, or a `TopologyError` of one line for each problem."""

import string
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from testbed.model import TOPOLOGIES, Topology, TopologyError, load_topology, parse_topology

CAMPUS = (TOPOLOGIES / "campus.yaml").read_text()
WAN = (TOPOLOGIES / "wan.yaml").read_text()
KEYS = sorted(
    {word for word in (CAMPUS + WAN).replace(":", " ").replace("{", " ").split() if word.isidentifier()}
)  # fmt: skip
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5000)
    | st.integers()
    | st.floats()
    | st.sampled_from(["5ms", "0s", ".a", ".", "core", "exchange", "100mbit", "0mbit", "1gbit"])
    | st.sampled_from(KEYS)
    | st.text(max_size=5)
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), inner, max_size=4)
    ),
    max_leaves=12,
)


def outcome(document: Any) -> Topology | TopologyError:
    try:
        return parse_topology(document, Path("f"))
    except TopologyError as error:
        return error


def read(document: Any) -> None:
    result = outcome(document)
    if isinstance(result, Topology):
        stands(result)
        return
    assert result.problems
    for line in result.problems:
        assert line.startswith("f:")
        assert "\n" not in line
        assert "pydantic" not in line
        assert "nput should" not in line


def stands(topology: Topology) -> None:
    """What whoever builds the LAN relies on."""
    hosts = topology.host_list()
    names = [host.name for host in hosts]
    assert len({*names, *topology.switches}) == len(names) + len(topology.switches)
    assert sorted(topology.switch_list()) == sorted(topology.switches)
    assert len(topology.links()) == len(hosts) + len(topology.switches) - 1
    places = topology.placement()
    assert len(set(places)) == len(places) == topology.size
    slots = {host.number: host.slots for host in hosts}
    assert all(0 <= slot < slots[host] for host, slot in places)
    assert len(topology.route(hosts[0], hosts[-1])) >= 2
    assert parse_topology(topology.model_dump(mode="json")) == topology


@given(st.text() | st.text(alphabet="[]{}:,-&*!|>'\"%@`# \n\tab$.5<?~"))
def test_any_text(text: str) -> None:
    read(text)


@given(st.binary())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "f.yaml"
    path.write_bytes(data)
    with pytest.raises(TopologyError):
        load_topology(path)


@given(st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=4), TREES, max_size=6))
def test_any_tree(tree: dict[str, object]) -> None:
    read(tree)
    read(yaml.safe_dump(tree, allow_unicode=True))


def paths(node: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path] if path else []
    if isinstance(node, dict):
        for key, value in node.items():
            found += paths(value, (*path, key))
    elif isinstance(node, list):
        for position, value in enumerate(node):
            found += paths(value, (*path, position))
    return found


PATHS = paths(yaml.safe_load(WAN)) + paths(yaml.safe_load(CAMPUS))


@given(
    st.sampled_from([CAMPUS, WAN]),
    st.lists(st.tuples(st.sampled_from(PATHS), TREES), min_size=1, max_size=3),
)
@settings(max_examples=200)
def test_a_good_file_with_some_values_exchanged(
    text: str, changes: list[tuple[tuple[str | int, ...], object]]
) -> None:
    tree = yaml.safe_load(text)
    for path, value in changes:
        node = tree
        try:
            for step in path[:-1]:
                node = node[step]
            node[path[-1]] = value
        except (KeyError, IndexError, TypeError):
            continue  # that place is another file's, or an earlier change took it away
    read(tree)
    read(yaml.safe_dump(tree, allow_unicode=True))


@given(
    st.lists(
        st.tuples(
            st.integers(0, len(CAMPUS)),
            st.integers(0, 8),
            st.text(alphabet=string.printable + "é$&*", max_size=3),
        ),
        min_size=1,
        max_size=4,
    )
)
@settings(max_examples=200)
def test_a_good_file_with_some_letters_exchanged(edits: list[tuple[int, int, str]]) -> None:
    text = CAMPUS
    for start, length, new in edits:
        text = text[:start] + new + text[start + length :]
    read(text)


@st.composite
def forests(draw: st.DrawFn) -> dict[str, Any]:
    """Switches with any uplinks among themselves: trees, forests and cycles."""
    names = [f"s{number}" for number in range(draw(st.integers(1, 6)))]
    uplinks = draw(
        st.lists(st.sampled_from([None, *names]), min_size=len(names), max_size=len(names))
    )
    return {
        "name": "forest",
        "switches": {n: {"uplink": up} if up else {} for n, up in zip(names, uplinks, strict=True)},
        "hosts": [{"name": f"h{n}-", "count": 2, "switch": n} for n in names],
        "communities": {".a": 2},
    }


@given(forests())
def test_switches_are_accepted_exactly_where_they_are_one_tree(document: dict[str, Any]) -> None:
    switches = document["switches"]
    uplinks = {name: switch.get("uplink") for name, switch in switches.items()}

    def climbs_out(name: str | None) -> bool:
        for _ in range(len(uplinks) + 1):
            if name is None:
                return True
            name = uplinks[name]
        return False

    is_tree = list(uplinks.values()).count(None) == 1 and all(map(climbs_out, uplinks))
    assert isinstance(outcome(document), Topology) == is_tree
    read(document)
