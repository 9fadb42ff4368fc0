"""Control: requests and answers as JSON lines over a Unix socket, so that the LAN is not disturbed.

A request is `{"id": 1, "do": "status", ...}`; its answer is `{"id": 1, "ok": {...}}` or
`{"id": 1, "error": "a sentence"}`. Requests of one connection are answered in order. A line that is
no request gets an error and does nothing else. Whoever asked to listen also gets notices, lines
without an id.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import socket
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Union

import msgspec

from agents.core.errors import LocalError, TestbedError

MAX_LINE = 1 << 20
"""Ours: an event of the largest size that fits a frame takes 80,000 characters."""
MAX_UNHEARD = 4 << 20
"""Ours: a listener that does not read this many bytes is let go."""
_MAX_SOCKET_PATH = 100
"""Linux allows 107 characters."""


class ControlError(LocalError):
    """What was asked was refused, or nobody answered."""


class Request(
    msgspec.Struct, frozen=True, kw_only=True, tag_field="do", forbid_unknown_fields=True
):
    """What is asked for; subclasses are tagged with the command's name."""

    id: int | str | None = None


class _Id(msgspec.Struct):
    id: int | str | None = None


Answer = Mapping[str, Any]
Handle = Callable[[Request, "Connection"], Awaitable[Answer]]


class Connection:
    """One client, as a server sees it."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    def tell(self, line: Mapping[str, Any]) -> bool:
        """Send a line without waiting; whether the client is still there and keeps up."""
        transport = self._writer.transport
        if transport.is_closing():
            return False
        if transport.get_write_buffer_size() > MAX_UNHEARD:
            transport.abort()
            return False
        self._writer.write(msgspec.json.encode(line) + b"\n")
        return True

    async def drain(self) -> None:
        await self._writer.drain()


class ControlServer:
    """Answers the requests that come over one socket."""

    def __init__(self, requests: Sequence[type[Request]], handle: Handle) -> None:
        self._names = [str(kind.__struct_config__.tag) for kind in requests]
        self._decoder = msgspec.json.Decoder(Union[tuple(requests)])  # noqa: UP007 - at run time
        self._id = msgspec.json.Decoder(_Id)
        self._handle = handle
        self._server: asyncio.Server | None = None

    async def serve(self, listening: socket.socket) -> None:
        """Begin to answer; returns at once."""
        self._server = await asyncio.start_unix_server(
            self._converse, sock=listening, limit=MAX_LINE
        )

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _converse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = Connection(writer)
        try:
            while line := await _next_line(reader):
                connection.tell(await self._answer(line, connection))
                await connection.drain()
        except ConnectionError:
            pass
        finally:
            writer.close()

    async def _answer(self, line: bytes, connection: Connection) -> Mapping[str, Any]:
        number = None
        if len(line) > MAX_LINE:
            return {"id": None, "error": f"a line has over {MAX_LINE} characters"}
        try:
            with suppress(msgspec.DecodeError):
                number = self._id.decode(line).id
            request = self._decoder.decode(line)
        except (msgspec.DecodeError, RecursionError) as error:
            known = ", ".join(self._names)
            return {"id": number, "error": f"this is no request: {error}; there are {known}"}
        try:
            return {"id": number, "ok": await self._handle(request, connection)}
        except LocalError as error:
            return {"id": number, "error": str(error)}


class ControlClient:
    """Asks one server. Several questions may be under way at once."""

    def __init__(
        self, path: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.path = path
        self._reader = reader
        self._writer = writer
        self._numbers = itertools.count(1)
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._on_notice: Callable[[Mapping[str, Any]], None] | None = None
        self._on_lost: Callable[[], None] | None = None
        self._lost = False
        self._reading = asyncio.create_task(self._read())

    @classmethod
    async def connect(cls, path: Path) -> ControlClient:
        try:
            with short_path(path) as short:
                reader, writer = await asyncio.open_unix_connection(short, limit=4 * MAX_LINE)
        except OSError as error:
            raise ControlError(f"nobody answers at {path}: {error.strerror}") from None
        return cls(path, reader, writer)

    @property
    def lost(self) -> bool:
        """Whether whoever listened is gone."""
        return self._lost

    async def ask(self, do: str, **fields: Any) -> dict[str, Any]:
        """The answer; a `ControlError` with the sentence that came instead of it."""
        if self._lost:
            raise self._gone()
        number = next(self._numbers)
        answer = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            self._writer.write(msgspec.json.encode({"id": number, "do": do, **fields}) + b"\n")
            with suppress(ConnectionError):  # reading notices it, too
                await self._writer.drain()
            found: dict[str, Any] = await answer
        finally:
            self._asked.pop(number, None)
        return found

    async def listen(
        self, on_notice: Callable[[Mapping[str, Any]], None], on_lost: Callable[[], None]
    ) -> dict[str, Any]:
        """Have that called with every notice from now on, and at the connection's end."""
        self._on_notice, self._on_lost = on_notice, on_lost
        return await self.ask("listen")

    async def close(self) -> None:
        self._on_lost = None
        self._reading.cancel()
        self._writer.close()
        with suppress(OSError):
            await self._writer.wait_closed()

    async def _read(self) -> None:
        try:
            while line := await self._reader.readline():
                self._take(msgspec.json.decode(line))
        except (OSError, ValueError, msgspec.DecodeError):
            pass  # as good as the end of the connection
        finally:
            self._lost = True
            for answer in self._asked.values():
                if not answer.done():
                    answer.set_exception(self._gone())
            if self._on_lost is not None:
                self._on_lost()

    def _take(self, line: dict[str, Any]) -> None:
        if "id" not in line:
            if self._on_notice is not None:
                self._on_notice(line)
            return
        answer = self._asked.get(line["id"])
        if answer is None or answer.done():
            return
        if "error" in line:
            answer.set_exception(ControlError(line["error"]))
        else:
            answer.set_result(line["ok"])

    def _gone(self) -> TestbedError:
        return ControlError(f"whoever listened at {self.path} is gone")


async def _next_line(reader: asyncio.StreamReader) -> bytes:
    """The next line, or as much of it as shows that it is too long; nothing at the end."""
    too_long = b""
    while True:
        try:
            line = await reader.readuntil(b"\n")
        except asyncio.LimitOverrunError as error:
            too_long = await reader.readexactly(error.consumed)
        except asyncio.IncompleteReadError:
            return b""  # whatever there was of it is no line
        else:
            return too_long or line


def listen_at(path: Path) -> socket.socket:
    """A socket at that place that only its owner can use, in place of one that a dead left."""
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listening.setblocking(False)
    before = os.umask(0o177)
    try:
        with short_path(path) as short:
            listening.bind(short)
        listening.listen(16)
    except OSError as error:
        listening.close()
        raise ControlError(f"no socket can be made at {path}: {error.strerror}") from None
    finally:
        os.umask(before)
    return listening


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """A name of the same place that is short enough for a socket's address."""
    if len(str(path)) <= _MAX_SOCKET_PATH:
        yield str(path)
        return
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
