"""Figures 3 and 6 as SVG: a dot a scenario."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640.0, 400.0, 56.0, 10.0, 40.0  # pixels
_TEXT = 'font-size="12" fill="currentColor"'
_MARKS = 5


class Cloud(Struct, frozen=True):
    """Points of one colour."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


class Axis(Struct, frozen=True):
    """What it is, and from where to where; what is beyond is at the border."""

    title: str
    low: float
    high: float


def scatter(title: str, clouds: Sequence[Cloud], across: Axis, up: Axis, *, diagonal: bool = False) -> str:
    """One picture; with `diagonal` a line where both are equal."""

    def x(value: float) -> float:
        return _LEFT + _WIDTH * _within(value, across)

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (1 - _within(value, up))

    parts = []
    for step in range(_MARKS + 1):
        right = across.low + step / _MARKS * (across.high - across.low)
        above = up.low + step / _MARKS * (up.high - up.low)
        grid = 'stroke="#8c959f" stroke-opacity=".25"'
        parts.append(f'<line x1="{x(right):.1f}" x2="{x(right):.1f}" y1="{_TOP}" y2="{_TOP + _HEIGHT}" {grid}/>')
        parts.append(f'<line x1="{_LEFT}" x2="{_LEFT + _WIDTH}" y1="{y(above):.1f}" y2="{y(above):.1f}" {grid}/>')
        bottom = _TOP + _HEIGHT + 16
        parts.append(f'<text x="{x(right):.1f}" y="{bottom}" text-anchor="middle" {_TEXT}>{right:g}</text>')
        parts.append(f'<text x="{_LEFT - 6}" y="{y(above) + 4:.1f}" text-anchor="end" {_TEXT}>{above:g}</text>')
    middle = _LEFT + _WIDTH / 2
    parts.append(
        f'<text x="{middle}" y="{_TOP + _HEIGHT + 34}" text-anchor="middle" {_TEXT}>{escape(across.title)}</text>'
    )
    turned = f'transform="rotate(-90 12 {_TOP + _HEIGHT / 2})" text-anchor="middle"'
    parts.append(f'<text x="12" y="{_TOP + _HEIGHT / 2}" {turned} {_TEXT}>{escape(up.title)}</text>')
    if diagonal:
        ends = f'x1="{x(across.low)}" x2="{x(across.high)}" y1="{y(across.low)}" y2="{y(across.high)}"'
        parts.append(f'<line {ends} stroke="currentColor" stroke-opacity=".5"/>')
    for cloud in clouds:
        dots = "".join(f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2"/>' for a, b in cloud.points)
        named = f"<title>{escape(cloud.name)}</title>"
        parts.append(f'<g fill="{cloud.colour}" fill-opacity=".55">{named}{dots}</g>')
    width, height = _LEFT + _WIDTH + 16, _TOP + _HEIGHT + _BOTTOM
    head = f'<svg viewBox="0 0 {width:g} {height:g}" width="{width:g}" role="img" aria-label="{escape(title)}">'
    return head + "".join(parts) + "</svg>"


def _within(value: float, axis: Axis) -> float:
    return min(1.0, max(0.0, (value - axis.low) / (axis.high - axis.low)))


class Bar(Struct, frozen=True):
    """A line of a bar chart: so many at each TTF."""

    name: str
    counts: Sequence[int]


def bars(title: str, found: Sequence[Bar], colours: Sequence[str]) -> str:
    """Figures 4, 5 and 7: counts side by side, one colour a TTF."""
    most = max([1, *(count for bar in found for count in bar.counts)])
    line, thick, left, width = 10.0 * max(1, len(colours)) + 6.0, 9.0, 230.0, 520.0
    parts = []
    for number, bar in enumerate(found):
        top = 4 + number * line
        parts.append(f'<text x="{left - 8}" y="{top + line / 2}" text-anchor="end" {_TEXT}>{escape(bar.name)}</text>')
        for place, (count, colour) in enumerate(zip(bar.counts, colours, strict=True)):
            y, length = top + place * 10, width * count / most
            parts.append(f'<rect x="{left}" y="{y:g}" width="{length:.1f}" height="{thick:g}" fill="{colour}"/>')
            parts.append(
                f'<text x="{left + length + 4:.1f}" y="{y + 8:g}" font-size="9" fill="currentColor">{count}</text>'
            )
    height = 8 + line * len(found)
    head = f'<svg viewBox="0 0 {left + width + 40:g} {height:g}" width="{left + width + 40:g}" role="img" '
    return f'{head}aria-label="{escape(title)}">{"".join(parts)}</svg>'
