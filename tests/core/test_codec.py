"""Frames: every message comes back, and no bytes give anything but a message or a RemoteError."""

import math
import struct
from itertools import pairwise
from typing import Any

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from agents.core.codec import MAX_BODY, VERSION, Codec, FrameReader
from agents.core.errors import LocalError, RemoteError
from agents.core.membership import Membership
from agents.core.messages import Event, EventMessage, Message, Peer, Peers, TopicName
from agents.core.protocol import Protocol
from tests.support.instances import instances
from tests.support.properties import steady, thorough
from tests.support.registered import LAYERS, MESSAGES, PAIRS

HEADER = 9
SENDERS = st.integers(0, (1 << 32) - 1)

SPEAKERS = list({layer.messages: layer for layer in LAYERS if layer.messages}.values())
"""All that have messages; one of those that have the same."""


class Copy(EventMessage, frozen=True):
    """Holds one of each type that bytes can get wrong."""

    peers: Peers = ()
    topic: TopicName = ""
    replacement: Peer | None = None


class Ping(Message, frozen=True):
    pass


CODEC = Codec([Copy, Ping])


def frame(body: bytes, *, version: int = VERSION, sender: int = 7, length: int = -1) -> bytes:
    return struct.pack(">BII", version, sender, len(body) if length < 0 else length) + body


def packed(*fields: Any) -> bytes:
    return frame(msgspec.msgpack.encode(fields))


# Every message there is


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_registered_message_comes_back_as_it_was_sent(kind: type[Message]) -> None:
    codec = Codec([kind])

    @steady
    @given(SENDERS, instances(kind))
    def comes_back(sender: int, message: Message) -> None:
        encoded = codec.encode(sender, message)
        assert codec.decode(encoded) == (sender, message)
        assert codec.size(message) == len(encoded)

    comes_back()


@pytest.mark.parametrize(
    ("protocol", "membership"),
    PAIRS,
    ids=[f"{protocol.name}-{membership.name}" for protocol, membership in PAIRS],
)
def test_every_protocol_has_a_codec_with_every_membership_that_it_can_stand_on(
    protocol: type[Protocol], membership: type[Membership]
) -> None:
    Codec((*protocol.messages, *membership.messages))


def test_a_message_tells_its_class_apart_from_others_of_the_same_fields() -> None:
    class One(Message, frozen=True):
        peer: Peer

    class Other(Message, frozen=True):
        peer: Peer

    codec = Codec([One, Other])
    assert codec.decode(codec.encode(1, One(5))) == (1, One(5))
    assert codec.decode(codec.encode(1, Other(5))) == (1, Other(5))


def test_the_frame_has_not_changed() -> None:
    assert CODEC.encode(258, Ping()).hex() == "01000001020000000691a4" + b"Ping".hex()


# What is our own fault


def test_two_messages_of_one_name_are_refused() -> None:
    mine = Ping
    theirs = type("Ping", (Message,), {}, frozen=True)
    with pytest.raises(LocalError, match="two message classes are called Ping: rename one"):
        Codec([mine, theirs])


def test_the_same_message_may_be_declared_twice() -> None:
    assert Codec([Ping, Ping]).encode(1, Ping()) == Codec([Ping]).encode(1, Ping())


def test_a_message_that_was_not_declared_is_not_sent() -> None:
    codec = Codec([Copy])
    for use in (codec.size, lambda message: codec.encode(1, message)):
        with pytest.raises(LocalError, match="no message class Ping was declared"):
            use(Ping())


def test_a_message_that_does_not_fit_is_not_sent() -> None:
    def of(size: int) -> Copy:
        return Copy(Event("e", data=bytes(size)), 1)

    room = MAX_BODY - (CODEC.size(of(1000)) - HEADER - 1000)
    largest = CODEC.encode(1, of(room))
    assert len(largest) == HEADER + MAX_BODY
    assert CODEC.decode(largest) == (1, of(room))
    with pytest.raises(LocalError, match="a Copy of 60001 bytes is over the 60000 that fit"):
        CODEC.encode(1, of(room + 1))


