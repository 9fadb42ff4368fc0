from ipaddress import IPv4Address

import pytest

from agents.core.errors import LocalError
from testbed.lan.plan import NETWORK, Plan, make_plan
from testbed.model.topology import load_topology
from tests.support.namespace_hosts import plan_of

TREE = {
    "core": {},
    "left": {"uplink": "core", "link": {"rate": "1gbit"}},
    "right": {"uplink": "core", "link": {"loss": 0.1}},
    "far": {"uplink": "right"},
}
ON_THE_TREE = [
    {"name": f"at-{name}", "switch": name, "agents": 1} for name in ("core", "left", "right", "far")
]


def tree() -> Plan:
    return plan_of(switches=TREE, groups=ON_THE_TREE)


def test_the_same_topology_gives_the_same_plan() -> None:
    topology = load_topology("three-tier")
    assert make_plan(topology, "lan") == make_plan(topology, "lan")


@pytest.mark.parametrize("name", ["three-tier", "smoke", "campus", "wan"])
def test_names_and_addresses_are_unique_and_fit(name: str) -> None:
    plan = make_plan(load_topology(name), "lan")
    ports = [host.port for host in plan.hosts] + [switch.bridge for switch in plan.switches]
    ports += [port for s in plan.switches for port in (s.up_port, s.down_port) if port]
    assert len(set(ports)) == len(ports)
    assert max(map(len, ports)) <= 15
    assert len({host.mac for host in plan.hosts}) == len(plan.hosts)
    assert len(plan.places) == sum(len(host.addresses) for host in plan.hosts)
    assert all(IPv4Address(address) in NETWORK for address in plan.places)


def test_an_address_tells_the_host_and_the_slot() -> None:
    plan = plan_of(hosts=20)
    assert plan.address(17) == "198.18.17.1"
    assert plan.address(17, 1) == "198.18.17.2"
    assert plan.places["198.18.17.2"] == (17, 1)


def test_many_hosts_share_the_addresses_more_closely() -> None:
    plan = plan_of(hosts=1000)
    assert len(plan.places) == 2000
    assert all(IPv4Address(address) in NETWORK for address in plan.places)


def test_more_agents_than_there_are_addresses_for_are_refused() -> None:
    groups = [{"name": "host", "count": 1000, "switch": "core", "agents": 1000}]
    with pytest.raises(LocalError, match="need more addresses than"):
        plan_of(groups=groups)


def test_a_host_that_is_not_there_is_refused() -> None:
    with pytest.raises(LocalError, match="there is no host 4 on LAN tried, which has hosts 1 to 3"):
        plan_of(hosts=3).host(4)


def test_every_switch_knows_the_port_to_every_host() -> None:
    plan = tree()
    bridges = {switch.name: switch.bridge for switch in plan.switches}
    names = {host.mac: host.name.removeprefix("at-") for host in plan.hosts}

    def ports(switch: str) -> dict[str, str]:
        return {names[mac]: port for mac, port in plan.forwarding(bridges[switch])}

    assert ports("core") == {"core": "h1", "left": "s1-s2", "right": "s1-s3", "far": "s1-s3"}
    assert ports("left") == {"core": "s2-up", "left": "h2", "right": "s2-up", "far": "s2-up"}
    assert ports("right") == {"core": "s3-up", "left": "s3-up", "right": "h3", "far": "s3-s4"}
    assert ports("far") == {"core": "s4-up", "left": "s4-up", "right": "s4-up", "far": "h4"}


@pytest.mark.parametrize(
    ("sender", "receiver", "passed"),
    [
        ("core", "core", []),
        ("core", "left", ["left"]),
        ("left", "far", ["left", "right", "far"]),
        ("far", "right", ["far"]),
    ],
)
def test_a_message_takes_the_uplinks_on_its_way(
    sender: str, receiver: str, passed: list[str]
) -> None:
    plan = tree()
    numbers = {host.name.removeprefix("at-"): host.number for host in plan.hosts}
    links = {switch.name: switch.link for switch in plan.switches}
    found = plan.uplinks_between(numbers[sender], numbers[receiver])
    assert found == [links[name] for name in passed]
