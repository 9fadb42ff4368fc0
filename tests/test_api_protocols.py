"""What an application may count on with every protocol that needs to know nobody in advance."""

from __future__ import annotations

import pytest

from agents.core.errors import TopicError
from tests.support.api import ITALY, Fan, often, run, soccer
from tests.support.registered import PAIRS

ON_SCAMP = [protocol.name for protocol, membership in PAIRS if membership.name == "scamp"]
each_protocol = pytest.mark.parametrize("protocol", ON_SCAMP)


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
