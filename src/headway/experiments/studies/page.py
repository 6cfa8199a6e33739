"""A comparison as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from headway.experiments.studies.charts import Dot, ratio_chart
from headway.experiments.studies.summary import Standing, Summary
from headway.experiments.studies.tables import range_words, verdict
from headway.model.units import format_duration
from headway.report.page_style import page_of, quiet_paragraph, table
from headway.report.words import NOTHING, share


def page(summary: Summary, settings: Sequence[str]) -> str:
    """The whole page."""
    return page_of("Plans compared", "", _body(summary, settings))


def _body(summary: Summary, settings: Sequence[str]) -> Iterator[str]:
    yield f"<h1>Plans compared</h1><p><b>{escape(verdict(summary))}</b></p>"
    for sentence in settings:
        yield quiet_paragraph(sentence)
    yield f"<h2>Makespans against those of {escape(summary.reference)}</h2>"
    yield quiet_paragraph(
        "Geometric means over the same workflow, queue and start; left of 1 is shorter. Intervals are 95%, resampled "
        "by days of starts. Won and lost: by 5% or more."
    )
    yield f'<div class="wide">{chart(f"makespans against {summary.reference}", summary.overall)}</div>'
    yield _table(summary.overall)
    for title, parts in (("By log", summary.by_trace), ("By workflow", summary.by_workflow)):
        if len(parts) > 1:
            yield f"<h2>{title}</h2>"
            yield _parts(parts)
            for name, standings in parts.items():
                yield f"<details><summary>{escape(name)}</summary>"
                yield f'<div class="wide">{chart(name, standings)}</div>{_table(standings)}</details>'


def chart(title: str, standings: Sequence[Standing]) -> str:
    """A dot a plan."""
    dots = [Dot(it.plan, it.ratio, f"{it.ratio.mean:.3f}") for it in standings if it.ratio is not None]
    return ratio_chart(title, dots) if dots else ""


def _table(standings: Sequence[Standing]) -> str:
    heads = ("plan", "runs", "through", "median", "ratio", "95%", "won", "tied", "lost", "jobs", "node-hours", "busy")
    rows = (
        (
            escape(it.plan),
            f"{it.runs:,}",
            f"{it.through:,}",
            NOTHING if it.makespan_s is None else format_duration(it.makespan_s),
            NOTHING if it.ratio is None else f"{it.ratio.mean:.3f}",
            range_words(it.ratio),
            f"{it.wins:,}",
            f"{it.ties:,}",
            f"{it.losses:,}",
            f"{it.jobs:,.1f}",
            f"{it.node_hours:,.0f}",
            share(it.busy_share),
        )
        for it in standings
    )
    return table(heads, rows)


def _parts(parts: Mapping[str, Sequence[Standing]]) -> str:
    plans = sorted({it.plan for each in parts.values() for it in each})
    rows = []
    for name, each in parts.items():
        found = {it.plan: it.ratio for it in each}
        ratios = [found.get(plan) for plan in plans]
        rows.append([escape(name), *(NOTHING if it is None else f"{it.mean:.3f}" for it in ratios)])
    return table(["", *plans], rows)
