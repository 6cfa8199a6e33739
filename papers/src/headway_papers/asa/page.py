"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from headway.report.page_style import grouped_table, legend, page_of, quiet_paragraph, words_table
from headway.studies.charts import ratio_chart
from headway_papers.asa.charts import COLOURS, figure_5
from headway_papers.asa.experiment import Results
from headway_papers.asa.findings import findings
from headway_papers.asa.sections import Section, sections
from headway_papers.asa.tables import TITLE, about, ending
from headway_papers.asa.verdicts import skipped, verdicts_on

_AXIS = "makespan, in those of Per-Stage (logarithmic): shorter to the left"
_STRATEGIES = (
    ("big-job", "one job for everything, as wide as the widest stage"),
    ("per-stage", "a job for each stage, submitted when the one before it has ended"),
    ("asa", "a job for each stage, submitted so long before it is needed as ASA expects it to wait; the scheduler is "
     "told that it has to wait for the one before it"),
    ("asa-naive", "the same, but the scheduler is not told: what comes too early is given back and asked for again"),
    ("all-at-once", "a job for each stage, all submitted at the beginning; the scheduler is told who waits for whom"),
    ("headway", "the plan of that name: one job for all that remains keeps a place, others use the gaps before it"),
)  # fmt: skip
_QUEUES = (
    ("conservative", "a queue in which a job may overtake others if it delays none of them"),
    ("fcfs", "a queue in which everybody waits their turn"),
    ("reserved", "the scheduler keeps a place for a job that waits for another's end"),
    ("slurm", "such a job holds no place before the other one has ended, as in Slurm"),
)


def page(results: Results) -> str:
    """The whole page."""
    return page_of(TITLE, "", _body(results))


def _body(results: Results) -> Iterator[str]:
    yield f"<h1>{escape(TITLE)}</h1>"
    yield quiet_paragraph(f"{about(results)} {ending(results)}")
    yield "<h2>Verdicts, under rule reserved</h2>"
    yield _verdicts(results)
    yield "".join(quiet_paragraph(f"Not judged, {sentence}.") for sentence in skipped(results))
    yield f"<h2>What this says</h2><ul>{''.join(f'<li>{escape(it)}</li>' for it in findings(results))}</ul>"
    yield "<h2>What is compared</h2>"
    yield words_table(("strategy", ""), _STRATEGIES)
    yield words_table(("queue, rule", ""), _QUEUES)
    for number, section in enumerate(sections(results)):
        yield f"<h2>{escape(section.title)}</h2>"
        if number == 0:
            yield legend(COLOURS.items())
            yield f'<div class="wide">{figure_5(results.convergence.shown)}</div>'
        if section.dots:
            yield f'<div class="wide">{ratio_chart(section.title, section.dots, _AXIS)}</div>'
        yield _table(section)
        if section.note:
            yield quiet_paragraph(section.note)


def _verdicts(results: Results) -> str:
    rows = []
    for it in verdicts_on(results):
        kind, word = ("pass", "pass") if it.passed else ("fail", "FAIL")
        needed = f"{'≤' if it.at_most else '≥'} {it.needed:g}"
        rows.append(
            (f'<span class="{kind}">{word}</span>', escape(it.about), f"{it.value:.4g}", needed, escape(it.detail))
        )
    return words_table(("", "question", "ours", "needed", ""), rows)


def _table(section: Section) -> str:
    return grouped_table(section.heads, [[escape(cell) for cell in row] for row in section.rows])
