"""Netlink in batches: many requests in one call to the kernel, in any network namespace.

Requests are encoded by pyroute2's message classes. The kernel answers a request that failed in any
case, and one that did not only if asked: so only the last of a batch asks, and the answer to it says
that all before it have been dealt with. A request about an interface whose number is known only
later is encoded once and used for many (`for_interface`).
"""

import errno
import os
import socket
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from pyroute2.netlink import nlmsg

from testbed.lan.namespaces import socket_in

REQUEST = 0x01
ACK = 0x04
DUMP = 0x300
CREATE = 0x400
EXCLUSIVE = 0x200
REPLACE = 0x100

SO_RCVBUFFORCE = 33
NLMSG_ERROR = 2
NLMSG_DONE = 3

_HEADER = struct.Struct("=IHHII")
_ERROR = struct.Struct("=i")
_INTERFACE_OFFSET = _HEADER.size + 4
"""Where `tcmsg` and `ndmsg` have the interface's number."""
_MOST_BYTES = 1 << 16
"""Of one call: well below what a socket may send at once."""

Attributes = Sequence[tuple[str, Any]]


class KernelRefused(OSError):
    """A request of a batch failed."""

    def __init__(self, number: int, what: str) -> None:
        super().__init__(number, f"{what}: {os.strerror(number)}")


def encode(
    message: type[nlmsg],
    kind: int,
    flags: int,
    fields: Mapping[str, int],
    attributes: Attributes,
) -> bytes:
    """One request, without a sequence number yet."""
    request = message()
    for name, value in fields.items():
        request[name] = value
    request["attrs"] = list(attributes)
    request["header"]["type"] = kind
    request["header"]["flags"] = flags | REQUEST
    request.encode()
    return bytes(request.data)


def for_interface(request: bytes, index: int) -> bytes:
    """The same request about another interface."""
    number = index.to_bytes(4, sys.byteorder)
    return request[:_INTERFACE_OFFSET] + number + request[_INTERFACE_OFFSET + 4 :]


class Kernel:
    """A connection to the kernel in one network namespace. Use it with `with`."""

    def __init__(self, namespace: int, family: int = socket.NETLINK_ROUTE) -> None:
        self._socket = socket_in(namespace, socket.AF_NETLINK, socket.SOCK_RAW, family)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 22)
        self._socket.bind((0, 0))
        self._sequence = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._socket.close()

    def do(self, what: str, requests: Iterable[bytes], *, unless: Iterable[int] = ()) -> None:
        """All requests in their order. Failures other than those in `unless` are raised when all
        were tried; `what` says what it was about."""
        for batch in _batches(requests):
            failed = self._send(batch).difference(unless)
            if failed:
                raise KernelRefused(min(failed), what)

    def dump(self, request: bytes) -> Iterator[tuple[int, bytes]]:
        """All that the kernel tells for a request: kinds of messages, and what is in them."""
        self._sequence += 1
        self._socket.send(_stamped(request, self._sequence, DUMP))
        while True:
            for kind, content in _messages(self._socket.recv(1 << 18)):
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    raise KernelRefused(-_ERROR.unpack_from(content)[0], "reading")
                yield kind, content

    def _send(self, batch: list[bytes]) -> set[int]:
        """The numbers of errors that came back."""
        last = self._sequence + len(batch)
        stamped = []
        for number, request in enumerate(batch, start=self._sequence + 1):
            stamped.append(_stamped(request, number, ACK if number == last else 0))
        self._sequence = last
        self._socket.send(b"".join(stamped))
        failed: set[int] = set()
        while True:
            answers = self._socket.recv(1 << 18)
            offset = 0
            while offset < len(answers):
                length, kind, _flags, sequence, _port = _HEADER.unpack_from(answers, offset)
                if kind == NLMSG_ERROR:
                    (code,) = _ERROR.unpack_from(answers, offset + _HEADER.size)
                    if code:
                        failed.add(-code)
                    if sequence == last:
                        return failed
                offset += length + -length % 4


def _batches(requests: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for request in requests:
        if batch and size + len(request) > _MOST_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += len(request)
    if batch:
        yield batch


def _stamped(request: bytes, sequence: int, flags: int) -> bytes:
    length, kind, had, _sequence, _port = _HEADER.unpack_from(request)
    return _HEADER.pack(length, kind, had | flags, sequence, 0) + request[_HEADER.size :]


def _messages(answers: bytes) -> Iterator[tuple[int, bytes]]:
    offset = 0
    while offset < len(answers):
        length, kind, _flags, _sequence, _port = _HEADER.unpack_from(answers, offset)
        yield kind, answers[offset + _HEADER.size : offset + length]
        offset += length + -length % 4


def attribute(attributes: bytes, *nested: int) -> bytes:
    """What is in the first attribute of this kind, or of a kind within kinds; nothing if none is."""
    wanted, *within = nested
    offset = 0
    while offset + 4 <= len(attributes):
        length, kind = struct.unpack_from("=HH", attributes, offset)
        if kind & 0x3FFF == wanted:
            found = attributes[offset + 4 : offset + length]
            return attribute(found, *within) if within else found
        offset += max(4, length + -length % 4)
    return b""


def is_missing(error: OSError) -> bool:
    """Whether what a request was about is not there, or not any more."""
    return error.errno in (errno.ENODEV, errno.ENOENT, errno.ESRCH)
