"""Agents in processes of their own, over real sockets: who gets what."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from agents.core.registry import memberships
from agents.host.control import ControlClient
from tests.host.machines import THREE_TIERS, Line, Running, machine, run, sent_is_received, until

each_transport = pytest.mark.parametrize("transport", ["udp", "tcp"])
each_membership = pytest.mark.parametrize("membership", ["static", "scamp", "scamp+pgrid", "pgrid"])
OVERLAY = {
    "gateways": 1,
    "membership_parameters": {"refresh_s": 1, "registration_lease_s": 5},
}
"""For those that look up contacts."""
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
        parameters={"g": 100, "a": 3},  # everybody passes everything up: no luck is needed
        **(OVERLAY if memberships.load(membership).looks_up else {}),
    )
    async with Running(tmp_path, described) as running:
        clients = await running.start_all()
        await until(partial(no_table_is_empty, clients))
        if membership == "pgrid":
            await until(partial(all_know_each_other, clients))

        async def all_have_it() -> bool:
            return await delivered(clients) == [EVENTS] * len(clients)

        for number in range(EVENTS):
            await clients[5 + number].ask("publish", topic=".a.d.g", data="")
        await until(all_have_it)
        await clients[0].ask("publish", topic=".a")

        async def the_top_has_it() -> bool:
            return (await delivered(clients))[:2] == [EVENTS + 1] * 2

        await until(the_top_has_it)
        await until(lambda: sent_is_received([*clients, *running.gateways]))
        assert (await delivered(clients))[2:] == [EVENTS] * 10
        for client in clients:
            await client.ask("stop")

        async def the_books_balance() -> bool:
            return not unaccounted(running.journals())

        await until(the_books_balance)
        assert not any(record.get("parasite") for record in running.journals())


async def no_table_is_empty(clients: list[ControlClient]) -> bool:
    tables = [(await client.ask("status"))["tables"] for client in clients]
    return all(size for found in tables for size in found.values())


async def all_know_each_other(clients: list[ControlClient]) -> bool:
    tables = [(await client.ask("status"))["tables"] for client in clients]
    return tables == [
        *[{".a/topic": 1}] * 2,
        *[{".a.d/topic": 2, ".a.d/super .a": 2}] * 3,
        *[{".a.d.g/topic": 6, ".a.d.g/super .a.d": 3}] * 7,
    ]


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
