"""What every protocol must do, on every membership that it can stand on.

Nothing here knows a protocol: one that is put into `agents/protocols` is held to all of this with
no change.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given, settings

import agents.membership
import agents.protocols
from agents.core.codec import Codec
from agents.core.errors import LocalError, RemoteError
from agents.core.interest import AnyOf, Topic
from agents.core.journal import Kind, Record
from agents.core.membership import Membership
from agents.core.messages import Event, Message, PeerId, ScopedMessage, Timer, ns
from agents.core.overlay import OVERLAY, make_peer
from agents.core.protocol import Protocol
from agents.core.registry import memberships, protocols
from agents.core.setting import Directory, Setting
from agents.core.topics import Topics
from testbed.model.experiment import Experiment
from testbed.sim.full_recorder import FullRecorder
from testbed.sim.scenario import Scenario
from tests.support.instances import instances
from tests.support.ports import ListPort
from tests.support.properties import steady
from tests.support.registered import LAYERS, MESSAGES, PAIRS, PROTOCOLS

Pair = tuple[type[Protocol], type[Membership]]

COMMUNITIES = {".": 6, ".a": 8, ".a.b": 12, ".c": 6}
OF_TWO_TOPICS = {"topics": [".a.b", ".c"], "count": 3}
SIZE = 35
EVENTS = 10
ENOUGH = 0.9
"""Of all deliveries. These are gossips: now and then an event misses somebody, or does not get from
a community of six to the next one."""

ME = 0
HOME = ".a.b"

each_pair = pytest.mark.parametrize(
    "pair", PAIRS, ids=[f"{protocol.name}-{membership.name}" for protocol, membership in PAIRS]
)
each_layer = pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.name)
some = settings(steady, max_examples=20)


class Run:
    """A scenario that was run, and its journal."""

    def __init__(self, pair: Pair, seed: int, faults: Sequence[Mapping[str, Any]] = ()) -> None:
        protocol, membership = pair
        experiment = Experiment.model_validate(
            {
                "name": "conformance",
                "protocol": protocol.name,
                "membership": membership.name,
                "communities": COMMUNITIES,
                "agents": [OF_TWO_TOPICS],
                "network": {"latency": {"uniform": ["1ms", "20ms"]}},
                "bootstrap": {"spacing": "50ms", "contacts": 2},
                "workload": [{"topic": HOME, "at": "40s", "count": EVENTS}],
                "faults": list(faults),
                "duration": "60s",
            }
        )
        self.scenario = Scenario(experiment, seed)
        self.world = self.scenario.world
        lines: list[bytes] = []
        self.world.recorder = FullRecorder(
            self.world, self.scenario.topics, self.scenario.codec, lines.append
        )
        self.scenario.run()
        self.journal = b"".join(lines)
        self._lines = lines

    def records(self, *kinds: Kind) -> list[Record]:
        decode = msgspec.json.Decoder(Record).decode
        return [record for record in map(decode, self._lines) if record.kind in kinds]

    def interested(self, topic: str) -> list[PeerId]:
        includes = self.scenario.topics.includes
        return [
            peer
            for peer in range(SIZE)
            if any(
                isinstance(interest, Topic) and includes(interest.name, topic)
                for interest in self.world.interests(peer)
            )
        ]

    def receivers(self) -> dict[str, set[PeerId]]:
        """By event: to whom it was delivered."""
        found: dict[str, set[PeerId]] = {r.event: set() for r in self.records("publish")}
        for record in self.records("deliver"):
            found[record.event].add(record.agent)
        return found


@cache
def undisturbed(pair: Pair, seed: int = 1) -> Run:
    return Run(pair, seed)


@cache
def half_crashed_and_restarted(pair: Pair) -> Run:
    return Run(pair, 2, [{"kind": "crash", "at": "15s", "for": "5s", "fraction": 0.5}])


# Life in the simulator


@each_pair
def test_everybody_comes_to_take_part(pair: Pair) -> None:
    run = undisturbed(pair)

    assert {record.agent for record in run.records("join")} == set(range(SIZE))
    assert run.records("leave", "crash", "restart") == []


@each_pair
def test_events_reach_the_interested(pair: Pair) -> None:
    run = undisturbed(pair)
    interested = set(run.interested(HOME))
    assert len(interested) == SIZE - COMMUNITIES[".c"]

    heard = Counter(peer for peers in run.receivers().values() for peer in peers)

    assert len(run.receivers()) == EVENTS
    assert set(heard) == interested
    assert heard.total() >= ENOUGH * EVENTS * len(interested)
    # Nobody refuses what another of its kind sends. Who was not yet started cannot be reached.
    assert {record.cause for record in run.records("drop")} <= {"crashed"}


@each_pair
def test_events_are_delivered_once_for_each_community_and_only_to_the_interested(
    pair: Pair,
) -> None:
    run = undisturbed(pair)
    deliveries = Counter((r.agent, r.community, r.event) for r in run.records("deliver"))

    assert set(deliveries.values()) == {1}
    assert {agent for agent, _, _ in deliveries} <= set(run.interested(HOME))


@each_pair
def test_tables_have_others_only_and_each_of_them_once(pair: Pair) -> None:
    world = undisturbed(pair).world
    views = [
        (peer, table)
        for peer, protocol in enumerate(world.protocols)
        if protocol is not None
        for table in protocol.views().values()
    ]

    assert any(table for _, table in views)
    for peer, table in views:
        assert peer not in table
        assert len(set(table)) == len(table)
        assert set(table) <= set(range(SIZE))


@each_pair
def test_who_stops_has_left_all_that_it_joined_and_the_others_hear_no_more_of_it(
    pair: Pair,
) -> None:
    run = Run(pair, 3)
    stopped = range(0, SIZE, 3)
    for peer in stopped:
        run.world.stop(peer)

    def told(kind: Kind) -> list[tuple[PeerId, str]]:
        return sorted((r.agent, r.community) for r in run.records(kind) if r.agent in stopped)

    assert told("leave") == told("join")
    assert {peer for peers in run.world.joined.values() for peer in peers} == (
        set(range(SIZE)) - set(stopped)
    )
    sent_by = len([r for r in run.records("send") if r.agent in stopped])
    run.world.run(run.world.now + ns(60))
    assert len([r for r in run.records("send") if r.agent in stopped]) == sent_by


@each_pair
def test_who_crashed_takes_part_again_after_a_restart(pair: Pair) -> None:
    run = half_crashed_and_restarted(pair)
    restarted = {record.agent for record in run.records("restart")}
    assert restarted == {record.agent for record in run.records("crash")}
    assert len(restarted) > SIZE // 3

    joined_again = {r.agent for r in run.records("join") if r.time >= ns(20)}

    assert joined_again >= restarted


@each_pair
def test_events_reach_those_who_crashed_and_restarted_as_they_reach_the_others(pair: Pair) -> None:
    run = half_crashed_and_restarted(pair)
    interested = run.interested(HOME)

    heard = Counter(peer for peers in run.receivers().values() for peer in peers)

    assert set(heard) == set(interested)
    assert heard.total() >= ENOUGH * EVENTS * len(interested)


@each_pair
def test_the_same_seed_gives_the_same_journal_and_another_gives_another(pair: Pair) -> None:
    first = undisturbed(pair)

    assert first.journal == Run(pair, 1).journal
    assert first.journal != Run(pair, 4).journal


# One peer alone, on a port whose effects are lists


class Lone:
    """A subscribed peer that was told of others, none of whom ever answers."""

    def __init__(self, pair: Pair, contacts: Sequence[PeerId] = ()) -> None:
        protocol, membership = pair
        topics = Topics()
        for name in (".a", HOME, ".c"):
            topics.add(name)
        members = {".": [1, 2], ".a": [3, 4, 5], HOME: [ME, 6, 7, 8], ".c": [9]}
        self.port = ListPort(ME)
        self.topics = topics
        self.protocol = make_peer(
            protocol,
            self.port,
            Setting(
                topics,
                Directory(topics, members),
                membership,
                contacts=dict.fromkeys((OVERLAY, "", *topics), contacts),
                super_contacts={".a": [3, 4]},
                neighbourhood=(1, 5, 9),
            ),
        )
        self.protocol.start()
        self.protocol.subscribe(Topic(HOME))

    def take_in(self, mail: Iterable[tuple[PeerId, Message]]) -> None:
        for sender, message in mail:
            with suppress(RemoteError):  # all that may come out
                self.protocol.on_message(sender, message)

    def fire(self, timers: Iterable[tuple[int, Timer]]) -> None:
        for delay, timer in timers:
            self.port.now += delay
            self.protocol.on_timer(timer)

    def check_that_it_works(self) -> None:
        """It publishes, hears itself, knows others only, and leaves in good order."""
        event = Event("published after all that", HOME)
        self.protocol.publish(event)
        assert [e for e, _ in self.port.delivered].count(event) == 1
        assert all(ME not in table for table in self.protocol.views().values())
        self.protocol.stop()
        assert sorted(self.port.left_communities) == sorted(self.port.joined_communities)
        assert self.port.joined_communities


def kinds_of(pair: Pair) -> tuple[type[Message], ...]:
    protocol, membership = pair
    return tuple(dict.fromkeys((*protocol.messages, *membership.messages)))


SENDERS = st.integers(0, 12) | st.integers(0, (1 << 32) - 1)
PLACES = st.sampled_from([HOME, ".a", ".", "", ".c", ".new"])


@st.composite
def plausible(draw: st.DrawFn, kind: type[Message]) -> Message:
    """As random as it can be, but about topics that there are: most others are refused at once."""
    message: Message = _moved(draw(instances(kind)), lambda: draw(PLACES))
    return message


def _moved(value: Any, place: Callable[[], str]) -> Any:
    if isinstance(value, msgspec.Struct):
        fields = {name: getattr(value, name) for name in value.__struct_fields__}
        moved = {n: place() if _names_topic(n, v) else _moved(v, place) for n, v in fields.items()}
        return msgspec.structs.replace(value, **moved)
    if isinstance(value, tuple):
        return tuple(place() if isinstance(v, str) else _moved(v, place) for v in value)
    return value


def _names_topic(field: str, value: object) -> bool:
    return isinstance(value, str) and field != "id"


def garbage(kinds: Iterable[type[Message]]) -> st.SearchStrategy[Message]:
    return st.one_of([s for kind in kinds for s in (plausible(kind), instances(kind))])


@each_pair
def test_whatever_messages_arrive_nothing_but_remote_errors_come_out_and_it_still_works(
    pair: Pair,
) -> None:
    @some
    @given(st.lists(st.tuples(SENDERS, garbage(kinds_of(pair))), max_size=12))
    def survives(mail: list[tuple[PeerId, Message]]) -> None:
        peer = Lone(pair)
        peer.take_in(mail)
        peer.fire(peer.port.take_timers())
        peer.take_in(mail)
        peer.check_that_it_works()

    survives()


@each_pair
def test_who_has_not_joined_yet_survives_whatever_messages_arrive(pair: Pair) -> None:
    @some
    @given(st.lists(st.tuples(SENDERS, garbage(kinds_of(pair))), max_size=12))
    def survives(mail: list[tuple[PeerId, Message]]) -> None:
        peer = Lone(pair, contacts=[6, 7])
        peer.take_in(mail)
        peer.fire(peer.port.take_timers())
        peer.protocol.stop()
        assert sorted(peer.port.left_communities) == sorted(peer.port.joined_communities)

    survives()


@each_pair
def test_the_messages_of_other_protocols_are_refused(pair: Pair) -> None:
    _, membership = pair
    own = kinds_of(pair)
    foreign = [kind for kind in MESSAGES if kind not in own]
    codec = Codec(own)
    assert foreign

    @some
    @given(st.data())
    def are_refused(data: st.DataObject) -> None:
        kind = data.draw(st.sampled_from(foreign))
        sender, message = data.draw(SENDERS), data.draw(garbage([kind]))
        with pytest.raises(RemoteError):
            codec.decode(Codec([kind]).encode(sender, message))
        # Where the host has no wire. A membership without messages relies on the codec.
        if membership.messages or not isinstance(message, ScopedMessage):
            peer = Lone(pair)
            effects = len(peer.port.sent), len(peer.port.timers)
            with pytest.raises(RemoteError):
                peer.protocol.on_message(sender, message)
            assert (len(peer.port.sent), len(peer.port.timers)) == effects
            peer.check_that_it_works()

    are_refused()


@each_pair
def test_a_message_of_no_known_kind_is_refused(pair: Pair) -> None:
    class Unheard(Message, frozen=True):
        pass

    peer = Lone(pair)
    with pytest.raises(RemoteError, match="Unheard"):
        peer.protocol.on_message(1, Unheard())
    peer.check_that_it_works()


@each_pair
def test_bytes_give_a_message_or_a_remote_error(pair: Pair) -> None:
    codec = Codec(kinds_of(pair))
    frames = st.builds(codec.encode, SENDERS, garbage(kinds_of(pair)))

    @some
    @given(
        st.binary(max_size=60),
        frames,
        st.lists(st.tuples(st.integers(0), st.integers(0, 255)), max_size=4),
    )
    def are_survived(noise: bytes, frame: bytes, errors: list[tuple[int, int]]) -> None:
        damaged = bytearray(frame)
        for position, byte in errors:
            damaged[position % len(damaged)] = byte
        header = frame[:5] + len(noise).to_bytes(4, "big")
        mail = []
        for arrived in (noise, header + noise, bytes(damaged), frame[: len(frame) // 2]):
            with suppress(RemoteError):
                mail.append(codec.decode(arrived))
        peer = Lone(pair)
        peer.take_in(mail)
        peer.check_that_it_works()

    are_survived()


@each_pair
def test_every_message_comes_back_from_the_wire_as_it_was_sent(pair: Pair) -> None:
    codec = Codec(kinds_of(pair))

    @some
    @given(SENDERS, garbage(kinds_of(pair)))
    def comes_back(sender: PeerId, message: Message) -> None:
        assert codec.decode(codec.encode(sender, message)) == (sender, message)

    comes_back()


# Timers


@each_pair
@pytest.mark.parametrize("contacts", [(), (6, 7)])
def test_timers_that_fire_late_neither_fail_nor_multiply(
    pair: Pair, contacts: Sequence[PeerId]
) -> None:
    peer = Lone(pair, contacts)
    for _ in range(40):
        timers = peer.port.take_timers()
        assert len(timers) < 40
        assert all(type(timer).__struct_config__.frozen for _, timer in timers)
        peer.port.now += ns(1000)
        peer.fire(timers)

    assert peer.port.delivered == []
    assert len(peer.port.joined_communities) <= 1


@each_pair
def test_the_timers_of_what_was_left_do_nothing_to_what_was_joined_since(pair: Pair) -> None:
    peer, witness = Lone(pair), Lone(pair)
    old = peer.port.take_timers()
    for one in (peer, witness):
        one.protocol.unsubscribe(Topic(HOME))
        one.protocol.subscribe(Topic(HOME))
    joined = list(peer.port.joined_communities)
    fresh = peer.port.take_timers()

    peer.fire(old)
    peer.fire(fresh)

    assert peer.port.joined_communities == joined
    assert peer.port.delivered == []
    assert len(peer.port.timers) <= len(old) + len(fresh)
    assert joined == witness.port.joined_communities
    peer.check_that_it_works()


@each_pair
def test_the_timers_of_what_was_left_do_nothing(pair: Pair) -> None:
    peer = Lone(pair)
    timers = peer.port.take_timers()
    peer.protocol.unsubscribe(Topic(HOME))
    left = set(peer.port.left_communities)

    for delay, timer in timers:
        scope = getattr(timer, "scope", None)
        peer.port.sent.clear()
        peer.port.timers.clear()
        peer.fire([(delay, timer)])
        if scope in left:
            assert (peer.port.sent, peer.port.timers) == ([], [])

    assert peer.port.delivered == []
    peer.protocol.publish(Event("e", HOME))
    assert peer.port.delivered == []


# What the application asks for


@each_pair
def test_an_event_is_delivered_to_a_subscribed_publisher_once_however_often_it_comes_back(
    pair: Pair,
) -> None:
    peer = Lone(pair)
    event = Event("e", HOME)

    peer.protocol.publish(event)
    copies = [message for _, message in peer.port.take_sent()]
    peer.take_in((6, copy) for copy in copies)

    assert [delivered for delivered, _ in peer.port.delivered] == [event]


@each_pair
def test_interests_in_several_topics_are_served_and_end(pair: Pair) -> None:
    peer = Lone(pair)
    both = AnyOf((Topic(".a"), Topic(".c")))

    peer.protocol.subscribe(both)
    for topic in (".a", ".c"):
        peer.protocol.publish(Event(f"first {topic}", topic))
    assert [e.id for e, _ in peer.port.delivered] == ["first .a", "first .c"]
    peer.protocol.unsubscribe(both)
    for topic in (".a", ".c"):
        peer.protocol.publish(Event(f"second {topic}", topic))

    assert len(peer.port.delivered) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=lambda protocol: protocol.name)
def test_parameters_that_it_does_not_have_cannot_be_changed_while_it_runs(
    protocol: type[Protocol],
) -> None:
    peer = Lone(next(pair for pair in PAIRS if pair[0] is protocol))

    with pytest.raises(LocalError):
        peer.protocol.configure(HOME, {"no such parameter": 1})

    peer.check_that_it_works()


# How it is written


def modules_of(package: Any) -> list[Any]:
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    return [importlib.import_module(info.name) for info in found]


def defined_in(package: Any, base: type) -> list[type]:
    return [
        thing
        for module in modules_of(package)
        for thing in vars(module).values()
        if isinstance(thing, type)
        and issubclass(thing, base)
        and thing.__module__ == module.__name__
    ]


def test_every_class_there_is_registered() -> None:
    for package, base, registry in (
        (agents.protocols, Protocol, protocols),
        (agents.membership, Membership, memberships),
    ):
        written = [kind for kind in defined_in(package, base) if not inspect.isabstract(kind)]
        assert written
        assert {registry.load(kind.name) for kind in written} == set(written)  # type: ignore[attr-defined]


@each_layer
def test_it_registers_itself_in_its_own_module(layer: type[Protocol] | type[Membership]) -> None:
    source = inspect.getsource(sys.modules[layer.__module__])

    assert f".register({layer.__name__})\n" in source


def test_every_message_there_is_declared() -> None:
    written = [
        kind
        for package in (agents.protocols, agents.membership)
        for kind in defined_in(package, Message)
    ]

    assert set(written) <= set(MESSAGES)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_messages_are_frozen_records(kind: type[Message]) -> None:
    assert issubclass(kind, Message)
    assert kind.__struct_config__.frozen
    assert kind.__struct_config__.tag == kind.__name__


@each_layer
def test_the_modules_docstring_names_state_messages_and_timers(
    layer: type[Protocol] | type[Membership],
) -> None:
    module = sys.modules[layer.__module__]
    text = module.__doc__ or ""

    for word in ("state", "messages", "timers"):
        assert word in text.lower()
    mine = (agents.protocols, agents.membership)
    timers = {kind for package in mine for kind in defined_in(package, Timer)}
    named = [*layer.messages, *(t for t in timers if t.__module__.startswith(module.__name__))]
    assert [kind.__name__ for kind in named if f"`{kind.__name__}`" not in text] == []
