"""A stretch of a simulated queue as people write it: a day, or from one time to another."""

from __future__ import annotations

from datetime import datetime

from headway.model.errors import InputError
from headway.model.units import parse_duration
from headway.report.queue.clock import DAY_S, Clock
from headway.report.queue.gantt import Span

_DATES = "write a day as 2024-03-01, a stretch as 2024-03-01T08:00..2024-03-02, or count from the first job: 36h..48h"
_COUNTED = "count from the first job: 12d for a day, or 36h..48h"


def window_of(text: str, clock: Clock, where: str) -> Span:
    """What `text` means: FROM..TO, or a day. Each is a date or a time since the first submission."""
    begin, dots, end = (part.strip() for part in text.partition(".."))
    from_s = _time(begin, clock, where)
    if dots:
        to_s = _time(end, clock, where)
    else:  # a date's own day, which may have 23 hours; or a day from then on
        to_s = clock.day_after(from_s) if clock.day_begins(from_s) == from_s else from_s + DAY_S
    if from_s >= to_s:
        raise InputError(f"{text!r} ends before it begins", where=where, todo=_todo(clock))
    return from_s, to_s


def check_window(window: Span, end_s: float, clock: Clock, where: str) -> None:
    """Something of the schedule must be in it."""
    if window[0] >= end_s or window[1] <= 0:
        raise InputError(
            "there are no jobs in this stretch",
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
        raise InputError("this log does not tell its date", where=where, todo=_COUNTED)
    try:
        return clock.at(moment)
    except (OverflowError, OSError, ValueError):
        raise InputError(f"{text!r} is out of all range", where=where, todo=_todo(clock)) from None


def _todo(clock: Clock) -> str:
    return _DATES if clock.dated else _COUNTED
