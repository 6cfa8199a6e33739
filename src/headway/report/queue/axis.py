"""Where the marks of an axis stand and what they say: dates or days, round numbers, round times."""

from __future__ import annotations

from datetime import datetime
from math import ceil, floor, log10

from headway.report.queue.clock import DAY_S, Clock

Mark = tuple[float, str]

_MONTHS_FROM_S = 70 * DAY_S  # shorter stretches are marked by days,
_DAYS_FROM_S = 2.5 * DAY_S  # and still shorter ones by hours
_CLOCK_S = (1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_ROUND_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200)


def time_marks(clock: Clock, from_s: float, to_s: float, most: int = 12) -> list[Mark]:
    """At most about so many, on midnights and firsts of months where dates are known."""
    span_s = to_s - from_s
    if span_s <= _DAYS_FROM_S:
        return _hour_marks(clock, from_s, to_s, most)
    if not clock.dated or span_s <= _MONTHS_FROM_S:
        return _day_marks(clock, from_s, to_s, most)
    return _month_marks(clock, from_s, to_s, most)


def _hour_marks(clock: Clock, from_s: float, to_s: float, most: int) -> list[Mark]:
    step_s = next((step for step in _CLOCK_S if (to_s - from_s) / step <= most), _CLOCK_S[-1])
    form = "%H:%M" if step_s >= 60 else "%H:%M:%S"
    marks, day_s = [], clock.day_begins(from_s)
    while day_s <= to_s:
        after_s = clock.day_after(day_s)
        first = max(0, ceil((from_s - day_s) / step_s))
        last = min(floor((to_s - day_s) / step_s), ceil((after_s - day_s) / step_s) - 1)
        for number in range(first, last + 1):
            at_s = day_s + number * step_s
            marks.append((at_s, clock.moment(at_s).strftime(form)))
        day_s = after_s
    return marks


def _day_marks(clock: Clock, from_s: float, to_s: float, most: int) -> list[Mark]:
    wanted = (to_s - from_s) / DAY_S / most
    every = next((days for days in (1, 2, 7, 14) if days >= wanted), 0) or round(_round_up(wanted))
    marks, at_s = [], clock.day_begins(from_s)
    for number in range(ceil((to_s - at_s) / DAY_S) + 2):
        if from_s <= at_s <= to_s and number % every == 0:
            now = clock.moment(at_s)
            marks.append((at_s, f"{now.day} {now:%b}" if clock.dated else f"day {at_s / DAY_S:,.0f}"))
        at_s = clock.day_after(at_s)
    return marks


def _month_marks(clock: Clock, from_s: float, to_s: float, most: int) -> list[Mark]:
    months = (to_s - from_s) / (30.4 * DAY_S)
    every = next((step for step in (1, 2, 3, 6, 12, 24, 60, 120) if months / step <= most + 0.5), 1200)
    marks: list[Mark] = []
    year = clock.moment(from_s).year
    for number in range(0, ceil(months) + 25, every):
        month = datetime(year + number // 12, number % 12 + 1, 1)
        at_s = clock.at(month)
        if at_s > to_s:
            break
        if at_s >= from_s:
            new_year = not marks or month.month == 1 or every >= 12
            marks.append((at_s, f"{month:%b %Y}" if new_year else f"{month:%b}"))
    return marks


def number_marks(most: float, about: int = 4) -> list[Mark]:
    """From 0 to the first round number that is no less than `most`."""
    step = _round_up(max(most, 1e-9) / about)
    return [(step * place, f"{step * place:,.10g}") for place in range(ceil(most / step - 1e-9) + 1)]


def duration_marks(most_s: float, about: int = 4) -> list[Mark]:
    """The same for a time: `30 min`, `2 h`, `1 d`."""
    wanted = max(most_s, 1.0) / about
    step = next((float(step) for step in _ROUND_S if step >= wanted), 0.0)
    step = step or DAY_S * _round_up(wanted / DAY_S)
    return [(step * place, _short(step * place)) for place in range(ceil(most_s / step - 1e-9) + 1)]


def _short(seconds: float) -> str:
    for size, unit in ((DAY_S, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.3g} s" if seconds else "0"


def _round_up(value: float) -> float:
    """The first of 1, 2, 5, 10, 20, 50 …, and of 0.5, 0.2 …, that is no less."""
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))
