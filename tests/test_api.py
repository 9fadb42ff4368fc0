"""Communities, as an application sees them, over the simulated network."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any

import pytest

from agents.api import CommunityManager, Subscription
from agents.core.errors import LocalError, TopicError
from agents.core.interest import Topic
from agents.core.messages import Event, ns
from testbed.sim.local import JOIN_AT_MOST_S, SimulatedNetwork
from tests.support.registered import PAIRS

ITALY = ".soccer.italy"
ON_SCAMP = [protocol.name for protocol, membership in PAIRS if membership.name == "scamp"]
each_protocol = pytest.mark.parametrize("protocol", ON_SCAMP)


def run(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine."""

    @wraps(test)
    def runs(**arguments: Any) -> None:
        asyncio.run(test(**arguments))

    return runs


class Fan:
    """An application that keeps what it hears."""

    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def __call__(self, event: Event) -> None:
        self.heard.append(event.data)


def soccer(protocol: str = "camcast", **options: Any) -> SimulatedNetwork:
    return SimulatedNetwork([ITALY, ".tennis"], protocol=protocol, **options)


async def often(network: SimulatedNetwork, manager: CommunityManager, topic: str) -> None:
    """Twenty events, for one alone may not get to the super-community: that is up to chance."""
    for _ in range(20):
        await manager.community(topic).publish(topic.encode())
        await network.run(seconds=2)


def members(network: SimulatedNetwork, topic: str) -> list[int]:
    return list(network.world.joined.get(topic, ()))


# With every protocol that needs to know nobody in advance


def test_there_are_such_protocols() -> None:
    assert {"camcast", "damulticast", "gossip-broadcast", "gossip-multicast"} <= set(ON_SCAMP)


@each_protocol
@run
async def test_events_of_subtopics_reach_a_subscriber_and_those_of_others_do_not(
    protocol: str,
) -> None:
    network, fan = soccer(protocol), Fan()
    async with network.manager() as here, network.manager() as there:
        await here.community(".soccer").subscribe(fan)
        for topic in (ITALY, ".soccer", ".tennis", "."):
            await often(network, there, topic)

    assert sorted(set(fan.heard)) == [b".soccer", b".soccer.italy"]
    assert fan.heard.count(b".soccer") == 20


@each_protocol
@run
async def test_the_first_to_come_reaches_those_who_came_later(protocol: str) -> None:
    network, fans = soccer(protocol, parameters={"c": 2}), [Fan() for _ in range(5)]
    first = network.manager()
    await first.community(ITALY).subscribe(Fan())
    for fan in fans:
        await network.manager().community(ITALY).subscribe(fan)
    await network.run(seconds=5)

    await first.community(ITALY).publish(b"goal")
    await network.run(seconds=5)

    assert [fan.heard for fan in fans] == [[b"goal"]] * 5


@each_protocol
@run
async def test_a_subscription_lasts_for_the_block(protocol: str) -> None:
    network, fan = soccer(protocol), Fan()
    async with network.manager() as here, network.manager() as there:
        async with here.community(ITALY).subscribe(fan) as subscription:
            assert subscription.community is here.community(ITALY)
            await there.community(ITALY).publish(b"during")
            await network.run(seconds=5)
        await there.community(ITALY).publish(b"after")
        await network.run(seconds=5)

    assert fan.heard == [b"during"]


@each_protocol
@run
async def test_a_subscription_lasts_until_it_is_cancelled(protocol: str) -> None:
    network, fan = soccer(protocol), Fan()
    async with network.manager() as here, network.manager() as there:
        subscription = await here.community(ITALY).subscribe(fan)
        await there.community(ITALY).publish(b"before")
        await network.run(seconds=5)
        await subscription.cancel()
        await there.community(ITALY).publish(b"after")
        await network.run(seconds=5)
        await here.community(ITALY).subscribe(fan)
        await there.community(ITALY).publish(b"again")
        await network.run(seconds=5)

    assert fan.heard == [b"before", b"again"]


@each_protocol
@run
async def test_a_topic_may_be_added_while_it_runs(protocol: str) -> None:
    network, fan = soccer(protocol), Fan()
    async with network.manager() as here, network.manager() as there:
        await here.community(".soccer").subscribe(fan)
        network.topics.add(".soccer.spain")
        await network.run(seconds=20)
        await often(network, there, ".soccer.spain")

    assert set(fan.heard) == {b".soccer.spain"}


@each_protocol
@run
async def test_a_topic_that_is_not_known_is_refused_by_its_name(protocol: str) -> None:
    network = soccer(protocol)
    async with network.manager() as manager:
        for name in (".cricket", "nonsense"):
            unknown = manager.community(name)
            with pytest.raises(TopicError, match=f"'{name}' is not known; known are"):
                await unknown.publish(b"?")
            with pytest.raises(TopicError, match=f"'{name}' is not known; known are"):
                await unknown.subscribe(Fan())
        network.topics.add(".cricket")
        event = await manager.community(".cricket").publish(b"now it is")
    assert event.topic == ".cricket"


