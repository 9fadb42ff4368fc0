"""CAMCAST on its three memberships (5.2): whole hierarchies, in the simulator."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from agents.core.interest import Topic
from agents.core.messages import Event, PeerId, ns
from agents.core.overlay import OnOverlay
from agents.protocols.camcast import Camcast
from testbed.model.experiment import Experiment
from testbed.sim.scenario import Scenario
from testbed.sim.world import World

HIERARCHY = {".": 7, ".d": 28, ".d.g": 79}
"""The paper's own (6.2.1)."""


class Deliveries:
    """To whom events were delivered, by community."""

    def __init__(self, world: World) -> None:
        self.by_community: dict[str, set[PeerId]] = {}
        for peer in range(len(world.protocols)):
            world.listeners[peer] = _Listener(self, peer)


class _Listener:
    def __init__(self, deliveries: Deliveries, peer: PeerId) -> None:
        self._deliveries = deliveries
        self._peer = peer

    def on_deliver(self, event: Event, community: str) -> None:
        self._deliveries.by_community.setdefault(community, set()).add(self._peer)

    def on_joined(self, community: str) -> None:
        pass


def scenario(
    membership: str,
    communities: Mapping[str, int],
    seed: int,
    *,
    super_contacts: int | None = None,
    **parameters: Any,
) -> Scenario:
    structured = "pgrid" in membership
    if super_contacts is None:
        super_contacts = 0 if structured else 4
    experiment = {
        "name": "hierarchy",
        "protocol": {"name": "camcast", **parameters},
        "membership": membership,
        "communities": dict(communities),
        "network": {"latency": {"uniform": ["1ms", "3ms"]}},
        "bootstrap": {
            "contacts": 2,
            "spacing": "100ms",
            "overlay_gateways": 4 if structured else 0,
            "super_contacts": super_contacts,
        },
        "workload": [{"topic": "." if "." in communities else next(iter(communities)), "at": "1h"}],
        "duration": "40s",
    }
    return Scenario(Experiment.model_validate(experiment), seed)


def camcast(world: World, peer: PeerId) -> Camcast:
    protocol = world.protocols[peer]
    inner = protocol.protocol if isinstance(protocol, OnOverlay) else protocol
    assert isinstance(inner, Camcast)
    return inner


@pytest.mark.parametrize("order", [(".", ".d", ".d.g"), (".d.g", ".d", ".")])
@pytest.mark.parametrize("membership", ["scamp+pgrid", "pgrid"])
def test_joined_in_sequence_through_four_gateways_events_of_g_reach_a(
    membership: str, order: tuple[str, ...]
) -> None:
    communities = {topic: HIERARCHY[topic] for topic in order}
    run = scenario(membership, communities, 1, c=0, a=2, z=4)
    world, deliveries = run.world, Deliveries(run.world)

    run.run()
    world.publish(run.members[".d.g"][0], ".d.g", psel=1.0)
    world.run(world.now + ns(5))

    assert deliveries.by_community["."] == set(run.members["."])
    assert len(deliveries.by_community[".d"]) >= 26
    assert len(deliveries.by_community[".d.g"]) >= 70
    assert not any(set(run.experiment.overlay_gateways) & set(p) for p in run.members.values())
    assert "refused" not in world.dropped
    for topic in (".d", ".d.g"):
        parent = topic.rpartition(".")[0] or "."
        for peer in run.members[topic]:
            known = camcast(world, peer).communities[topic].tables[parent].views[parent]
            assert len(known) == 4
            assert set(known) <= set(run.members[parent])


def test_structured_tables_have_exactly_floor_of_ln_n_plus_c_entries() -> None:
    run = scenario("pgrid", HIERARCHY, 2, c=1, a=2, z=4)

    run.run()

    for topic, size in HIERARCHY.items():
        wanted = math.floor(math.log(size) + 1)
        for peer in run.members[topic]:
            table = camcast(run.world, peer).communities[topic].membership.members
            assert len(set(table)) == len(table) == wanted
            assert set(table) <= set(run.members[topic]) - {peer}


def entries_and_fanouts(world: World, topic: str) -> set[tuple[int, int]]:
    """Of all who live and are in that community."""
    lives = [life for life in world.protocols if isinstance(life, OnOverlay)]
    inner = [life.protocol for life in lives if isinstance(life.protocol, Camcast)]
    found = [each.communities[topic] for each in inner if topic in each.communities]
    return {(len(each.membership.members), each.fanout) for each in found}


def test_they_are_as_large_as_so_many_living_need() -> None:
    run = scenario("pgrid", {".": 60}, 3, c=0)
    world = run.world
    run.run()
    assert entries_and_fanouts(world, ".") == {(4, 4)}

    for peer in run.members["."][12:]:
        world.crash(peer)
    world.run(world.now + ns(60))

    assert entries_and_fanouts(world, ".") == {(2, 2)}


@pytest.mark.parametrize(("count", "wanted"), [(2, 1), (40, 3)])
def test_so_they_are_in_a_community_that_nobody_foresaw(count: int, wanted: int) -> None:
    run = scenario("pgrid", {".": 60}, 4, c=0)
    world = run.world
    run.run()

    run.topics.add_path(".new")
    for peer in run.members["."][:count]:
        camcast(world, peer).subscribe(Topic(".new"))
        world.run(world.now + ns(0.1))
    world.run(world.now + ns(15))

    assert entries_and_fanouts(world, ".new") == {(wanted, wanted)}
    assert camcast(world, run.members["."][0]).communities[".new"].psel == min(1, 5 / count)


