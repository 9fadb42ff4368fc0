"""Topologies: who hangs where, who runs where, and the very lines that a bad file gets."""

import pickle
from collections import Counter
from pathlib import Path

import pytest
import yaml

from agents.core.errors import LocalError
from testbed.model import (
    TOPOLOGIES,
    Link,
    TopologyError,
    Wire,
    find_topology,
    load_topology,
    parse_topology,
)

MS = 1_000_000
MBIT = 1_000_000

NAME = "name: small"
SWITCHES = "switches: {top: {}, left: {uplink: top, link: {rate: 1gbit, delay: 5ms}}}"
HOSTS = "hosts: [{name: a, count: 2, switch: top}, {name: b, switch: left, link: {rate: 10mbit}}]"
COMMUNITIES = "communities: {.a: 2, .a.b: 3}"
GOOD = (NAME, SWITCHES, HOSTS, COMMUNITIES)


def with_lines(*lines: str) -> str:
    """The good file, with those of its lines replaced whose keys are given."""
    keys = {line.partition(":")[0]: line for line in lines}
    kept = [keys.pop(line.partition(":")[0], line) for line in GOOD]
    return "\n".join([*kept, *keys.values()])


def problems(text: str) -> list[str]:
    with pytest.raises(TopologyError) as caught:
        parse_topology(text, Path("f"))
    assert str(caught.value) == "\n".join(caught.value.problems)
    return list(caught.value.problems)


# What a file says


def test_a_small_file_gets_every_default() -> None:
    topology = parse_topology(
        with_lines("hosts: [{name: pc, switch: top}]", "communities: {.a: 2}")
    )

    assert (topology.title, topology.root, topology.gateways) == (None, ".", 0)
    (group,) = topology.hosts
    assert (group.count, group.agents, group.link) == (1, 2, Link())
    assert Link().model_dump() == {
        "rate": None,
        "loss": 0.0,
        "delay": 0,
        "jitter": 0,
        "reorder": 0.0,
        "duplicate": 0.0,
        "corrupt": 0.0,
    }


def test_hosts_are_numbered_from_one_in_the_order_of_the_file() -> None:
    hosts = parse_topology(with_lines()).host_list()

    assert [(host.number, host.name, host.group, host.switch) for host in hosts] == [
        (1, "a1", "a", "top"),
        (2, "a2", "a", "top"),
        (3, "b", "b", "left"),
    ]
    assert [host.slots for host in hosts] == [2, 2, 2]
    assert hosts[2].link.rate == 10 * MBIT


def test_agents_go_round_the_hosts_and_gateways_come_last() -> None:
    topology = parse_topology(with_lines("gateways: 1"))

    assert topology.size == topology.slots == 6
    assert topology.placement() == [(1, 0), (2, 0), (3, 0), (1, 1), (2, 1), (3, 1)]
    assert topology.placement(2) == [(1, 0), (2, 0)]
    assert topology.placement(0) == []


def test_a_host_with_more_slots_takes_the_agents_that_the_others_have_no_room_for() -> None:
    hosts = "hosts: [{name: a, switch: top, agents: 1}, {name: b, switch: top, agents: 4}]"

    assert parse_topology(with_lines(hosts)).placement() == [(1, 0), (2, 0), (2, 1), (2, 2), (2, 3)]


def test_more_agents_than_slots_cannot_be_placed() -> None:
    with pytest.raises(LocalError, match="small has room for 6 agents, not for 7: add hosts"):
        parse_topology(with_lines()).placement(7)


def test_links_are_the_switches_from_the_top_down_and_then_the_hosts() -> None:
    switches = "switches: {low: {uplink: left}, left: {uplink: top, link: {rate: 1gbit}}, top: {}}"
    topology = parse_topology(with_lines(switches))

    gigabit, ten = Link.model_validate({"rate": "1gbit"}), Link.model_validate({"rate": "10mbit"})
    assert topology.switch_list() == ["top", "left", "low"]
    assert topology.links() == [
        Wire("left", "top", gigabit),
        Wire("low", "left", Link()),
        Wire("a1", "top", Link(), 1),
        Wire("a2", "top", Link(), 2),
        Wire("b", "left", ten, 3),
    ]


