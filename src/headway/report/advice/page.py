"""Advice as one self-contained HTML page, light or dark as the browser wishes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from headway.model.advice import Advice
from headway.report.advice.charts import ADVISED, ASKED, USED, memory_chart, savings_chart
from headway.report.advice.table import advice_fields
from headway.report.advice.words import risks, sentences, source
from headway.report.columns import one_line
from headway.report.page_style import fields_table, legend, page_of, quiet_paragraph, words_table

_MOST_BARS = 25
_STYLE = """
  .grid { stroke: var(--line); fill: none }
  pre { overflow-x: auto; padding: .8rem; border: 1px solid var(--line); border-radius: 6px; font-size: .8rem }
  svg { min-width: 46rem; display: block }
"""


def page(advice: Advice, logs: Sequence[str], tool: str, config: str) -> str:
    """The whole page; `config` is the advice as configuration for `tool`."""
    return page_of("What to ask for", _STYLE, _body(advice, logs, tool, config))


def _body(advice: Advice, logs: Sequence[str], tool: str, config: str) -> Iterator[str]:
    told = [*sentences(advice), ""]
    yield f'<h1>What to ask for</h1><p class="lead">{escape(told[0])}</p>'
    yield quiet_paragraph(source(advice, logs))
    if advice.categories:
        yield from _pictures(advice)
        yield from _figures(advice)
    yield from (quiet_paragraph(words) for words in told[1:-1])
    if config:
        yield f"<h2>For {escape(tool)}</h2><details open><summary>configuration</summary>"
        yield f"<pre>{escape(config)}</pre></details>"


def _pictures(advice: Advice) -> Iterator[str]:
    yield "<h2>Memory: asked, used, advised</h2>"
    yield quiet_paragraph(
        "A line per category, the greatest saving first. The box holds half of the tasks' peaks, the thin line all of "
        "them, the upright line is their median. Faint triangles are retries. The axis is logarithmic."
    )
    yield legend((("used", USED), ("asked", ASKED), ("advised", ADVISED)))
    yield memory_chart(advice.categories, advice.megabyte)
    asked = [each for each in advice.categories if each.trial.saved_gb_h is not None]
    if not asked:
        return
    yield "<h2>Memory held, in GB·h</h2>"
    yield quiet_paragraph(
        "Memory times run time, walk-forward: each task was sized from the tasks before it, and a failed attempt holds "
        f"its memory to its end. The upright line is what was used.{_only(len(asked))}"
    )
    yield legend((("as asked", ASKED), ("as advised, failed attempts included", ADVISED)))
    yield savings_chart(asked[:_MOST_BARS])


def _only(bars: int) -> str:
    return f" Shown are the {_MOST_BARS} categories with the greatest savings." if bars > _MOST_BARS else ""


def _figures(advice: Advice) -> Iterator[str]:
    risky = risks(advice)
    if risky:
        yield "<h2>The riskiest lines</h2>"
        reasons = [(escape(one_line(each.category)), escape(why)) for each, why in risky]
        yield words_table(("category", "why"), reasons)
    yield "<h2>All figures</h2>"
    rows = [*advice.categories, advice.total()]
    yield fields_table("category", [one_line(each.category) for each in rows], rows, advice_fields(advice))
    yield quiet_paragraph(
        "Used: the most of any task. First and retry: the amounts to ask for. Failed: attempts that would have run out "
        "of memory or time, of all attempts. Saved: against what was asked for."
    )