@pytest.mark.parametrize("membership", ["scamp", "scamp+pgrid", "pgrid"])
@pytest.mark.parametrize("seed", [1, 2])
def test_when_all_in_the_super_topic_tables_crash_the_next_event_reaches_the_root_again(
    membership: str, seed: int
) -> None:
    run = scenario(
        membership, {".": 16, ".d": 2, ".d.g": 8}, seed, z=3, a=3, psel=1, maintain_every_s=2
    )
    world, deliveries = run.world, Deliveries(run.world)
    run.run()
    known = {p for d in run.members[".d"] for p in camcast(world, d).views()[".d", "super ."]}
    assert 3 <= len(known) <= 6

    for peer in known:
        world.crash(peer)
    world.run(world.now + ns(60))
    world.publish(run.members[".d.g"][0], ".d.g", psel=1.0)
    world.run(world.now + ns(5))

    living = set(run.members["."]) - known
    for process in run.members[".d"]:
        table = camcast(world, process).views()[".d", "super ."]
        assert table
        assert set(table) <= living
    assert len(deliveries.by_community["."] & living) >= 0.9 * len(living)
    assert deliveries.by_community[".d"] == set(run.members[".d"])


@pytest.mark.parametrize("membership", ["scamp+pgrid", "pgrid"])
def test_who_joins_when_the_only_other_has_just_crashed_can_publish_all_the_same(
    membership: str,
) -> None:
    run = scenario(membership, {".": 12, ".d": 2}, 4, a=3)
    world, deliveries = run.world, Deliveries(run.world)
    run.run()
    first, second = run.members[".d"]
    world.crash(second)
    world.run(world.now + ns(60))

    world.crash(first)
    world.run(world.now + ns(5))
    world.restart(second)
    world.publish(second, ".d", psel=1.0)
    world.run(world.now + ns(50))

    assert camcast(world, second).communities[".d"].ready
    assert deliveries.by_community[".d"] == {second}

    world.publish(second, ".d", psel=1.0)
    world.run(world.now + ns(5))
    assert deliveries.by_community["."] == set(run.members["."])


CHECKS_EVERY_S = 10 * 79 / 5
"""How often a process of 79 looks after its super-topic table: maintain_every_s N / g, by default."""


@pytest.mark.parametrize(
    ("membership", "patience_s"),
    [("scamp", 3 * CHECKS_EVERY_S), ("scamp+pgrid", 3 * CHECKS_EVERY_S), ("pgrid", 2 * 10)],
)
def test_by_default_too_who_knows_only_dead_above_it_comes_to_know_a_living_one(
    membership: str, patience_s: float
) -> None:
    run = scenario(membership, HIERARCHY, 1, c=0, a=2, z=4)
    world = run.world
    run.run()
    process = run.members[".d.g"][1]
    dead = set(camcast(world, process).views()[".d.g", "super .d"])
    assert len(dead) == 4

    for peer in dead:
        world.crash(peer)
    world.run(world.now + ns(patience_s))

    known = set(camcast(world, process).views()[".d.g", "super .d"])
    assert known - dead


@pytest.mark.parametrize("membership", ["scamp", "scamp+pgrid", "pgrid"])
def test_without_upkeep_super_topic_tables_stay_as_they_are(membership: str) -> None:
    run = scenario(membership, {".": 16, ".d": 20}, 1, z=3, maintain_every_s=0)
    world = run.world
    run.run()

    def tables() -> list[Sequence[PeerId]]:
        return [list(camcast(world, peer).views()[".d", "super ."]) for peer in run.members[".d"]]

    before = tables()
    assert [len(table) for table in before] == [3] * 20
    for peer in run.members["."][:12]:
        world.crash(peer)
    world.run(world.now + ns(120))

    assert tables() == before


def test_given_super_contacts_are_only_what_the_structured_version_begins_with() -> None:
    run = scenario("pgrid", {".": 40, ".d": 4}, 1, super_contacts=3)
    world = run.world
    run.run()

    def tables() -> list[set[PeerId]]:
        return [set(camcast(world, peer).views()[".d", "super ."]) for peer in run.members[".d"]]

    before = tables()
    world.run(world.now + ns(25))

    assert all(now != then for now, then in zip(tables(), before, strict=True))


def test_the_structured_versions_super_topic_tables_grow_with_z() -> None:
    run = scenario("pgrid", {".": 16, ".d": 8}, 1, z=2)
    world = run.world
    run.run()

    for peer in run.members[".d"]:
        camcast(world, peer).configure(".d", {"z": 5})
    world.run(world.now + ns(1))

    for peer in run.members[".d"]:
        assert len(camcast(world, peer).views()[".d", "super ."]) == 5


def test_with_nobody_in_the_direct_super_topic_processes_further_up_are_found() -> None:
    run = scenario("pgrid", {".": 5, ".d.g": 10}, 3, z=3, a=3)
    world, deliveries = run.world, Deliveries(run.world)
    run.run()

    world.publish(run.members[".d.g"][0], ".d.g", psel=1.0)
    world.run(world.now + ns(5))

    assert deliveries.by_community["."] == set(run.members["."])