# What is the sender's fault


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"", "a frame of 0 bytes is shorter than its header"),
        (b"\x01" * 8, "a frame of 8 bytes is shorter than its header"),
        (frame(b"\x91\xa4Ping", version=0), "a frame of version 0, where this is version 1"),
        (frame(b"\x91\xa4Ping", version=2), "a frame of version 2, where this is version 1"),
        (frame(b"\x91\xa4Ping", length=5), "a frame's body has 6 bytes, not 5"),
        (frame(b"\x91\xa4Ping", length=7), "a frame's body has 6 bytes, not 7"),
        (frame(b"", length=MAX_BODY + 1), "a frame announces 60001 bytes, over the 60000 allowed"),
        (frame(bytes(MAX_BODY + 1)), "a frame announces 60001 bytes, over the 60000 allowed"),
        (frame(b""), "a frame's body is no message: Input data was truncated"),
        (frame(b"\x91\xa4Ping\x00"), "a frame's body is no message: .*trailing"),
        (frame(b"\x91\xa4Pi\xff\xfe"), "a frame's body is no message: "),
        (packed("Pong"), "a frame's body is no message: Invalid value 'Pong'"),
        (packed(), "a frame's body is no message: Expected `array` of at least length 1"),
        (packed("Copy"), "a frame's body is no message: Expected `array` of at least length"),
        (packed("Copy", ["e"], -1), "`int` >= 0"),
        (packed("Copy", ["e"], 1 << 16), "`int` <= 65535"),
        (packed("Copy", ["e"], 1.5), "Expected `int`, got `float`"),
        (packed("Copy", ["e"], True), "Expected `int`, got `bool`"),
        (packed("Copy", ["e" * 65], 1), "`str` of length <= 64"),
        (packed("Copy", ["e", "." + "x" * 255], 1), "`str` of length <= 255"),
        (packed("Copy", ["e", "", "text"], 1), "Expected `bytes`"),
        (packed("Copy", ["e", "", b"", {"a": True}], 1), "Expected `float | str`, got `bool`"),
        (packed("Copy", ["e", "", b"", {1: 2}], 1), "Expected `str`, got `int`"),
        (packed("Copy", ["e", "", b"", None, 1.1], 1), "`float` <= 1.0"),
        (packed("Copy", ["e", "", b"", None, math.nan], 1), "`float` >= 0.0"),
        (packed("Copy", ["e"], 1, "", "", [-1]), "`int` >= 0"),
        (packed("Copy", ["e"], 1, "", "", [1 << 32]), "`int` <= 4294967295"),
        (packed("Copy", ["e"], 1, "", "", [1] * 1025), "`array` of length <= 1024"),
        (packed("Copy", ["e"], 1, "", "", [], "", -1), "`int` >= 0"),
    ],
)
def test_what_is_wrong_with_a_frame_is_said(data: bytes, complaint: str) -> None:
    with pytest.raises(RemoteError, match=complaint):
        CODEC.decode(data)


@pytest.mark.parametrize(
    "lie",
    [
        b"\xdd\xff\xff\xff\xff",
        b"\xdf\xff\xff\xff\xff",
        b"\xc6\xff\xff\xff\xff",
        b"\xdb\xff\xff\xff\xff",
        b"\xc9\xff\xff\xff\xff\x01",
    ],
    ids=["array", "map", "bytes", "string", "extension"],
)
@pytest.mark.parametrize(
    "before",
    [
        b"",
        b"\x93\xa4Copy",
        b"\x93\xa4Copy\x94\xa1e\xa0",
        b"\x93\xa4Copy\x94\xa1e\xa0\xc4\x00",
        b"\x96\xa4Copy\x91\xa1e\x01\xa0\xa0",
        b"\xdc\x00\x20\xa4Copy\x91\xa1e\x01\xa0\xa0\x90\xa0\xc0",
    ],
    ids=["message", "event", "data", "attributes", "peers", "unknown field"],
)
def test_who_announces_four_billion_elements_and_sends_none_is_refused(
    before: bytes, lie: bytes
) -> None:
    with pytest.raises(RemoteError):
        CODEC.decode(frame(before + lie))


