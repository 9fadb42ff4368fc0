"""Interests: which events they match, and that they survive the wire."""

import math

import hypothesis.strategies as st
import msgspec
import pytest
from hypothesis import given

from agents.core.codec import Codec
from agents.core.errors import RemoteError
from agents.core.interest import (
    MAX_NESTING,
    AnyOf,
    Box,
    Interest,
    Range,
    Topic,
    TopicSet,
    topics_of,
)
from agents.core.messages import Event, Message, Value
from agents.core.topics import Topics
from tests.support.properties import steady

TOPICS = Topics()
for _topic in (".soccer", ".soccer.italy", ".news", ".news.italy"):
    TOPICS.add(_topic)
TOPICS.add(".soccer.italy.results", [".news.italy"])


def about(topic: str) -> Event:
    return Event("e", topic)


def having(**attributes: Value) -> Event:
    return Event("e", attributes=attributes)


# Topics


@pytest.mark.parametrize(
    ("mine", "topic", "matches"),
    [
        (".", ".soccer.italy", True),
        (".soccer", ".soccer", True),
        (".soccer", ".soccer.italy", True),
        (".soccer.italy", ".soccer", False),
        (".soccer", ".news", False),
        (".news", ".soccer.italy.results", True),
        (".soccer", ".unheard-of", False),
        (".", ".unheard-of", False),
        (".unheard-of", ".soccer", False),
        (".unheard-of", ".unheard-of", False),
        (".", "", False),
    ],
)
def test_a_topic_matches_its_own_events_and_those_below_it(
    mine: str, topic: str, matches: bool
) -> None:
    assert Topic(mine).matches(about(topic), TOPICS) is matches


@pytest.mark.parametrize(
    ("mine", "topic", "matches"),
    [
        ((), ".soccer", False),
        ((".soccer", ".news.italy"), ".soccer.italy", True),
        ((".soccer.italy", ".news"), ".news", True),
        ((".soccer.italy", ".news"), ".soccer", False),
        ((".unheard-of", ".news"), ".news", True),
        ((".", ".news"), ".unheard-of", False),
    ],
)
def test_a_set_of_topics_matches_what_any_of_them_does(
    mine: tuple[str, ...], topic: str, matches: bool
) -> None:
    assert TopicSet(mine).matches(about(topic), TOPICS) is matches


# Boxes


@pytest.mark.parametrize(
    ("span", "value", "inside"),
    [
        (Range(1, 5), 1, True),
        (Range(1, 5), 5, True),
        (Range(1, 5), 3.5, True),
        (Range(1, 5), 0.999, False),
        (Range(1, 5), 5.001, False),
        (Range(3, 3), 3, True),
        (Range(3, 3), 3.1, False),
        (Range(5, 1), 3, False),
        (Range(-math.inf, math.inf), 1e300, True),
        (Range(-math.inf, math.inf), math.nan, False),
        (Range("b", "d"), "c", True),
        (Range("b", "d"), "b", True),
        (Range("b", "d"), "e", False),
        (Range("b", "b"), "b", True),
        (Range(1, 5), "3", False),
        (Range("1", "5"), 3, False),
        (Range("1", 5), "3", False),
        (Range(1, "5"), 3, False),
    ],
)
def test_a_range_has_both_its_ends_and_never_mixes_strings_with_numbers(
    span: Range, value: Value, inside: bool
) -> None:
    assert (value in span) is inside


@pytest.mark.parametrize(
    ("event", "matches"),
    [
        (having(price=10, symbol="ABC"), True),
        (having(price=10, symbol="ABC", volume=7), True),
        (having(price=21, symbol="ABC"), False),
        (having(price=10, symbol="ABD"), False),
        (having(price="10", symbol="ABC"), False),
        (having(price=10), False),
        (having(symbol="ABC"), False),
        (Event("e"), False),
    ],
)
def test_a_box_matches_events_with_every_named_attribute_within_its_range(
    event: Event, matches: bool
) -> None:
    box = Box({"price": Range(5, 20), "symbol": Range("ABC", "ABC")})
    assert box.matches(event, TOPICS) is matches


@pytest.mark.parametrize("event", [Event("e"), having(price=1), about(".unheard-of")])
def test_a_box_that_names_nothing_matches_everything(event: Event) -> None:
    assert Box({}).matches(event, TOPICS)


# Compounds


def test_any_of_nothing_matches_nothing() -> None:
    assert not AnyOf(()).matches(about("."), TOPICS)


def test_any_of_several_matches_what_any_of_them_does() -> None:
    interest = AnyOf((Topic(".news"), AnyOf((Box({"price": Range(1, 2)}),))))
    assert interest.matches(about(".news.italy"), TOPICS)
    assert interest.matches(having(price=1), TOPICS)
    assert not interest.matches(about(".soccer"), TOPICS)
    assert not interest.matches(having(price=3), TOPICS)