@each_protocol
@run
async def test_the_same_seed_gives_the_same_run(protocol: str) -> None:
    async def history(seed: int) -> list[tuple[int, bytes]]:
        network = soccer(protocol, seed=seed, loss=0.3)
        heard: list[tuple[int, bytes]] = []
        for _ in range(6):
            manager = network.manager()
            community = manager.community(ITALY)
            await community.subscribe(lambda event: heard.append((network.world.now, event.data)))
            await community.publish(b"hello")
            await network.run(seconds=5)
        return heard

    assert await history(1) == await history(1)
    assert await history(1) != await history(2)


# Subscribing


@run
async def test_who_awaits_a_subscription_is_in_the_community_when_that_returns() -> None:
    network = soccer()
    for number in range(3):
        await network.manager().community(ITALY).subscribe(Fan())
        assert members(network, ITALY) == list(range(number + 1))


@run
async def test_awaiting_a_subscription_again_does_nothing() -> None:
    network, fan = soccer(), Fan()
    async with network.manager() as manager:
        subscription = manager.community(ITALY).subscribe(fan)
        assert await subscription is subscription
        assert await subscription is subscription
        await manager.community(ITALY).publish(b"once")

    assert fan.heard == [b"once"]


@run
async def test_nothing_happens_before_a_subscription_is_awaited() -> None:
    network = soccer()
    manager = network.manager()
    manager.community(ITALY).subscribe(Fan())
    await network.run(seconds=5)

    assert members(network, ITALY) == []


@run
async def test_subscriptions_of_one_community_end_one_by_one() -> None:
    network, first, second = soccer(), Fan(), Fan()
    italy = network.manager().community(ITALY)
    one, other = await italy.subscribe(first), await italy.subscribe(second)
    await italy.publish(b"1")
    await italy.stop_publishing()

    await italy.unsubscribe(one)
    await italy.unsubscribe(one)
    assert members(network, ITALY) == [0]
    await italy.publish(b"2")
    await italy.stop_publishing()
    await other.cancel()

    assert members(network, ITALY) == []
    assert (first.heard, second.heard) == ([b"1"], [b"1", b"2"])


@run
async def test_a_block_that_fails_ends_its_subscription() -> None:
    network = soccer()
    italy = network.manager().community(ITALY)

    with pytest.raises(ZeroDivisionError):
        async with italy.subscribe(Fan()):
            raise ZeroDivisionError

    assert members(network, ITALY) == []


@run
async def test_a_callback_may_cancel_its_own_subscription() -> None:
    network, fan, tasks = soccer(), Fan(), []

    def hear_one(event: Event) -> None:
        fan(event)
        tasks.append(asyncio.get_running_loop().create_task(subscription.cancel()))

    async with network.manager() as here, network.manager() as there:
        subscription = await here.community(ITALY).subscribe(hear_one)
        other = Fan()
        await here.community(ITALY).subscribe(other)
        for number in range(3):
            await there.community(ITALY).publish(b"%d" % number)
            network.world.network.fixed_delay += 1  # the next one arrives a tick later
        await network.run(seconds=5)
        await asyncio.gather(*tasks)

    assert (fan.heard, other.heard) == ([b"0"], [b"0", b"1", b"2"])


@run
async def test_whoever_waits_for_a_callback_goes_on_before_time_does() -> None:
    network, times = soccer(), []
    heard = asyncio.Event()

    async def answer() -> None:
        await heard.wait()
        times.append(network.world.now)
        await network.run(seconds=1)
        times.append(network.world.now)

    def on_event(event: Event) -> None:
        times.append(network.world.now)
        heard.set()

    async with network.manager() as here, network.manager() as there:
        await here.community(ITALY).subscribe(on_event)
        waiting = asyncio.get_running_loop().create_task(answer())
        await there.community(ITALY).publish(b"ping")
        await network.run(seconds=60)
        await waiting

    assert times[1] == times[0]
    assert times[2] == times[0] + ns(1)


@run
async def test_a_callback_that_ends_another_subscription_spares_it_the_event() -> None:
    network, spared = soccer(), Fan()
    italy = network.manager().community(ITALY)

    def end_the_other(event: Event) -> None:
        with pytest.raises(StopIteration):
            other.cancel().send(None)

    await italy.subscribe(end_the_other)
    other = await italy.subscribe(spared)
    await italy.publish(b"x")

    assert spared.heard == []


