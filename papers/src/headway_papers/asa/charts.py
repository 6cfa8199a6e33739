"""Figure 5 as SVG: a wait that changes, and each policy's predictions, on a logarithmic scale."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import log10

from headway.studies.charts import WIDTH
from headway_papers.asa.convergence import CHANGES, ITERATIONS, Trial
from headway_papers.frame.svg import FAINT, drawing, hinted, line, text

TRUE_WAIT = "true wait"
COLOURS = {TRUE_WAIT: "#2f6fb5", "default": "#8c959f", "tuned": "#d16ba5", "greedy": "#e8762d"}
_LEFT, _RIGHT, _TOP, _HEIGHT, _GAP, _BOTTOM = 84.0, 20.0, 20.0, 110.0, 28.0, 24.0  # pixels
_MOST_S = 100_000.0
_MARKS_S = (0, 10, 100, 1000, 10_000, 100_000)


def figure_5(trials: Sequence[Trial]) -> str:
    """A panel for each policy, one above the other: a policy that tries everything would hide the others."""
    parts = [_panel(trial, _TOP + number * (_HEIGHT + _GAP)) for number, trial in enumerate(trials)]
    bottom = _TOP + len(trials) * (_HEIGHT + _GAP) - _GAP
    parts += [text(_x(at), bottom + 15, f"{at:,}") for at in (*CHANGES, ITERATIONS)]
    parts.append(text((_LEFT + WIDTH - _RIGHT) / 2, bottom + 34, "iteration; the wait changes at the vertical lines"))
    return drawing("Figure 5", WIDTH, bottom + 15 + _BOTTOM, "".join(parts))


def _panel(trial: Trial, top: float) -> str:
    parts = [text(_LEFT, top - 6, trial.policy, "start", ' font-weight="600"')]
    for wait_s in _MARKS_S:
        y = _y(wait_s, top)
        parts += [line(_LEFT, WIDTH - _RIGHT, y, y), text(_LEFT - 8, y + 4, f"{wait_s:,} s", "end")]
    parts += [line(_x(at), _x(at), top, top + _HEIGHT, FAINT) for at in (*CHANGES, ITERATIONS)]
    said, true = [step.said_s for step in trial.steps], [step.wait_s for step in trial.steps]
    parts.append(_path(said, top, COLOURS[trial.policy], 1.0, f"{trial.policy}: the predicted wait"))
    parts.append(_path(true, top, COLOURS[TRUE_WAIT], 2.0, TRUE_WAIT))
    return "".join(parts)


def _path(values_s: Sequence[float], top: float, colour: str, stroke: float, name: str) -> str:
    path = f"M{_x(0):.1f},{_y(values_s[0], top):.1f}"
    for at, (last_s, value_s) in enumerate(pairwise(values_s), start=1):
        if value_s != last_s:
            path += f"H{_x(at):.1f}V{_y(value_s, top):.1f}"
    path += f"H{_x(len(values_s)):.1f}"
    drawn = f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="{stroke:g}" stroke-opacity=".85"/>'
    return hinted(name, drawn)


def _x(iteration: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * iteration / ITERATIONS


def _y(wait_s: float, top: float) -> float:
    return top + _HEIGHT * (1 - log10(1 + wait_s) / log10(1 + _MOST_S))
