"""Subscriptions to communities: when they begin and end, and what they hear meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from agents.core.errors import LocalError, TopicError
from agents.core.messages import Event, ns
from testbed.sim.local import JOIN_AT_MOST_S
from tests.support.api import ITALY, Fan, members, run, soccer


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