@run
async def test_a_subscription_that_cannot_join_leaves_nothing_behind() -> None:
    network, fan = soccer(), Fan()
    first = network.manager()
    await first.community(ITALY).subscribe(Fan())
    late = network.manager()
    network.world.network.set_loss(1.0)
    subscription = late.community(ITALY).subscribe(fan)

    with pytest.raises(LocalError, match=f"'{ITALY}' could not be joined within 600 s"):
        await subscription

    assert network.world.now >= ns(JOIN_AT_MOST_S)
    assert network.world.interests(1) == ()
    network.world.network.set_loss(0.0)
    await network.run(seconds=60)
    assert members(network, ITALY) == [0]
    await subscription
    await first.community(ITALY).publish(b"now")
    await network.run(seconds=5)
    assert fan.heard == [b"now"]


@run
async def test_a_failed_subscription_does_not_end_the_others_of_the_community() -> None:
    network, fan = soccer(), Fan()
    manager = network.manager()
    unknown = manager.community(".cricket")
    with pytest.raises(TopicError):
        await unknown.subscribe(Fan())
    network.topics.add(".cricket")

    await unknown.subscribe(fan)
    await unknown.publish(b"howzat")

    assert fan.heard == [b"howzat"]


# Publishing


@run
async def test_publishing_joins_first_and_goes_on_its_way() -> None:
    network, fan = soccer(), Fan()
    await network.manager().community(ITALY).subscribe(fan)
    reporter = network.manager()

    event = await reporter.community(ITALY).publish(b"goal")

    assert (event.topic, event.data, event.psel) == (ITALY, b"goal", None)
    assert members(network, ITALY) == [0, 1]
    await network.run(seconds=1)
    assert fan.heard == [b"goal"]


@run
async def test_who_publishes_as_soon_as_it_has_joined_reaches_the_super_community() -> None:
    network, fan = soccer(parameters={"a": 3, "z": 3}), Fan()
    async with network.manager() as here, network.manager() as there:
        await here.community(".soccer").subscribe(fan)
        await there.community(ITALY).publish(b"goal")
        await network.run(seconds=1)

    assert fan.heard == [b"goal"]


@run
async def test_who_only_publishes_hears_nothing_until_it_subscribes() -> None:
    network, fan = soccer(), Fan()
    italy = network.manager().community(ITALY)
    other = network.manager().community(ITALY)
    for manager in (italy, other):
        await manager.publish(b"first")
    await network.run(seconds=5)

    await italy.subscribe(fan)
    await other.publish(b"second")
    await network.run(seconds=5)

    assert fan.heard == [b"second"]


@run
async def test_psel_travels_with_the_event() -> None:
    network = soccer()
    heard: list[Event] = []
    await network.manager().community(ITALY).subscribe(heard.append)

    sent = await network.manager().community(ITALY).publish(b"up", psel=0.25)
    await network.run(seconds=5)

    assert sent.psel == 0.25
    assert heard == [sent]


@run
async def test_psel_decides_whether_an_event_goes_up() -> None:
    network, fan = soccer(parameters={"a": 3}), Fan()
    async with network.manager() as above, network.manager() as below:
        await above.community(".soccer").subscribe(fan)
        await below.community(ITALY).subscribe(Fan())
        await network.run(seconds=30)
        await below.community(ITALY).publish(b"kept", psel=0.0)
        await below.community(ITALY).publish(b"passed", psel=1.0)
        await network.run(seconds=5)

    assert fan.heard == [b"passed"]


@run
async def test_who_stops_publishing_leaves() -> None:
    network = soccer()
    italy = network.manager().community(ITALY)
    await italy.publish(b"x")

    await italy.stop_publishing()
    assert members(network, ITALY) == []

    await italy.publish(b"y")
    assert members(network, ITALY) == [0]


@run
async def test_who_stops_publishing_stays_as_long_as_it_is_subscribed() -> None:
    network = soccer()
    italy = network.manager().community(ITALY)
    subscription = await italy.subscribe(Fan())
    await italy.publish(b"x")

    await italy.stop_publishing()
    assert members(network, ITALY) == [0]

    await subscription.cancel()
    assert members(network, ITALY) == []


@run
async def test_who_unsubscribes_stays_as_long_as_it_publishes_and_hears_nothing() -> None:
    network, fan = soccer(), Fan()
    italy = network.manager().community(ITALY)
    subscription = await italy.subscribe(fan)
    await italy.publish(b"x")

    await subscription.cancel()
    await italy.publish(b"y")

    assert members(network, ITALY) == [0]
    assert fan.heard == [b"x"]


@run
async def test_stopping_to_publish_what_was_never_published_does_nothing() -> None:
    network = soccer()
    italy = network.manager().community(ITALY)
    await italy.stop_publishing()
    await italy.subscribe(Fan())
    await italy.stop_publishing()

    assert members(network, ITALY) == [0]


