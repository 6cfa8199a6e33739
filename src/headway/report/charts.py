"""Parts of SVG charts that several pages share: the frame, text, grid lines and round axis marks.

Charts use the page's text colour (`currentColor`) and the CSS class `grid`, so that they fit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, LEFT, RIGHT = 1080.0, 58.0, 12.0  # pixels: a page-wide chart and its margins
_DAY_S = 86_400.0

Mark = tuple[float, str]  # a value on an axis and its label

_ROUND_S = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 10800, 21600, 43200)


def svg(title: str, width: float, height: float, inside: str) -> str:
    """The SVG element around `inside`; a page-wide chart has the class `long`, for which pages set a minimum width."""
    kind = ' class="long"' if width == WIDTH else ""
    return f'<svg{kind} viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{escape(title)}">{inside}</svg>'


def label(x: float, y: float, words: str, *, anchor: str = "middle", size: int = 11, turned: bool = False) -> str:
    """Text at a point; `turned` text reads upwards."""
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text {where}{turn} fill="currentColor">{escape(words)}</text>'


def grid(marks: Sequence[Mark], y: Callable[[float], float], width: float = WIDTH) -> str:
    """A horizontal line for each mark, labelled on the left; `y` turns values into pixels."""
    lines = []
    for value, words in marks:
        at = y(value)
        lines.append(f'<path class="grid" d="M{LEFT:g} {at:.1f}H{width - RIGHT:g}"/>')
        lines.append(label(LEFT - 7, at + 4, words, anchor="end"))
    return "".join(lines)


def number_marks(most: float, about: int = 4) -> list[Mark]:
    """About `about` round numbers from 0 up to the first that is at least `most`."""
    step = round_up(max(most, 1e-9) / about)
    return [(step * place, f"{step * place:,.10g}") for place in range(ceil(most / step - 1e-9) + 1)]


def duration_marks(most_s: float, about: int = 4) -> list[Mark]:
    """The same for durations in seconds: `30 min`, `2 h`, `1 d`."""
    wanted = max(most_s, 1.0) / about
    step = next((float(step) for step in _ROUND_S if step >= wanted), 0.0)
    step = step or _DAY_S * round_up(wanted / _DAY_S)
    return [(step * place, _short(step * place)) for place in range(ceil(most_s / step - 1e-9) + 1)]


def round_up(value: float) -> float:
    """The smallest of …, 0.5, 1, 2, 5, 10, 20, 50, … that is at least `value`."""
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * (1 - 1e-9))


def _short(seconds: float) -> str:
    for size, unit in ((_DAY_S, "d"), (3_600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:,.3g} {unit}" if seconds < 1000 * size else f"{seconds / size:,.0f} {unit}"
    return f"{seconds:.3g} s" if seconds else "0"
