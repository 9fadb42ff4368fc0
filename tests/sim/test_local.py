"""The simulated network that applications are given: what it refuses, its time and its hierarchy."""

from __future__ import annotations

import pytest

from agents.core.errors import LocalError
from agents.core.interest import Topic
from agents.core.messages import ns
from testbed.sim.local import SimulatedNetwork
from tests.support.api import Fan, run, soccer


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
