"""What becomes of messages that cannot be sent or received: each is accounted for."""

import base64
from collections import Counter
from pathlib import Path

import pytest

from agents.host.control import ControlClient
from tests.host.machines import Line, Running, has_joined, machine, run, until

PAIR = {".a": [0, 1]}
LARGE = base64.b64encode(bytes(50_000)).decode()
each_transport = pytest.mark.parametrize("transport", ["udp", "tcp"])


async def count(client: ControlClient, name: str) -> int:
    return int((await client.ask("status"))[name])


def balance(records: list[Line]) -> Counter[str]:
    """How many copies of events were sent, received, and dropped, by cause."""
    found: Counter[str] = Counter()
    for record in records:
        match record:
            case {"kind": "drop", "cause": cause}:
                found[cause] += record.get("copies", 1)
            case {"kind": "send" | "receive" as kind, "event": _}:
                found[kind] += 1
    return found


@run
async def test_what_a_full_kernel_queue_drops_is_counted_and_journaled(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR, protocol="gossip-broadcast")) as running:
        first, second = await running.start_all()
        await running.supervisor.ask("freeze", agent=1)
        for _ in range(200):
            await first.ask("publish", topic=".a", data=LARGE)
        await running.supervisor.ask("thaw", agent=1)

        async def the_books_balance() -> bool:
            await second.ask("tables")
            found = balance(running.journals())
            # What came in time was passed on to the first, who had it.
            return found["send"] == found["receive"] + found["overflow"]

        await until(the_books_balance)
        overflow = await count(second, "overflow")
        assert 0 < overflow < 200
        drops = [record for record in running.journal(1) if record["kind"] == "drop"]
        assert sum(record["copies"] for record in drops) == overflow
        assert {(record["agent"], record["host"]) for record in drops} == {(1, 1)}


@run
async def test_what_waits_for_a_peer_that_does_not_read_is_bounded(tmp_path: Path) -> None:
    described = machine(PAIR, protocol="gossip-broadcast", transport="tcp")
    async with Running(tmp_path, described) as running:
        first, _ = await running.start_all()
        await running.supervisor.ask("freeze", agent=1)
        while not (await first.ask("status"))["dropped"]:
            await first.ask("publish", topic=".a", data=LARGE)
        assert (await first.ask("status"))["dropped"] == {"overflow": 1}
        assert await count(first, "queued") == 2
        await running.supervisor.ask("thaw", agent=1)

        async def the_books_balance() -> bool:
            found = balance(running.journals())
            return found["send"] == found["receive"] + found["overflow"]

        await until(the_books_balance)
        assert balance(running.journal(0))["overflow"] == 1
        assert await count(first, "queued") == 0
        drop = next(record for record in running.journal(0) if record["kind"] == "drop")
        assert (drop["agent"], drop["peer"], drop["cause"]) == (1, 0, "overflow")
        assert "host" not in drop  # on which machine the other one runs is not known here


@run
async def test_a_dead_peer_is_noticed_and_met_again_in_its_next_life(tmp_path: Path) -> None:
    described = machine(PAIR, protocol="gossip-broadcast", transport="tcp")
    async with Running(tmp_path, described) as running:
        first, second = await running.start_all()
        await first.ask("publish", topic=".a")

        async def it_came(client: ControlClient) -> bool:
            return bool(await count(client, "delivered"))

        await until(lambda: it_came(second))
        await running.supervisor.ask("kill", agent=1)

        async def it_is_noticed() -> bool:
            await first.ask("publish", topic=".a")
            return bool((await first.ask("status"))["dropped"])

        await until(it_is_noticed)
        assert (await first.ask("status"))["dropped"].keys() == {"crashed"}

        await running.supervisor.ask("spawn", agent=1)
        again = await running.client("agent-1")
        await again.ask("start")

        async def it_came_again() -> bool:
            await first.ask("publish", topic=".a")
            return await it_came(again)

        await until(it_came_again)


@each_transport
@run
async def test_what_comes_before_the_start_is_dropped_and_journaled(
    tmp_path: Path, transport: str
) -> None:
    described = machine(PAIR, protocol="gossip-broadcast", transport=transport)
    async with Running(tmp_path, described) as running:
        first, second = await running.agents()
        await first.ask("start")
        await until(lambda: has_joined(first))
        await first.ask("publish", topic=".a")

        async def it_is_dropped() -> bool:
            return (await second.ask("status"))["dropped"] == {"crashed": 1}

        await until(it_is_dropped)
        (drop,) = running.journal(1)
        assert (drop["kind"], drop["cause"], drop["peer"]) == ("drop", "crashed", 0)


@each_transport
@run
async def test_an_event_of_the_largest_size_arrives(tmp_path: Path, transport: str) -> None:
    described = machine(PAIR, protocol="gossip-broadcast", transport=transport)
    async with Running(tmp_path, described) as running:
        first, second = await running.start_all()
        largest = base64.b64encode(bytes(58_000)).decode()
        await first.ask("publish", topic=".a", data=largest)

        async def it_came() -> bool:
            return bool(await count(second, "delivered"))

        await until(it_came)


@run
async def test_a_link_that_is_not_there_is_a_partition(tmp_path: Path) -> None:
    # The machine has neither of them, as before its link is there.
    addresses = [("198.18.0.2", 9000), ("198.18.0.1", 9000)]
    described = machine(PAIR, protocol="gossip-broadcast", addresses=addresses)
    async with Running(tmp_path, described) as running:
        first, _ = await running.start_all()
        await first.ask("publish", topic=".a")
        assert (await first.ask("status"))["dropped"] == {"partition": 1}
        assert balance(running.journals()) == {"send": 1, "partition": 1}
