"""Losses, partitions and rates on a LAN of bare hosts, by what arrives."""

import json
import threading

import pytest

from agents.core.errors import LocalError
from testbed.lan.abilities import Abilities, abilities
from testbed.model.lan_parts import Link
from tests.support.namespace_hosts import Lan, LanMaker, plan_of

pytestmark = pytest.mark.root

PROBES = 120_000
"""One standard deviation of 30 % is then 0.13 points, so half a point is 3.8 of them: chance alone
fails one test of 6,000."""


def lost_share(lan: Lan, sender: int, receiver: int, probes: int = PROBES) -> float:
    return lan.lost(sender, receiver, probes) / probes


@pytest.mark.parametrize("loss", [0.05, 0.15, 0.3])
def test_as_much_is_lost_as_was_asked_and_all_of_it_is_counted(
    make_lan: LanMaker, loss: float
) -> None:
    lan = make_lan()
    lan.network.set_loss(loss)
    lost = lan.lost(1, 2, PROBES)
    assert lost / PROBES == pytest.approx(loss, abs=0.005)
    assert lan.network.dropped() == {("loss", 1, 2): lost}


def test_a_links_own_loss_holds_in_each_direction(make_lan: LanMaker) -> None:
    groups = [
        {"name": "bad", "switch": "core", "link": {"loss": 0.3}},
        {"name": "good", "count": 2, "switch": "core"},
    ]
    lan = make_lan(plan_of(groups=groups))
    assert lost_share(lan, 1, 2) == pytest.approx(0.3, abs=0.005)
    assert lost_share(lan, 2, 1) == pytest.approx(0.3, abs=0.005)
    assert lan.lost(2, 3, 1000) == 0


def test_an_uplinks_loss_holds_once_in_each_direction(make_lan: LanMaker) -> None:
    lan = make_lan(
        plan_of(
            switches={"core": {}, "side": {"uplink": "core", "link": {"loss": 0.3}}},
            groups=[{"name": "one", "switch": "core"}, {"name": "two", "switch": "side"}],
        )
    )
    assert lost_share(lan, 1, 2) == pytest.approx(0.3, abs=0.005)
    assert lost_share(lan, 2, 1) == pytest.approx(0.3, abs=0.005)


def test_a_message_in_fragments_is_lost_once(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_loss(0.3)
    probes = 6000
    lost = lan.lost(1, 2, probes, size=4000)
    assert lost / probes == pytest.approx(0.3, abs=0.025)
    assert lan.network.dropped() == {("loss", 1, 2): lost}


def test_a_loss_between_groups_is_one_way_and_of_no_others(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_loss(1, between=([1], ["198.18.2.1"]))
    assert not lan.passes(1, 2)
    assert lan.passes(1, 2, slots=(0, 1))
    assert lan.passes(2, 1)
    assert lan.passes(1, 3)


def test_the_more_special_loss_holds(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_loss(1)
    lan.network.set_loss(0, hosts=[2])
    lan.network.set_loss(1, between=([2], [3]))
    assert not lan.passes(1, 2)
    assert lan.passes(2, 1)
    assert not lan.passes(2, 3)


def test_a_partition_separates_until_it_heals(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(hosts=4))
    lan.network.partition([[1, 2], [3]])
    assert lan.passes(1, 2)
    assert not lan.passes(1, 3)
    assert not lan.passes(3, 2)
    assert lan.passes(4, 1)
    assert lan.passes(3, 4)
    assert lan.network.dropped() == {("partition", 1, 3): 1, ("partition", 3, 2): 1}
    lan.network.heal()
    assert lan.passes(1, 3)


def test_a_partition_can_go_through_a_host(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.partition([["198.18.1.1", "198.18.2.1"], ["198.18.1.2", "198.18.2.2"]])
    assert lan.passes(1, 2, slots=(0, 0))
    assert lan.passes(1, 2, slots=(1, 1))
    assert not lan.passes(1, 2, slots=(0, 1))
    assert not lan.passes(1, 1, slots=(0, 1))


def test_changes_do_not_disturb_traffic(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"rate": "100mbit"}))
    stop = threading.Event()

    def keep_changing() -> None:
        while not stop.is_set():
            lan.network.set_loss(1, between=([2], [3]))
            lan.network.set_link(1, Link.read({"rate": "90mbit"}))
            lan.network.set_link(1, Link.read({"rate": "100mbit"}))

    changing = threading.Thread(target=keep_changing)
    changing.start()
    try:
        assert lan.lost(1, 2, PROBES) == 0
    finally:
        stop.set()
        changing.join()


def test_a_link_can_be_changed_while_the_lan_runs(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_link(2, Link.read({"rate": "10mbit", "loss": 1.0}))
    assert not lan.passes(1, 2)
    assert not lan.passes(2, 1)
    lan.network.set_link(2, Link())
    assert lan.passes(1, 2)


def test_a_full_queue_drops_and_counts(make_lan: LanMaker) -> None:
    groups = [
        {"name": "fast", "switch": "core"},
        {"name": "slow", "switch": "core", "link": {"rate": "1mbit"}},
    ]
    lan = make_lan(plan_of(groups=groups))
    lost = lan.lost(1, 2, probes=500, size=1000)
    assert lost > 0
    assert lan.network.dropped() == {("overflow", None, 2): lost}


@pytest.mark.slow
def test_iperf3_gets_what_a_link_of_100_mbit_carries_both_ways_at_once(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"rate": "100mbit"}))
    for _ in range(3):  # a busy machine can make a transfer slower, but none faster
        with lan.hosts.run(2, "iperf3", "--server", "--one-off", "--forceflush") as server:
            assert server.stdout is not None
            while "listening" not in server.stdout.readline():
                pass
            client = ("iperf3", "--client", lan.plan.address(2), "--bidir", "--time", "4", "--json")
            with lan.hosts.run(1, *client) as running:
                told = json.loads(running.communicate()[0])
            server.communicate()
        ends = ("sum_received", "sum_received_bidir_reverse")
        achieved = [told["end"][end]["bits_per_second"] / 1e6 for end in ends]
        assert max(achieved) <= 100
        if min(achieved) >= 90:
            break
    assert min(achieved) >= 90


def test_no_loss_is_taken_for_none(make_lan: LanMaker) -> None:
    with pytest.raises(LocalError, match="a loss must be between 0 and 1, is 15"):
        make_lan().network.set_loss(15)


def test_what_needs_netem_is_refused_without_it(make_lan: LanMaker) -> None:
    without = Abilities(without_netem="No such file or directory")
    with pytest.raises(LocalError, match="a delay of 20ms needs the kernel's sch_netem"):
        make_lan(plan_of(link={"delay": "20ms"}), can=without)
    lan = make_lan(can=without)
    with pytest.raises(LocalError, match="duplicate needs the kernel's sch_netem"):
        lan.network.set_link(1, Link.read({"duplicate": 0.1}))
    assert lan.passes(1, 2)


def test_loss_is_refused_where_nothing_can_do_it(make_lan: LanMaker) -> None:
    neither = Abilities(without_netem="no netem", without_drops="no nftables")
    lan = make_lan(can=neither)
    with pytest.raises(LocalError, match=r"has neither \(no nftables; no netem\)"):
        lan.network.set_loss(0.1)
    with pytest.raises(LocalError, match="a partition needs nftables"):
        lan.network.partition([[1], [2]])


def test_this_machine_can_do_rates_and_losses(make_lan: LanMaker) -> None:
    assert abilities().without_rate == ""
    assert abilities().without_drops == ""
