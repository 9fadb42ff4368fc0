"""Whom a simulated peer is told of when it asks how to join."""

from __future__ import annotations

from collections import Counter

import pytest

from agents.core.draw import stream
from agents.core.messages import PeerId
from agents.core.overlay import OVERLAY
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.core.registry import protocols
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from agents.membership.static import Static
from testbed.contacts import Contacts
from testbed.model.distributions import ONE_ROUND
from testbed.sim.network import Network
from testbed.sim.world import World


@pytest.fixture
def world() -> World:
    """Ten peers that are up, of whom the even ones joined `.s`, the latest first."""
    topics = Topics()

    def protocol(port: Port) -> Protocol:
        return protocols.load("hierarchical-gossip")(
            port, Setting(topics, Directory(topics, {".": range(10)}), Static)
        )

    rng = stream(1, "network")
    network = Network(latency=ONE_ROUND, tick_ns=ONE_ROUND.value, rng=rng)
    world = World(seed=1, tick_ns=ONE_ROUND.value, network=network, make_protocol=protocol)
    for _ in range(10):
        world.start(world.add())
    for peer in (8, 6, 4, 2, 0):
        world.enroll(peer, ".s")
    return world


def contacts(
    world: World,
    peer: PeerId = 1,
    count: int = 2,
    gateways: int = 0,
) -> Contacts:
    return Contacts(world, peer, count, stream(1, "bootstrap").random, gateways)


def test_contacts_are_different_members_who_joined_before(world: World) -> None:
    for drawn in [contacts(world)[".s"] for _ in range(100)]:
        assert len(drawn) == len(set(drawn)) == 2
        assert set(drawn) <= {0, 2, 4, 6, 8}


def test_they_are_drawn_anew_each_time_and_each_as_often(world: World) -> None:
    asking = contacts(world, count=1)

    found = Counter(asking[".s"][0] for _ in range(5000))

    assert sorted(found) == [0, 2, 4, 6, 8]
    assert all(count == pytest.approx(1000, rel=0.15) for count in found.values())


def test_nobody_is_told_of_itself_nor_of_somebody_who_is_down(world: World) -> None:
    world.crash(4)
    asking = contacts(world, peer=8, count=3)

    assert {peer for _ in range(200) for peer in asking[".s"]} == {0, 2, 6}


def test_there_are_fewer_where_fewer_are_there(world: World) -> None:
    assert sorted(contacts(world, count=50)[".s"]) == [0, 2, 4, 6, 8]
    for peer in (0, 2, 4, 6):
        world.crash(peer)
    assert contacts(world, peer=8)[".s"] == []


def test_a_scope_that_nobody_joined_has_no_contacts_and_needs_no_draw(world: World) -> None:
    def never() -> float:
        raise AssertionError("nothing is to be drawn")

    assert Contacts(world, 1, 3, never)[".t"] == []


def test_gateways_are_the_first_of_those_in_the_scope_and_the_only_contacts(world: World) -> None:
    asking = contacts(world, gateways=3)

    assert {peer for _ in range(100) for peer in asking[".s"]} == {0, 2, 4}
    assert asking[".t"] == []
    world.enroll(3, ".s")
    assert {peer for _ in range(100) for peer in asking[".s"]} == {0, 2, 3}


def test_for_a_gateway_that_is_down_the_next_one_stands_in(world: World) -> None:
    asking = contacts(world, gateways=2)
    world.crash(0)

    assert {peer for _ in range(100) for peer in asking[".s"]} == {2, 4}


def test_it_is_a_mapping_of_the_scopes_that_were_joined(world: World) -> None:
    world.enroll(1, ".t")

    # "" is where peers that know no communities joined when they started.
    assert list(contacts(world)) == ["", ".s", ".t"]
    assert len(contacts(world)) == 3


def test_into_an_overlay_leads_whoever_can_and_is_up_although_it_joined_no_scope(
    world: World,
) -> None:
    def asking(peer: PeerId) -> Contacts:
        random = stream(1, "bootstrap").random
        return Contacts(world, peer, 2, random, overlay=lambda: range(7, 10))

    world.crash(8)

    assert sorted(asking(1)[OVERLAY]) == [7, 9]
    assert asking(7)[OVERLAY] == [9]
    assert contacts(world)[OVERLAY] == []
