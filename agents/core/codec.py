"""Messages as bytes: the same frame in a datagram and in a stream.

A frame is a header (version, sender, length of the body) and a body in MessagePack. Whatever the
bytes, decoding gives a message or a `RemoteError`, and nothing else.
"""

from collections.abc import Iterable
from struct import Struct as Layout
from typing import Union

import msgspec

from agents.core.errors import LocalError, RemoteError
from agents.core.messages import Message, PeerId

VERSION = 1
MAX_BODY = 60_000
"""Ours: a frame of this size still fits one UDP datagram (65,507 bytes)."""

_HEADER = Layout(">BII")


class OversizeError(LocalError):
    """A message is too large to be sent."""


class Codec:
    """Knows a protocol's messages, and how each looks on the wire."""

    def __init__(self, messages: Iterable[type[Message]]) -> None:
        kinds = tuple(dict.fromkeys(messages))
        names = [kind.__name__ for kind in kinds]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise LocalError(f"two message classes are called {', '.join(twice)}: rename one")
        self._kinds = frozenset(kinds)
        self._encode = msgspec.msgpack.Encoder().encode
        self._decoder = msgspec.msgpack.Decoder(Union[kinds])  # noqa: UP007 - made at run time

    def size(self, message: Message) -> int:
        """How many bytes the message takes on the wire."""
        return _HEADER.size + len(self._encoded(message))

    def encode(self, sender: PeerId, message: Message) -> bytes:
        body = self._encoded(message)
        if len(body) > MAX_BODY:
            raise OversizeError(
                f"a {type(message).__name__} of {len(body)} bytes is over the {MAX_BODY} that fit"
            )
        return _HEADER.pack(VERSION, sender, len(body)) + body

    def decode(self, frame: bytes) -> tuple[PeerId, Message]:
        """The sender and the message of exactly one frame."""
        if len(frame) < _HEADER.size:
            raise RemoteError(f"a frame of {len(frame)} bytes is shorter than its header")
        version, sender, length = _HEADER.unpack_from(frame)
        _check_header(version, length)
        if len(frame) != _HEADER.size + length:
            raise RemoteError(f"a frame's body has {len(frame) - _HEADER.size} bytes, not {length}")
        return sender, self._body(frame[_HEADER.size :])

    def _encoded(self, message: Message) -> bytes:
        if type(message) not in self._kinds:
            # Every receiver would drop it as nonsense, and nobody would know why.
            name = type(message).__name__
            raise LocalError(f"no message class {name} was declared: add it to `messages`")
        return self._encode(message)

    def _body(self, body: bytes) -> Message:
        try:
            message: Message = self._decoder.decode(body)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise RemoteError(f"a frame's body is no message: {error}") from None
        return message


class FrameReader:
    """Cuts a stream into frames, however the stream was torn on its way."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    @property
    def pending(self) -> int:
        """How many bytes have come of a frame that is not complete."""
        return len(self._buffer)

    def feed(self, data: bytes) -> list[bytes]:
        """The frames that are complete now. A `RemoteError` means that the stream is lost."""
        buffer = self._buffer
        buffer += data
        frames = []
        while len(buffer) >= _HEADER.size:
            version, _sender, length = _HEADER.unpack_from(buffer)
            _check_header(version, length)
            end = _HEADER.size + length
            if len(buffer) < end:
                break
            frames.append(bytes(buffer[:end]))
            del buffer[:end]
        return frames


def _check_header(version: int, length: int) -> None:
    if version != VERSION:
        raise RemoteError(f"a frame of version {version}, where this is version {VERSION}")
    if length > MAX_BODY:
        raise RemoteError(f"a frame announces {length} bytes, over the {MAX_BODY} allowed")
