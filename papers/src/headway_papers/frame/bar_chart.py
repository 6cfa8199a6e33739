"""A bar chart as SVG: groups of stacked bars on a scale from 0 to 1."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from headway_papers.frame.svg import drawing, hinted, line, rectangle, text

_BAR, _GAP, _GROUP_GAP = 12, 2, 26  # pixels
_LEFT, _TOP, _HEIGHT, _BOTTOM = 40, 12, 200, 26
_MARK = 'stroke="currentColor" stroke-width="2.4"'


class Bar(Struct, frozen=True):
    """Parts from the bottom up, each with its colour; a mark across the bar, such as the paper's value; and a hint."""

    parts: Sequence[tuple[str, float]]
    mark: float | None
    words: str


class Group(Struct, frozen=True):
    """Bars under one name."""

    name: str
    bars: Sequence[Bar]


def bar_chart(title: str, groups: Sequence[Group]) -> str:
    """All groups side by side."""
    parts: list[str] = []
    x = float(_LEFT)
    for group in groups:
        begin = x
        for bar in group.bars:
            parts.append(_bar(bar, x))
            x += _BAR + _GAP
        parts.append(text((begin + x - _GAP) / 2, _TOP + _HEIGHT + 18, group.name))
        x += _GROUP_GAP
    width = x - _GROUP_GAP + 8
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        y = _y(share)
        parts += [line(_LEFT - 6, width, y, y), text(_LEFT - 10, y + 4, f"{share:.1f}", "end")]
    return drawing(title, width, _TOP + _HEIGHT + _BOTTOM, "".join(parts))


def _bar(bar: Bar, x: float) -> str:
    drawn, bottom = "", 0.0
    for colour, share in bar.parts:
        top = bottom + max(0.0, share)
        drawn += rectangle(x, _y(top), _BAR, _HEIGHT * (top - bottom), colour)
        bottom = top
    if bar.mark is not None:
        drawn += line(x - 1, x + _BAR + 1, _y(bar.mark), _y(bar.mark), _MARK)
    return hinted(bar.words, drawn)


def _y(value: float) -> float:
    return _TOP + _HEIGHT * (1 - min(1.0, value))
