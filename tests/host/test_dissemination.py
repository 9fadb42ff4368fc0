"""Agents in processes of their own, over real sockets: who gets what."""

from collections import Counter
from pathlib import Path

import pytest

from agents.host.control import ControlClient
from tests.host.machines import THREE_TIERS, Line, Running, machine, run, sent_is_received, until

each_transport = pytest.mark.parametrize("transport", ["udp", "tcp"])
each_membership = pytest.mark.parametrize("membership", ["static", "scamp"])
EVENTS = 6


async def delivered(clients: list[ControlClient]) -> list[int]:
    return [(await client.ask("status"))["delivered"] for client in clients]


@each_transport
@each_membership
@run
async def test_events_reach_the_interested_and_nobody_else(
    tmp_path: Path, transport: str, membership: str
) -> None:
    described = machine(
        THREE_TIERS,
        transport=transport,
        membership=membership,
        parameters={"g": 100, "a": 2},  # everybody passes everything up: no luck is needed
    )
    async with Running(tmp_path, described) as running:
        clients = await running.start_all()

        async def all_have_it() -> bool:
            return await delivered(clients) == [EVENTS] * len(clients)

        for number in range(EVENTS):
            await clients[5 + number].ask("publish", topic=".a.d.g", data="")
        await until(all_have_it)
        await clients[0].ask("publish", topic=".a")

        async def the_top_has_it() -> bool:
            return (await delivered(clients))[:2] == [EVENTS + 1] * 2

        await until(the_top_has_it)
        await until(lambda: sent_is_received(clients))
        assert (await delivered(clients))[2:] == [EVENTS] * 10
        for client in clients:
            await client.ask("stop")

        async def the_books_balance() -> bool:
            return not unaccounted(running.journals())

        await until(the_books_balance)
        assert not any(record.get("parasite") for record in running.journals())


def unaccounted(records: list[Line]) -> dict[tuple[object, ...], int]:
    """What was sent and neither received nor dropped, or came of nothing."""
    open_ = Counter[tuple[object, ...]]()
    for record in records:
        what = (record.get("event"), record.get("message"), record.get("hop"), record.get("size"))
        match record["kind"], record.get("cause"):
            case "send", _:
                open_[record["agent"], record["peer"], *what] += 1
            case ("receive", _) | ("drop", "crashed"):
                open_[record["peer"], record["agent"], *what] -= 1
    return {key: count for key, count in open_.items() if count}
