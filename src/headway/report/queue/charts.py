"""Charts of a simulated queue as SVG for a page: curves over time, and bars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.report.queue.axis import Mark, number_marks, time_marks
from headway.report.queue.clock import Clock
from headway.report.queue.curves import Steps

WIDTH, LEFT, RIGHT = 1080.0, 58.0, 12.0  # pixels
_CURVE_HEIGHT, _BARS_HEIGHT, _TOP, _BOTTOM = 150.0, 170.0, 10.0, 22.0
_MOST_POINTS = 1_000  # about one a pixel
_POINTED_AT = 200  # stretches that say what they hold when they are pointed at
_SMOOTH = 40  # stretches of the thick line: what is left when the ups and downs of days are taken away


class Curve(Struct, frozen=True):
    """A curve and how to say its values."""

    title: str
    steps: Steps
    colour: str
    say: Callable[[float], str]
    scale: float = 1.0  # what is shown for a value of 1
    most: float | None = None  # the top of the scale; by default what the curve needs
    marks: Callable[[float], list[Mark]] = number_marks
    peaks: bool = False  # show, fainter, the highest of each stretch, too


def curve_chart(curve: Curve, clock: Clock, from_s: float, to_s: float) -> str:
    """The mean of each stretch of time as an area, a longer mean as a line."""
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
    parts.append(_pointed_at(curve, clock, from_s, to_s))
    return svg(curve.title, WIDTH, height, "".join(parts))


def _area(x: NDArray[np.float64], values: NDArray[np.float64], y: Callable[[float], float]) -> str:
    """Steps from the axis up; neighbours of the same height are one step."""
    bottom = y(0.0)
    path = [f"M{x[0]:.1f} {bottom:.1f}"]
    last = bottom
    for place, value in enumerate(values):
        height = round(y(float(value)), 1)
        if height != last:
            path.append(f"H{x[place]:.1f}V{height:.1f}")
            last = height
    return "".join([*path, f"H{x[-1]:.1f}V{bottom:.1f}Z"])


def _pointed_at(curve: Curve, clock: Clock, from_s: float, to_s: float) -> str:
    borders = np.linspace(from_s, to_s, _POINTED_AT + 1)
    means, peaks = curve.steps.means(borders) * curve.scale, curve.steps.peaks(borders) * curve.scale
    wide = (WIDTH - LEFT - RIGHT) / _POINTED_AT
    lines = []
    for place in range(_POINTED_AT):
        words = f"{clock.words(float(borders[place]))}: {curve.say(float(means[place]))}"
        words += f", at most {curve.say(float(peaks[place]))}" if curve.peaks else ""
        lines.append(
            f'<rect x="{LEFT + place * wide:.1f}" y="{_TOP:g}" width="{wide:.1f}" height="{_CURVE_HEIGHT:g}">'
            f"<title>{escape(words)}</title></rect>"
        )
    return f'<g class="point">{"".join(lines)}</g>'


# --- bars ---


class Bar(Struct, frozen=True):
    """A value with the name below it, what stands above it, and what is said when it is pointed at."""

    name: str
    value: float | None
    above: str
    words: str


def bar_chart(title: str, bars: Sequence[Bar], marks: list[Mark], colour: str) -> str:
    """Bars side by side, half a page wide."""
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


# --- what charts are made of ---


def svg(title: str, width: float, height: float, inside: str) -> str:
    """A picture in the colours of the page, as wide as there is room; a long one does not shrink to nothing."""
    kind = ' class="long"' if width == WIDTH else ""
    return f'<svg{kind} viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">{inside}</svg>'


def grid(marks: Sequence[Mark], y: Callable[[float], float], width: float = WIDTH) -> str:
    """Lines across, each with its value to the left."""
    lines = []
    for value, words in marks:
        at = y(value)
        lines.append(f'<path class="grid" d="M{LEFT:g} {at:.1f}H{width - RIGHT:g}"/>')
        lines.append(label(LEFT - 7, at + 4, words, anchor="end"))
    return "".join(lines)


def time_axis(clock: Clock, from_s: float, to_s: float, top: float, bottom: float) -> str:
    """Lines downwards at dates or days, named below."""
    lines = []
    for at_s, words in time_marks(clock, from_s, to_s):
        at = LEFT + (WIDTH - LEFT - RIGHT) * (at_s - from_s) / (to_s - from_s)
        lines.append(f'<path class="grid" d="M{at:.1f} {top:g}V{bottom + 4:g}"/>')
        anchor = "middle" if LEFT + 20 < at < WIDTH - 30 else "start" if at < WIDTH / 2 else "end"
        lines.append(label(at, bottom + 17, words, anchor=anchor))
    return "".join(lines)


def label(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 11, turned: bool = False) -> str:
    """A few words; `turned` they read upwards."""
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text {where}{turn} fill="currentColor">{escape(words)}</text>'
