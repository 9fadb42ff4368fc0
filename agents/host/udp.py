"""UDP: a frame is a datagram; best effort, as the model's channels are."""

import asyncio
import errno
import socket
from collections.abc import Sequence
from struct import Struct as Layout

from agents.core.journal import Cause
from agents.core.messages import Message, PeerId
from agents.host.transport import Receiver, Transport

_AT_ONCE = 64
"""Datagrams that are taken in a row before timers and commands have their turn. Ours."""
_LARGEST = 65_536
_SO_MEMINFO = 55
_MEMINFO = Layout("9I")
_DROPS = 8
_FULL = (errno.EAGAIN, errno.ENOBUFS)


class Udp(Transport):
    """One socket for everything."""

    def __init__(
        self, bound: socket.socket, addresses: Sequence[tuple[str, int]], receiver: Receiver
    ) -> None:
        self._socket = bound
        self._addresses = addresses
        self._receiver = receiver

    async def open(self) -> None:
        asyncio.get_running_loop().add_reader(self._socket, self._on_readable)

    def send(self, to: PeerId, frame: bytes, message: Message) -> None:
        try:
            self._socket.sendto(frame, self._addresses[to])
        except OSError as error:
            # Else there is no way: the link is not there, or a rule forbids it.
            cause: Cause = "overflow" if error.errno in _FULL else "partition"
            self._receiver.on_lost(to, message, cause)

    async def drain(self, at_most_s: float) -> None:
        """What was sent is the kernel's already."""

    def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()

    @property
    def overflow(self) -> int:
        """The kernel counts them with the socket; to ask takes one call."""
        if self._socket.fileno() < 0:
            return 0
        found = self._socket.getsockopt(socket.SOL_SOCKET, _SO_MEMINFO, _MEMINFO.size)
        return int(_MEMINFO.unpack(found)[_DROPS])

    def _on_readable(self) -> None:
        receive, receiver = self._socket.recv, self._receiver
        for _ in range(_AT_ONCE):
            try:
                datagram = receive(_LARGEST)
            except OSError:  # nothing left; or an earlier one of ours came back as unreachable
                return
            if not receiver.on_frame(datagram):
                receiver.on_garbage()
