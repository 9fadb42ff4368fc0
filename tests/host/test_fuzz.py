"""Random datagrams and torn TCP frames at a running agent: it counts them and goes on serving.

`TESTBED_FUZZ=1000000` sends as many of each; without it there are fewer.
"""

import asyncio
import os
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings

from agents.core.codec import MAX_BODY, VERSION, Codec
from agents.core.messages import Message
from agents.core.registry import memberships, protocols
from agents.host.control import ControlClient
from tests.host.machines import Running, machine, until, within
from tests.support.instances import instances

COUNT = int(os.environ.get("TESTBED_FUZZ", "20000"))
AT_ONCE = 50
"""After as many it is seen whether the agent still answers."""
MEMBERS = {".a": [0, 1, 2], ".a.d": [3, 4]}
TOPICS = [".a", ".a.d", "", ".b"]
fuzz = within(60 + COUNT / 500)


def frames_of(membership: str, rng: random.Random) -> list[bytes]:
    """Good ones, of every message and with whatever it can hold; many of them name what there is."""
    kinds = (*protocols.load("camcast").messages, *memberships.load(membership).messages)
    found: list[bytes] = []
    codec = Codec(kinds)

    for kind in kinds:

        @settings(max_examples=60, database=None, derandomize=True, deadline=None)
        @given(instances(kind))
        def collect(message: Message) -> None:
            found.append(codec.encode(rng.randrange(6), message))
            found.append(codec.encode(rng.randrange(6), plausible(message, rng)))

        collect()
    return found


def plausible(message: Message, rng: random.Random) -> Message:
    """The same, about communities and processes that there are, more or less."""
    changes: dict[str, Any] = {}
    for name in message.__struct_fields__:
        match getattr(message, name):
            case str():
                changes[name] = rng.choice(TOPICS)
            case int() as number if number > 5:
                changes[name] = rng.randrange(6)
            case tuple((int(), *_)) as numbers:
                changes[name] = tuple(number % 6 for number in numbers)
    return msgspec.structs.replace(message, **changes)


def garbage(good: list[bytes], rng: random.Random) -> Iterator[bytes]:
    """Noise, noise behind a header, and good frames cut, glued, or with some bytes changed."""
    while True:
        frame = bytearray(rng.choice(good))
        match rng.randrange(5):
            case 0:
                yield rng.randbytes(rng.randrange(200))
            case 1:
                body = rng.randbytes(rng.randrange(100))
                header = bytes([VERSION]) + rng.randrange(8).to_bytes(4) + len(body).to_bytes(4)
                yield header + body
            case 2:
                yield bytes(frame[: rng.randrange(len(frame))])
            case 3:
                yield bytes(frame + rng.choice(good))
            case _:
                for _ in range(rng.randrange(1, 4)):
                    frame[rng.randrange(len(frame))] = rng.randrange(256)
                yield bytes(frame)


async def answer(running: Running, victim: ControlClient) -> dict[str, Any]:
    """That it is still the same life, and nothing went wrong in it."""
    status = await victim.ask("status")
    assert status["started"]
    assert status["life"] == 0
    assert running.log() == ""
    return status


async def still_serves(running: Running, clients: list[ControlClient]) -> None:
    """An event gets from the victim to another and from another to the victim."""
    for here, there in ((clients[0], clients[1]), (clients[1], clients[0])):
        before = (await there.ask("status"))["delivered"]
        await here.ask("publish", topic=".a")

        async def it_came(there: ControlClient = there, before: int = before) -> bool:
            return bool((await answer(running, there))["delivered"] > before)

        await until(it_came)


async def send_datagrams(
    running: Running, victim: ControlClient, frames: Iterator[bytes], count: int
) -> None:
    with socket.socket(type=socket.SOCK_DGRAM) as attacker:
        for _ in range(0, count, AT_ONCE):
            for _ in range(AT_ONCE):
                attacker.sendto(next(frames), running.machine.addresses[0])
            await answer(running, victim)


@fuzz
async def test_an_agent_counts_random_datagrams_and_goes_on_serving(tmp_path: Path) -> None:
    rng = random.Random(1)
    async with Running(tmp_path, machine(MEMBERS)) as running:
        clients = await running.start_all()
        victim = clients[0]
        before = await victim.ask("status")
        good = frames_of("static", rng)
        await send_datagrams(running, victim, garbage(good, rng), COUNT)

        async def all_are_counted() -> bool:
            status = await answer(running, victim)
            seen = status["undecodable"] + status["received"] - before["received"]
            return bool(seen + status["overflow"] >= COUNT)

        await until(all_are_counted)
        assert (await victim.ask("status"))["undecodable"] > COUNT // 2
        await still_serves(running, clients)


@fuzz
async def test_an_agent_counts_torn_frames_and_goes_on_serving(tmp_path: Path) -> None:
    rng = random.Random(2)
    async with Running(tmp_path, machine(MEMBERS, transport="tcp")) as running:
        clients = await running.start_all()
        victim = clients[0]
        good = frames_of("static", rng)
        frames = garbage(good, rng)
        for number in range(COUNT):
            # As from many machines: one would run out of ports.
            source = (f"127.1.{number % 250}.1", 0)
            with socket.create_connection(
                running.machine.addresses[0], source_address=source
            ) as attacker:
                match number % 4:
                    case 0:  # cut in the middle
                        frame = rng.choice(good)
                        attacker.sendall(frame[: rng.randrange(1, len(frame))])
                    case 1:  # more than there may be
                        attacker.sendall(bytes([VERSION]) + bytes(4) + MAX_BODY.to_bytes(4) * 2)
                    case 2:  # good ones in pieces, and noise behind
                        frame = rng.choice(good)
                        half = rng.randrange(len(frame))
                        attacker.sendall(frame[:half])
                        attacker.sendall(frame[half:] + b"\xff" * 9)
                    case _:
                        attacker.sendall(b"\xfe" + next(frames))
            if number % AT_ONCE == 0:
                await answer(running, victim)

        async def all_are_counted() -> bool:
            return bool((await answer(running, victim))["undecodable"] >= COUNT)

        await until(all_are_counted)
        await still_serves(running, clients)


@pytest.mark.parametrize("membership", ["static", "scamp", "scamp+pgrid", "pgrid"])
@fuzz
async def test_an_agent_survives_whatever_well_formed_messages_say(
    tmp_path: Path, membership: str
) -> None:
    rng = random.Random(3)
    gateways = int(memberships.load(membership).overlay is not None)
    described = machine(MEMBERS, membership=membership, gateways=gateways)
    async with Running(tmp_path, described) as running:
        victim = (await running.start_all())[0]
        heard: list[object] = []
        await victim.listen(heard.append, lambda: None)
        good = frames_of(membership, rng)

        def frames() -> Iterator[bytes]:
            while True:
                yield rng.choice(good)

        # Each of them can have the victim and others send many more.
        await send_datagrams(running, victim, frames(), COUNT // 10)
        assert (await answer(running, victim))["refused"]
        assert heard


@fuzz
async def test_connections_that_say_nothing_are_bounded(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(MEMBERS, transport="tcp")) as running:
        clients = await running.start_all()
        held = [await asyncio.open_connection(*running.machine.addresses[0]) for _ in range(600)]

        async def those_beyond_are_closed() -> bool:
            return sum(reader.at_eof() for reader, _ in held) >= 300

        await until(those_beyond_are_closed)
        assert (await answer(running, clients[0]))["connections"] < 300
        for _, writer in held:
            writer.close()
        await still_serves(running, clients)
