"""Publishing in communities: who joins to do so, who hears of it, and how long one stays."""

from __future__ import annotations

import pytest

from agents.core.errors import TopicError
from agents.core.messages import Event
from tests.support.api import ITALY, Fan, members, run, soccer


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
