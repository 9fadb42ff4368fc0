"""Wires of a LAN of bare hosts: who reaches whom, and that nothing else is touched."""

import socket
import subprocess
from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.lan.ledger import Ledger
from testbed.lan.namespaces import of_process, opened, socket_in
from testbed.lan.network import Network
from tests.support.namespace_hosts import Hosts, Lan, LanMaker, plan_of

pytestmark = pytest.mark.root

TREE = {
    "core": {},
    "left": {"uplink": "core", "link": {"rate": "1gbit"}},
    "right": {"uplink": "core"},
    "far": {"uplink": "right"},
}
ON_THE_TREE = [
    {"name": f"at-{name}", "switch": name, "agents": 1} for name in ("core", "left", "right", "far")
]


def output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def on_host(lan: Lan, host: int, *command: str) -> str:
    return output("nsenter", f"--net={of_process(lan.hosts.pids[host])}", "--", *command)


def in_switches(lan: Lan, *command: str) -> str:
    return output("nsenter", f"--net={lan.ledger.folder / 'switches'}", "--", *command)


def test_every_agent_reaches_every_other(make_lan: LanMaker) -> None:
    lan = make_lan()
    places = list(lan.plan.places.values())
    assert all(
        lan.passes(here[0], there[0], slots=(here[1], there[1]))
        for here in places
        for there in places
        if here != there
    )


def test_switches_in_a_tree_are_one_lan(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(switches=TREE, groups=ON_THE_TREE))
    numbers = range(1, 5)
    assert all(lan.passes(one, other) for one in numbers for other in numbers if one != other)


def test_a_long_message_arrives_in_fragments(make_lan: LanMaker) -> None:
    assert make_lan().lost(1, 2, probes=10, size=9000) == 0


def test_agents_of_one_host_reach_each_other_over_the_lan(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_loss(1)
    assert not lan.passes(1, 1, slots=(0, 1))
    assert lan.network.dropped() == {("loss", 1, 1): 1}


def test_nothing_leads_out_of_the_lan(make_lan: LanMaker) -> None:
    lan = make_lan()
    assert on_host(lan, 1, "ip", "route").splitlines() == [
        "198.18.0.0/15 dev eth0 proto kernel scope link src 198.18.1.1 "
    ]
    with (
        opened(of_process(lan.hosts.pids[1])) as namespace,
        socket_in(namespace, socket.AF_INET) as probe,
        pytest.raises(OSError, match="unreachable"),
    ):
        probe.connect(("192.0.2.1", 9))


def test_neither_switches_nor_hosts_speak_ipv6(make_lan: LanMaker) -> None:
    lan = make_lan()
    assert on_host(lan, 1, "ip", "-6", "address") == ""
    assert in_switches(lan, "ip", "-6", "address") == ""


def test_switches_have_no_address(make_lan: LanMaker) -> None:
    assert "inet" not in in_switches(make_lan(), "ip", "address")


def test_a_restarted_host_is_on_the_lan_again_with_what_impairs_it(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"rate": "10mbit"}))
    lan.network.partition([[1], [3]])
    pid = lan.hosts.restart(1)
    lan.network.attach(1, pid)
    assert lan.passes(1, 2)
    assert lan.passes(2, 1)
    assert not lan.passes(1, 3)
    assert "rate 10Mbit" in on_host(lan, 1, "tc", "qdisc", "show", "dev", "eth0")
    assert "rate 10Mbit" in in_switches(lan, "tc", "qdisc", "show", "dev", "h1")


def test_a_command_that_comes_later_finds_the_network(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_loss(1, between=([1], [2]))
    later = Network.open(lan.plan, Ledger.open(lan.ledger.folder))
    later.partition([[2], [3]])
    assert not lan.passes(1, 2)
    assert not lan.passes(3, 2)
    assert lan.passes(1, 3)


def test_lans_of_different_names_live_side_by_side(make_lan: LanMaker) -> None:
    one, other = make_lan(plan_of(name="one")), make_lan(plan_of(name="other"))
    one.network.set_loss(1)
    assert other.passes(1, 2)
    one.remove()
    assert other.passes(1, 2)


def test_a_lan_that_stands_is_not_wired_twice(make_lan: LanMaker) -> None:
    lan = make_lan()
    with pytest.raises(LocalError, match="LAN tried is wired already: 'testbed down' removes it"):
        Network.build(lan.plan, lan.hosts.pids, lan.ledger)
    assert lan.passes(1, 2)


def test_a_host_that_ended_while_it_is_wired_is_an_error_and_can_be_cleaned_up(
    make_lan: LanMaker, tmp_path: Path
) -> None:
    make_lan(plan_of(name="other"))  # for its settings
    plan = plan_of()
    ledger = Ledger.create(tmp_path / "state" / "tried")
    with Hosts(3) as hosts:
        pids = hosts.pids
        hosts.kill(2)
        with pytest.raises(LocalError, match="went away meanwhile"):
            Network.build(plan, pids, ledger)
    Network.remove(ledger)
    assert not (tmp_path / "state" / "tried" / "switches").exists()
