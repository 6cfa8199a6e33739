"""Figure 5 as SVG: a wait that changes, and what each policy says of it; logarithms of seconds."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import pairwise
from math import log10

from headway.studies.charts import WIDTH
from headway_papers.asa.convergence import Trial
from headway_papers.asa.signal import CHANGES, ITERATIONS

TRUE_WAIT = "true wait"
COLOURS = {TRUE_WAIT: "#2f6fb5", "default": "#8c959f", "tuned": "#d16ba5", "greedy": "#e8762d"}
_LEFT, _RIGHT, _TOP, _HEIGHT, _GAP, _BOTTOM = 84.0, 20.0, 20.0, 110.0, 28.0, 24.0  # pixels
_MOST_S = 100_000.0
_MARKS_S = (0, 10, 100, 1000, 10_000, 100_000)
_TEXT = 'font-size="12" fill="currentColor"'
_FAINT = 'stroke="#8c959f" stroke-opacity=".3"'


def figure_5(trials: Sequence[Trial]) -> str:
    """A panel for each policy, one above the other: one that tries everything would hide the others."""
    panels = [_panel(trial, _TOP + number * (_HEIGHT + _GAP)) for number, trial in enumerate(trials)]
    bottom = _TOP + len(trials) * (_HEIGHT + _GAP) - _GAP
    marks = [_below(_x(at), bottom + 15, f"{at:,}") for at in (*CHANGES, ITERATIONS)]
    marks.append(_below((_LEFT + WIDTH - _RIGHT) / 2, bottom + 34, "iteration; the wait changes at the upright lines"))
    height = bottom + 15 + _BOTTOM
    head = f'<svg viewBox="0 0 {WIDTH:g} {height:g}" width="{WIDTH:g}" role="img" aria-label="Figure 5">'
    return f"{head}{''.join(panels)}{''.join(marks)}</svg>"


def _panel(trial: Trial, top: float) -> str:
    bottom = top + _HEIGHT
    parts = [f'<text x="{_LEFT:g}" y="{top - 6:g}" {_TEXT} font-weight="600">{escape(trial.policy)}</text>']
    for wait_s in _MARKS_S:
        y = _y(wait_s, top)
        parts.append(f'<line x1="{_LEFT:g}" x2="{WIDTH - _RIGHT:g}" y1="{y:.1f}" y2="{y:.1f}" {_FAINT}/>')
        parts.append(f'<text x="{_LEFT - 8:g}" y="{y + 4:.1f}" text-anchor="end" {_TEXT}>{wait_s:,} s</text>')
    for at in (*CHANGES, ITERATIONS):
        x = f"{_x(at):.1f}"
        parts.append(f'<line x1="{x}" x2="{x}" y1="{top:g}" y2="{bottom:g}" {_FAINT}/>')
    said, true = [step.said_s for step in trial.steps], [step.wait_s for step in trial.steps]
    parts.append(_path(said, top, COLOURS[trial.policy], 1.0, f"{trial.policy}: the wait it says"))
    parts.append(_path(true, top, COLOURS[TRUE_WAIT], 2.0, TRUE_WAIT))
    return "".join(parts)


def _below(x: float, y: float, words: str) -> str:
    return f'<text x="{x:.1f}" y="{y:g}" text-anchor="middle" {_TEXT}>{words}</text>'


def _path(values_s: Sequence[float], top: float, colour: str, stroke: float, name: str) -> str:
    path = f"M{_x(0):.1f},{_y(values_s[0], top):.1f}"
    for at, (last_s, value_s) in enumerate(pairwise(values_s), start=1):
        if value_s != last_s:
            path += f"H{_x(at):.1f}V{_y(value_s, top):.1f}"
    path += f"H{_x(len(values_s)):.1f}"
    line = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{stroke:g}" stroke-opacity=".85"/>'
    return f"<g><title>{escape(name)}</title>{line}</g>"


def _x(iteration: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * iteration / ITERATIONS


def _y(wait_s: float, top: float) -> float:
    return top + _HEIGHT * (1 - log10(1 + wait_s) / log10(1 + _MOST_S))
