"""One agent's commands, and what it writes down."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec

from agents.core.codec import Codec
from agents.core.draw import stream
from agents.core.interest import Topic
from agents.core.messages import Event
from agents.core.port import Port
from agents.core.protocol import Protocol
from agents.host.journal import JournalWriter
from agents.host.machine import Residents
from agents.host.recorder import AgentRecorder
from agents.protocols.gossip import Gossip
from testbed.model.distributions import Fixed
from testbed.sim.full_recorder import FullRecorder
from testbed.sim.network import Network
from testbed.sim.world import World
from tests.host.machines import Running, has_joined, machine, run, until

GROUPS = {".a": [0], ".a.d": [1, 2]}


@run
async def test_a_listener_hears_of_joining_delivery_and_leaving(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(GROUPS)) as running:
        _, second, third = await running.agents()
        heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        await third.listen(lambda notice: heard.put_nowait(dict(notice)), lambda: None)
        await third.ask("start")
        assert await heard.get() == {"joined": ".a.d"}
        await second.ask("start")
        found = await second.ask("publish", topic=".a.d", data="Z29hbA==", psel=0.25)
        assert await heard.get() == {
            "delivered": {
                "event": found["event"],
                "topic": ".a.d",
                "communities": [".a.d"],
                "data": "Z29hbA==",
                "psel": 0.25,
            }
        }
        await third.ask("stop")
        assert await heard.get() == {"left": ".a.d"}


@run
async def test_contacts_can_be_changed_while_the_agent_looks_for_some(tmp_path: Path) -> None:
    described = machine({".a": [0, 1, 2]}, membership="scamp")
    async with Running(tmp_path, described) as running:
        first, second, third = await running.agents()
        await first.ask("start")
        await second.ask("start", contacts={".a": [2]})  # who is not there
        assert not await has_joined(second)
        await second.ask("contacts", contacts={".a": [0]})
        await until(lambda: has_joined(second))
        assert not (await third.ask("status"))["started"]


@run
async def test_parameters_can_be_changed_and_whoever_starts_later_has_them(tmp_path: Path) -> None:
    described = machine(GROUPS, configured=[(".a.d", {"c": 0.5})])
    async with Running(tmp_path, described) as running:
        _, second, _ = await running.start_all()
        assert await second.ask("configure", topic=".a.d", changes={"c": 1}) == {}


@run
async def test_the_tables_are_written_when_asked_for(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(GROUPS)) as running:
        _, second, _ = await running.start_all()
        await second.ask("tables")
        tables = [record for record in running.journal(1) if record["kind"] == "table"]
        status = await second.ask("status")
    assert {f"{t['community']}/{t['message']}": t.get("size", 0) for t in tables} == {
        ".a.d/topic": 1,
        ".a.d/super .a": 1,
    }
    assert status["tables"] == {".a.d/topic": 1, ".a.d/super .a": 1}


@run
async def test_who_is_interested_in_nothing_starts_all_the_same(tmp_path: Path) -> None:
    described = machine(GROUPS, interests={0: [], 1: [".a.d"], 2: [".a.d"]})
    async with Running(tmp_path, described) as running:
        gateway, *_ = await running.agents()
        await gateway.ask("start")
        status = await gateway.ask("status")
    assert status["started"]
    assert status["joined"] == []


# The journal's lines


def test_both_engines_write_the_same_records(tmp_path: Path) -> None:
    """But for the time and the machine."""
    described = machine(GROUPS)
    topics = described.make_topics()
    codec = Codec((Gossip,))
    lines: list[bytes] = []
    simulated = FullRecorder(world(), topics, codec, lines.append)
    journal = JournalWriter(tmp_path, described, 1, 0)
    hosted = AgentRecorder(described, 1, Residents(described, 1), topics, codec, journal)
    mine, others = Event("1.0.0", ".a.d", b"abc"), Event("2.0.0", ".a.d")
    parasite = Event("0.0.0", ".a")
    for recorder in (simulated, hosted):
        recorder.restarted(1)
        recorder.joined(1, "")
        recorder.published(1, mine)
        recorder.sent(1, [0, 2], Gossip(mine, 1))
        for event in (others, others, mine, parasite):
            recorder.received(1, 2, Gossip(event, 3))
        recorder.delivered(1, others, "")
        recorder.dropped(1, 2, Gossip(others, 3), "refused")
        recorder.dropped(0, 1, Gossip(others, 3), "overflow")
        recorder.tables(1, {("", "table"): [0, 2]})
        recorder.left(1, "")
    journal.close()

    written = journal.path.read_bytes().splitlines()[1:]
    assert [plain(line) for line in written] == [plain(line) for line in lines]
    assert [msgspec.json.decode(line).get("host") for line in written].count(1) == len(written) - 1


def plain(line: bytes) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(line)
    found.pop("time")
    found.pop("host", None)
    return found


def world() -> World:
    """The same agents, none of them started."""

    def never(port: Port) -> Protocol:
        raise AssertionError("nobody starts here")

    latency = Fixed.model_validate({"fixed": "1ms"})
    network = Network(latency=latency, tick_ns=1, rng=stream(1))
    found = World(seed=1, tick_ns=1, network=network, make_protocol=never)
    for topic in (".a", ".a.d", ".a.d"):
        found.add(Topic(topic))
    return found
