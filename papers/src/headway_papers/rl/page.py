"""The experiment as one HTML page with nothing to load from elsewhere, light and dark: Figures 5.1 to 5.4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape

from headway.report.page_style import legend, page_of, quiet_paragraph, table
from headway.report.words import NOTHING
from headway_papers.bucketing.charts import Bar, Group, bar_chart
from headway_papers.rl.courses import COUNTED, RunFigures
from headway_papers.rl.experiment import Results
from headway_papers.rl.figures import by_pipeline, totals
from headway_papers.rl.findings import findings
from headway_papers.rl.pipelines import NAMES
from headway_papers.rl.statements import BAR, CLAIMS, Statement, statements
from headway_papers.rl.tables import percent
from headway_papers.rl.units import REQUESTS
from headway_papers.rl.worlds import FRACTIONS

_COLOURS = (
    "#8c959f",
    "#2f6fb5",
    "#e8762d",
    "#9b7fd1",
    "#57a773",
    "#2f7d4f",
    "#d1434b",
    "#6cb0e8",
    "#b8bcc2",
    "#59636e",
)
# What is given, what of it is used (where that is known), and what a chart is called.
_CHARTS = (
    ("Figure 5.1, left: CPU hours, and effective ones", "cpu_hours", "effective_cpu_hours"),
    ("Figure 5.1, right: run time", "run_s", None),
    ("Figure 5.2: memory GB·h, and used ones", "memory_gb_hours", "used_gb_hours"),
)


def page(results: Results) -> str:
    """The whole page."""
    return page_of("003 run again: reinforcement learning sizes tasks, and ours", "", _body(results))


def _body(results: Results) -> Iterator[str]:
    yield "<h1>Reinforcement learning sizes tasks (003), and ours</h1>"
    yield quiet_paragraph(
        f"32 cores and 125 GB, {results.asked.worlds} worlds of each of five pipelines, seed {results.asked.seed}; the "
        f"last {COUNTED} runs of each approach. Intervals are 95%, resampled by worlds and pipelines."
    )
    for sentence in results.found.missing:
        yield quiet_paragraph(sentence)
    yield f"<h2>What this says</h2><ul>{''.join(f'<li>{escape(it)}</li>' for it in findings(results))}</ul>"
    for requests in REQUESTS:
        yield f"<h2>Memory requests {escape(requests)}</h2>"
        for title, claims in (("The thesis's statements", CLAIMS), ("Ours", BAR)):
            yield f"<h3>{title}</h3>{_statements(statements(results.done, requests, claims))}"
        names = [name for name in results.approaches if name in totals(results.done, requests, next(iter(FRACTIONS)))]
        yield legend(zip(names, _COLOURS, strict=False))
        by_fractions = {fractions: totals(results.done, requests, fractions) for fractions in FRACTIONS}
        for title, given, used in _CHARTS:
            groups = {
                fractions: {name: found[name].figures for name in names} for fractions, found in by_fractions.items()
            }
            yield f"<h3>{escape(title)}</h3>{_chart(title, groups, names, given, used)}"
        for fractions, found in by_fractions.items():
            yield f"<h3>Figures 5.3 and 5.4, by pipeline: work {escape(fractions)}</h3>"
            pipelines = {name: by_pipeline(found[name]) for name in names}
            groups = {
                pipeline: {name: pipelines[name][pipeline] for name in names if pipeline in pipelines[name]}
                for pipeline in NAMES
            }
            for title, given, used in _CHARTS:
                yield f"<h4>{escape(title.partition(': ')[2])}</h4>{_chart(title, groups, names, given, used)}"


def _chart(
    title: str, groups: Mapping[str, Mapping[str, RunFigures]], names: Sequence[str], given: str, used: str | None
) -> str:
    drawn = []
    for group, found in groups.items():
        most = max((getattr(each, given) for each in found.values()), default=1.0) or 1.0
        bars = []
        for name, colour in zip(names, _COLOURS, strict=False):
            if name in found:
                whole = getattr(found[name], given)
                part = getattr(found[name], used) if used else whole
                words = f"{group}, {name}: {whole:,.1f}" + (f", {part:,.1f} used" if used else "")
                parts = [(colour, part / most), (f"{colour}66", (whole - part) / most)]
                bars.append(Bar(parts, None, words))
        drawn.append(Group(group, bars))
    return f'<div class="wide">{bar_chart(f"{title}, against the most of each group", drawn)}</div>'


def _statements(found: Sequence[Statement]) -> str:
    rows = [
        [
            escape(each.claim.words),
            NOTHING if each.claim.published is None else f"{100 * (each.claim.published - 1):+.0f}%",
            *(escape(percent(each.found[name])) if name in each.found else NOTHING for name in FRACTIONS),
            "yes" if each.held else f"{sum(each.holds)} of {len(each.holds)}",
        ]
        for each in found
    ]
    return table(["", "003", *FRACTIONS, "holds"], rows)
