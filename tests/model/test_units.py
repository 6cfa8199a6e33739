"""Amounts as people write them, and back."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.model.errors import InputError
from headway.model.units import format_bytes, format_duration, parse_bytes, parse_duration


@pytest.mark.parametrize(
    ("text", "amount"),
    [
        ("2 GB", 2_000_000_000),
        ("1.5GiB", 1_610_612_736),
        ("200 MB", 200_000_000),
        ("200MB", 200_000_000),
        ("  200 mb ", 200_000_000),
        ("1k", 1000),
        ("1 KiB", 1024),
        ("1 PB", 10**15),
        ("1 PiB", 2**50),
        ("0 B", 0),
        ("3b", 3),
        ("0.5 B", 1),  # what does not fit in half a byte needs a whole one
        ("1e3 kB", 1_000_000),
    ],
)
def test_bytes(text: str, amount: int) -> None:
    assert parse_bytes(text) == amount


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1-02:00:00", 93_600),
        ("1-02:30", 95_400),
        ("02:00:00", 7200),
        ("05:00", 300),
        ("90m", 5400),
        ("90 min", 5400),
        ("1h 30min", 5400),
        ("1h30m", 5400),
        ("45s", 45),
        ("0.5 s", 0.5),
        ("2 days", 172_800),
        ("1w", 604_800),
        ("1 Hour", 3600),
        ("1e3s", 1000),
    ],
)
def test_durations(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    "text", ["", " ", "5", "GB", "-1 GB", "nan GB", "inf GB", "5 XB", "1,5 GB", "1 GB x", "1 GB 1 MB"]
)
def test_not_an_amount(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_bytes(text)
    assert repr(text) in str(caught.value)
    assert "200 MB" in caught.value.todo


@pytest.mark.parametrize(
    "text", ["", "90", "-5m", "5 y", "1:2", "m5", "1h 30", "1h, 30m", "nan s", "inf s", "1-2", "1:00:00:00"]
)
def test_not_a_length_of_time(text: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_duration(text)
    assert repr(text) in str(caught.value)
    assert "90m" in caught.value.todo


@given(st.text("0123456789.+-:kKmMgGiIbBsShHdw ", max_size=12) | st.text(max_size=12))
def test_any_text_is_an_amount_or_an_error(text: str) -> None:
    for parse in (parse_bytes, parse_duration):
        try:
            value = parse(text)
        except InputError as problem:
            assert repr(text) in str(problem)
        else:
            assert value >= 0


@given(st.integers(0, 10**18) | st.integers(0, 10_000))
def test_bytes_survive_being_shown_within_one_percent(amount: int) -> None:
    assert abs(parse_bytes(format_bytes(amount)) - amount) <= amount / 100


@given(st.floats(1, 3600) | st.integers(60, 3599))
def test_durations_below_an_hour_survive_being_shown(seconds: float) -> None:
    error = abs(parse_duration(format_duration(seconds)) - seconds)
    assert error <= (0.01 * seconds if seconds < 59.95 else 0.5)


@given(st.floats(3600, 10**8))
def test_longer_durations_are_shown_down_to_the_smaller_unit(seconds: float) -> None:
    error = abs(parse_duration(format_duration(seconds)) - seconds)
    assert error <= (60 if seconds < 86_399 else 3600)


@pytest.mark.parametrize(
    ("amount", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (1_610_612_736, "1.61 GB"),
        (200_000_000, "200 MB"),
        (2e18, "2000 PB"),
    ],
)
def test_bytes_are_shown_with_three_digits(amount: float, shown: str) -> None:
    assert format_bytes(amount) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.31, "0.31 s"), (42, "42 s"), (59.96, "1m 00s"), (185, "3m 05s"), (7800, "2h 10m"), (93_600, "1d 02h")],
)
def test_durations_are_shown_in_two_units(seconds: float, shown: str) -> None:
    assert format_duration(seconds) == shown


def test_decimal_amounts_are_exact() -> None:
    assert parse_bytes("8.3 GB") == 8_300_000_000


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_bytes, "1e400 GB"),
        (parse_bytes, "1e300 PB"),
        (parse_duration, "1e400 s"),
        (parse_duration, "9" * 400 + ":00"),
        (parse_duration, "9" * 5000 + ":00"),
    ],
    ids=lambda value: value[:8] if isinstance(value, str) else value.__name__,
)
def test_digits_without_end_are_an_input_error(parse: object, text: str) -> None:
    assert callable(parse)
    try:
        value = parse(text)
    except InputError:
        return
    assert math.isfinite(value)


@pytest.mark.parametrize("seconds", [3659, 89_999])
def test_long_durations_survive_being_shown_within_one_percent(seconds: float) -> None:
    assert abs(parse_duration(format_duration(seconds)) - seconds) <= seconds / 100
