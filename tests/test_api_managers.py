"""Managers of communities: what they give out, what remains when they close, and several at once."""

from __future__ import annotations

import asyncio

import pytest

from agents.api import CommunityManager, Subscription
from agents.core.errors import LocalError
from tests.support.api import ITALY, Fan, members, run, soccer


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
