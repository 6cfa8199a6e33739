"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

import numpy as np

from headway.report.page_style import legend, page_of, quiet_paragraph, table
from headway_papers.asa.sections import Section
from headway_papers.asa.tables import in_words
from headway_papers.feedback.bar import lead, verdicts_on
from headway_papers.feedback.charts import Axis, Bar, Cloud, bars, scatter
from headway_papers.feedback.differences import differences
from headway_papers.feedback.entrants import EVERY_ORDER, LFF, PUBLISHED_ORDERS, SHORT_ORDERS, TTFS, said
from headway_papers.feedback.experiment import Results
from headway_papers.feedback.figures import METRICS, Place, days, order_wins, pair_wins, places_of
from headway_papers.feedback.sections import FIGURE_3, sections, told
from headway_papers.feedback.tables import TITLE, about, ending

_STYLE = """
  .pass { color: #1a7f37; font-weight: 600 } .fail { color: #cf222e; font-weight: 600 }
  .words td { white-space: normal; text-align: left }
"""
_COLOURS = {"PC 50": "#d1434b", "Power 2": "#8c959f", "LR mean-": "#2f6fb5", "ladder": "#e8762d"}
_BY_TTF = ("#6cb0e8", "#2f6fb5", "#1b3a5c")
_MOST_DOTS = 1500  # a colour
_MOST_BARS = 12


def page(results: Results) -> str:
    """The whole page."""
    return page_of(TITLE, _STYLE, _body(results))


def _body(results: Results) -> Iterator[str]:
    places = places_of(results.done)
    yield f"<h1>{escape(TITLE)}</h1>"
    yield quiet_paragraph(f"{about(results)} {ending(results)}")
    yield "<h2>Verdicts</h2><ul>"
    for verdict in verdicts_on(places):
        kind, word = ("pass", "pass") if verdict.passed else ("fail", "FAIL")
        yield f'<li><span class="{kind}">{word}</span> {escape(in_words(verdict))}</li>'
    yield "</ul>" + "".join(f"<p>{escape(sentence)}</p>" for sentence in lead(places))
    yield f'<h2>{escape(told(places).title)}</h2><div class="words">{_table(told(places))}</div>'
    yield f"<ul>{''.join(f'<li>{escape(sentence)}</li>' for sentence in differences(places))}</ul>"
    for section in sections(places):
        yield f"<h2>{escape(section.title)}</h2>"
        yield from _picture(section.title, places, results.seed)
        yield _table(section)
        if section.note:
            yield quiet_paragraph(section.note)


def _table(section: Section) -> str:
    heads = [f"{group}: {title}" if group else title for group, title in section.heads]
    return table(heads, [[escape(cell) for cell in row] for row in section.rows])


def _picture(title: str, places: Sequence[Place], seed: int) -> Iterator[str]:
    figure = title.partition(":")[0]
    if figure == "Figure 3":
        yield legend(_COLOURS.items())
        yield f'<div class="wide">{_figure_3(places, seed)}</div>'
    elif figure == "Figure 6":
        yield f'<div class="wide">{_figure_6(places)}</div>'
    elif figure in ("Figure 4", "Figure 5", "Figure 7"):
        yield legend((f"TTF {ttf:g}", colour) for ttf, colour in zip(TTFS, _BY_TTF, strict=True))
        for metric in METRICS:
            yield f'<h3>{metric}</h3><div class="wide">{_counts(figure, places, metric)}</div>'


def _figure_3(places: Sequence[Place], seed: int) -> str:
    draw = np.random.Generator(np.random.Philox(key=[seed, 3]))
    clouds = []
    for name in FIGURE_3:
        orders = EVERY_ORDER if name not in _COLOURS or name == FIGURE_3[-1] else PUBLISHED_ORDERS
        rows = [place.rows[order, name] for place in places for order in orders]
        chosen = draw.choice(len(rows), min(_MOST_DOTS, len(rows)), replace=False)
        clouds.append(Cloud(name, _COLOURS[name], [(rows[at].maq, days(rows[at])) for at in chosen.tolist()]))
    return scatter("Figure 3", clouds, Axis("MAQ", 0.2, 1.0), Axis("days", 0.0, 25.0))


def _figure_6(places: Sequence[Place]) -> str:
    clouds = [
        Cloud(
            f"TTF {ttf:g}",
            colour,
            [(it.rows[LFF, "Power 2"].maq, it.rows[LFF, "LR mean-"].maq) for it in places if it.ttf == ttf],
        )
        for ttf, colour in zip(TTFS, _BY_TTF, strict=True)
    ]
    return scatter("Figure 6", clouds, Axis("MAQ, Power 2", 0.2, 1.0), Axis("MAQ, LR mean-", 0.2, 1.0), diagonal=True)


def _counts(figure: str, places: Sequence[Place], metric: str) -> str:
    by_ttf = [[place for place in places if place.ttf == ttf] for ttf in TTFS]
    if figure == "Figure 4":
        wins = [order_wins(each, metric) for each in by_ttf]
        found = [Bar(SHORT_ORDERS[order], [each[order] for each in wins]) for order in PUBLISHED_ORDERS]
        return bars(f"Figure 4: {metric}", found, _BY_TTF)
    pairs = [pair_wins(each, metric, worst=figure == "Figure 7") for each in by_ttf]
    every = sorted({pair for each in pairs for pair in each}, key=lambda pair: -sum(each[pair] for each in pairs))
    found = [Bar(said(pair), [each[pair] for each in pairs]) for pair in every[:_MOST_BARS]]
    return bars(f"{figure}: {metric}", found, _BY_TTF)
