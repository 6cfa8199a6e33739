"""SVG charts of a simulated queue: curves over time, bar charts, and the time axis with dates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from html import escape
from math import ceil, floor

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.report.charts import LEFT, RIGHT, WIDTH, Mark, grid, label, number_marks, round_up, svg
from headway.report.queue.clock import DAY_S, Clock
from headway.report.queue.summary import Steps

_CURVE_HEIGHT, _BARS_HEIGHT, _TOP, _BOTTOM = 150.0, 170.0, 10.0, 22.0
_MOST_POINTS = 1_000  # about one per pixel
_TOOLTIPS = 200  # intervals with a tooltip of their own
_SMOOTH = 40  # intervals of the thick line, wide enough to average out single days


class Curve(Struct, frozen=True):
    """A curve and how its values are shown."""

    title: str
    steps: Steps
    colour: str
    say: Callable[[float], str]
    scale: float = 1.0  # factor from values to what is shown
    most: float | None = None  # top of the scale; None: the highest value
    marks: Callable[[float], list[Mark]] = number_marks
    peaks: bool = False  # also show each interval's highest value, in a fainter colour


def curve_chart(curve: Curve, clock: Clock, from_s: float, to_s: float) -> str:
    """The mean of each short interval as an area, that of longer intervals as a line."""
    borders = np.linspace(from_s, to_s, _MOST_POINTS + 1)
    means = curve.steps.means(borders) * curve.scale
    peaks = curve.steps.peaks(borders) * curve.scale if curve.peaks else means
    marks = curve.marks(curve.most if curve.most is not None else float(peaks.max(initial=0.0)))
    most = max(marks[-1][0], 1e-12)
    height = _TOP + _CURVE_HEIGHT + _BOTTOM

    def y(value: float) -> float:
        return _TOP + _CURVE_HEIGHT * (1 - min(value, most) / most)

    x = LEFT + (WIDTH - LEFT - RIGHT) * np.arange(_MOST_POINTS + 1) / _MOST_POINTS
    parts = [grid(marks, y), time_axis(clock, from_s, to_s, _TOP, _TOP + _CURVE_HEIGHT)]
    if curve.peaks:
        parts.append(f'<path d="{_area(x, peaks, y)}" fill="{curve.colour}" fill-opacity=".22"/>')
    opacity = ".75" if curve.peaks else ".35"
    parts.append(f'<path d="{_area(x, means, y)}" fill="{curve.colour}" fill-opacity="{opacity}"/>')
    if not curve.peaks:
        coarse = np.linspace(from_s, to_s, _SMOOTH + 1)
        values = curve.steps.means(coarse) * curve.scale
        middles = LEFT + (WIDTH - LEFT - RIGHT) * (np.arange(_SMOOTH) + 0.5) / _SMOOTH
        line = "L".join(f"{at:.1f} {y(float(value)):.1f}" for at, value in zip(middles, values, strict=True))
        parts.append(
            f'<path d="M{line}" fill="none" stroke="{curve.colour}" stroke-width="2.4" stroke-linejoin="round"/>'
        )
    parts.append(_tooltips(curve, clock, from_s, to_s))
    return svg(curve.title, WIDTH, height, "".join(parts))


def _area(x: NDArray[np.float64], values: NDArray[np.float64], y: Callable[[float], float]) -> str:
    """A path of steps, closed along the axis; neighbours of equal height are one step."""
    bottom = y(0.0)
    path = [f"M{x[0]:.1f} {bottom:.1f}"]
    last = bottom
    for place, value in enumerate(values):
        height = round(y(float(value)), 1)
        if height != last:
            path.append(f"H{x[place]:.1f}V{height:.1f}")
            last = height
    return "".join([*path, f"H{x[-1]:.1f}V{bottom:.1f}Z"])


def _tooltips(curve: Curve, clock: Clock, from_s: float, to_s: float) -> str:
    borders = np.linspace(from_s, to_s, _TOOLTIPS + 1)
    means, peaks = curve.steps.means(borders) * curve.scale, curve.steps.peaks(borders) * curve.scale
    wide = (WIDTH - LEFT - RIGHT) / _TOOLTIPS
    lines = []
    for place in range(_TOOLTIPS):
        words = f"{clock.words(float(borders[place]))}: {curve.say(float(means[place]))}"
        words += f", at most {curve.say(float(peaks[place]))}" if curve.peaks else ""
        lines.append(
            f'<rect x="{LEFT + place * wide:.1f}" y="{_TOP:g}" width="{wide:.1f}" height="{_CURVE_HEIGHT:g}">'
            f"<title>{escape(words)}</title></rect>"
        )
    return f'<g class="point">{"".join(lines)}</g>'


# --- bars ---


class Bar(Struct, frozen=True):
    """A bar: the label below it, its value, the label above it, and its tooltip."""

    name: str
    value: float | None
    above: str
    words: str


def bar_chart(title: str, bars: Sequence[Bar], marks: list[Mark], colour: str) -> str:
    """A bar chart that is half a page wide."""
    width = WIDTH / 2 - 10
    step = (width - LEFT - RIGHT) / max(1, len(bars))
    most = max(marks[-1][0], 1e-12)

    def y(value: float) -> float:
        return _TOP + 8 + _BARS_HEIGHT * (1 - value / most)

    parts = [grid(marks, y, width)]
    for place, bar in enumerate(bars):
        left, middle = LEFT + place * step + step * 0.12, LEFT + (place + 0.5) * step
        parts.append(f"<g><title>{escape(bar.words)}</title>")
        parts.append(label(middle, y(0) + 16, bar.name))
        if bar.value is not None:
            top = y(bar.value)
            parts.append(
                f'<rect x="{left:.1f}" y="{top:.1f}" width="{step * 0.76:.1f}" height="{y(0) - top:.1f}" rx="2" '
                f'fill="{colour}"/>'
            )
            parts.append(label(middle, top - 4, bar.above) if bar.above else "")
        parts.append("</g>")
    return svg(title, width, y(0) + _BOTTOM, "".join(parts))


# --- the time axis ---


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
