"""What netem does to a LAN of bare hosts. `bin/test-netem` runs this under a kernel that has it.

Such a kernel may run in an emulator that is twenty times slower than the machine: so times have a
wide margin above and none below, and numbers of probes are small.
"""

import select
import socket
import struct
import time
from collections.abc import Iterator

import pytest

from testbed.lan.abilities import Abilities, abilities
from testbed.lan.measure import measure
from testbed.model.lan_parts import Link
from tests.support.namespace_hosts import Lan, LanMaker, needs_root, plan_of

pytestmark = pytest.mark.kernel

SLACK_MS = 40
NUMBER = struct.Struct("=Q")


@pytest.fixture(autouse=True)
def _with_netem() -> None:
    if reason := needs_root() or abilities().without_netem:
        pytest.skip(f"this kernel has no netem: {reason}; bin/test-netem boots one that has")


def trips(lan: Lan, count: int, every_s: float = 0.005) -> Iterator[tuple[int, float]]:
    """Datagrams from host 1 to host 2, in the order in which they came: number and milliseconds."""
    here, there = lan.plan.address(1), lan.plan.address(2)
    with lan.hosts.socket(1, here) as sending, lan.hosts.socket(2, there) as receiving:
        sent = []
        for number in range(count):
            sent.append(time.monotonic())
            sending.sendto(NUMBER.pack(number), (there, 9000))
            yield from _came(receiving, sent, every_s)
        yield from _came(receiving, sent, 1.0)


def _came(
    receiving: socket.socket, sent: list[float], wait_s: float
) -> Iterator[tuple[int, float]]:
    until = time.monotonic() + wait_s
    while select.select([receiving], [], [], max(0.0, until - time.monotonic()))[0]:
        (number,) = NUMBER.unpack(receiving.recv(100))
        yield number, 1e3 * (time.monotonic() - sent[number])


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def test_this_kernel_can_do_everything() -> None:
    assert abilities() == Abilities()


def test_messages_take_the_delays_of_both_links(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"delay": "50ms"}))
    found = [ms for _number, ms in trips(lan, 40)]
    assert len(found) == 40
    assert min(found) >= 100
    assert middle(found) <= 100 + SLACK_MS


def test_a_delay_is_measured(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"delay": "25ms"}))
    trip = measure(lan.network, [(1, 2)])[0]
    assert trip.what == "round trip host1 → host2"
    assert trip.asked == pytest.approx(100)
    assert 100 <= trip.achieved <= 100 + SLACK_MS


def test_jitter_spreads_delays_to_both_sides(make_lan: LanMaker) -> None:
    groups = [
        {"name": "one", "switch": "core", "link": {"delay": "100ms", "jitter": "50ms"}},
        {"name": "two", "switch": "core"},
    ]
    found = [ms for _number, ms in trips(make_lan(plan_of(groups=groups)), 100)]
    assert len(found) == 100
    assert 50 <= min(found) < 90
    assert max(found) > 110
    assert middle(found) == pytest.approx(100, abs=SLACK_MS)


def test_some_messages_overtake_those_that_wait(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"delay": "50ms", "reorder": 0.3}))
    order = [number for number, _ms in trips(lan, 60)]
    assert len(order) == 60
    assert order != sorted(order)


def test_some_messages_come_twice(make_lan: LanMaker) -> None:
    groups = [
        {"name": "one", "switch": "core", "link": {"duplicate": 0.5}},
        {"name": "two", "switch": "core"},
    ]
    lan = make_lan(plan_of(groups=groups))
    order = [number for number, _ms in trips(lan, 200, every_s=0)]
    assert len(set(order)) == 200
    assert 250 <= len(order) <= 350


def test_a_message_with_a_wrong_bit_does_not_pass_for_a_right_one(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"corrupt": 1.0}))
    assert lan.lost(1, 2, probes=50) >= 25  # a bit of the frame's header may not matter


@pytest.mark.parametrize("loss", [0.05, 0.15, 0.3])
def test_loss_is_nftables_and_counted_beside_a_delay(make_lan: LanMaker, loss: float) -> None:
    lan = make_lan(plan_of(link={"rate": "100mbit", "delay": "1ms"}))
    lan.network.set_loss(loss)
    probes = 20_000
    lost = lan.lost(1, 2, probes)
    assert lost / probes == pytest.approx(loss, abs=0.015)
    assert lan.network.dropped() == {("loss", 1, 2): lost}


@pytest.mark.parametrize("loss", [0.05, 0.15, 0.3])
def test_loss_is_netems_where_nftables_cannot(make_lan: LanMaker, loss: float) -> None:
    lan = make_lan(can=Abilities(without_drops="as if there were no nftables"))
    lan.network.set_loss(loss)
    probes = 20_000
    lost = lan.lost(1, 2, probes)
    assert lost / probes == pytest.approx(loss, abs=0.015)
    assert lan.network.dropped() == {("loss", 1, None): lost}


def test_a_rate_holds_behind_a_delay(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"rate": "2mbit", "delay": "5ms"}))
    rates = [one for one in measure(lan.network, [(1, 2)]) if one.what.startswith("rate")]
    assert [one.asked for one in rates] == [2, 2]
    assert all(one.ok for one in rates)


def test_a_delay_comes_changes_and_goes_while_the_lan_runs(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"rate": "100mbit"}))
    for delay in ("100ms", "200ms", "0s"):
        link = Link.read({"rate": "100mbit", "delay": delay})
        lan.network.set_link(1, link)
        found = [ms for _number, ms in trips(lan, 10)]
        assert len(found) == 10
        assert link.delay / 1e6 <= middle(found) <= link.delay / 1e6 + SLACK_MS


def test_a_restarted_host_has_its_delay_again(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"delay": "50ms"}))
    lan.network.attach(1, lan.hosts.restart(1))
    found = [ms for _number, ms in trips(lan, 10)]
    assert len(found) == 10
    assert min(found) >= 100