@run
async def test_a_publication_that_failed_does_not_keep_one_in_the_community() -> None:
    network = soccer()
    cricket = network.manager().community(".cricket")
    with pytest.raises(TopicError):
        await cricket.publish(b"?")
    network.topics.add(".cricket")

    async with cricket.subscribe(Fan()):
        assert members(network, ".cricket") == [0]

    assert members(network, ".cricket") == []


# Managers


@run
async def test_a_manager_gives_out_one_object_for_each_community() -> None:
    network = soccer()
    manager, other = network.manager(), network.manager()

    assert manager.community(ITALY) is manager.community(ITALY)
    assert manager.community(ITALY) is not manager.community(".soccer")
    assert manager.community(ITALY) is not other.community(ITALY)


@run
async def test_a_manager_that_is_closed_has_left_everything() -> None:
    network = soccer()
    async with network.manager() as manager:
        await manager.community(ITALY).subscribe(Fan())
        await manager.community(".tennis").publish(b"x")
        assert (members(network, ITALY), members(network, ".tennis")) == ([0], [0])

    assert (members(network, ITALY), members(network, ".tennis")) == ([], [])
    await manager.close()


async def closed_with(topic: str) -> tuple[CommunityManager, Subscription]:
    manager = soccer().manager()
    subscription = await manager.community(topic).subscribe(Fan())
    await manager.close()
    return manager, subscription


@run
async def test_a_closed_manager_refuses_everything_new() -> None:
    manager, subscription = await closed_with(ITALY)
    italy = subscription.community

    with pytest.raises(LocalError, match="this community manager is closed"):
        manager.community(ITALY)
    with pytest.raises(LocalError, match="this community manager is closed"):
        await italy.subscribe(Fan())
    with pytest.raises(LocalError, match="this community manager is closed"):
        await italy.publish(b"x")


@run
async def test_what_ends_anyway_may_end_after_the_manager_was_closed() -> None:
    _, subscription = await closed_with(ITALY)

    await subscription.cancel()
    await subscription.community.stop_publishing()


@run
async def test_two_topics_of_one_process_each_hear_an_event_that_is_both_theirs() -> None:
    network, wide, narrow = soccer(), Fan(), Fan()
    async with network.manager() as manager, network.manager() as other:
        await manager.community(".soccer").subscribe(wide)
        await manager.community(ITALY).subscribe(narrow)
        await network.run(seconds=30)
        await other.community(ITALY).publish(b"goal", psel=1.0)
        await other.community(".soccer").publish(b"draw")
        await network.run(seconds=30)

    assert b"draw" in wide.heard
    assert narrow.heard == [b"goal"]


@run
async def test_managers_that_come_and_go_at_once_do_not_disturb_each_other() -> None:
    network, fans = soccer(), [Fan() for _ in range(4)]

    async def life(fan: Fan) -> None:
        async with network.manager() as manager:
            await manager.community(ITALY).subscribe(fan)
            await network.run(seconds=10)
            await manager.community(ITALY).publish(b"x")
            await network.run(seconds=10)

    await asyncio.gather(*(life(fan) for fan in fans))

    assert [len(fan.heard) for fan in fans] == [4] * 4
    assert members(network, ITALY) == []


# The network


def test_tables_that_must_be_known_in_advance_are_refused() -> None:
    with pytest.raises(LocalError, match="static tables need to know in advance who will come"):
        soccer(membership="static")


def test_a_protocol_that_cannot_stand_on_the_membership_is_refused() -> None:
    with pytest.raises(LocalError, match="hierarchical-gossip needs static as its membership"):
        soccer("hierarchical-gossip")


@pytest.mark.parametrize("wrong", [{"protocol": "nonsense"}, {"membership": "nonsense"}])
def test_what_there_is_not_is_refused_by_its_name(wrong: dict[str, str]) -> None:
    with pytest.raises(LocalError, match="is called 'nonsense'; there are"):
        SimulatedNetwork(**wrong)  # type: ignore[arg-type]


@run
async def test_time_passes_though_nothing_is_due() -> None:
    network = soccer()

    await network.run(seconds=100)
    await network.run(seconds=0.5)

    assert network.world.now == ns(100.5)


@run
async def test_the_hierarchy_may_have_a_root_of_its_own() -> None:
    network, fan = SimulatedNetwork([".news.soccer"], root=".news"), Fan()
    async with network.manager() as here, network.manager() as there:
        await here.community(".news").subscribe(fan)
        await there.community(".news.soccer").publish(b"goal", psel=1.0)
        await there.community(".news").publish(b"other")
        await network.run(seconds=5)
        assert network.world.interests(0) == (Topic(".news"),)

    assert b"other" in fan.heard
