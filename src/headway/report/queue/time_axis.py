"""The time axis of charts of a queue: marks at months, days or hours, with dates where the log has them."""

from __future__ import annotations

from datetime import datetime
from math import ceil, floor

from headway.report.charts import LEFT, RIGHT, WIDTH, Mark, label, round_up
from headway.report.queue.clock import DAY_S, Clock

_MONTHS_FROM_S = 70 * DAY_S  # a shorter time span has a mark for days,
_DAYS_FROM_S = 2.5 * DAY_S  # and an even shorter one for hours
_CLOCK_S = (1, 5, 15, 30, 60, 120, 300, 900, 1800, 3600, 7200, 10800, 21600, 43200)


def time_axis(clock: Clock, from_s: float, to_s: float, top: float, bottom: float) -> str:
    """Vertical grid lines between the pixels `top` and `bottom`, labelled below."""
    lines = []
    for at_s, words in time_marks(clock, from_s, to_s):
        at = LEFT + (WIDTH - LEFT - RIGHT) * (at_s - from_s) / (to_s - from_s)
        lines.append(f'<path class="grid" d="M{at:.1f} {top:g}V{bottom + 4:g}"/>')
        anchor = "middle" if LEFT + 20 < at < WIDTH - 30 else "start" if at < WIDTH / 2 else "end"
        lines.append(label(at, bottom + 17, words, anchor=anchor))
    return "".join(lines)


def time_marks(clock: Clock, from_s: float, to_s: float, most: int = 12) -> list[Mark]:
    """Marks between two times, about `most` at most; at midnights and first days of months where dates are known."""
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
    every = next((days for days in (1, 2, 7, 14) if days >= wanted), 0) or round(round_up(wanted))
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
