"""What a transport is, and the socket that it stands on.

The socket is bound by the supervisor, before it forks the agent: when a spawn is answered, the agent
can be reached. It is bound with IP_FREEBIND, since a machine's link comes a moment after its
processes, and goes and comes again while they run: the address need not be there yet, nothing has
to be polled, and unlike one bound to 0.0.0.0 the socket takes only what is meant for its agent.
"""

import socket
from abc import ABC, abstractmethod
from typing import Literal
from typing import Protocol as Structural

from agents.core.errors import LocalError
from agents.core.journal import Cause
from agents.core.messages import Message, PeerId

_IP_FREEBIND = 15
_RECEIVE_BUFFER = 1 << 20
"""Ours; the kernel gives at most its net.core.rmem_max. A burst waits there while the agent is
busy with what came before."""


class Receiver(Structural):
    """Who stands on a transport. None of it raises."""

    def on_frame(self, frame: bytes) -> bool:
        """Take one frame; whether it made any sense."""

    def on_garbage(self) -> None:
        """Something came that is no frame."""

    def on_lost(self, to: PeerId, message: Message, cause: Cause) -> None:
        """A message that was to be sent never will be."""


class Transport(ABC):
    """Carries frames to the others on the LAN."""

    @abstractmethod
    async def open(self) -> None:
        """Begin to receive."""

    @abstractmethod
    def send(self, to: PeerId, frame: bytes, message: Message) -> None:
        """Have the frame on its way, or tell the receiver why not; never waits."""

    @abstractmethod
    async def drain(self, at_most_s: float) -> None:
        """Wait until nothing is left to be sent; what still is after that time is lost."""

    @abstractmethod
    def close(self) -> None: ...

    @property
    def overflow(self) -> int:
        """How many messages the kernel dropped since our receive queue was full."""
        return 0

    @property
    def connections(self) -> int:
        return 0

    @property
    def queued(self) -> int:
        """Messages that wait to be sent."""
        return 0


def bind(kind: Literal["udp", "tcp"], address: tuple[str, int]) -> socket.socket:
    """A socket at that address, be it that the machine does not have it yet."""
    found = socket.socket(
        socket.AF_INET, socket.SOCK_DGRAM if kind == "udp" else socket.SOCK_STREAM
    )
    try:
        found.setblocking(False)
        found.setsockopt(socket.SOL_IP, _IP_FREEBIND, 1)
        if kind == "udp":
            found.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVE_BUFFER)
            found.bind(address)
        else:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind(address)
            found.listen(1024)
    except OSError as error:
        found.close()
        host, port = address
        raise LocalError(f"{kind} port {port} of {host} cannot be had: {error.strerror}") from None
    return found
