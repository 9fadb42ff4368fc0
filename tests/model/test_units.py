"""Durations have a unit, and come back as they were written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.model import format_duration, parse_duration
from testbed.model.units import LONGEST


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1ns", 1),
        ("1us", 1_000),
        ("10ms", 10_000_000),
        ("1.5ms", 1_500_000),
        ("0.1us", 100),
        ("5s", 5_000_000_000),
        ("2min", 120_000_000_000),
        ("1 h", 3_600_000_000_000),
        ("0s", 0),
        (0, 0),
        (0.0, 0),
        ("9223372036854775807ns", LONGEST),
    ],
)
def test_a_duration_is_whole_nanoseconds(text: object, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (5, "5 has no unit: write 5s or 5ms"),
        (2.5, "2.5 has no unit: write 2.5s or 2.5ms"),
        ("5", "5 has no unit: write 5s or 5ms"),
        (-5, "must not be negative, is -5"),
        ("-5s", "must not be negative, is '-5s'"),
        ("5m", "has the unknown unit 'm' in '5m': write ns, us, ms, s, min or h"),
        ("5 sec", "has the unknown unit 'sec' in '5 sec': write ns, us, ms, s, min or h"),
        ("0.5ns", "must be whole nanoseconds, is '0.5ns'"),
        ("1000000000h", "must be at most 292 years, is '1000000000h'"),
        ("soon", "must be a duration such as 5s or 10ms, is 'soon'"),
        ("", "must be a duration such as 5s or 10ms, is ''"),
        (True, "must be a duration such as 5s or 10ms, is true"),
        (False, "must be a duration such as 5s or 10ms, is false"),
        (None, "must be a duration such as 5s or 10ms, is empty"),
        ([1], "must be a duration such as 5s or 10ms, is a list"),
        (1e300, "must be a duration such as 5s or 10ms, is 1e+300"),
    ],
)
def test_what_is_no_duration_is_refused_with_what_would_be_right(
    value: object, message: str
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_duration(value)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("ns", "text"),
    [(0, "0s"), (10_000_000, "10ms"), (1_500_000, "1500us"), (90_000_000_000, "90s"), (1, "1ns")],
)
def test_a_duration_is_written_in_the_largest_unit_that_is_exact(ns: int, text: str) -> None:
    assert format_duration(ns) == text


@given(st.integers(0, LONGEST))
def test_what_was_written_reads_as_the_same_duration(ns: int) -> None:
    assert parse_duration(format_duration(ns)) == ns
