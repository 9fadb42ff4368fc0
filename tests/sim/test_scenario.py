"""A scenario: an experiment's agents, workload and faults, as its journal tells of them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from statistics import mean
from typing import Any

import pytest

from agents.protocols.gossip import GossipMulticast
from testbed.model.files import parse
from testbed.sim.full_recorder import FullRecorder
from testbed.sim.scenario import Scenario

Line = dict[str, Any]
S = 1_000_000_000
MS = 1_000_000
BASE: dict[str, object] = {
    "name": "scenario",
    "protocol": "gossip-broadcast",
    "communities": {".": 5, ".a": 20, ".a.b": 25},
    "workload": [{"topic": ".a.b", "at": "1s"}],
}


def scenario(seed: int = 1, repetition: int = 0, **fields: object) -> Scenario:
    return Scenario(parse({**BASE, **fields}).points[0].experiment, seed, repetition)


class Told:
    """A scenario that has run, and its journal."""

    def __init__(self, made: Scenario) -> None:
        self.scenario = made
        self.world = made.world
        self.text = b""
        lines: list[bytes] = []
        self.world.recorder = FullRecorder(self.world, made.topics, made.codec, lines.append)
        made.run()
        self.text = b"".join(lines)
        self.records: list[Line] = [
            {"agent": -1, "peer": -1, "event": "", "hop": 0, "cause": "", **json.loads(line)}
            for line in lines
        ]

    def of(self, *kinds: str) -> list[Line]:
        return [record for record in self.records if record["kind"] in kinds]

    def times(self, *kinds: str) -> list[tuple[int, int]]:
        return [(record["time"] // MS, record["agent"]) for record in self.of(*kinds)]


def told(seed: int = 1, repetition: int = 0, **fields: object) -> Told:
    return Told(scenario(seed, repetition, **fields))


def agents(records: Iterable[Line]) -> set[int]:
    return {record["agent"] for record in records}


# Who is where


def test_agents_are_numbered_in_the_order_of_the_file_those_of_several_topics_last() -> None:
    made = scenario(agents=[{"topics": [".a", "."], "count": 3}])

    assert made.members == {
        ".": [*range(5), 50, 51, 52],
        ".a": [*range(5, 25), 50, 51, 52],
        ".a.b": list(range(25, 50)),
    }
    assert len(made.world.protocols) == 53


def test_agents_start_at_once_or_one_after_the_other() -> None:
    at_once = told()
    spaced = told(bootstrap={"spacing": "10ms"})

    assert at_once.times("join") == [(0, agent) for agent in range(50)]
    assert spaced.times("join") == [(max(1, 10 * agent), agent) for agent in range(50)]


@pytest.mark.parametrize("protocol", ["camcast", "gossip-broadcast", "hierarchical-gossip"])
def test_overlay_gateways_start_first_and_take_part_in_no_community(protocol: str) -> None:
    found = told(
        protocol=protocol,
        bootstrap={"spacing": "10ms", "overlay_gateways": 3},
        network={"losses": [{"from": ".a", "to": ".", "loss": 0.5}]},
        faults=[{"kind": "crash", "at": "900ms", "fraction": 1, "communities": ["."]}],
    )

    assert found.scenario.members[".a.b"] == list(range(25, 50))
    assert found.world.has_lived(52)
    assert found.world.interests(52) == ()
    joins = [(time, agent) for time, agent in found.times("join") if agent < 50]
    assert {time for time, agent in joins if agent == 0} == {30}
    assert not agents(found.of("deliver")) & {50, 51, 52}
    assert {50, 51, 52}.isdisjoint(agents(found.of("crash")))


def test_a_frozen_agent_gets_its_events_late_and_nobody_else_does() -> None:
    frozen = {"kind": "freeze", "at": "900ms", "for": "3s", "agents": [30]}
    found = told(faults=[frozen], duration="10s")

    late = [record for record in found.of("deliver") if record["agent"] == 30]
    assert [record["time"] // MS for record in late] == [3900]
    others = [record for record in found.of("deliver") if record["agent"] != 30]
    assert max(record["time"] for record in others) < 2 * S
    assert found.world.in_flight == 0


def test_who_is_frozen_publishes_nothing() -> None:
    frozen = {"kind": "freeze", "at": "900ms", "for": "3s", "fraction": 1, "communities": [".a.b"]}
    found = told(faults=[frozen])

    assert found.scenario.unpublished == 1
    assert found.of("publish") == []


def test_a_host_crashes_and_comes_back_with_the_agents_that_are_placed_on_it() -> None:
    found = told(
        topology="smoke",
        communities={".a": 4, ".a.d": 8},
        workload=[{"topic": ".a", "at": "5s"}],
        faults=[
            {"kind": "crash-host", "at": "1s", "for": "2s", "hosts": ["pc2"]},
            {"kind": "crash-host", "at": "4s", "hosts": ["pc6"]},
        ],
    )

    assert found.times("crash") == [(1000, 1), (1000, 7), (4000, 5), (4000, 11)]
    assert found.times("restart") == [(3000, 1), (3000, 7)]


def test_the_same_experiment_runs_with_a_topology_as_with_its_communities() -> None:
    communities = {".a.d.g": 6, ".a.d": 4, ".a": 2}
    workload = [{"topic": ".a.d.g", "at": "1s"}]
    with_topology = told(topology="smoke", communities=communities, workload=workload)
    without = told(root=".a", communities=communities, workload=workload)

    assert with_topology.text == without.text


def test_contacts_are_gateways_where_the_experiment_asks_for_them() -> None:
    found = told(
        protocol="gossip-multicast",
        membership={"name": "scamp", "indirection": False},
        bootstrap={"gateways": 2, "spacing": "20ms"},
        workload=[{"topic": ".a.b", "at": "5s"}],
        duration="6s",
    )
    asked = {r["peer"] for r in found.of("send") if r["message"] == "Subscription"}

    # The first two of those interested in each of the three topics are the root's.
    assert asked == {0, 1}


# The workload


def test_so_many_events_are_published_so_often() -> None:
    found = told(
        workload=[
            {"topic": ".a.b", "at": "2s", "count": 4, "every": "250ms"},
            {"topic": ".", "at": "2100ms", "bytes": 9},
        ]
    )

    published = [(r["time"] // MS, r["topic"], r.get("size", 0)) for r in found.of("publish")]
    assert published == [
        (2000, ".a.b", 64),
        (2100, ".", 9),
        (2250, ".a.b", 64),
        (2500, ".a.b", 64),
        (2750, ".a.b", 64),
    ]
    assert found.scenario.unpublished == 0


def test_publishers_are_drawn_among_the_topics_own_members_each_as_often() -> None:
    found = told(
        communities={".": 5, ".a": 10},
        workload=[{"topic": ".a", "count": 1000, "every": "1ms"}],
        protocol={"name": "gossip-broadcast", "c": -50},
    )

    publishers = Counter(record["agent"] for record in found.of("publish"))
    assert sorted(publishers) == list(range(5, 15))
    assert all(count == pytest.approx(100, rel=0.35) for count in publishers.values())


def test_a_publisher_can_be_named_whatever_it_is_interested_in() -> None:
    found = told(workload=[{"topic": ".a", "at": "1s", "count": 3, "publisher": 30}])

    assert [record["agent"] for record in found.of("publish")] == [30, 30, 30]


def test_only_the_living_publish_and_what_nobody_can_publish_is_counted() -> None:
    found = told(
        communities={".": 2, ".a": 3},
        workload=[
            {"topic": ".a", "at": "1s", "count": 20, "every": "100ms"},
            {"topic": ".", "at": "1s", "count": 4, "every": "1s", "publisher": 0},
        ],
        faults=[
            {"kind": "crash", "at": "1950ms", "agents": [2, 3]},
            {"kind": "crash", "at": "2450ms", "agents": [4]},
            {"kind": "crash", "at": "1500ms", "for": "2s", "agents": [0]},
        ],
    )
    by_topic: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for record in found.of("publish"):
        by_topic[record["topic"]].append((record["time"] // MS, record["agent"]))

    assert [time for time, _ in by_topic["."]] == [1000, 4000]
    assert len(by_topic["."]) + len(by_topic[".a"]) == 2 + 15
    assert {agent for time, agent in by_topic[".a"] if time > 1950} == {4}
    assert found.scenario.unpublished == 2 + 5


def test_what_is_asked_for_at_the_very_end_is_published() -> None:
    found = told(
        workload=[{"topic": ".a.b", "at": "2600ms"}],
        network={"latency": {"fixed": "1s"}, "tick": "1s"},
        duration="2600ms",
    )

    assert len(found.of("publish")) == 1


# Rounds


def test_in_rounds_what_is_sent_in_one_arrives_in_the_next_and_hops_count_rounds() -> None:
    found = told(network={"latency": "rounds"}, workload=[{"topic": ".a.b", "at": "4s"}])
    (published,) = found.of("publish")
    sent = Counter((r["time"] + S, r["agent"], r["peer"], r["hop"]) for r in found.of("send"))
    received = Counter((r["time"], r["peer"], r["agent"], r["hop"]) for r in found.of("receive"))

    assert published["time"] == 4 * S
    assert sent == received
    assert {(r["time"] - 4 * S) // S == r["hop"] for r in found.of("receive")} == {True}
    assert max(r["hop"] for r in found.of("receive")) >= 2


# Crashes


def test_the_crashed_send_nothing_and_get_nothing_until_they_are_back() -> None:
    found = told(
        workload=[{"topic": ".a.b", "at": "1s", "count": 10, "every": "1s"}],
        faults=[{"kind": "crash", "at": "3500ms", "for": "3s", "fraction": 0.5}],
    )
    down = agents(found.of("crash"))

    assert len(down) == 25
    assert agents(found.of("restart")) == down
    assert {record["time"] for record in found.of("crash")} == {3500 * MS}
    assert {record["time"] for record in found.of("restart")} == {6500 * MS}
    active = found.of("send", "receive", "deliver", "publish")
    during = [record for record in active if 3500 * MS <= record["time"] < 6500 * MS]
    assert during
    assert agents(during).isdisjoint(down)
    dropped = found.of("drop")
    assert {record["cause"] for record in dropped} == {"crashed"}
    assert agents(dropped) <= down
    after = [record for record in found.of("receive") if record["time"] >= 6500 * MS]
    assert down <= agents(after)


def test_the_stillborn_never_live_not_even_by_a_restart_of_all_who_are_down() -> None:
    found = told(
        workload=[{"topic": ".a.b", "at": "1s", "count": 5}],
        faults=[
            {"kind": "stillborn", "fraction": 0.4},
            {"kind": "crash", "at": "2s", "count": 50},
            {"kind": "restart", "at": "2500ms"},
            {
                "kind": "churn",
                "until": "4s",
                "on": {"exponential": "2s"},
                "off": {"fixed": "100ms"},
            },
        ],
    )
    joined = agents(found.of("join"))

    assert len(joined) == 30
    assert agents(found.of("send", "receive", "crash", "restart", "table")) <= joined
    stillborn = set(range(50)) - joined
    assert {r["cause"] for r in found.of("drop") if r["agent"] in stillborn} == {"crashed"}


def test_a_restart_of_all_who_are_down_does_not_start_those_whose_time_has_not_come() -> None:
    found = told(
        bootstrap={"spacing": "100ms"},
        workload=[{"topic": ".a.b", "at": "8s"}],
        faults=[
            {"kind": "crash", "at": "1s", "agents": [0, 40]},
            {"kind": "restart", "at": "2s"},
        ],
    )

    assert found.times("crash") == [(1000, 0)]
    assert found.times("restart") == [(2000, 0)]
    assert (4000, 40) in found.times("join")


def test_churn_takes_agents_down_and_up_in_the_shares_of_its_distributions() -> None:
    found = told(
        communities={".": 5, ".a": 40},
        workload=[{"topic": ".", "at": "400s"}],
        faults=[
            {
                "kind": "churn",
                "until": "400s",
                "on": {"exponential": "30s"},
                "off": {"exponential": "10s"},
                "communities": [".a"],
            }
        ],
        duration="600s",
    )
    down_since: dict[int, int] = {}
    downtimes = []
    for record in found.of("crash", "restart"):
        if record["kind"] == "crash":
            assert record["agent"] not in down_since
            down_since[record["agent"]] = record["time"]
        else:
            downtimes.append(record["time"] - down_since.pop(record["agent"]))

    assert down_since == {}
    assert agents(found.of("crash")) == set(range(5, 45))
    assert mean(downtimes) == pytest.approx(10 * S, rel=0.15)
    # A quarter of the 400 s, for each of the 40.
    assert sum(downtimes) / (40 * 400 * S) == pytest.approx(0.25, abs=0.04)


def test_timers_of_an_earlier_life_do_not_fire_in_the_next() -> None:
    found = told(
        protocol="gossip-broadcast",
        membership={"name": "scamp", "heartbeat_s": 1, "lease_s": 0},
        bootstrap={"spacing": "10ms"},
        workload=[{"topic": ".", "at": "20s"}],
        faults=[{"kind": "crash", "at": "5s", "for": "100ms", "agents": [7]}],
        duration="20s",
    )
    beats = {
        r["time"]
        for r in found.of("send")
        if r["agent"] == 7 and r["message"] == "ScampHeartbeat" and r["time"] > 6 * S
    }

    # One heartbeat a second, not those of two lives.
    assert beats
    assert len(beats) <= 15


# The network


def test_loss_between_communities_is_in_its_own_direction_and_can_change() -> None:
    found = told(
        communities={".": 1, ".a": 40, ".b": 40},
        protocol={"name": "gossip-broadcast", "c": 3},
        network={"losses": [{"from": ".a", "to": ".b", "loss": 0.5}]},
        workload=[{"topic": ".a", "at": "1s", "count": 30, "every": "100ms"}],
        faults=[{"kind": "loss", "at": "2450ms", "loss": 1.0, "from": ".b", "to": ".a"}],
    )

    def lost(here: range, there: range, begin: int, end: int) -> float:
        def between(kind: str, sender: str, receiver: str) -> int:
            return sum(
                record[sender] in here and record[receiver] in there
                for record in found.of(kind)
                if begin * MS <= record["time"] < end * MS
            )

        return between("drop", "peer", "agent") / between("send", "agent", "peer")

    a, b = range(1, 41), range(41, 81)
    assert lost(a, b, 0, 2450) == pytest.approx(0.5, abs=0.05)
    assert lost(b, a, 0, 2450) == 0
    assert lost(a, b, 2450, 9000) == pytest.approx(0.5, abs=0.05)
    assert lost(b, a, 2450, 9000) == 1
    assert lost(a, a, 0, 9000) == lost(b, b, 0, 9000) == 0


def test_loss_everywhere_can_change() -> None:
    found = told(
        workload=[{"topic": ".", "at": "1s", "count": 40, "every": "100ms"}],
        faults=[{"kind": "loss", "at": "2950ms", "loss": 0.2}],
    )
    lost = [record["time"] // MS for record in found.of("drop")]

    assert min(lost) >= 3000
    late = [record for record in found.of("send") if record["time"] > 2950 * MS]
    assert len(lost) / len(late) == pytest.approx(0.2, abs=0.02)


def test_an_agent_of_several_communities_is_on_the_side_of_any_of_them() -> None:
    """Else it would be a bridge over the very partition that names its second community."""
    found = told(
        communities={".": 2, ".a": 10, ".b": 10, ".c": 3},
        agents=[{"topics": [".c", ".b"], "count": 5}],
        workload=[{"topic": ".", "at": "500ms", "count": 40, "every": "100ms"}],
        faults=[{"kind": "partition", "at": "1s", "until": "3s", "groups": [[".a"], [".b"]]}],
    )
    left, right = set(range(2, 12)), {*range(12, 22), *range(25, 30)}
    cut = [record for record in found.of("drop") if record["cause"] == "partition"]
    crossing = [
        record
        for record in found.of("send")
        if {record["agent"] in left, record["peer"] in left} == {True, False}
        and {record["agent"] in right, record["peer"] in right} == {True, False}
    ]

    def key(record: Line, sender: str, receiver: str) -> tuple[int, int, int]:
        return record["time"], record[sender], record[receiver]

    assert Counter(key(record, "peer", "agent") for record in cut) == Counter(
        key(record, "agent", "peer") for record in crossing if S <= record["time"] < 3 * S
    )
    assert agents(cut) & set(range(25, 30))
    assert any(record["time"] >= 3 * S for record in crossing)


def test_loss_to_a_community_meets_its_agents_of_several_communities_too() -> None:
    found = told(
        communities={".": 2, ".a": 10, ".b": 10},
        agents=[{"topics": [".", ".b"], "count": 5}],
        network={"losses": [{"from": ".a", "to": ".b", "loss": 1.0}]},
        workload=[{"topic": ".a", "at": "1s", "count": 20, "every": "100ms"}],
    )
    towards = {r["peer"] for r in found.of("send") if r["agent"] in range(2, 12)}

    lost = {r["agent"] for r in found.of("drop")}
    assert lost == towards & {*range(12, 22), *range(22, 27)}
    assert lost & set(range(22, 27))


def test_who_is_suspected_by_whom_stays_so_over_the_run() -> None:
    found = told(
        workload=[{"topic": ".", "at": "1s", "count": 100, "every": "100ms"}],
        faults=[{"kind": "weakly-consistent", "fraction": 0.3}],
    )
    dropped = {(record["peer"], record["agent"]) for record in found.of("drop")}
    arrived = {(record["peer"], record["agent"]) for record in found.of("receive")}

    assert {record["cause"] for record in found.of("drop")} == {"suspected"}
    assert dropped.isdisjoint(arrived)
    assert len(dropped) / len(dropped | arrived) == pytest.approx(0.3, abs=0.06)


# Configuration while running


def fanouts(found: Told) -> dict[int, set[int]]:
    """How many copies each member of `.a` made of each event, by second of publication."""
    published = {record["event"]: record["time"] // S for record in found.of("publish")}
    copies = Counter((record["event"], record["agent"]) for record in found.of("send"))
    sizes: dict[int, set[int]] = defaultdict(set)
    for (event, _), count in copies.items():
        sizes[published[event]].add(count)
    return dict(sizes)


def test_parameters_change_while_it_runs_and_a_restarted_agent_has_them() -> None:
    found = told(
        protocol={"name": "gossip-multicast", "c": 5},
        communities={".": 0, ".a": 40},
        workload=[{"topic": ".a", "at": "1s", "count": 4, "every": "1s"}],
        faults=[
            {"kind": "configure", "at": "1500ms", "topic": ".a", "parameters": {"c": 1}},
            {"kind": "crash", "at": "2500ms", "for": "100ms", "fraction": 1},
            {"kind": "configure", "at": "3500ms", "topic": ".a", "parameters": {"c": 0}},
        ],
    )

    # floor(ln 40 + c); ln 40 is 3.69.
    assert fanouts(found) == {1: {8}, 2: {4}, 3: {4}, 4: {3}}


def test_a_topics_own_parameters_are_kept_beneath_those_that_change() -> None:
    made = scenario(
        protocol={"name": "gossip-multicast", "c": 5},
        topics={".a": {"parameters": {"c": 2}}},
        workload=[{"topic": ".a.b", "at": "3s"}],
        faults=[
            {"kind": "configure", "at": "1s", "topic": ".a.b", "parameters": {"c": 1}},
            {"kind": "crash", "at": "2s", "for": "100ms", "fraction": 1},
        ],
    )
    made.run()

    for agent in range(5):  # the root's, who are in every group
        protocol = made.world.protocols[agent]
        assert isinstance(protocol, GossipMulticast)
        # floor(ln N + c) of 5, 25 and 50 who are interested.
        assert {t: g.fanout for t, g in protocol.groups.items()} == {".": 6, ".a": 5, ".a.b": 4}


# Determinism


@pytest.mark.parametrize("protocol", ["camcast", "gossip-multicast"])
def test_a_journal_depends_on_the_seed_and_the_repetition_and_on_nothing_else(
    protocol: str,
) -> None:
    fields: Mapping[str, object] = {
        "protocol": protocol,
        "membership": "scamp",
        "bootstrap": {"spacing": "10ms"},
        "network": {"loss": 0.1, "latency": {"exponential": "20ms"}},
        "workload": [{"topic": ".a.b", "at": "3s", "count": 3}],
        "faults": [{"kind": "crash", "at": "4s", "for": "1s", "fraction": 0.3}],
        "duration": "7s",
    }

    first = told(1, 0, **fields).text
    assert told(1, 0, **fields).text == first
    assert told(2, 0, **fields).text != first
    assert told(1, 1, **fields).text != first


def test_a_repetition_has_the_same_luck_at_every_point() -> None:
    one, other = (
        told(network={"loss": loss}, workload=[{"topic": ".a.b", "at": "1s", "count": 9}])
        for loss in (0.0, 0.9)
    )

    assert one.times("publish") == other.times("publish")
