"""Figures 5.2 to 7.4 as SVG: by how much makespans are shorter than Zhang's, a group of bars a configuration."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headway.studies.charts import LETTER, WIDTH
from headway.studies.paired import Interval
from headway_papers.frame.svg import FAINT, STRONG, drawing, hinted, line, rectangle, text
from headway_papers.glume.chapter_7 import Gains

COLOURS = ("#2f6fb5", "#e8762d", "#57a773", "#9b7fd1", "#d1434b", "#6cb0e8", "#8c959f", "#b08800", "#c97fa8")
_LEFT, _TOP, _HEIGHT, _BOTTOM, _GROUP_GAP = 64, 12, 180, 28, 18  # pixels
_WIDEST, _NARROWEST = 16.0, 3.0  # of a bar, with a pixel after it
_REACHES = (0.1, 0.25, 0.5, 1.0)  # of the scale, up and down; values beyond it are drawn at the border
_Height = Callable[[float], float]


def plans_in(gains: Gains) -> list[str]:
    """The plans, in order."""
    return list(dict.fromkeys(plan for found in gains.values() for plan in found))


def gain_chart(title: str, gains: Gains) -> str:
    """One chart; up is better than Zhang's."""
    plans = plans_in(gains)
    reach = _reach([found for by_plan in gains.values() for found in by_plan.values()])

    def y(value: float) -> float:
        return _TOP + _HEIGHT * (reach - min(reach, max(-reach, value))) / (2 * reach)

    room = (WIDTH - _LEFT - _GROUP_GAP * len(gains)) / (len(gains) * len(plans))
    step = min(_WIDEST, max(_NARROWEST, room))
    names = short_names(list(gains))
    label = LETTER * max(len(name) for name in names.values()) + 6 - _GROUP_GAP
    lines: list[str] = []
    x = float(_LEFT)
    for name, found in gains.items():
        begin = x
        for plan in plans:
            if plan in found:
                colour = COLOURS[plans.index(plan) % len(COLOURS)]
                lines.append(_bar(f"{name}, {plan}", found[plan], x, step - 1, y, colour))
            x += step
        x = max(x, begin + label)
        lines.append(text((begin + x) / 2, _TOP + _HEIGHT + 18, names[name]))
        x += _GROUP_GAP
    width = max(x, 300.0)
    for mark in (-reach, -reach / 2, 0.0, reach / 2, reach):
        lines.append(line(_LEFT - 6, width, y(mark), y(mark), FAINT if mark else STRONG))
        lines.append(text(_LEFT - 10, y(mark) + 4, f"{100 * mark:+g}%" if mark else "0%", "end"))
    return drawing(title, width, _TOP + _HEIGHT + _BOTTOM, "".join(lines))


def short_names(names: Sequence[str]) -> dict[str, str]:
    """Names without the parts that all share: `M-50` if all are medium, `M-medium` if all have 250 tasks."""
    parts = [name.split("-") for name in names]
    different = [number for number, found in enumerate(zip(*parts, strict=True)) if number == 0 or len(set(found)) > 1]
    if len(names) == 1:
        return {names[0]: names[0]}
    return {name: "-".join(found[number] for number in different) for name, found in zip(names, parts, strict=True)}


def _reach(found: Sequence[Interval]) -> float:
    """The smallest scale that holds all bars and intervals, or the largest scale."""
    furthest = max(abs(end) for it in found for end in (it.mean, it.low, it.high) if end is not None)
    return next((reach for reach in _REACHES if furthest <= reach), _REACHES[-1])


def _bar(name: str, found: Interval, x: float, wide: float, y: _Height, colour: str) -> str:
    top, bottom = sorted((y(found.mean), y(0.0)))
    words = f"{name}: {100 * found.mean:+.1f}%"
    whisker = ""
    if found.low is not None and found.high is not None:
        words += f" ({100 * found.low:+.1f} to {100 * found.high:+.1f})"
        middle = x + wide / 2
        whisker = line(middle, middle, y(found.low), y(found.high), f'{STRONG} stroke-opacity=".5"')
    return hinted(words, rectangle(x, top, wide, max(1.0, bottom - top), colour) + whisker)