@pytest.mark.parametrize("opening", [b"\x91", b"\x81\xa1a", b"\x81"])
@pytest.mark.parametrize("depth", [100, 10_000])
@pytest.mark.parametrize("before", [b"", b"\xdc\x00\x20\xa4Copy\x91\xa1e\x01\xa0\xa0\x90\xa0\xc0"])
def test_what_is_nested_too_deeply_is_refused(before: bytes, depth: int, opening: bytes) -> None:
    with pytest.raises(RemoteError):
        CODEC.decode(frame(before + opening * depth + b"\xc0"))


def test_fields_that_a_later_version_may_add_are_passed_over() -> None:
    _, message = CODEC.decode(packed("Copy", ["e"], 1, "", "", [], "", None, "more", {"a": 1}))
    assert message == Copy(Event("e"), 1)


# Fuzz


def assert_message_or_remote_error(codec: Codec, data: bytes) -> None:
    try:
        sender, message = codec.decode(data)
    except RemoteError:
        return
    # What was taken can be sent on, and then means the same.
    again = codec.decode(codec.encode(sender, message))
    assert repr(again) == repr((sender, message))


@thorough
@given(st.binary(max_size=200))
def test_random_bytes_are_a_message_or_a_remote_error(data: bytes) -> None:
    assert_message_or_remote_error(CODEC, data)
    assert_message_or_remote_error(CODEC, frame(data))


@st.composite
def mutated(draw: st.DrawFn, codec: Codec, kinds: tuple[type[Message], ...]) -> bytes:
    """A frame that was good once: bytes changed, cut out, put in or doubled, at a few places."""
    message = draw(st.sampled_from(kinds).flatmap(instances))
    data = bytearray(codec.encode(draw(SENDERS), message))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.integers(0, 4)))
        data[start:end] = draw(st.binary(max_size=6) | st.just(bytes(data[start:end]) * 2))
    # Mostly the length is made right, or else nothing would get past the header.
    if len(data) >= HEADER and draw(st.integers(0, 3)):
        data[:HEADER] = frame(bytes(data[HEADER:]))[:HEADER]
    return bytes(data)


@pytest.mark.parametrize("layer", SPEAKERS, ids=lambda layer: layer.name)
def test_a_spoilt_frame_is_a_message_or_a_remote_error(
    layer: type[Protocol] | type[Membership],
) -> None:
    codec = Codec(layer.messages)

    @thorough
    @given(mutated(codec, layer.messages))
    def is_message_or_remote_error(data: bytes) -> None:
        assert_message_or_remote_error(codec, data)

    is_message_or_remote_error()


@steady
@given(instances(Copy), st.data())
def test_a_frame_that_was_cut_off_or_run_on_is_a_remote_error(
    message: Copy, data: st.DataObject
) -> None:
    whole = CODEC.encode(7, message)
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    longer = whole + data.draw(st.binary(min_size=1, max_size=20))
    for spoilt in (cut, longer):
        with pytest.raises(RemoteError):
            CODEC.decode(spoilt)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 64) - 1),
    st.floats(),
    st.sampled_from(["", ".a", "x" * 256, b"", b"a"]),
)
ANYTHING = st.one_of(
    SCALARS,
    st.lists(SCALARS, max_size=3),
    st.dictionaries(SCALARS, SCALARS, max_size=2),
    st.just([0] * 1025),
)


