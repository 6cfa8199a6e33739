"""Figures as text."""

from __future__ import annotations

import pytest

from headway.report.words import amount, clock, count, harmless, held, moment, share, stopwatch


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.0, "0%"), (0.004, "0.4%"), (0.84, "84%"), (1.0, "100%"), (1.25, "125%")]
)
def test_shares(value: float | None, text: str) -> None:
    assert share(value) == text


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("memory_bytes", 3.2e9, "3.2 GB·s"),
        ("memory_bytes", 500e6, "500 MB·s"),
        ("memory_bytes", 900e9, "900 GB·s"),
        ("memory_bytes", 2 * 3600e9, "2 GB·h"),
        ("cores", 12.0, "12 core·s"),
        ("cores", 900.0, "900 core·s"),
        ("cores", 7200.0, "2 core·h"),
    ],
)
def test_amounts_held_for_a_time(resource: str, value: float, text: str) -> None:
    assert held(resource, value) == text


@pytest.mark.parametrize(
    ("resource", "value", "text"),
    [
        ("memory_bytes", 420e6, "420 MB"),
        ("cores", 0.9812, "0.98"),
        ("walltime_s", 185.0, "3m 05s"),
        ("cores", None, "-"),
    ],
)
def test_amounts(resource: str, value: float | None, text: str) -> None:
    assert amount(resource, value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (7.9, "0:07"), (754, "12:34"), (3723, "1:02:03"), (183845, "2d 03:04:05")]
)
def test_a_stopwatch(seconds: float, text: str) -> None:
    assert stopwatch(seconds) == text


def test_counts() -> None:
    assert (count(1, "task"), count(10_000, "task")) == ("1 task", "10,000 tasks")


def test_terminal_escape_sequences_are_removed() -> None:
    wild = "\x1b[31mred\x1b[0m \x1b]0;title\x07 a\tb \x1b[2J\x07 ü\x9b5m\x00"
    assert harmless(wild) == "red  a    b  ü5m"


@pytest.mark.parametrize("at", [1e300, -1e300, float("nan"), float("inf")])
def test_a_time_that_no_calendar_has_is_no_fault(at: float) -> None:
    assert (clock(at), moment(at)) == ("an unknown time",) * 2
