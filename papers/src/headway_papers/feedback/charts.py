"""Figures 3 to 7 as SVG: a dot a scenario, or bars of counts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from headway_papers.frame.svg import STRONG, drawing, hinted, line, rectangle, text

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640.0, 400.0, 56.0, 10.0, 40.0  # pixels
_MARKS = 5


class Cloud(Struct, frozen=True):
    """Points of one colour."""

    name: str
    colour: str
    points: Sequence[tuple[float, float]]


class Axis(Struct, frozen=True):
    """A title and a range; values outside the range are drawn at the border."""

    title: str
    low: float
    high: float

    def share(self, value: float) -> float:
        """Where a value is between the ends, from 0 to 1."""
        return min(1.0, max(0.0, (value - self.low) / (self.high - self.low)))


def scatter(title: str, clouds: Sequence[Cloud], across: Axis, up: Axis, *, diagonal: bool = False) -> str:
    """All points; with `diagonal` a line where both values are equal."""

    def x(value: float) -> float:
        return _LEFT + _WIDTH * across.share(value)

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (1 - up.share(value))

    parts, bottom, middle = [], _TOP + _HEIGHT, _TOP + _HEIGHT / 2
    for step in range(_MARKS + 1):
        right = across.low + step / _MARKS * (across.high - across.low)
        above = up.low + step / _MARKS * (up.high - up.low)
        parts += [line(x(right), x(right), _TOP, bottom), line(_LEFT, _LEFT + _WIDTH, y(above), y(above))]
        parts += [text(x(right), bottom + 16, f"{right:g}"), text(_LEFT - 6, y(above) + 4, f"{above:g}", "end")]
    parts.append(text(_LEFT + _WIDTH / 2, bottom + 34, across.title))
    parts.append(text(12, middle, up.title, more=f' transform="rotate(-90 12 {middle})"'))
    if diagonal:
        parts.append(
            line(x(across.low), x(across.high), y(across.low), y(across.high), f'{STRONG} stroke-opacity=".5"')
        )
    for cloud in clouds:
        dots = "".join(f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="2"/>' for a, b in cloud.points)
        parts.append(hinted(cloud.name, dots, f' fill="{cloud.colour}" fill-opacity=".55"'))
    return drawing(title, _LEFT + _WIDTH + 16, bottom + _BOTTOM, "".join(parts))


def bars(title: str, found: Sequence[tuple[str, Sequence[int]]], colours: Sequence[str]) -> str:
    """A row a name with counts as bars below each other, one colour a TTF."""
    most = max([1, *(count for _, counts in found for count in counts)])
    row, left, width = 10.0 * max(1, len(colours)) + 6.0, 230.0, 520.0
    parts = []
    for number, (name, counts) in enumerate(found):
        top = 4 + number * row
        parts.append(text(left - 8, top + row / 2, name, "end"))
        for place, (count, colour) in enumerate(zip(counts, colours, strict=True)):
            y, length = top + place * 10, width * count / most
            parts += [rectangle(left, y, length, 9, colour), text(left + length + 4, y + 8, str(count), "start")]
    return drawing(title, left + width + 40, 8 + row * len(found), "".join(parts))
