"""TCP: a connection kept for each pair and direction, made when there is something to send.

A link is the outgoing one. What cannot be written at once waits in its queue, which is bounded; what
does not fit is dropped as `overflow`, for a protocol never waits. If the peer refuses the connection
it is down, and what waits is dropped as `crashed`; if it cannot be reached, as `partition`. The next
attempt comes when there is something to send and the back-off has passed. Who accepts a connection
reads frames from it, and closes it at the first thing that is none.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Sequence

from agents.core.codec import FrameReader
from agents.core.errors import RemoteError
from agents.core.journal import Cause
from agents.core.messages import Message, PeerId
from agents.host.transport import Receiver, Transport

MAX_QUEUED_BYTES = 128 * 1024
"""For each peer. Ours: two of the largest frames, or a thousand usual ones."""
CONNECT_WITHIN_S = 5.0
FIRST_BACK_OFF_S = 0.1
LAST_BACK_OFF_S = 5.0
USER_TIMEOUT_MS = 10_000
"""How long what was sent may stay unacknowledged; the kernel's own patience is a quarter of an
hour. Ours, as all of these."""
KEEP_ALIVE_S = 60


class Tcp(Transport):
    """Everybody's connections to us, and a link to each to whom we sent."""

    def __init__(
        self, bound: socket.socket, addresses: Sequence[tuple[str, int]], receiver: Receiver
    ) -> None:
        self._socket = bound
        self._addresses = addresses
        self.receiver = receiver
        self.incoming: set[_Incoming] = set()
        self.most_incoming = max(256, 2 * len(addresses))
        """One from each, and as many again that the kernel has not yet seen to be dead. Ours."""
        self._links: dict[PeerId, _Link] = {}
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: _Incoming(self), sock=self._socket)

    def send(self, to: PeerId, frame: bytes, message: Message) -> None:
        link = self._links.get(to)
        if link is None:
            own = self._socket.getsockname()[0]
            link = self._links[to] = _Link(to, self._addresses[to], own, self.receiver)
        link.send(frame, message)

    async def drain(self, at_most_s: float) -> None:
        waiting = [link.empty.wait() for link in self._links.values()]
        try:
            async with asyncio.timeout(at_most_s):
                await asyncio.gather(*waiting)
        except TimeoutError:
            for link in self._links.values():
                link.give_up()

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        for link in self._links.values():
            link.close()
        for incoming in list(self.incoming):
            incoming.close()

    @property
    def connections(self) -> int:
        return len(self.incoming) + sum(link.is_up for link in self._links.values())

    @property
    def queued(self) -> int:
        return sum(len(link.queue) for link in self._links.values())


class _Incoming(asyncio.Protocol):
    """A connection that somebody made to us."""

    def __init__(self, tcp: Tcp) -> None:
        self._tcp = tcp
        self._frames = FrameReader()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        if len(self._tcp.incoming) >= self._tcp.most_incoming:
            transport.abort()
            return
        self._tcp.incoming.add(self)
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, KEEP_ALIVE_S)

    def data_received(self, data: bytes) -> None:
        if self not in self._tcp.incoming:
            return  # it is being closed
        receiver = self._tcp.receiver
        try:
            frames = self._frames.feed(data)
        except RemoteError:
            self._refuse()
            return
        for frame in frames:
            if not receiver.on_frame(frame):
                self._refuse()
                return

    def connection_lost(self, error: Exception | None) -> None:
        if self in self._tcp.incoming and self._frames.pending:
            self._tcp.receiver.on_garbage()  # a torn frame
        self._tcp.incoming.discard(self)

    def close(self) -> None:
        self._tcp.incoming.discard(self)
        if self._transport is not None:
            self._transport.abort()

    def _refuse(self) -> None:
        self._tcp.receiver.on_garbage()
        self.close()


class _Link(asyncio.Protocol):
    """Our connection to one peer, and what waits for it."""

    def __init__(
        self, to: PeerId, address: tuple[str, int], own_address: str, receiver: Receiver
    ) -> None:
        self.queue: deque[tuple[bytes, Message]] = deque()
        self.empty = asyncio.Event()
        """Set while nothing waits here or in the transport."""
        self.empty.set()
        self._to = to
        self._address = address
        self._own_address = own_address
        self._receiver = receiver
        self._queued_bytes = 0
        self._transport: asyncio.Transport | None = None
        self._paused = False
        self._attempt: asyncio.Task[None] | None = None
        self._back_off_s = 0.0
        self._closed = False

    @property
    def is_up(self) -> bool:
        return self._transport is not None

    def send(self, frame: bytes, message: Message) -> None:
        if self._closed:
            self._receiver.on_lost(self._to, message, "crashed")
        elif self._transport is not None and not self._paused:
            self._transport.write(frame)
        elif self._queued_bytes + len(frame) > MAX_QUEUED_BYTES:
            self._receiver.on_lost(self._to, message, "overflow")
        else:
            self.queue.append((frame, message))
            self._queued_bytes += len(frame)
            self.empty.clear()
            self._connect_if_down()

    def give_up(self) -> None:
        """Drop what waits."""
        self._drop_all("overflow" if self.is_up else "crashed")

    def close(self) -> None:
        self._closed = True
        if self._attempt is not None:
            self._attempt.cancel()
        if self._transport is not None:
            self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        connected = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, USER_TIMEOUT_MS)
        # Paused as soon as the kernel takes no more: what then waits is in our own queue, and not
        # lost with the connection.
        transport.set_write_buffer_limits(high=0)
        self._transport = transport
        self._paused = False
        self._back_off_s = 0.0
        self._write_what_waits()

    def pause_writing(self) -> None:
        self._paused = True
        self.empty.clear()

    def resume_writing(self) -> None:
        self._paused = False
        self._write_what_waits()

    def data_received(self, data: bytes) -> None:
        """Nobody answers on our own connection."""
        self._receiver.on_garbage()
        if self._transport is not None:
            self._transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._paused = False
        if self.queue:
            self._connect_if_down()
        else:
            self.empty.set()

    def _write_what_waits(self) -> None:
        transport = self._transport
        while self.queue and not self._paused and transport is not None:
            frame, _ = self.queue.popleft()
            self._queued_bytes -= len(frame)
            transport.write(frame)
        if not self.queue and not self._paused:
            self.empty.set()

    def _connect_if_down(self) -> None:
        if self._transport is None and self._attempt is None and not self._closed:
            self._attempt = asyncio.get_running_loop().create_task(self._connect())

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        try:
            await asyncio.sleep(self._back_off_s)
            self._back_off_s = min(max(FIRST_BACK_OFF_S, 2 * self._back_off_s), LAST_BACK_OFF_S)
            async with asyncio.timeout(CONNECT_WITHIN_S):
                # From our own address: agents of one machine are told apart by theirs.
                await loop.create_connection(
                    lambda: self, *self._address, local_addr=(self._own_address, 0)
                )
        except ConnectionError:
            self._drop_all("crashed")
        except OSError:  # a timeout among them
            self._drop_all("partition")
        finally:
            self._attempt = None

    def _drop_all(self, cause: Cause) -> None:
        waiting = [message for _, message in self.queue]
        self.queue.clear()
        self._queued_bytes = 0
        self.empty.set()
        for message in waiting:
            self._receiver.on_lost(self._to, message, cause)