def test_a_route_climbs_only_as_far_as_it_must() -> None:
    topology = load_topology("campus")
    host = {host.name: host for host in topology.host_list()}

    def rates(one: str, other: str) -> list[int]:
        return [(link.rate or 0) // MBIT for link in topology.route(host[one], host[other])]

    assert rates("library-pc1", "library-pc2") == [100, 100]
    assert rates("library-pc1", "physics-pc1") == [100, 200, 200, 100]
    assert rates("library-pc1", "dormitory-pc1") == [100, 200, 1000, 1000, 100, 10]
    assert rates("dormitory-pc1", "server1") == [10, 100, 1000, 1000]
    assert rates("server1", "server2") == [1000, 1000]


def test_only_what_netem_alone_can_do_needs_netem() -> None:
    assert not Link.model_validate({"rate": "1mbit", "loss": 0.5}).needs_netem
    for field in ({"delay": "5ms"}, {"duplicate": 0.1}, {"corrupt": 0.1}):
        assert Link.model_validate(field).needs_netem
    assert parse_topology(with_lines()).needs_netem


def test_a_topology_reads_back_from_its_own_document_and_travels() -> None:
    for text in (with_lines(), *(path.read_text() for path in TOPOLOGIES.glob("*.yaml"))):
        topology = parse_topology(text)
        document = topology.model_dump(mode="json")
        assert parse_topology(document) == topology
        assert parse_topology(yaml.safe_dump(document)) == topology
        assert pickle.loads(pickle.dumps(topology)) == topology
    assert document["hosts"][0]["link"]["rate"] == "100mbit"


# Those of the project


@pytest.mark.parametrize("path", sorted(TOPOLOGIES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_topology_of_the_project_is_named_as_its_file(path: Path) -> None:
    topology = load_topology(path.stem)
    assert topology.name == path.stem
    assert topology.title
    assert len(topology.placement()) == topology.size


def test_the_three_tiers_are_the_papers() -> None:
    plain, overlay = load_topology("three-tier"), load_topology("three-tier-overlay")

    assert list(plain.communities.items()) == [(".a", 7), (".a.d", 27), (".a.d.g", 84)]
    assert list(overlay.communities.items()) == [(".a", 7), (".a.d", 28), (".a.d.g", 79)]
    assert (plain.gateways, overlay.gateways) == (0, 4)
    for topology in (plain, overlay):
        hosts = topology.host_list()
        assert (len(hosts), topology.slots, topology.size) == (71, 142, 118)
        assert {(host.switch, host.slots) for host in hosts} == {("lan", 2)}
        assert {host.link for host in hosts} == {Link.model_validate({"rate": "100mbit"})}
        per_host = Counter(host for host, _ in topology.placement())
        assert set(per_host.values()) == {1, 2}


def test_the_smoke_cluster_has_six_hosts_and_twelve_agents() -> None:
    topology = load_topology("smoke")
    assert (len(topology.host_list()), topology.size) == (6, 12)


def test_the_campus_is_a_tree_of_three_levels_with_different_rates() -> None:
    topology = load_topology("campus")
    host = {host.name: host for host in topology.host_list()}
    assert len(topology.route(host["library-pc1"], host["workshop-pc1"])) == 6
    assert len({wire.link.rate for wire in topology.links()}) > 3
    assert not topology.needs_netem


def test_the_sites_of_the_wan_have_delay_between_them_but_not_within() -> None:
    topology = load_topology("wan")
    host = {host.name: host for host in topology.host_list()}

    def delay(one: str, other: str) -> int:
        return sum(link.delay for link in topology.route(host[one], host[other]))

    assert topology.needs_netem
    assert delay("zurich-pc1", "zurich-pc2") == 0
    assert delay("zurich-pc1", "tokyo-pc1") == 118 * MS


# Bad files

FIELDS = [
    ("name: Small", "1:7: name: must be 1 to 100 of the letters a-z, digits and '-', is 'Small'"),
    ("nam: x", "5:1: nam: is not known here; did you mean name?"),
    (
        "colour: red",
        "5:1: colour: is not known here; there are name, title, root, switches, hosts, communities and gateways",
    ),
    ("gateways: some", "5:11: gateways: must be a whole number, is 'some'"),
    ("gateways: 2", "4:14: communities: has 7 agents with 2 gateways, the hosts have room for 6: add hosts, or agents to a host"),
    ("root: .x", "4:15: communities[.a]: topic '.a' does not lie under the root '.x'"),
    # Switches
    ("switches: {}", "2:11: switches: must have at least 1 item, has 0"),
    ("switches: [top]", "2:11: switches: must be a mapping (key: value), is a list"),
    ("switches: {top: , left: {uplink: top}}", "2:17: switches.top: must be a mapping (key: value), is empty: give a value, or remove the key"),
    ("switches: {top: {}, left: {uplnk: top}}", "2:28: switches.left.uplnk: is not known here; did you mean uplink?"),
    ("switches: {top: {}, left: {uplink: topp}}", "2:36: switches.left.uplink: there is no switch 'topp': there are top and left; did you mean top?"),
    ("switches: {top: {}, left: {}}", "2:21: switches.left: has no uplink, as top has none: a tree has one root, so give it an uplink"),
    ("switches: {top: {uplink: left}, left: {uplink: top}}", "2:26: switches.top.uplink: makes a cycle of top, left and top: one of them must have no uplink"),
    ("switches: {top: {}, left: {uplink: left}}", "2:36: switches.left.uplink: makes a cycle of left and left: one of them must have no uplink"),
    ("switches: {top: {link: {rate: 1mbit}}, left: {uplink: top}}", "2:24: switches.top.link: is to the switch above, and there is none: leave it out, or give an uplink"),
    ("switches: {top: {}, left: {uplink: top}, Low: {uplink: top}}", "2:42: switches.Low: must be 1 to 30 of the letters a-z, digits and '-', is 'Low'"),
    # Hosts
    ("hosts: []", "3:8: hosts: must have at least 1 item, has 0"),
    ("hosts: [{name: a, count: 3}]", "3:9: hosts[0].switch: is missing"),
    ("hosts: [{name: a, count: 3, switch: lift}]", "3:37: hosts[0].switch: there is no switch 'lift': there are top and left; did you mean left?"),
    ("hosts: [{name: a, count: 0, switch: top}]", "3:26: hosts[0].count: must be at least 1, is 0"),
    ("hosts: [{name: a, count: two, switch: top}]", "3:26: hosts[0].count: must be a whole number, is 'two'"),
    ("hosts: [{name: a, count: 5000, switch: top}]", "3:26: hosts[0].count: must be at most 4000, is 5000"),
    ("hosts: [{name: a, count: 1100, switch: top}]", "2:12: switches.top: has 1101 links, a switch has at most 1023 ports: use several"),
    ("hosts: [{name: a, count: 3, switch: top}, {name: a2, switch: top}]", "3:50: hosts[1].name: a2 is a host of hosts[0] already: take another name"),
    ("hosts: [{name: a, count: 3, switch: top}, {name: a, count: 2, switch: top}]", "3:50: hosts[1].name: a1 is a host of hosts[0] already and 1 more: take another name"),
    ("hosts: [{name: top, switch: top, agents: 5}]", "3:16: hosts[0].name: top is the switch top already: take another name"),
    ("hosts: [{name: 1a, switch: top, agents: 5}]", "3:16: hosts[0].name: must begin with a letter, is '1a'"),
    ("hosts: [{name: a, switch: top, agents: 0}]", "3:40: hosts[0].agents: must be at least 1, is 0"),
    ("hosts: [{name: a, count: 2, switch: top}]", "4:14: communities: has 5 agents, the hosts have room for 4: add hosts, or agents to a host"),
    # Links
    ("hosts: [{name: a, count: 3, switch: top, link: 100mbit}]", "3:48: hosts[0].link: must be a mapping (key: value), is '100mbit'"),
    ("hosts: [{name: a, count: 3, switch: top, link: {rat: 1mbit}}]", "3:49: hosts[0].link.rat: is not known here; did you mean rate?"),
    ("hosts: [{name: a, count: 3, switch: top, link: {rate: 0}}]", "3:55: hosts[0].link.rate: must be more than 0: a link that carries nothing is a loss of 1"),
    ("hosts: [{name: a, count: 3, switch: top, link: {rate: 100}}]", "3:55: hosts[0].link.rate: 100 has no unit: write 100mbit or 100kbit"),
    ("hosts: [{name: a, count: 3, switch: top, link: {loss: 1.2}}]", "3:55: hosts[0].link.loss: must be at most 1, is 1.2"),
    ("hosts: [{name: a, count: 3, switch: top, link: {delay: 5}}]", "3:56: hosts[0].link.delay: 5 has no unit: write 5s or 5ms"),
    ("hosts: [{name: a, count: 3, switch: top, link: {jitter: 5ms}}]", "3:57: hosts[0].link.jitter: is without a delay: give one that it can vary, such as delay: 20ms"),
    (
        "hosts: [{name: a, count: 3, switch: top, link: {delay: 1ms, jitter: 5ms}}]",
        "3:69: hosts[0].link.jitter: must be at most the delay of 1ms, is 5ms: nothing arrives before it was sent",
    ),
    ("hosts: [{name: a, count: 3, switch: top, link: {reorder: 0.1}}]", "3:58: hosts[0].link.reorder: is without a delay: only packets that wait can be overtaken"),
    # Communities
    ("communities: {}", "4:14: communities: must have at least 1 item, has 0"),
    ("communities: {.a: 0}", "4:14: communities: has no agents at all: give a community at least 1"),
    ("communities: {.a: -1}", "4:19: communities[.a]: must be at least 0, is -1"),
    ("communities: {.a: 1, .a: 2}", "4:22: communities[.a]: is there twice, first in line 4: remove one"),
    ("communities: {soccer: 1}", "4:15: communities.soccer: 'soccer' is no topic name: "),
]  # fmt: skip


@pytest.mark.parametrize(("line", "expected"), FIELDS, ids=[line for line, _ in FIELDS])
def test_one_mistake_gets_one_line(line: str, expected: str) -> None:
    first, *more = problems(with_lines(line))
    assert first.startswith(f"f:{expected}")
    assert expected.endswith("name: ") or first == f"f:{expected}"
    assert len(more) == (line == "root: .x")


def test_every_mistake_of_a_file_is_told_at_once_in_the_files_order() -> None:
    text = """\
nam: small
switches:
  top: {uplink: low}
  low: {uplink: top, link: {rate: 0}}
  one: {}
  two: {uplink: non, link: {loss: 1.2}, rate: 5}
  three: {}
hosts:
  - {name: a, count: 3, switch: to, colour: red}
  - {name: a2, switch: top, link: {jitter: 5ms}}
  - {name: b, switch: nowhere}
  - {name: b, switch: top, agents: 1}
communities: {.a: x, .b: 200}
"""
    assert problems(text) == [
        "f:1:1: nam: is not known here; did you mean name?",
        "f:1:1: name: is missing",
        "f:4:35: switches.low.link.rate: must be more than 0: a link that carries nothing is a loss of 1",
        "f:6:35: switches.two.link.loss: must be at most 1, is 1.2",
        "f:6:41: switches.two.rate: is not known here; there are uplink and link",
        "f:7:3: switches.three: has no uplink, as one has none: a tree has one root, so give it an uplink",
        "f:9:33: hosts[0].switch: there is no switch 'to': there are top, low, one, two and three; did you mean two?",
        "f:9:37: hosts[0].colour: is not known here; there are name, count, switch, agents and link",
        "f:10:44: hosts[1].link.jitter: is without a delay: give one that it can vary, such as delay: 20ms",
        "f:11:23: hosts[2].switch: there is no switch 'nowhere': there are top, low, one, two and three",
        "f:12:12: hosts[3].name: b is a host of hosts[2] already: take another name",
        "f:13:19: communities[.a]: must be a whole number, is 'x'",
    ]  # fmt: skip


def test_hosts_of_all_groups_together_are_counted() -> None:
    names = [f"s{number}" for number in range(6)]
    switches = {"top": {}, **{name: {"uplink": "top"} for name in names}}
    hosts = [{"name": f"{name}-pc", "count": 1000, "switch": name} for name in names]
    text = with_lines(f"switches: {switches}", f"hosts: {hosts}")

    assert problems(text) == ["f:3:8: hosts: makes 6000 hosts, at most 4000 can be on one machine"]


def test_a_file_that_is_no_mapping_or_has_nothing_in_it_is_refused() -> None:
    needs = "a topology has at least a name, switches, hosts and communities"
    assert problems("") == [f"f: is empty; {needs}"]
    assert problems("- a") == [
        "f:1:1: must be a mapping, such as `name: my-topology`, is a list"
    ]  # fmt: skip
    assert problems("a: {") == ["f:1:5: not YAML: did not find expected node content (while parsing a flow node)"]  # fmt: skip


def test_a_topology_is_found_by_name_or_by_path(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text(with_lines())

    assert find_topology("mine", tmp_path) == mine
    assert find_topology(str(mine)) == mine
    assert load_topology(mine).name == "small"
    with pytest.raises(TopologyError) as caught:
        find_topology("mime", tmp_path)
    assert str(caught.value) == (
        f"there is no topology 'mime': {tmp_path} has mine; did you mean mine?"
    )


def test_a_bad_file_is_named_in_every_line(tmp_path: Path) -> None:
    bad = tmp_path / "bad.yaml"
    bad.write_text("name: bad\nhosts: 5\n")
    with pytest.raises(TopologyError) as caught:
        load_topology(bad)
    assert len(caught.value.problems) == 3
    assert all(line.startswith(f"{bad}:") for line in caught.value.problems)
