"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import exp

from headway.experiments.glume.bar import CELLS, MOST, OURS, Bar, Cell, Standing
from headway.experiments.glume.chapter_5 import Enhanced, Fallback
from headway.experiments.glume.chapter_7 import Gains, Wins
from headway.experiments.glume.charts import COLOURS, gain_chart, plans_in
from headway.experiments.glume.experiment import Mode, Results
from headway.experiments.glume.findings import effort, findings
from headway.experiments.glume.published import CONFIGURATIONS, ENHANCEMENT_2
from headway.experiments.glume.tables import (
    MODE_WORDS,
    enhancement_words,
    figure_title,
    interval_words,
    of_duration,
    percent,
    picture_title,
)
from headway.experiments.studies.charts import Dot, ratio_chart
from headway.experiments.studies.paired import Interval
from headway.experiments.studies.plans import ZHANG_AS_CODED
from headway.report.page_style import legend, page_of, quiet_paragraph, table
from headway.report.words import NOTHING, count

_STYLE = """
  .pass { color: #1a7f37; font-weight: 600 } .fail { color: #cf222e; font-weight: 600 }
"""


def page(results: Results) -> str:
    """The whole page."""
    return page_of("002 run again: grouping levels into jobs, and ours", _STYLE, _body(results))


def _body(results: Results) -> Iterator[str]:
    asked = results.asked
    yield "<h1>GLUME, a thesis of 2020 (002): grouping levels into jobs, and ours</h1>"
    yield quiet_paragraph(
        f"Conservative backfilling, {count(len(asked.found.workflows), 'workflow')}, seed {asked.seed}. Intervals are "
        f"95%, resampled by days of starts. {effort(results)}"
    )
    for sentence in asked.found.missing:
        yield quiet_paragraph(sentence)
    yield f"<h2>What this says</h2><ul>{''.join(f'<li>{escape(it)}</li>' for it in findings(results))}</ul>"
    for name, mode in results.modes.items():
        yield f"<h2>{escape(MODE_WORDS[name])}</h2>"
        if mode.bar is not None and mode.bar.standings:
            yield from _bar(mode.bar)
        for reading, wins in mode.table_7_1.items():
            if wins:
                yield from _table_7_1(reading, wins)
        yield from _chapter_5(mode)
        for (log, requests), gains in mode.figures.items():
            for duration in ("medium", "short", "long"):
                if shown := of_duration(gains, duration):
                    yield from _figure(figure_title(log, requests, duration), shown)


# --- the bar ---


def _bar(bar: Bar) -> Iterator[str]:
    yield f"<h3>{OURS} against each rival: makespans, geometric mean</h3>"
    dots = [Dot(it.rival, _as_ratio(it.overall), percent(it.overall)) for it in bar.standings]
    yield f'<div class="wide">{ratio_chart(f"{OURS} against each rival", dots)}</div>'
    rows = [[str(cell), *(_colored(it.cells.get(cell), MOST) for it in bar.standings)] for cell in CELLS]
    rows.append(["<b>all cells</b>", *(_colored(it.overall, 0.0) for it in bar.standings)])
    rows.append(["verdict", *(_verdict(it) for it in bar.standings)])
    yield table(["", *(it.rival for it in bar.standings)], rows)
    if bar.skipped:
        yield quiet_paragraph(f"Not judged, for want of runs: {', '.join(bar.skipped)}.")


def _as_ratio(found: Interval) -> Interval:
    low, high = (None if end is None else exp(end) for end in (found.low, found.high))
    return Interval(exp(found.mean), low, high)


def _colored(found: Interval | None, most: float) -> str:
    if found is None:
        return NOTHING
    kind = "fail" if found.mean > most else "pass"
    return f'<span class="{kind}" title="{escape(percent(found))}">{100 * (exp(found.mean) - 1):+.1f}%</span>'


def _verdict(standing: Standing) -> str:
    return '<span class="pass">pass</span>' if standing.passed else '<span class="fail">FAIL</span>'


# --- the thesis's ---


def _table_7_1(reading: str, wins: Mapping[Cell, Wins]) -> Iterator[str]:
    yield f"<h3>Table 7.1, after {escape(reading)}: configurations that GLUME wins / that Zhang wins</h3>"
    rows = [
        [
            escape(str(cell)),
            f"{it.glume}/{it.zhang} of {it.of}",
            "{}/{} of {}".format(*it.published, CONFIGURATIONS),
            escape(interval_words(it.gain)),
            "yes" if it.agrees else "no",
        ]
        for cell, it in wins.items()
    ]
    yield table(["", "ours", "002", "GLUME's mean gain", "same sign"], rows)


def _figure(title: str, gains: Gains) -> Iterator[str]:
    plans = plans_in(gains)
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(plans))]
    yield f"<h3>{escape(title)}</h3>{legend(zip(plans, colours, strict=True))}"
    yield f'<div class="wide">{gain_chart(title, gains)}</div><details><summary>figures</summary>'
    rows = [
        [escape(name), *(interval_words(found[plan]) if plan in found else NOTHING for plan in plans)]
        for name, found in gains.items()
    ]
    yield f"{table(['', *plans], rows)}</details>"


def _chapter_5(mode: Mode) -> Iterator[str]:
    for picture in mode.pictures:
        yield from _figure(f"{picture_title(picture)}: gain over Zhang's, accurate requests", picture.gains)
    if mode.fallbacks:
        yield "<h3>How often Zhang's algorithm falls back to a simple one (§5.2)</h3>"
        yield _fallbacks(mode.fallbacks)
    if mode.enhancements:
        yield "<h3>Zhang's algorithm with enhancements 1, 2 and 3, against without (§5.3)</h3>"
        yield _enhancements(mode.enhancements)


def _fallbacks(found: Sequence[Fallback]) -> str:
    def optional(value: float | None) -> str:
        return NOTHING if value is None else f"{100 * value:.1f}%"

    rows = [
        [
            f"{it.log}, at most {it.cap} jobs: {it.to}",
            interval_words(it.share).lstrip("+"),
            optional(it.sometime),
            optional(it.published),
            optional(it.better),
            optional(it.published_better),
        ]
        for it in found
    ]
    return table(["", "falls back at once", "ever", "002", "where not, better", "002"], rows)


def _enhancements(found: Sequence[Enhanced]) -> str:
    rows = []
    for it in found:
        known = ENHANCEMENT_2.get((it.log, it.duration)) if it.variant == ZHANG_AS_CODED else None
        published = NOTHING if known is None else f"{known[0]} of {known[1]}, by {100 * known[2]:.1f}%"
        figures = (f"{it.runs:,}", f"{it.better:,}", f"{100 * it.mean_gain:.1f}%", f"{it.worse:,}", published)
        rows.append([f"{enhancement_words(it.variant)}, {it.log} {it.duration}", *figures])
    return table(["", "runs", "better", "by", "worse", "002"], rows)
