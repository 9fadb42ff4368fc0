"""The journal's lines: what they say, what they leave out, and that they come back."""

import json
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from msgspec import Struct

from agents.core.journal import VERSION, Cause, Count, Header, Kind, Record, Total
from tests.support.instances import instances
from tests.support.properties import steady

RECEIVE = Record(
    time=1_234_567_890,
    kind="receive",
    agent=1109,
    community=".a.b.c",
    event="17-3",
    peer=42,
    hop=3,
    size=57,
    message="Spread",
)

HEADER = Header(level="counts", engine="sim", run="r", seed=5)
COUNT = Count(event="17-3", topic=".a.b", community=".a", published=0, sent=3)
TOTAL = Total(
    time=1,
    sent=5,
    received=3,
    in_flight=1,
    dropped={"loss": 1},
    control_sent=2,
    control_by_kind={"Check": 2},
    tables={".a/topic": [3, 11.5, 11, 12]},
)


def line(record: Struct) -> dict[str, Any]:
    found = json.loads(msgspec.json.encode(record))
    assert isinstance(found, dict)
    return found


def test_a_record_leaves_out_what_has_its_default() -> None:
    assert line(Record(time=0, kind="join", agent=0)) == {"time": 0, "kind": "join", "agent": 0}


def test_a_typical_record_is_compact() -> None:
    encoded = msgspec.json.encode(RECEIVE)
    assert encoded == (
        b'{"time":1234567890,"kind":"receive","agent":1109,"community":".a.b.c","event":"17-3",'
        b'"peer":42,"hop":3,"size":57,"message":"Spread"}'
    )
    assert len(encoded) < 150


def test_peer_zero_is_said_since_nobody_is_the_default() -> None:
    assert line(Record(time=0, kind="send", agent=1, peer=0))["peer"] == 0


@pytest.mark.parametrize("record", [HEADER, COUNT, TOTAL], ids=["header", "count", "total"])
def test_the_other_lines_are_told_apart_by_their_record_field(record: Struct) -> None:
    assert line(record)["record"] == type(record).__name__.lower()
    decode = msgspec.json.Decoder(Header | Count | Total).decode
    assert decode(msgspec.json.encode(record)) == record


def test_a_record_of_a_happening_has_no_record_field() -> None:
    assert "record" not in line(RECEIVE)
    assert "record" not in Record.__struct_fields__


def test_the_header_always_says_its_version() -> None:
    assert line(HEADER)["version"] == VERSION


@pytest.mark.parametrize("record", [HEADER, COUNT, TOTAL], ids=["header", "count", "total"])
def test_the_other_lines_leave_nothing_out(record: Struct) -> None:
    assert set(line(record)) == {"record", *record.__struct_fields__}


@pytest.mark.parametrize("kind", [Header, Record, Count, Total], ids=lambda kind: kind.__name__)
def test_every_line_comes_back_as_it_was_written(kind: type[Struct]) -> None:
    decode = msgspec.json.Decoder(kind).decode

    @steady
    @given(instances(kind, infinity=False))
    def comes_back(record: Struct) -> None:
        encoded = msgspec.json.encode(record)
        assert b"\n" not in encoded
        assert decode(encoded) == record

    comes_back()


@pytest.mark.parametrize("field", ["kind", "cause"])
def test_a_record_of_an_unknown_kind_or_cause_does_not_come_back(field: str) -> None:
    wrong = {**line(RECEIVE), field: "whim"}
    with pytest.raises(msgspec.ValidationError, match="whim"):
        msgspec.convert(wrong, Record)


def test_the_vocabulary_has_not_changed() -> None:
    assert get_args(Kind) == (
        "publish",
        "send",
        "receive",
        "deliver",
        "drop",
        "join",
        "leave",
        "crash",
        "restart",
        "table",
        "impairment",
    )
    assert get_args(Cause) == (
        *("", "loss", "partition", "suspected", "crashed", "refused", "overflow"),
    )
