"""SVG charts of a simulated queue: curves over time, and bar charts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from headway.report.charts import LEFT, RIGHT, WIDTH, Mark, grid, label, number_marks, svg
from headway.report.queue.clock import Clock
from headway.report.queue.curves import Steps
from headway.report.queue.time_axis import time_axis

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
