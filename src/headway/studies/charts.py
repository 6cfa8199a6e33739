"""A chart of ratios as SVG: a dot and a 95% interval for each, on a logarithmic axis around one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log

from msgspec import Struct

from headway.report.charts import label
from headway.studies.paired import Interval

WIDTH = 760.0  # pixels, of the whole chart: it fits into a narrow window
_LINE, _TOP, _BOTTOM, _AXIS = 22.0, 8.0, 26.0, 20.0
LETTER = 6.7  # pixels: the approximate width of a letter
_STEPS = (0.01, 0.02, 0.05, 0.1)  # between two marks of a short axis
_MARKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)  # of a long axis
_MOST_MARKS = 9
_BETTER, _WORSE, _NEITHER = "#2f9455", "#d1434b", "#8c959f"
_WIDEST = 20.0  # ratios beyond are drawn at the border

COLOURS_SAY = (
    "A dot is a mean, a line its 95% interval. Green: shorter; red: longer; grey: the interval holds 1.00, or there "
    "are too few days of starts for one."
)


class Dot(Struct, frozen=True):
    """One row of the chart."""

    name: str
    ratio: Interval  # below one is better
    words: str = ""  # at the end of the row


def ratio_chart(title: str, dots: Sequence[Dot], axis: str = "") -> str:
    """Draw the chart: better ratios left of one, worse ones right of it. `axis` is the label of the axis."""
    ends = [end for dot in dots for end in (dot.ratio.low, dot.ratio.high, dot.ratio.mean) if end]
    least, most = max(1 / _WIDEST, min([0.95, *ends]) / 1.01), min(_WIDEST, max([1.05, *ends]) * 1.01)
    left = 16 + LETTER * max(len(dot.name) for dot in dots)
    right = WIDTH - 24 - LETTER * max(len(dot.words) for dot in dots)

    def x(value: float) -> float:
        inside = min(most, max(least, value))
        return left + (right - left) * (log(inside) - log(least)) / (log(most) - log(least))

    bottom = _TOP + _LINE * len(dots)
    parts = []
    for mark in marks(least, most):
        stroke = 'stroke="currentColor"' if mark == 1.0 else 'stroke="#8c959f" stroke-opacity=".3"'
        parts.append(f'<path d="M{x(mark):.1f} {_TOP:g}V{bottom:g}" {stroke}/>')
        parts.append(label(x(mark), bottom + 18, f"{mark:g}", size=12))
    height = bottom + _BOTTOM
    if axis:
        parts.append(label((left + right) / 2, height + 10, axis, size=12))
        height += _AXIS
    for number, dot in enumerate(dots):
        parts += _line(dot, _TOP + _LINE * (number + 0.5), x, left, right)
    return (
        f'<svg viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def marks(least: float, most: float) -> list[float]:
    """Round numbers from `least` to `most`, at most nine of them, including 1."""
    for step in _STEPS:
        first, last = ceil(least / step), floor(most / step)
        if last - first < _MOST_MARKS:
            return [round(number * step, 2) for number in range(first, last + 1)]
    inside = [mark for mark in _MARKS if least <= mark <= most]
    apart = -(-len(inside) // _MOST_MARKS)
    one = inside.index(1.0)
    return [mark for number, mark in enumerate(inside) if (number - one) % apart == 0]


def _line(dot: Dot, y: float, x: Callable[[float], float], left: float, right: float) -> list[str]:
    low, high = dot.ratio.low, dot.ratio.high
    colour = _NEITHER
    parts = [label(left - 10, y + 4, dot.name, anchor="end", size=12)]
    if low is not None and high is not None:
        colour = _BETTER if round(high, 2) < 1 else _WORSE if round(low, 2) > 1 else _NEITHER
        ends = f'x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y:g}" y2="{y:g}"'
        parts.append(f'<line {ends} stroke="{colour}" stroke-width="3" stroke-opacity=".5"/>')
    said = f"{dot.name}: {dot.ratio.mean:.3f}"
    circle = f'<circle cx="{x(dot.ratio.mean):.1f}" cy="{y:g}" r="5" fill="{colour}">'
    parts.append(f"{circle}<title>{escape(said)}</title></circle>")
    return [*parts, label(right + 12, y + 4, dot.words, anchor="start", size=12)]
