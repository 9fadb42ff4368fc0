"""Communities, as an application sees them, over agents on the network."""

import asyncio
from pathlib import Path

import pytest

from agents.api import CommunityManager
from agents.core.errors import LocalError
from agents.core.messages import Event
from agents.host.machine import Machine
from agents.host.node import AgentNode
from agents.host.supervisor import agent_socket
from tests.host.machines import Running, machine, run, until

TOPICS = {".a": [0, 1, 2], ".a.d": [3], ".a.x": [4]}


def unoccupied(**fields: str) -> Machine:
    """Agents that take part in nothing until an application has them do so."""
    return machine(TOPICS, interests={}, membership="scamp", **fields)


async def managers(running: Running) -> list[CommunityManager]:
    found = []
    for agent, client in enumerate(await running.agents()):
        known = {scope: [0, 1, 2] for scope in (*TOPICS, "")} if agent else {}
        await client.ask("start", contacts=known)
        node = await AgentNode.connect(agent_socket(running.folder, agent))
        found.append(CommunityManager(node))
        running.at_end(found[-1].close)
    return found


@pytest.mark.parametrize("protocol", ["camcast", "gossip-broadcast"])
@pytest.mark.parametrize("transport", ["udp", "tcp"])
@run
async def test_a_subscriber_gets_what_others_publish_in_its_community_and_nothing_else(
    tmp_path: Path, protocol: str, transport: str
) -> None:
    described = unoccupied(protocol=protocol, transport=transport)
    async with Running(tmp_path, described) as running:
        here, there, third, *_ = await managers(running)
        heard: asyncio.Queue[Event] = asyncio.Queue()
        async with here.community(".a").subscribe(heard.put_nowait):
            await third.community(".a").subscribe(lambda event: None)
            sent = await there.community(".a").publish(b"goal", psel=0.5)
            assert await heard.get() == sent
        await there.community(".a").publish(b"nobody hears it")
        await third.close()
    assert heard.empty()


@run
async def test_an_unknown_topic_is_refused_and_nothing_of_it_is_kept(tmp_path: Path) -> None:
    async with Running(tmp_path, unoccupied()) as running:
        here, *_ = await managers(running)
        with pytest.raises(LocalError, match=r"topic '\.b' is not known"):
            await here.community(".b").subscribe(lambda event: None)
        with pytest.raises(LocalError, match=r"topic '\.b' is not known"):
            await here.community(".b").publish(b"")
        await here.community(".a").subscribe(lambda event: None)


@run
async def test_closing_a_manager_leaves_its_communities(tmp_path: Path) -> None:
    async with Running(tmp_path, unoccupied()) as running:
        async with (await managers(running))[0] as here:
            await here.community(".a").subscribe(lambda event: None)
        status = await (await running.client("agent-0")).ask("status")
        assert not status["started"]
        assert status["joined"] == []
        kinds = [record["kind"] for record in running.journal(0)]
    assert kinds == ["join", "leave"]


@run
async def test_whoever_waits_is_told_when_the_agent_dies(tmp_path: Path) -> None:
    async with Running(tmp_path, unoccupied()) as running:
        *_, last = await managers(running)
        # Nobody else is in the community, so it goes on asking.
        waiting = asyncio.ensure_future(last.community(".a.x").publish(b""))
        client = await running.client("agent-4")

        async def is_asking() -> bool:
            return bool((await client.ask("status"))["published"])

        await until(is_asking)
        await running.supervisor.ask("kill", agent=4)
        with pytest.raises(LocalError, match="gone"):
            await waiting