@st.composite
def with_one_thing_wrong(draw: st.DrawFn, kinds: tuple[type[Message], ...]) -> bytes:
    """A good message, one part of which is exchanged for anything, left out or added."""
    message = draw(st.sampled_from(kinds).flatmap(instances))
    fields = part = msgspec.to_builtins(message, builtin_types=(bytes,))
    position = draw(st.integers(0, len(part)))
    while position < len(part) and isinstance(part[position], list) and draw(st.booleans()):
        part = part[position]
        position = draw(st.integers(0, len(part)))
    part[position : position + 1] = draw(st.lists(ANYTHING, max_size=2))
    return packed(*fields)


@pytest.mark.parametrize("layer", SPEAKERS, ids=lambda layer: layer.name)
def test_well_formed_nonsense_is_a_message_or_a_remote_error(
    layer: type[Protocol] | type[Membership],
) -> None:
    codec = Codec(layer.messages)

    @thorough
    @given(with_one_thing_wrong(layer.messages))
    def is_message_or_remote_error(data: bytes) -> None:
        assert_message_or_remote_error(codec, data)

    is_message_or_remote_error()


# Streams

FRAMES = st.lists(st.builds(CODEC.encode, SENDERS, instances(Copy) | instances(Ping)), max_size=6)


def pieces(stream: bytes, cuts: list[int]) -> list[bytes]:
    bounds = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    return [stream[a:b] for a, b in pairwise(bounds)]


@steady
@given(FRAMES, st.lists(st.integers(0, 10_000), max_size=12))
def test_a_stream_gives_the_same_frames_however_it_was_torn(
    frames: list[bytes], cuts: list[int]
) -> None:
    reader = FrameReader()
    stream = b"".join(frames)
    assert [found for piece in pieces(stream, cuts) for found in reader.feed(piece)] == frames


def test_a_stream_can_come_byte_by_byte() -> None:
    frames = [CODEC.encode(1, Ping()), CODEC.encode(2, Copy(Event("e", data=b"\x01" * 50), 3))]
    reader = FrameReader()
    found = [whole for byte in b"".join(frames) for whole in reader.feed(bytes([byte]))]
    assert found == frames


def test_a_frame_is_given_when_its_last_byte_comes_and_not_before() -> None:
    whole = CODEC.encode(1, Ping())
    reader = FrameReader()
    assert reader.feed(whole[:-1]) == []
    assert reader.feed(b"") == []
    assert reader.feed(whole[-1:] + whole) == [whole, whole]
    assert reader.feed(b"") == []


def test_the_largest_frame_passes() -> None:
    whole = frame(bytes(MAX_BODY))
    assert FrameReader().feed(whole) == [whole]


@pytest.mark.parametrize(
    ("header", "complaint"),
    [
        (frame(b"", length=MAX_BODY + 1), "announces 60001 bytes, over the 60000 allowed"),
        (frame(b"", length=(1 << 32) - 1), "announces 4294967295 bytes"),
        (frame(b"", version=9), "version 9, where this is version 1"),
    ],
)
def test_a_stream_with_a_bad_header_is_lost_before_its_body_is_waited_for(
    header: bytes, complaint: str
) -> None:
    reader = FrameReader()
    assert reader.feed(header[:-1]) == []
    for data in (header[-1:], b"", CODEC.encode(1, Ping())):
        with pytest.raises(RemoteError, match=complaint):
            reader.feed(data)


@steady
@given(FRAMES, st.binary(max_size=30), st.lists(st.integers(0, 10_000), max_size=12))
def test_a_stream_that_goes_bad_gives_no_frame_that_was_not_sent(
    frames: list[bytes], garbage: bytes, cuts: list[int]
) -> None:
    reader = FrameReader()
    found: list[bytes] = []

    def feed_all() -> None:
        bad = b"\xff" + bytes(8)
        for piece in pieces(b"".join(frames) + bad + garbage, cuts):
            found.extend(reader.feed(piece))

    with pytest.raises(RemoteError):
        feed_all()
    assert found == frames[: len(found)]
