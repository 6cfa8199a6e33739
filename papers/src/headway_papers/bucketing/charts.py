"""Bar charts as SVG: a group of bars for each workflow, a bar for each allocator."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from msgspec import Struct

_BAR, _GAP, _GROUP_GAP = 12, 2, 26  # pixels
_LEFT, _TOP, _HEIGHT, _BOTTOM = 40, 12, 200, 26
# Of the page's own colour, so that they are seen on light and dark ones.
_TEXT = 'font-size="12" fill="currentColor"'
_MARK = 'stroke="currentColor" stroke-width="2.4"'


class Bar(Struct, frozen=True):
    """One allocator: parts from the bottom up, each with its colour, and the paper's value as a mark."""

    parts: Sequence[tuple[str, float]]  # of 1
    mark: float | None
    words: str  # shown when pointed at


class Group(Struct, frozen=True):
    """The bars of one workflow."""

    name: str
    bars: Sequence[Bar]


def bar_chart(title: str, groups: Sequence[Group]) -> str:
    """All groups side by side, on a scale from 0 to 1."""
    lines: list[str] = []
    x = float(_LEFT)
    for group in groups:
        begin = x
        for bar in group.bars:
            lines += _bar(bar, x)
            x += _BAR + _GAP
        middle = (begin + x - _GAP) / 2
        lines.append(
            f'<text x="{middle:g}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle" {_TEXT}>{escape(group.name)}</text>'
        )
        x += _GROUP_GAP
    width, height = x - _GROUP_GAP + 8, _TOP + _HEIGHT + _BOTTOM
    return (
        f'<svg viewBox="0 0 {width:g} {height}" width="{width:g}" role="img" aria-label="{escape(title)}">'
        + _scale(width)
        + "".join(lines)
        + "</svg>"
    )


def _scale(width: float) -> str:
    lines = []
    for part in range(0, 6):
        y = _y(part / 5)
        lines.append(
            f'<line x1="{_LEFT - 6}" x2="{width:g}" y1="{y:g}" y2="{y:g}" stroke="#8c959f" stroke-opacity=".3"/>'
        )
        lines.append(f'<text x="{_LEFT - 10}" y="{y + 4:g}" text-anchor="end" {_TEXT}>{part / 5:.1f}</text>')
    return "".join(lines)


def _bar(bar: Bar, x: float) -> list[str]:
    lines = [f"<g><title>{escape(bar.words)}</title>"]
    bottom = 0.0
    for colour, share in bar.parts:
        top = bottom + max(0.0, share)
        height = _HEIGHT * (top - bottom)
        lines.append(f'<rect x="{x:g}" y="{_y(top):.1f}" width="{_BAR}" height="{height:.1f}" fill="{colour}"/>')
        bottom = top
    if bar.mark is not None:
        y = _y(bar.mark)
        lines.append(f'<line x1="{x - 1:g}" x2="{x + _BAR + 1:g}" y1="{y:.1f}" y2="{y:.1f}" {_MARK}/>')
    return [*lines, "</g>"]


def _y(value: float) -> float:
    return _TOP + _HEIGHT * (1 - min(1.0, value))
