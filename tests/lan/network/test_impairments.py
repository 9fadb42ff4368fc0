from pathlib import Path

import pytest

from agents.core.errors import LocalError
from testbed.lan.drops import Rules, ruleset
from testbed.lan.impairments import Impairments, addresses
from testbed.model.lan_parts import Link
from tests.support.namespace_hosts import plan_of


def test_hosts_stand_for_all_their_agents() -> None:
    assert addresses(plan_of(), [2, "198.18.1.2", 2]) == ("198.18.1.2", "198.18.2.1", "198.18.2.2")


def test_an_address_of_nobody_is_refused() -> None:
    with pytest.raises(LocalError, match=r"nobody on LAN tried has the address 198\.18\.9\.1"):
        addresses(plan_of(), ["198.18.9.1"])


def test_losses_on_the_way_are_drawn_one_after_another() -> None:
    plan = plan_of(link={"loss": 0.5})
    impairments = Impairments(loss=0.2)
    asked = impairments.loss_asked(plan, plan.address(1), plan.address(2))
    assert asked == pytest.approx(1 - 0.8 * 0.5 * 0.5)


def test_the_more_special_loss_takes_the_place_of_the_general_one() -> None:
    plan = plan_of()
    impairments = Impairments()
    impairments.set_loss(plan, 0.1)
    impairments.set_loss(plan, 0.2, senders=[1])
    impairments.set_loss_between(plan, [1], [2], 0.3)

    def asked(sender: int, receiver: int) -> float:
        return impairments.loss_asked(plan, plan.address(sender), plan.address(receiver))

    assert asked(1, 2) == pytest.approx(0.3)
    assert asked(1, 3) == pytest.approx(0.2)
    assert asked(2, 1) == pytest.approx(0.1)
    impairments.set_loss_between(plan, [1], [2], 0)
    assert asked(1, 2) == 0
    assert len(impairments.between) == 1


def test_a_partition_loses_everything_between_its_sides_and_nothing_else() -> None:
    plan = plan_of()
    impairments = Impairments()
    impairments.set_sides(plan, [["198.18.1.1"], [2]])
    assert impairments.loss_asked(plan, "198.18.1.1", "198.18.2.2") == 1
    assert impairments.loss_asked(plan, "198.18.1.2", "198.18.2.2") == 0
    assert impairments.loss_asked(plan, "198.18.2.1", "198.18.2.2") == 0


def test_nobody_is_on_two_sides() -> None:
    with pytest.raises(LocalError, match="can be on one only"):
        Impairments().set_sides(plan_of(), [[1, 2], ["198.18.1.2"]])


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    plan = plan_of()
    impairments = Impairments(loss=0.1)
    impairments.set_loss_between(plan, [1], [2], 0.3)
    impairments.set_sides(plan, [[1], [2]])
    impairments.set_link(3, Link.read({"rate": "1mbit", "delay": "5ms"}))
    impairments.write(tmp_path)
    assert Impairments.read(tmp_path) == impairments
    assert Impairments.read(tmp_path).link(plan, 3).rate == 1_000_000


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "impairments.json").write_text('{"loss": "much"}')
    with pytest.raises(LocalError, match=r"impairments\.json is damaged"):
        Impairments.read(tmp_path)


def test_a_link_loses_in_both_directions_and_an_uplink_once_in_each() -> None:
    plan = plan_of(
        switches={"core": {}, "side": {"uplink": "core", "link": {"loss": 0.25}}},
        groups=[
            {"name": "one", "switch": "core", "link": {"loss": 0.5}},
            {"name": "other", "switch": "side"},
        ],
    )
    rules = Impairments().rules(plan)
    assert rules.into_ports == {"h1": 0.5, "s2-up": 0.25, "s1-s2": 0.25}
    assert rules.out_of_ports == {"h1": 0.5}


def test_rules_are_replaced_in_one_transaction_that_keeps_the_counts() -> None:
    text = ruleset(Rules(loss=0.15), ["h1"], pairs=9)
    assert "numgen random mod 1000000000 < 150000000 goto dropped_by_loss" in text
    assert "flush table" in text
    assert "delete" not in text
    assert "flush set" not in text


def test_what_is_never_lost_is_not_drawn_and_what_always_is_neither() -> None:
    assert "numgen" not in ruleset(Rules(), ["h1"], pairs=9)
    always = ruleset(Rules(loss=1), ["h1"], pairs=9)
    assert "numgen" not in always
    assert "sending goto dropped_by_loss" in always
