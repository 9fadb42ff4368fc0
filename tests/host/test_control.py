"""Control sockets: garbage gets a sentence, and nothing else happens."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agents.host.control import MAX_LINE
from tests.host.machines import Running, machine, run

PAIR = {".a": [0, 1]}
GARBAGE = [
    b"",
    b"hello",
    b"\x00\xff\xfe",
    b"[]",
    b"7",
    b"null",
    b"{",
    b"{}",
    b'{"do": 3}',
    b'{"do": "rm"}',
    b'{"do": "status", "more": 1}',
    b'{"id": [1], "do": "status"}',
    b"[" * 100_000,
    b'{"id": 1, "do": ' * 10_000,
]


async def raw(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    return await asyncio.open_unix_connection(str(path))


async def answer(reader: asyncio.StreamReader) -> dict[str, Any]:
    found = json.loads(await reader.readline())
    assert isinstance(found, dict)
    return found


@run
async def test_garbage_gets_an_error_and_the_next_request_its_answer(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        await running.agents()
        for name in ("supervisor.sock", "agent-0.sock"):
            reader, writer = await raw(tmp_path / name)
            for line in GARBAGE:
                writer.write(line + b"\n")
                found = await answer(reader)
                assert found.keys() == {"id", "error"}
                assert "this is no request" in found["error"]
            writer.write(b'{"id": "mine", "do": "status"}\n')
            assert (await answer(reader))["id"] == "mine"
            writer.close()
        assert running.log() == ""


@run
async def test_an_error_bears_the_requests_id_where_it_has_one(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        reader, writer = await raw(tmp_path / "supervisor.sock")
        writer.write(b'{"id": 12, "do": "dance"}\n')
        found = await answer(reader)
        writer.close()
        assert running.log() == ""
    assert found["id"] == 12
    assert "Invalid value 'dance'" in found["error"]
    assert "status, kill, spawn, freeze, thaw" in found["error"]


@run
async def test_a_line_that_is_too_long_is_refused_whatever_its_length(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        reader, writer = await raw(tmp_path / "supervisor.sock")
        for length in (MAX_LINE + 1, 2 * MAX_LINE, 5 * MAX_LINE + 7):
            writer.write(b"x" * length + b"\n")
            assert (await answer(reader))["error"] == f"a line has over {MAX_LINE} characters"
            writer.write(b'{"id": 5, "do": "status"}\n')
            assert (await answer(reader))["id"] == 5
        writer.close()
        assert running.log() == ""


@run
async def test_requests_that_were_written_at_once_are_answered_in_order(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        await running.agents()
        reader, writer = await raw(tmp_path / "agent-0.sock")
        requests = [{"id": number, "do": "status"} for number in range(200)]
        writer.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        assert [(await answer(reader))["id"] for _ in requests] == list(range(200))
        writer.close()


@run
async def test_who_goes_away_in_the_middle_of_a_line_harms_nobody(tmp_path: Path) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        for _ in range(20):
            _, writer = await raw(tmp_path / "supervisor.sock")
            writer.write(b'{"id": 1, "do": "sta')
            writer.close()
        await running.supervisor.ask("status")
        assert running.log() == ""


@pytest.mark.parametrize("psel", [-1, 2, "high"])
@run
async def test_values_out_of_range_are_refused(tmp_path: Path, psel: object) -> None:
    async with Running(tmp_path, machine(PAIR)) as running:
        await running.agents()
        reader, writer = await raw(tmp_path / "agent-0.sock")
        request = {"id": 1, "do": "publish", "topic": ".a", "psel": psel}
        writer.write(json.dumps(request).encode() + b"\n")
        assert "psel" in (await answer(reader))["error"]
        writer.close()
