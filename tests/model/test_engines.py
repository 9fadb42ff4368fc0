"""Experiments with a topology, and what an engine cannot do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from testbed.model import (
    CrashHost,
    Experiment,
    ExperimentError,
    Freeze,
    LinkChange,
    load_experiment,
    load_topology,
    parse,
)

from .conftest import FULL_LAN

S = 1_000_000_000
SIM = """\
name: small
protocol: gossip-broadcast
workload: [{topic: .a.d.g}]
topology: smoke
"""
LAN = SIM + "engine: lan\n"


def experiment(text: str | Mapping[str, Any]) -> Experiment:
    return parse(text).points[0].experiment


def problems(text: str) -> list[str]:
    with pytest.raises(ExperimentError) as caught:
        parse(text, Path("f"))
    return list(caught.value.problems)


# What comes from a topology


@pytest.mark.parametrize("text", [SIM, LAN])
def test_communities_and_root_are_the_topologys(text: str) -> None:
    found = experiment(text)

    assert found.topology == load_topology("smoke")
    assert found.root == ".a"
    assert found.groups() == [((".a.d.g",), 6), ((".a.d",), 4), ((".a",), 2)]
    assert (found.transport, found.warm_up) == ("udp", 0)


def test_overlay_gateways_are_the_topologys() -> None:
    found = experiment(SIM.replace("smoke", "three-tier-overlay"))

    assert found.bootstrap.overlay_gateways == 4
    assert found.groups()[-1] == ((), 4)
    assert found.size == 118


def test_a_file_can_say_otherwise() -> None:
    found = experiment(
        SIM.replace("smoke", "three-tier-overlay")
        + "communities: {.a.d.g: 5, .a: 1}\nbootstrap: {overlay_gateways: 0, contacts: 1}\n"
    )
    assert found.groups() == [((".a.d.g",), 5), ((".a",), 1)]
    assert found.root == ".a"


def test_an_experiment_with_a_topology_reads_back_from_its_own_document() -> None:
    more = "transport: tcp\nwarm_up: 5s\nfaults: [{kind: link, at: 1s, rate: 5mbit}]\n"
    for text in (SIM, LAN + more):
        found = experiment(text)
        assert experiment(found.model_dump(mode="json")) == found
        assert Experiment.model_validate(found.model_dump(mode="json")) == found


def test_a_topology_can_stand_in_the_experiment_itself() -> None:
    inline = "{name: own, switches: {s: {}}, hosts: [{name: h, count: 3, switch: s}], communities: {.x: 4}}"
    text = SIM.replace("smoke", inline).replace(".a.d.g", ".x")

    assert experiment(text).groups() == [((".x",), 4)]
    assert problems(text.replace("switch: s", "switch: t").replace("3", "three")) == [
        "f:4:67: topology.hosts[0].count: must be a whole number, is 'three'"
    ]
    assert problems(text.replace("switch: s", "switch: t")) == [
        "f:4:78: topology.hosts[0].switch: there is no switch 't': there is s"
    ]


def test_a_topologys_file_is_looked_for_from_the_experiments_folder(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    smoke = load_topology("smoke")
    (tmp_path / "mine" / "lan.yaml").write_text(
        "name: mine\nswitches: {s: {}}\nhosts: [{name: h, switch: s}]\ncommunities: {.a.d.g: 2}\n"
    )
    file = tmp_path / "f.yaml"
    file.write_text(SIM.replace("smoke", "mine/lan.yaml"))

    found = load_experiment(file).points[0].experiment
    assert found.topology is not None
    assert found.topology.name == "mine"
    overridden = load_experiment(file, {"topology": "smoke"}).points[0].experiment
    assert overridden.topology == smoke


def test_a_sweep_can_go_over_topologies() -> None:
    text = SIM.replace("smoke", "$lan").replace(".a.d.g", ".a") + "root: .\n"
    points = parse(text + "sweep: {lan: [smoke, three-tier]}").points

    assert [point.experiment.size for point in points] == [12, 118]


def test_what_is_wrong_with_a_topology_is_told_with_both_files(tmp_path: Path) -> None:
    lan = tmp_path / "lan.yaml"
    lan.write_text("name: mine\nswitches: {s: {}}\nhosts: [{name: h, switch: t, agents: 0}]\n")
    lines = problems(LAN.replace("smoke", str(lan)) + "duration: 5\n")

    assert lines == [
        f"f:4:11: topology: {lan}:1:1: communities: is missing",
        f"f:4:11: topology: {lan}:3:38: hosts[0].agents: must be at least 1, is 0",
        "f:6:11: duration: 5 has no unit: write 5s or 5ms",
    ]


LINES = [
    (SIM.replace("smoke", "smok"), ":4:11: topology: there is no topology 'smok': "),
    (SIM.replace("smoke", "5"), ":4:11: topology: must be a topology's name, its file, or a mapping, is 5"),
    (SIM.replace("topology: smoke", ""), ":1:1: communities: is missing"),
    (SIM + "bootstrap: {overlay_gateways: 1}", ":4:11: topology: has room for 12 agents, the experiment has 13: take fewer, or a larger topology"),
    (SIM + "communities: {.a.d.g: 13}", ":4:11: topology: has room for 12 agents, the experiment has 13: take fewer, or a larger topology"),
    # The simulator
    (SIM + "transport: tcp", ":5:12: transport: means nothing to engine sim, which has no transport: leave it out"),
    (SIM + "warm_up: 5s", ":5:10: warm_up: means nothing to engine sim, whose time begins with the workload's: leave it out"),
    (SIM + "faults: [{kind: link, at: 1s, rate: 1mbit}]", ":5:17: faults[0].kind: engine sim has no links: change network.loss, or take engine lan"),
    (
        SIM.replace("topology: smoke", "communities: {.a.d.g: 5}") + "faults: [{kind: crash-host, at: 1s, count: 1}]",
        ":5:17: faults[0].kind: there are no hosts without a topology: name one, or crash agents",
    ),
    # The LAN
    (
        LAN.replace("topology: smoke", "communities: {.a.d.g: 5}"),
        ":5:9: engine: lan needs a topology: name one, such as `topology: smoke`",
    ),
    (LAN + "transport: sctp", ":6:12: transport: must be udp or tcp, is 'sctp'"),
    (LAN + "warm_up: 5", ":6:10: warm_up: 5 has no unit: write 5s or 5ms"),
    (LAN + "network: {latency: rounds}", ":6:20: network.latency: engine lan has the delays of its topology's links: leave it out"),
    (LAN + "network: {latency: {fixed: 5ms}}", ":6:20: network.latency: engine lan has the delays of its topology's links: leave it out"),
    (LAN + "network: {tick: 5us}", ":6:17: network.tick: is the simulator's: leave it out"),
    (LAN + "journal: counts", ":6:10: journal: engine lan writes full journals only: leave it out"),
    (
        LAN + "faults: [{kind: weakly-consistent, fraction: 0.1}]",
        ":6:17: faults[0].kind: engine lan cannot make one agent take another for crashed: take engine sim",
    ),
    # Faults
    (LAN + "faults: [{kind: freeze, at: 1s, count: 1}]", ":6:10: faults[0].for: is missing"),
    (LAN + "faults: [{kind: freeze, at: 1s, for: 0s, count: 1}]", ":6:10: faults[0]: must stay frozen for some time: for must be more than 0s"),
    (LAN + "faults: [{kind: freeze, at: 1s, for: 1s, count: 13}]", ":6:49: faults[0].count: must be at most 12, the agents at all, is 13"),
    (LAN + "faults: [{kind: freeze, at: 1s, for: 1s}]", ":6:10: faults[0]: needs exactly one of fraction, count and agents, has none of them"),
    (LAN + "faults: [{kind: crash-host, at: 1s}]", ":6:10: faults[0]: needs exactly one of count and hosts, has none of them"),
    (LAN + "faults: [{kind: crash-host, at: 1s, count: 1, hosts: [pc1]}]", ":6:10: faults[0]: needs exactly one of count and hosts, has both"),
    (LAN + "faults: [{kind: crash-host, at: 1s, for: 0s, count: 1}]", ":6:10: faults[0]: must stay down for some time: for must be more than 0s"),
    (LAN + "faults: [{kind: crash-host, at: 1s, count: 7}]", ":6:44: faults[0].count: must be at most 6, the hosts of smoke, is 7"),
    (LAN + "faults: [{kind: crash-host, at: 1s, hosts: [pc1, pc9]}]", ":6:50: faults[0].hosts[1]: there is no host 'pc9': there are pc1, pc2, pc3, pc4, pc5 and pc6; did you mean pc6?"),
    (LAN + "faults: [{kind: crash-host, at: 1s, hosts: [pc1, pc1]}]", ":6:44: faults[0].hosts: names pc1 twice"),
    (LAN + "faults: [{kind: link, at: 1s}]", ":6:10: faults[0]: changes nothing: give at least one of rate, loss, delay, jitter, reorder, duplicate and corrupt"),
    (LAN + "faults: [{kind: link, at: 1s, rate: 0}]", ":6:37: faults[0].rate: must be more than 0: a link that carries nothing is a loss of 1"),
    (LAN + "faults: [{kind: link, at: 1s, loss: 1.2}]", ":6:37: faults[0].loss: must be at most 1, is 1.2"),
    (LAN + "faults: [{kind: link, at: 1s, loss: 1, hosts: [pc1], groups: [pc]}]", ":6:10: faults[0]: has hosts and groups: leave out one of them"),
    (LAN + "faults: [{kind: link, at: 1s, loss: 1, groups: [cp]}]", ":6:49: faults[0].groups[0]: there is no group of hosts 'cp': there are pc"),
    (
        LAN + "faults: [{kind: link, at: 1s, jitter: 1ms}]",
        ":6:39: faults[0].jitter: is without a delay: give one that it can vary, such as delay: 20ms",
    ),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "expected"), LINES, ids=[text.splitlines()[-1] for text, _ in LINES]
)
def test_one_mistake_gets_one_line(text: str, expected: str) -> None:
    first, *more = problems(text)
    assert first.startswith(f"f{expected}")
    assert expected.endswith("'smok': ") or first == f"f{expected}"
    assert more == []


def test_a_file_that_uses_everything_of_the_lan_is_right_and_reads_back() -> None:
    for point in parse(FULL_LAN).points:
        found = point.experiment
        assert (found.size, found.root, found.transport, found.warm_up) == (13, ".a", "tcp", 5 * S)
        assert experiment(found.model_dump(mode="json")) == found


def test_loss_is_for_either_engine() -> None:
    for text in (SIM, LAN):
        assert experiment(text + "network: {loss: 0.15}").network.loss == 0.15


def test_changes_of_links_build_on_each_other_in_the_order_of_their_times() -> None:
    later = "{kind: link, at: 2s, jitter: 1ms}"
    earlier = "{kind: link, at: 1s, delay: 5ms}"

    assert len(experiment(LAN + f"faults: [{later}, {earlier}]").faults) == 2
    gone = "{kind: link, at: 3s, delay: 0s, groups: [pc]}"
    assert problems(LAN + f"faults: [{earlier}, {later}, {gone}]") == [
        "f:6:79: faults[2].jitter: is without a delay: give one that it can vary, such as delay: 20ms"
    ]


def test_the_new_faults_say_what_they_say() -> None:
    freeze, crash, link = experiment(
        LAN
        + "faults: [{kind: freeze, at: 1s, for: 2s, fraction: 0.5, communities: [.a]}, "
        + "{kind: crash-host, at: 2s, hosts: [pc3]}, "
        + "{kind: link, at: 3s, hosts: [pc1], rate: unlimited, loss: 0.1}]"
    ).faults

    assert isinstance(freeze, Freeze)
    assert (freeze.for_, freeze.fraction, freeze.communities) == (2 * S, 0.5, (".a",))
    assert isinstance(crash, CrashHost)
    assert (crash.hosts, crash.for_) == (("pc3",), None)
    assert isinstance(link, LinkChange)
    topology = load_topology("smoke")
    changed = link.applied(topology.hosts[0].link)
    assert (changed.rate, changed.loss) == (None, 0.1)
