"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from math import log10

from headway.experiments.asa.convergence import Trial
from headway.experiments.asa.experiment import Results
from headway.experiments.asa.findings import findings
from headway.experiments.asa.sections import Section, sections
from headway.experiments.asa.tables import TITLE, about, ending, in_words
from headway.experiments.asa.verdicts import skipped, verdicts_on
from headway.report.page_style import legend, page_of, quiet_paragraph, table

_STYLE = """
  .pass { color: #1a7f37; font-weight: 600 } .fail { color: #cf222e; font-weight: 600 }
"""
_COLOURS = {"true wait": "#2f6fb5", "default": "#59636e", "tuned": "#d16ba5", "greedy": "#d1434b"}
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 960, 240, 70, 10, 24
_MOST_S = 100_000.0


def page(results: Results) -> str:
    """The whole page."""
    return page_of(TITLE, _STYLE, _body(results))


def _body(results: Results) -> Iterator[str]:
    yield f"<h1>{escape(TITLE)}</h1>"
    yield quiet_paragraph(f"{about(results)} {ending(results)}")
    yield "<h2>Verdicts, under rule reserved</h2><ul>"
    for verdict in verdicts_on(results):
        kind, word = ("pass", "pass") if verdict.passed else ("fail", "FAIL")
        yield f'<li><span class="{kind}">{word}</span> {escape(in_words(verdict))}</li>'
    yield from (f"<li>skip {escape(sentence)}</li>" for sentence in skipped(results))
    yield f"</ul><h2>What this says</h2><ul>{''.join(f'<li>{escape(it)}</li>' for it in findings(results))}</ul>"
    for number, section in enumerate(sections(results)):
        yield f"<h2>{escape(section.title)}</h2>"
        if number == 0:
            yield legend(_COLOURS.items())
            yield f'<div class="wide">{figure_5(results.convergence.shown)}</div>'
        yield _table(section)
        if section.note:
            yield quiet_paragraph(section.note)


def _table(section: Section) -> str:
    heads = [f"{group}: {title}" if group else title for group, title in section.heads]
    return table(heads, [[escape(cell) for cell in row] for row in section.rows])


def figure_5(trials: Sequence[Trial]) -> str:
    """The wait and what each policy says of it, at each iteration; logarithms of seconds."""
    lines = []
    for wait_s in (10, 100, 1000, 10_000, 100_000):
        y = _y(wait_s)
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH}" y1="{y:.1f}" y2="{y:.1f}" stroke="#8c959f" stroke-opacity=".3"/>'
        )
        lines.append(
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end" font-size="12" fill="currentColor">'
            f"{wait_s:,} s</text>"
        )
    for trial in trials:
        lines.append(_path([step.said_s for step in trial.steps], _COLOURS[trial.policy], 1, trial.policy))
    if trials:
        lines.append(_path([step.wait_s for step in trials[0].steps], _COLOURS["true wait"], 2, "true wait"))
    height = _TOP + _HEIGHT + _BOTTOM
    head = f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" role="img" aria-label="Figure 5">'
    return head + "".join(lines) + "</svg>"


def _path(values_s: Sequence[float], colour: str, stroke: int, name: str) -> str:
    step = (_WIDTH - _LEFT) / len(values_s)
    points, last = [], None
    for at, value_s in enumerate(values_s):
        if value_s != last:
            points.append(f"{'M' if last is None else 'H'}{_LEFT + at * step:.1f}{'' if last is None else 'V'}")
            points[-1] += f"{',' if last is None else ''}{_y(value_s):.1f}"
            last = value_s
    points.append(f"H{_WIDTH}")
    path = f'<path d="{"".join(points)}" fill="none" stroke="{colour}" stroke-width="{stroke}" stroke-opacity=".8"/>'
    return f"<g><title>{escape(name)}</title>{path}</g>"


def _y(wait_s: float) -> float:
    return _TOP + _HEIGHT * (1 - log10(1 + wait_s) / log10(1 + _MOST_S))
