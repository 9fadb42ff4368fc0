"""Measuring links of a LAN of bare hosts."""

import pytest

from testbed.lan.measure import measure, sample
from testbed.model.lan_parts import Link
from tests.support.namespace_hosts import LanMaker, plan_of


@pytest.mark.parametrize(
    ("hosts", "pairs"), [(1, []), (2, [(1, 2)]), (3, [(1, 3)]), (71, [(1, 71), (24, 47)])]
)
def test_pairs_are_sampled_from_all_over_the_lan(hosts: int, pairs: list[tuple[int, int]]) -> None:
    found = sample(plan_of(hosts=hosts))
    assert found[: len(pairs)] == pairs
    assert all(1 <= one <= hosts and 1 <= other <= hosts for one, other in found)


@pytest.mark.root
def test_a_lan_that_does_what_was_asked_is_found_to(make_lan: LanMaker) -> None:
    lan = make_lan(plan_of(link={"rate": "20mbit"}))
    lan.network.set_loss(0.15)
    found = {one.what: one for one in measure(lan.network, [(1, 2)])}
    assert list(found) == [
        "round trip host1 → host2",
        "loss host1 → host2",
        "rate host1 → host2",
        "rate host2 → host1",
    ]
    assert found["loss host1 → host2"].asked == pytest.approx(0.15)
    assert found["loss host1 → host2"].ok
    assert found["rate host1 → host2"].asked == 20
    assert found["rate host1 → host2"].ok
    assert lan.network.dropped() == {}


@pytest.mark.root
def test_a_link_that_does_not_do_what_was_asked_is_found_out(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.network.set_link(1, Link.read({"rate": "10mbit", "loss": 0.2}))
    lan.network.impairments.set_link(1, Link.read({"rate": "20mbit"}))  # said, and not done
    verdicts = {one.what: one.ok for one in measure(lan.network, [(1, 2)])}
    assert not verdicts["loss host1 → host2"]
    assert not verdicts["rate host1 → host2"]


@pytest.mark.root
def test_a_host_that_is_down_is_left_out(make_lan: LanMaker) -> None:
    lan = make_lan()
    lan.hosts.kill(2)
    assert measure(lan.network, [(1, 2)]) == []
    assert measure(lan.network, [(1, 3)]) != []
