"""Ratios with their intervals as SVG: a dot and a whisker each, on a logarithmic scale around one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import log

from msgspec import Struct

from headway.experiments.studies.paired import Interval

_LEFT, _WIDTH, _RIGHT, _LINE, _TOP, _BOTTOM = 190.0, 640.0, 130.0, 22.0, 8.0, 26.0  # pixels
_TEXT = 'font-size="12" fill="currentColor"'
_MARKS = (0.1, 0.2, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0)
_BETTER, _WORSE = "#2f7d4f", "#d1434b"
_WIDEST = 20.0  # what is further out is at the border


class Dot(Struct, frozen=True):
    """A line of the chart."""

    name: str
    ratio: Interval  # below one is better
    words: str = ""  # at the end of the line


def ratio_chart(title: str, dots: Sequence[Dot]) -> str:
    """Better to the left of one, worse to the right."""
    ends = [end for dot in dots for end in (dot.ratio.low, dot.ratio.high, dot.ratio.mean) if end]
    least, most = max(1 / _WIDEST, min([0.9, *ends])), min(_WIDEST, max([1.1, *ends]))
    marks = [mark for mark in _MARKS if least <= mark <= most]

    def x(value: float) -> float:
        inside = min(most, max(least, value))
        return _LEFT + _WIDTH * (log(inside) - log(least)) / (log(most) - log(least))

    height = _TOP + _LINE * len(dots) + _BOTTOM
    parts = []
    for mark in _thinned(marks):
        stroke = 'stroke="currentColor"' if mark == 1.0 else 'stroke="#8c959f" stroke-opacity=".3"'
        at, bottom = f"{x(mark):.1f}", f"{height - _BOTTOM:g}"
        parts.append(f'<line x1="{at}" x2="{at}" y1="{_TOP:g}" y2="{bottom}" {stroke}/>')
        parts.append(f'<text x="{at}" y="{height - 8:g}" text-anchor="middle" {_TEXT}>{mark:g}</text>')
    for number, dot in enumerate(dots):
        parts += _line(dot, _TOP + _LINE * (number + 0.5), x)
    width = _LEFT + _WIDTH + _RIGHT
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" aria-label="{escape(title)}">'
        f"{''.join(parts)}</svg>"
    )


def _thinned(marks: Sequence[float]) -> list[float]:
    """Not more than can be read, one always among them."""
    step = -(-len(marks) // 9)
    one = marks.index(1.0)
    return [mark for number, mark in enumerate(marks) if (number - one) % step == 0]


def _line(dot: Dot, y: float, x: Callable[[float], float]) -> list[str]:
    colour = _BETTER if dot.ratio.mean < 1 else _WORSE
    low, high = dot.ratio.low, dot.ratio.high
    parts = [f'<text x="{_LEFT - 10:g}" y="{y + 4:g}" text-anchor="end" {_TEXT}>{escape(dot.name)}</text>']
    if low is not None and high is not None:
        ends = f'x1="{x(low):.1f}" x2="{x(high):.1f}" y1="{y:g}" y2="{y:g}"'
        parts.append(f'<line {ends} stroke="{colour}" stroke-width="3" stroke-opacity=".45"/>')
    said = f"{dot.name}: {dot.ratio.mean:.3f}"
    circle = f'<circle cx="{x(dot.ratio.mean):.1f}" cy="{y:g}" r="5" fill="{colour}">'
    parts.append(f"{circle}<title>{escape(said)}</title></circle>")
    parts.append(f'<text x="{_LEFT + _WIDTH + 12:g}" y="{y + 4:g}" {_TEXT}>{escape(dot.words)}</text>')
    return parts
