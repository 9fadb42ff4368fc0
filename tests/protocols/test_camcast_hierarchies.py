"""CAMCAST on random hierarchies, in the simulator: whom events reach, and whom they never do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agents.core.journal import Cause
from agents.core.messages import Event, EventMessage, Message, PeerId, ScopedMessage
from agents.protocols.camcast import Camcast
from testbed.model.experiment import Experiment
from testbed.sim.scenario import Scenario
from tests.support.properties import steady

Place = tuple[PeerId, str]
"""A process as a member of one of its communities."""


class Watcher:
    """Sees every message on the wire, and the tables at the moment of each publication."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.topics_of = [
            topics for topics, count in scenario.experiment.groups() for _ in range(count)
        ]
        self.parasites: list[tuple[PeerId, Message]] = []
        """Copies on the wire to somebody who is not interested, or not in that community."""
        self.refused: list[tuple[PeerId, Message]] = []
        self.events: dict[str, Event] = {}
        self.got: dict[str, dict[Place, None]] = {}
        """By event: who got a copy, or published it, as members of what."""
        self.deliveries: dict[str, dict[Place, None]] = {}
        self.within_reach: dict[str, dict[Place, None]] = {}
        """By event: whom it could reach at best, as the tables were when it was published."""

    def interested(self, peer: PeerId, topic: str) -> bool:
        includes = self.scenario.topics.includes
        return any(includes(own, topic) for own in self.topics_of[peer])

    def has(self, event: str, peer: PeerId) -> bool:
        return any(place[0] == peer for place in self.got[event])

    def sent(self, sender: PeerId, peers: Sequence[PeerId], message: Message) -> None:
        if isinstance(message, EventMessage):
            for to in peers:
                right = message.community in self.topics_of[to]
                if not (right and self.interested(to, message.event.topic)):
                    self.parasites.append((to, message))

    def received(self, to: PeerId, sender: PeerId, message: Message) -> None:
        if isinstance(message, EventMessage):
            self.got[message.event.id][to, message.community] = None

    def dropped(self, to: PeerId, sender: PeerId, message: Message, cause: Cause) -> None:
        # What a membership refuses, such as an answer to an earlier life, is its own affair.
        if cause == "refused" and not isinstance(message, ScopedMessage):
            self.refused.append((to, message))

    def published(self, agent: PeerId, event: Event) -> None:
        self.events[event.id] = event
        self.got[event.id] = {(agent, event.topic): None}
        self.deliveries[event.id] = {}
        self.within_reach[event.id] = self._closure((agent, event.topic))

    def delivered(self, agent: PeerId, event: Event, community: str) -> None:
        place = (agent, community)
        assert place not in self.deliveries[event.id], "once for each community"
        self.deliveries[event.id][place] = None

    def _closure(self, start: Place) -> dict[Place, None]:
        found = {start: None}
        waiting = [start]
        while waiting:
            for place in self._next(*waiting.pop()):
                if place not in found:
                    found[place] = None
                    waiting.append(place)
        return found

    def _next(self, peer: PeerId, topic: str) -> list[Place]:
        protocol = self.scenario.world.protocols[peer]
        if protocol is None:
            return []
        assert isinstance(protocol, Camcast)
        community = protocol.communities[topic]
        above = [
            (other, name)
            for table in community.tables.values()
            for name, view in table.views.items()
            for other in view
        ]
        return [*above, *((other, topic) for other in community.membership.members)]

    # What else a recorder is told.

    def joined(self, agent: PeerId, community: str) -> None: ...
    def left(self, agent: PeerId, community: str) -> None: ...
    def crashed(self, agent: PeerId) -> None: ...
    def restarted(self, agent: PeerId) -> None: ...
    def impaired(self, cause: Cause, value: float, community: str, towards: str) -> None: ...
    def finish(self) -> None: ...


def watched(document: dict[str, Any], seed: int) -> Watcher:
    """A whole run."""
    scenario = Scenario(Experiment.read(document), seed)
    watcher = scenario.world.recorder = Watcher(scenario)
    scenario.run()
    return watcher


# Random hierarchies


@st.composite
def hierarchies(draw: st.DrawFn) -> dict[str, Any]:
    """The parts of an experiment that say which topics there are and who is in them."""
    names = ["."]
    parents: dict[str, dict[str, list[str]]] = {}
    for number in range(draw(st.integers(1, 6))):
        upper = draw(st.sampled_from(names))
        name = f"{upper.rstrip('.')}.t{number}"
        # Only to those that were there before it, so that there is no cycle.
        further = draw(st.lists(st.sampled_from(names), max_size=2, unique=True))
        if further:
            parents[name] = {"parents": further}
        names.append(name)
    communities = {name: draw(st.integers(0, 5)) for name in names}
    communities[draw(st.sampled_from(names[1:]))] += 1  # somebody has to be there
    in_several = st.lists(st.sampled_from(names), min_size=2, max_size=3, unique=True)
    agents = [
        {"topics": draw(in_several), "count": draw(st.integers(1, 2))}
        for _ in range(draw(st.integers(0, 3)))
    ]
    return {"topics": parents, "communities": communities, "agents": agents}


def populated(parts: dict[str, Any]) -> list[str]:
    several = [topic for group in parts["agents"] for topic in group["topics"]]
    return [name for name, n in parts["communities"].items() if n or name in several]


def published(parts: dict[str, Any], **how: Any) -> list[dict[str, Any]]:
    return [{"topic": topic, **how} for topic in populated(parts)]


