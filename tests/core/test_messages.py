"""Messages, timers and events: small frozen records."""

import pytest

from agents.core.codec import Codec
from agents.core.messages import (
    MAX_TOPIC_NAME,
    Event,
    EventMessage,
    Message,
    ScopedMessage,
    ScopedTimer,
    Timer,
    ns,
)
from agents.core.topics import check_name
from tests.support.registered import MESSAGES


@pytest.mark.parametrize(
    ("seconds", "nanoseconds"),
    [(0, 0), (1, 1_000_000_000), (0.001, 1_000_000), (1e-9, 1), (2.5, 2_500_000_000), (4e-10, 0)],
)
def test_seconds_become_whole_nanoseconds(seconds: float, nanoseconds: int) -> None:
    assert ns(seconds) == nanoseconds


@pytest.mark.parametrize(
    ("record", "field"),
    [
        (Event("e"), "topic"),
        (EventMessage(Event("e"), 1), "hop"),
        (ScopedMessage(".a"), "scope"),
        (ScopedTimer(".a"), "scope"),
    ],
)
def test_records_do_not_change(record: Event | Message | Timer, field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(record, field, None)


def test_records_of_the_same_fields_are_equal_and_those_of_another_class_are_not() -> None:
    class Other(ScopedTimer, frozen=True):
        pass

    assert ScopedTimer(".a") == ScopedTimer(".a")
    assert ScopedTimer(".a") != ScopedTimer(".b")
    assert Other(".a") != ScopedTimer(".a")


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_every_message_is_frozen_and_tagged_by_its_name(kind: type[Message]) -> None:
    config = kind.__struct_config__
    assert config.frozen
    assert config.array_like
    assert config.tag == kind.__name__


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_hosts_can_read_the_fields_of_every_copy_of_an_event(kind: type[Message]) -> None:
    holds_event = "event" in kind.__struct_fields__
    assert holds_event is issubclass(kind, EventMessage)


def test_the_longest_name_of_a_topic_fits_a_message() -> None:
    codec = Codec([ScopedMessage])
    longest = ScopedMessage(check_name("." + "x" * (MAX_TOPIC_NAME - 1)))
    assert codec.decode(codec.encode(1, longest)) == (1, longest)
