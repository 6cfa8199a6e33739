"""A comparison as one self-contained HTML page, light or dark as the browser wishes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from headway.drivers.assemble import plans as all_plans
from headway.report.columns import Field
from headway.report.page_style import fields_table, page_of, quiet_paragraph, words_table
from headway.studies.charts import COLOURS_SAY, Dot, ratio_chart
from headway.studies.summary import Standing, Summary
from headway.studies.tables import parts_columns, standing_fields, verdict

_TITLE = "Plans compared"


def page(summary: Summary, settings: Sequence[str]) -> str:
    """The whole page; `settings` are sentences about what was compared."""
    return page_of(_TITLE, "", _body(summary, settings))


def _body(summary: Summary, settings: Sequence[str]) -> Iterator[str]:
    reference = summary.reference
    yield f'<h1>{_TITLE}</h1><p class="lead">{escape(verdict(summary))}.</p>'
    for sentence in settings:
        yield quiet_paragraph(f"{sentence}.")
    yield f"<h2>Makespans against those of {escape(reference)}</h2>"
    yield quiet_paragraph(
        "A makespan is the time from a workflow's start to the end of its last task, waits in the queue included. "
        "Ratios are geometric means over the same workflow, queue and start; intervals are resampled by days of "
        f"starts. {COLOURS_SAY}"
    )
    yield chart(summary.overall, reference)
    yield _table(summary.overall, summary)
    yield quiet_paragraph(
        "Through: runs in which every task succeeded; only these have a makespan. Won and lost: by 5% or more. Busy: "
        "the share of the nodes' time in which a task ran."
    )
    plans = [it.plan for it in summary.overall if it.plan != reference]
    for title, parts in (("By log", summary.by_trace), ("By workflow", summary.by_workflow)):
        if len(parts) > 1:
            yield f"<h2>{title}</h2>"
            yield quiet_paragraph(f"Ratios of makespans to those of {reference}.")
            yield fields_table("", *parts_columns(parts, plans))
            for name, standings in parts.items():
                yield f"<details><summary>{escape(name)}: all figures</summary>"
                yield f"{chart(standings, reference)}{_table(standings, summary)}</details>"
    yield "<h2>What the plans do</h2>"
    yield words_table(("plan", ""), [(escape(it.plan), escape(all_plans()[it.plan].words)) for it in summary.overall])


def chart(standings: Sequence[Standing], reference: str) -> str:
    """A chart of makespan ratios with a row for each plan; empty if no plan has a ratio."""
    dots = [Dot(it.plan, it.ratio, f"{it.ratio.mean:.3f}") for it in standings if it.ratio is not None]
    if not dots:
        return ""
    axis = f"makespan, in those of {reference} (logarithmic): shorter to the left"
    return f'<div class="wide">{ratio_chart(f"Makespans against {reference}", dots, axis)}</div>'


def _table(standings: Sequence[Standing], summary: Summary) -> str:
    fields = [
        Field("", "runs", lambda row: f"{row.runs:,}"),
        Field("", "through", lambda row: f"{row.through:,}"),
        *standing_fields(f"against {summary.reference}", "mean of a run", in_cores=summary.in_cores),
    ]
    return fields_table("plan", [it.plan for it in standings], standings, fields)
