"""Figures 5.2 to 7.4 as SVG: by how much makespans are shorter than Zhang's, a group of bars a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from headway.experiments.glume.chapter_7 import Gains
from headway.experiments.studies.paired import Interval

COLOURS = ("#2f6fb5", "#e8762d", "#57a773", "#9b7fd1", "#d1434b", "#6cb0e8", "#8c959f", "#59636e", "#b8bcc2")
_BAR, _GAP, _GROUP_GAP = 9, 1, 18  # pixels
_LEFT, _TOP, _HEIGHT, _BOTTOM = 48, 12, 240, 84
_MOST, _LEAST = 1.0, -1.0  # what is worse by more than a factor of two stands at the border
_TEXT = 'font-size="12" fill="currentColor"'


def plans_in(gains: Gains) -> list[str]:
    """In order."""
    return list(dict.fromkeys(plan for found in gains.values() for plan in found))


def gain_chart(title: str, gains: Gains) -> str:
    """Up is better than Zhang's."""
    plans = plans_in(gains)
    lines: list[str] = []
    x = float(_LEFT)
    for name, found in gains.items():
        begin = x
        for plan in plans:
            if plan in found:
                lines.append(_bar(f"{name}, {plan}", found[plan], x, COLOURS[plans.index(plan) % len(COLOURS)]))
            x += _BAR + _GAP
        middle, y = (begin + x) / 2, _TOP + _HEIGHT + 14
        turned = f'transform="rotate(-50 {middle:g} {y})"'
        lines.append(f'<text x="{middle:g}" y="{y}" text-anchor="end" {turned} {_TEXT}>{escape(name)}</text>')
        x += _GROUP_GAP
    width, height = max(x, 300.0), _TOP + _HEIGHT + _BOTTOM
    head = f'<svg viewBox="0 0 {width:g} {height}" width="{width:g}" role="img" aria-label="{escape(title)}">'
    return head + _scale(width, (-1.0, -0.5, 0.0, 0.5, 1.0)) + "".join(lines) + "</svg>"


def _scale(width: float, marks: Sequence[float]) -> str:
    parts = []
    for mark in marks:
        y = _y(mark)
        stroke = 'stroke="currentColor"' if mark == 0 else 'stroke="#8c959f" stroke-opacity=".3"'
        parts.append(f'<line x1="{_LEFT - 6}" x2="{width:g}" y1="{y:g}" y2="{y:g}" {stroke}/>')
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4:g}" text-anchor="end" {_TEXT}>{100 * mark:+.0f}%</text>')
    return "".join(parts)


def _bar(name: str, found: Interval, x: float, colour: str) -> str:
    top, bottom = sorted((_y(found.mean), _y(0.0)))
    words = f"{name}: {100 * found.mean:+.1f}%"
    whisker = ""
    if found.low is not None and found.high is not None:
        words += f" ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
        middle = x + _BAR / 2
        ends = f'x1="{middle:g}" x2="{middle:g}" y1="{_y(found.low):.1f}" y2="{_y(found.high):.1f}"'
        whisker = f'<line {ends} stroke="currentColor" stroke-opacity=".5"/>'
    height = max(1.0, bottom - top)
    bar = f'<rect x="{x:g}" y="{top:.1f}" width="{_BAR}" height="{height:.1f}" fill="{colour}"/>'
    return f"<g><title>{escape(words)}</title>{bar}{whisker}</g>"


def _y(value: float) -> float:
    return _TOP + _HEIGHT * (_MOST - min(_MOST, max(_LEAST, value))) / (_MOST - _LEAST)