TROUBLE: list[dict[str, Any]] = [
    {"kind": "crash", "at": "6s", "for": "6s", "fraction": 0.3},
    {
        "kind": "churn",
        "from": "12s",
        "until": "22s",
        "on": {"exponential": "5s"},
        "off": {"exponential": "2s"},
    },
]
IN_TROUBLE: dict[str, Any] = {
    "network": {"latency": {"uniform": ["1ms", "30ms"]}},
    "faults": TROUBLE,
    "duration": "30s",
}
KNOBS: dict[str, Any] = {"maintain_every_s": 2, "check_timeout_s": 0.5, "search_timeout_s": 0.5}
SCAMP: dict[str, Any] = {
    "name": "scamp",
    "c": 1,
    "heartbeat_s": 1,
    "isolation_s": 4,
    "lease_s": 20,
    "join_timeout_s": 1,
}
JOINS: dict[str, Any] = {"contacts": 2, "spacing": "50ms"}

few = settings(steady, max_examples=40)


# Nobody gets what it is not interested in


@few
@given(
    hierarchies(),
    st.sampled_from(["camcast", "damulticast"]),
    st.sampled_from(["static", SCAMP]),
    st.sampled_from([0.0, 0.15, 0.4]),
    st.integers(0, 1000),
)
def test_no_process_is_sent_an_event_that_it_is_not_interested_in(
    parts: dict[str, Any], protocol: str, membership: Any, loss: float, seed: int
) -> None:
    document = {
        "name": "nobody-is-bothered",
        "protocol": {"name": protocol, "psel": 0.7, "a": 2, **KNOBS},
        "membership": membership,
        **parts,
        **IN_TROUBLE,
        "bootstrap": JOINS,
        "workload": published(parts, at="4s", count=6, every="4s"),
    }
    document["network"] = {**IN_TROUBLE["network"], "loss": loss}

    watcher = watched(document, seed)

    assert watcher.events
    assert watcher.parasites == []
    assert watcher.refused == []
    for event, places in watcher.deliveries.items():
        assert places.keys() <= watcher.got[event].keys()


# Everybody gets what it is interested in


def flooding(parts: dict[str, Any], **rest: Any) -> dict[str, Any]:
    """Everybody selected, all above chosen, everybody known told: luck has no part in it."""
    knobs = {"c": 50, "psel": 1.0, "a": 3, "z": 3, **KNOBS}
    return {"name": "flooding", "protocol": {"name": "camcast", **knobs}, **parts, **rest}


def above(watcher: Watcher, event: Event) -> list[str]:
    topics = watcher.scenario.topics
    return [event.topic, *topics.ancestors(event.topic)]


@few
@given(hierarchies(), st.integers(0, 1000))
def test_without_losses_an_event_reaches_all_members_of_all_communities_above(
    parts: dict[str, Any], seed: int
) -> None:
    workload = published(parts, at="1s", count=2)

    watcher = watched(flooding(parts, workload=workload), seed)

    assert len(watcher.events) == 2 * len(populated(parts))
    assert watcher.parasites == []
    for event in watcher.events.values():
        interested = [
            peer
            for peer in range(watcher.scenario.experiment.size)
            if watcher.interested(peer, event.topic)
        ]
        assert [peer for peer in interested if not watcher.has(event.id, peer)] == []
        assert watcher.deliveries[event.id].keys() == watcher.got[event.id].keys()


@few
@given(hierarchies(), st.integers(0, 1000))
def test_on_tables_built_by_joining_an_event_gets_exactly_as_far_as_they_lead(
    parts: dict[str, Any], seed: int
) -> None:
    document = flooding(
        parts,
        # No leases, so that the tables are settled when events are published.
        membership={"name": "scamp", "c": 2, "lease_s": 0},
        bootstrap=JOINS,
        workload=published(parts, at="20s"),
        duration="21s",
    )

    watcher = watched(document, seed)

    assert len(watcher.events) == len(populated(parts))
    assert watcher.parasites == []
    for event in watcher.events.values():
        assert watcher.got[event.id].keys() == watcher.within_reach[event.id].keys()
        for topic in above(watcher, event):
            members = watcher.scenario.members.get(topic, [])
            assert not members or any(watcher.has(event.id, peer) for peer in members), topic


def test_a_community_that_dies_out_is_passed_over_and_found_again_when_it_is_back() -> None:
    parts = {"communities": {".": 4, ".a": 3, ".a.b": 6}}
    document = flooding(
        parts,
        membership=SCAMP,
        bootstrap=JOINS,
        workload=[{"topic": ".a.b", "at": at} for at in ("10s", "40s", "80s")],
        faults=[
            {"kind": "crash", "at": "15s", "fraction": 1.0, "communities": [".a"]},
            {"kind": "restart", "at": "50s"},
        ],
        duration="90s",
    )

    watcher = watched(document, seed=1)

    reached = [
        [topic for topic in (".", ".a", ".a.b") if any(where == topic for _, where in places)]
        for places in watcher.deliveries.values()
    ]
    assert reached == [[".", ".a", ".a.b"], [".", ".a.b"], [".", ".a", ".a.b"]]
    upwards = watcher.scenario.world.protocols[-1]
    assert isinstance(upwards, Camcast)
    assert list(upwards.communities[".a.b"].tables[".a"].views) == [".a"]


def test_a_topics_last_members_that_are_elsewhere_too_do_not_end_an_events_way_up() -> None:
    """The only member of `.a` is the only one of `.a.b` as well, and sends itself nothing."""
    parts = {
        "communities": {".": 2, ".a": 0, ".a.b": 0, ".c": 1},
        "topics": {".a": {"parents": [".c"]}},
        "agents": [{"topics": [".a.b", ".a"], "count": 1}],
    }

    watcher = watched(flooding(parts, workload=[{"topic": ".a.b", "at": "1s"}]), seed=1)

    (places,) = watcher.deliveries.values()
    assert sorted(places) == [(0, "."), (1, "."), (2, ".c"), (3, ".a.b")]