@pytest.mark.parametrize(
    ("interest", "names"),
    [
        (Topic(".a"), (".a",)),
        (TopicSet((".b", ".a", ".b")), (".b", ".a")),
        (Box({"a": Range(1, 2)}), ()),
        (AnyOf(()), ()),
        (
            AnyOf((Topic(".b"), Box({}), AnyOf((TopicSet((".a", ".b")), Topic(".c"))))),
            (".b", ".a", ".c"),
        ),
    ],
)
def test_an_interest_names_its_topics_in_order_and_once(
    interest: Interest, names: tuple[str, ...]
) -> None:
    assert topics_of(interest) == names


def nested(depth: int) -> Interest:
    interest: Interest = Topic(".soccer")
    for _ in range(depth):
        interest = AnyOf((interest,))
    return interest


def test_interests_can_be_nested_as_deeply_as_anybody_needs() -> None:
    assert nested(MAX_NESTING).matches(about(".soccer"), TOPICS)
    with pytest.raises(ValueError, match="nested more than 8 deep"):
        nested(MAX_NESTING + 1)


# On the wire

VALUES = st.floats(allow_nan=False) | st.text(st.characters(codec="utf-8"), max_size=5)
NAMES = st.sampled_from([".", ".soccer", ".news.italy", ".unheard-of"])
SIMPLE = st.one_of(
    st.builds(Topic, NAMES),
    st.builds(TopicSet, st.lists(NAMES, max_size=3).map(tuple)),
    st.builds(
        Box,
        st.dictionaries(st.sampled_from("abc"), st.builds(Range, VALUES, VALUES), max_size=3),
    ),
)
INTERESTS: st.SearchStrategy[Interest] = st.recursive(
    SIMPLE, lambda inner: st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)), max_leaves=8
).filter(lambda interest: _depth(interest) <= MAX_NESTING)
EVENTS = st.builds(
    Event,
    st.just("e"),
    NAMES,
    attributes=st.none() | st.dictionaries(st.sampled_from("abc"), VALUES, max_size=3),
)


def _depth(interest: Interest) -> int:
    if isinstance(interest, AnyOf):
        return 1 + max(map(_depth, interest.parts), default=0)
    return 0


class Told(Message, frozen=True):
    """Somebody tells somebody an interest, as content-based protocols do."""

    interest: Interest


@steady
@given(INTERESTS)
def test_an_interest_comes_back_as_it_was_sent(interest: Interest) -> None:
    codec = Codec([Told])
    assert codec.decode(codec.encode(7, Told(interest))) == (7, Told(interest))


@steady
@given(INTERESTS, EVENTS)
def test_an_interest_matches_the_same_events_after_it_was_sent(
    interest: Interest, event: Event
) -> None:
    decoded = msgspec.msgpack.decode(msgspec.msgpack.encode(interest), type=Interest)
    assert decoded.matches(event, TOPICS) is interest.matches(event, TOPICS)


@steady
@given(st.lists(INTERESTS, max_size=4), EVENTS)
def test_any_of_is_the_union_of_its_parts(interests: list[Interest], event: Event) -> None:
    shallow = [interest for interest in interests if _depth(interest) < MAX_NESTING]
    matches = any(interest.matches(event, TOPICS) for interest in shallow)
    assert AnyOf(tuple(shallow)).matches(event, TOPICS) is matches


@pytest.mark.parametrize("depth", [MAX_NESTING + 1, 100, 400, 1000])
def test_an_interest_that_a_peer_nested_too_deeply_is_its_fault(depth: int) -> None:
    raw: dict[str, object] = {"type": "Topic", "name": ".soccer"}
    for _ in range(depth):
        raw = {"type": "AnyOf", "parts": (raw,)}
    body = _encode_nested(raw)
    codec = Codec([Told])
    frame = codec.encode(7, Told(Topic(".")))
    header = frame[:5] + len(body).to_bytes(4, "big")
    with pytest.raises(RemoteError, match="no message"):
        codec.decode(header + body)


def _encode_nested(raw: dict[str, object]) -> bytes:
    """By hand: an encoder would run out of stack before the decoder that is tested."""
    encode = msgspec.msgpack.encode
    opening = b"\x82" + encode("type") + encode("AnyOf") + encode("parts") + b"\x91"
    depth = 0
    while raw["type"] == "AnyOf":
        (raw,) = raw["parts"]  # type: ignore[misc]
        depth += 1
    return b"\x92" + encode("Told") + opening * depth + encode(raw)
