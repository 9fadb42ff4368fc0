"""A machine's supervisor: births, deaths and what is left of an agent."""

import asyncio
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from agents.core.errors import LocalError
from tests.host.machines import (
    REPOSITORY,
    THREE_TIERS,
    Running,
    free_ports,
    has_joined,
    is_there,
    machine,
    run,
    until,
)

PAIR = {".a": [0, 1]}
BREAKS = """
from agents.protocols.gossip import GossipBroadcast


class Breaks(GossipBroadcast):
    name = "breaks"

    def publish(self, event):
        super().publish(event)
        if event.data == b"now":
            raise ZeroDivisionError("a mistake of ours")

    def on_message(self, sender, message):
        super().on_message(sender, message)
        if getattr(message, "event", None) and message.event.data == b"then":
            raise OSError("a mistake of ours, later")
"""


@run
async def test_a_killed_agent_is_reaped_and_lives_again_under_another_number(
    tmp_path: Path,
) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        first, _ = await running.start_all()
        pid = (await first.ask("status"))["pid"]
        answer = await running.supervisor.ask("kill", agent=0)
        assert answer == {"pid": pid, "life": 0, "state": "dead", "exit": None, "signal": 9}
        assert not is_there(pid)

        answer = await running.supervisor.ask("spawn", agent=0)
        assert answer["state"] == "running"
        assert answer["life"] == 1
        again = await running.client("agent-0")
        assert (await again.ask("status"))["life"] == 1
        await again.ask("start")
        assert await has_joined(again)

        assert [record["kind"] for record in running.journal(0, life=0)] == ["join"]
        assert [record["kind"] for record in running.journal(0, life=1)] == ["restart", "join"]


@run
async def test_lives_go_on_counting_when_the_machine_restarts(tmp_path: Path) -> None:
    described = machine(PAIR)
    for life in range(3):
        async with Running(tmp_path, described) as running:
            agents = (await running.supervisor.ask("status"))["agents"]
            assert {agent["life"] for agent in agents.values()} == {life}


