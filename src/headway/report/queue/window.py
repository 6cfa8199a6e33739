"""Parsing `--window`: a day, or a time span FROM..TO of a simulated queue."""

from __future__ import annotations

from datetime import datetime

from headway.model.errors import InputError
from headway.model.units import parse_duration
from headway.report.queue.clock import DAY_S, Clock
from headway.report.queue.gantt import Span

_DATES = "write a day as 2024-03-01, a time span as 2024-03-01T08:00..2024-03-02, or count from the first job: 36h..48h"
_COUNTED = "count from the first job: 12d for a day, or 36h..48h"


def window_of(text: str, clock: Clock, where: str) -> Span:
    """Parse FROM..TO, or a day; each time is a date or a duration since the first submission."""
    begin, dots, end = (part.strip() for part in text.partition(".."))
    from_s = _time(begin, clock, where)
    if dots:
        to_s = _time(end, clock, where)
    else:  # the calendar day of a date, which may have 23 or 25 hours; otherwise 24 hours
        to_s = clock.day_after(from_s) if clock.day_begins(from_s) == from_s else from_s + DAY_S
    if from_s >= to_s:
        raise InputError(f"{text!r} ends before it begins", where=where, todo=_todo(clock))
    return from_s, to_s


def check_window(window: Span, end_s: float, clock: Clock, where: str) -> None:
    """Raise an InputError if the window lies outside of the schedule, which ends at `end_s`."""
    if window[0] >= end_s or window[1] <= 0:
        raise InputError(
            "there are no jobs in this time span",
            where=where,
            todo=f"the schedule goes from {clock.words(0.0)} to {clock.words(end_s)}",
        )


def _time(text: str, clock: Clock, where: str) -> float:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        try:
            return parse_duration(text)
        except InputError:
            raise InputError(f"{text!r} is not a time", where=where, todo=_todo(clock)) from None
    if not clock.dated:
        raise InputError("this log has no dates", where=where, todo=_COUNTED)
    try:
        return clock.at(moment)
    except (OverflowError, OSError, ValueError):
        raise InputError(f"{text!r} is too far in the past or future", where=where, todo=_todo(clock)) from None


def _todo(clock: Clock) -> str:
    return _DATES if clock.dated else _COUNTED
