"""Rates: written with a unit, kept as bits per second."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from testbed.model.rates import GREATEST, LEAST, format_rate, parse_rate


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("100mbit", 100_000_000),
        ("1gbit", 1_000_000_000),
        ("1.5mbit", 1_500_000),
        ("64 kbit", 64_000),
        ("1000bit", 1_000),
        ("1000gbit", GREATEST),
    ],
)
def test_a_rate_is_a_number_with_a_unit(text: str, bits: int) -> None:
    assert parse_rate(text) == bits


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (0, "must be more than 0: a link that carries nothing is a loss of 1"),
        ("0", "must be more than 0: a link that carries nothing is a loss of 1"),
        ("0mbit", "must be more than 0: a link that carries nothing is a loss of 1"),
        (100, "100 has no unit: write 100mbit or 100kbit"),
        (1.5, "1.5 has no unit: write 1.5mbit or 1.5kbit"),
        (-1, "must not be negative, is -1"),
        ("-1mbit", "must not be negative, is '-1mbit'"),
        ("100Mbps", "has the unknown unit 'Mbps' in '100Mbps': write bit, kbit, mbit or gbit"),
        ("100Mb/s", "has the unknown unit 'Mb/s' in '100Mb/s': write bit, kbit, mbit or gbit"),
        ("fast", "must be a rate such as 100mbit or 1gbit, is 'fast'"),
        (True, "must be a rate such as 100mbit or 1gbit, is true"),
        (["1mbit"], "must be a rate such as 100mbit or 1gbit, is a list"),
        ("1bit", "must be 1kbit to 1000gbit, is '1bit'"),
        ("2000gbit", "must be 1kbit to 1000gbit, is '2000gbit'"),
        ("1000.5bit", "must be whole bits per second, is '1000.5bit'"),
    ],
)
def test_what_is_no_rate_is_told_what_would_be_right(value: object, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        parse_rate(value)


@given(st.integers(LEAST, GREATEST))
def test_a_rate_reads_back_as_it_was_written(bits: int) -> None:
    assert parse_rate(format_rate(bits)) == bits


def test_a_rate_is_written_with_the_largest_unit_that_is_exact() -> None:
    assert [format_rate(bits) for bits in (1_000_000_000, 100_000_000, 1_500_000, 1_001)] == [
        "1gbit",
        "100mbit",
        "1500kbit",
        "1001bit",
    ]