@run
async def test_a_frozen_agent_stands_still_and_goes_on_when_thawed(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        first, second = await running.start_all()
        assert (await running.supervisor.ask("freeze", agent=1))["state"] == "frozen"
        answer = asyncio.ensure_future(second.ask("status"))
        await first.ask("publish", topic=".a")
        agents = (await running.supervisor.ask("status"))["agents"]
        assert agents["1"]["state"] == "frozen"
        assert not answer.done()

        assert (await running.supervisor.ask("thaw", agent=1))["state"] == "running"
        await answer

        async def it_came() -> bool:
            return bool((await second.ask("status"))["delivered"])

        await until(it_came)


@run
async def test_journals_of_the_killed_are_whole(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(THREE_TIERS)) as running:
        clients = await running.start_all()

        async def publish_for_ever() -> None:
            while True:
                await clients[5].ask("publish", topic=".a.d.g")

        publishing = asyncio.ensure_future(publish_for_ever())

        async def it_wrote() -> bool:
            return (await clients[6].ask("status"))["received"] > 500

        await until(it_wrote)
        await running.supervisor.ask("kill", agent=5)
        with pytest.raises(LocalError, match="gone"):
            await publishing
        records = running.journal(5)
        sent = {record["event"] for record in records if record["kind"] == "send"}
        published = {record["event"] for record in records if record["kind"] == "publish"}
    # Every line is whole. What was sent was written down before.
    assert len(published) > 50
    assert sent <= published


@run
async def test_what_cannot_be_done_is_refused_in_a_sentence(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        ask = running.supervisor.ask
        with pytest.raises(LocalError, match="agent 7 is not on h1, which has 0, 1"):
            await ask("kill", agent=7)
        with pytest.raises(LocalError, match="agent 1 is running already"):
            await ask("spawn", agent=1)
        await ask("kill", agent=1)
        for command in ("kill", "freeze", "thaw"):
            with pytest.raises(LocalError, match="agent 1 is dead"):
                await ask(command, agent=1)
        first = await running.client("agent-0")
        for command, fields in (("publish", {"topic": ".a"}), ("stop", {}), ("tables", {})):
            with pytest.raises(LocalError, match="agent 0 is not started"):
                await first.ask(command, **fields)
        await first.ask("start")
        with pytest.raises(LocalError, match="agent 0 is started already"):
            await first.ask("start")
        with pytest.raises(LocalError, match="over the 58000 allowed"):
            await first.ask("publish", topic=".a", data="A" * 80_000)
        with pytest.raises(LocalError, match=r"topic '\.b' is not known"):
            await first.ask("publish", topic=".b")
        await first.ask("stop")
        with pytest.raises(LocalError, match="agent 0 has stopped"):
            await first.ask("publish", topic=".a")
        with pytest.raises(LocalError, match="kill and spawn it"):
            await first.ask("start")


@run
async def test_a_mistake_of_ours_ends_the_agent_loudly(tmp_path: Path) -> None:
    (tmp_path / "breaks.py").write_text(BREAKS)
    described = machine({".a": [0, 1, 2, 3]}, protocol=f"{tmp_path}/breaks.py:Breaks")
    async with Running(tmp_path, described) as running:
        first, _, third, _ = await running.start_all()
        with pytest.raises(LocalError, match="agent 0 broke down, and its log says why"):
            await first.ask("publish", topic=".a", data="bm93")
        await third.ask("publish", topic=".a", data="dGhlbg==")

        async def whoever_got_it_ended() -> bool:
            agents = (await running.supervisor.ask("status"))["agents"]
            return [agents[agent]["exit"] for agent in "013"] == [1, 1, 1]

        await until(whoever_got_it_ended)
        assert "ZeroDivisionError: a mistake of ours" in running.log()
        assert "agent 1 (life 0) broke down" in running.log()
        assert "OSError: a mistake of ours, later" in running.log()
        kinds = [record["kind"] for record in running.journal(0)]
        assert kinds[:3] == ["join", "publish", "send"]
        assert "deliver" in [record["kind"] for record in running.journal(1)]


@run
async def test_when_the_supervisor_ends_so_does_everybody(tmp_path: Path) -> None:
    for end in (signal.SIGTERM, signal.SIGKILL):
        async with Running(tmp_path, machine(PAIR)) as running:
            clients = await running.agents()
            pids = [(await client.ask("status"))["pid"] for client in clients]
            if end is signal.SIGTERM:
                await running.supervisor.ask("freeze", agent=1)
            running.process.send_signal(end)
            code = await asyncio.to_thread(running.process.wait)
            assert code == (0 if end is signal.SIGTERM else -end)

            async def all_gone(pids: list[int] = pids) -> bool:
                return not any(is_there(pid) for pid in pids)

            await until(all_gone)


@run
async def test_a_shutdown_is_answered_and_done(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        assert await running.supervisor.ask("shutdown") == {}
        assert await asyncio.to_thread(running.process.wait) == 0


@run
async def test_nobody_else_can_use_the_sockets_and_read_the_journals(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        await running.start_all()
        places = [tmp_path / "supervisor.sock", tmp_path / "agent-0.sock", tmp_path / "log.txt"]
        for path in (*places, *(tmp_path / "journal").iterdir()):
            assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
        assert stat.S_IMODE((tmp_path / "journal").stat().st_mode) == 0o700


@run
async def test_an_address_that_the_machine_does_not_have_yet_can_be_bound(tmp_path: Path) -> None:
    port = free_ports(1)[0]
    for transport in ("udp", "tcp"):
        described = machine({".a": [0]}, addresses=[("198.18.0.1", port)], transport=transport)
        async with Running(tmp_path, described) as running:
            client = await running.client("agent-0")
            assert not (await client.ask("status"))["started"]


@run
async def test_it_works_in_a_folder_with_a_very_long_name(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30)
    folder.mkdir()
    async with Running(folder, machine(PAIR)) as running:
        assert len(await running.start_all()) == 2


@run
async def test_agents_stay_small(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR, transport="tcp")) as running:
        for client in await running.start_all():
            assert (await client.ask("status"))["rss_kb"] < 30_000


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (None, "cannot be read: No such file or directory"),
        ("{", "machine.json: Input data was truncated"),
        ("{}", "machine.json: Object missing required field `host`"),
        ('{"host": "one"}', r"machine.json: Expected `int`, got `str` - at `$.host`"),
    ],
)
def test_a_wrong_machine_is_one_sentence(tmp_path: Path, text: str | None, complaint: str) -> None:
    if text is not None:
        (tmp_path / "machine.json").write_text(text)
    assert complaint in refusal(tmp_path)


@pytest.mark.parametrize(
    ("fields", "complaint"),
    [
        ({"agents": [0, 5]}, "agents names agent 5, and there are addresses of 2 agents only"),
        ({"agents": [0, 0]}, "agents names an agent twice"),
        ({"topic_parameters": {".b": {}}}, "topic '.b' is not known"),
        ({"interests": {0: [".b"]}}, "topic '.b' is not known"),
        ({"interests": {3: []}}, "interests are given of agent 3, who is on another machine"),
        ({"protocol": "rumour"}, "no protocol is called 'rumour'"),
        ({"protocol": "hierarchical-gossip", "membership": "scamp"}, "needs static"),
        ({"parameters": {"zeal": 3}}, "zeal"),
    ],
)
def test_a_machine_that_does_not_fit_together_is_one_sentence(
    tmp_path: Path, fields: dict[str, object], complaint: str
) -> None:
    (tmp_path / "machine.json").write_bytes(msgspec.json.encode(machine(PAIR, **fields)))
    assert complaint in refusal(tmp_path)


def refusal(folder: Path) -> str:
    """The one line with which the supervisor ends."""
    ended = subprocess.run(
        [sys.executable, "-m", "agents.host", str(folder)],
        cwd=REPOSITORY,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONWARNINGS": "error"},
        check=False,
    )
    assert ended.returncode == 1
    assert ended.stderr.count("\n") == 1
    return ended.stderr
