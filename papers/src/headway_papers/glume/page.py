"""The experiment as one HTML page with nothing to load from elsewhere, light and dark."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import exp

from headway.report.page_style import grouped_table, legend, page_of, quiet_paragraph, table, words_table
from headway.report.words import NOTHING, count, share
from headway.studies.charts import COLOURS_SAY, Dot, ratio_chart
from headway.studies.paired import BEATS, Interval
from headway.studies.plans import ZHANG_AS_CODED, plan_named
from headway_papers.glume.bar import CELLS, MOST, OURS, Bar, Cell, Standing
from headway_papers.glume.chapter_5 import Enhanced, Fallback
from headway_papers.glume.chapter_7 import Gains, Wins
from headway_papers.glume.charts import COLOURS, gain_chart, plans_in
from headway_papers.glume.experiment import Mode, Results
from headway_papers.glume.findings import effort, findings
from headway_papers.glume.published import CONFIGURATIONS, ENHANCEMENT_2
from headway_papers.glume.tables import (
    MODE_WORDS,
    enhancement_words,
    figure_title,
    interval_words,
    of_duration,
    percent,
    picture_title,
    shown_enhancements,
)

_TITLE = "GLUME, a thesis of 2020, run again: grouping levels into jobs, and ours"
_THESIS = "thesis"
_GAIN = (
    "By how much of Zhang's makespan each plan's is shorter, on average: up is better. M-50 is Montage with 50 tasks; "
    "C stands for CyberShake, G for Genome, S for SIPHT. Thin lines are 95% intervals, cut off at the border; a bar "
    "that is pointed at tells its figures. Scales differ."
)


def page(results: Results) -> str:
    """The whole page."""
    return page_of(_TITLE, "", _body(results))


def _body(results: Results) -> Iterator[str]:
    asked = results.asked
    yield f"<h1>{_TITLE}</h1>"
    yield quiet_paragraph(
        f"Conservative backfilling, {count(len(asked.found.workflows), 'workflow')}, seed {asked.seed}. Short, medium "
        "and long workflows are 100, 500 and 1,000 hours of work on one node. Intervals are 95%, resampled by days of "
        f"starts. {effort(results)}"
    )
    for sentence in asked.found.missing:
        yield quiet_paragraph(f"{sentence}.")
    yield f"<h2>What this says</h2><ul>{''.join(f'<li>{escape(it)}</li>' for it in findings(results))}</ul>"
    for name, mode in results.modes.items():
        title, _, about = MODE_WORDS[name].partition(": ")
        yield f"<h2>{escape(title)}</h2>"
        yield quiet_paragraph(f"{about[:1].upper()}{about[1:]}; {count(len(mode.rows), 'run')}.")
        if mode.bar is not None and mode.bar.standings:
            yield from _bar(mode.bar)
        for reading, wins in mode.table_7_1.items():
            if wins:
                yield from _table_7_1(reading, wins)
        yield from _chapter_5(mode)
        yield from _chapter_7(mode)
    yield "<h2>What the plans do</h2>"
    plans = dict.fromkeys(row.plan for mode in results.modes.values() for row in mode.rows)
    yield words_table(("plan", ""), [(escape(plan), escape(plan_named(plan).words)) for plan in plans])
    yield quiet_paragraph("002 is the thesis, 000 the paper on ASA.")


# --- the bar ---


def _bar(bar: Bar) -> Iterator[str]:
    yield f"<h3>{OURS} against each rival</h3>"
    yield quiet_paragraph(
        f"{OURS}'s makespan in those of each rival, geometric means over the same workflow, queue and start. "
        f"{COLOURS_SAY}"
    )
    dots = [Dot(it.rival, _as_ratio(it.overall), percent(it.overall)) for it in bar.standings]
    axis = f"makespan of {OURS}, in those of the rival (logarithmic): shorter to the left"
    yield f'<div class="wide">{ratio_chart(f"{OURS} against each rival", dots, axis)}</div>'
    rows = [[str(cell), *(_colored(it.cells.get(cell), MOST) for it in bar.standings)] for cell in CELLS]
    rows.append(["<b>all cells</b>", *(_colored(it.overall, 0.0) for it in bar.standings)])
    rows.append(["verdict", *(_verdict(it) for it in bar.standings)])
    yield table(["", *(it.rival for it in bar.standings)], rows)
    yield quiet_paragraph(
        f"The same for each log, kind of requests and work of a workflow; below 0% {OURS} is through earlier. Green is "
        f"within what was to be shown: at most {percent(Interval(MOST, None, None))} in a cell, below 0% over all. "
        "Pointed at, a figure tells its interval."
    )
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
    yield f"<h3>Table 7.1, after {escape(reading)}</h3>"
    rows = [
        [
            escape(str(cell)),
            str(it.glume),
            str(it.zhang),
            str(it.of),
            *map(str, it.published),
            str(CONFIGURATIONS),
            escape(interval_words(it.gain)),
            "yes" if it.agrees else "no",
        ]
        for cell, it in wins.items()
    ]
    columns = ("GLUME wins", "Zhang wins", "of")
    heads = [(whose, column) for whose in ("ours", _THESIS) for column in columns]
    yield grouped_table([("", ""), *heads, ("", "GLUME's mean gain"), ("", "same sign")], rows)
    yield quiet_paragraph(
        f"In how many configurations (an application, its number of tasks) one beats the other by {share(BEATS)} or "
        "more on average. Gain: by how much of Zhang's GLUME's makespan is shorter, over all runs of the cell. Same "
        "sign: whether the same one, or none, wins more often."
    )


def _chapter_7(mode: Mode) -> Iterator[str]:
    if any(mode.figures.values()):
        yield "<h3>Figures 7.1 to 7.4, B.1 to B.4: gain over Zhang's</h3>"
        yield quiet_paragraph(_GAIN)
    for (log, requests), gains in mode.figures.items():
        for duration in ("medium", "short", "long"):
            if shown := of_duration(gains, duration):
                yield from _figure(figure_title(log, requests, duration), shown)


def _figure(title: str, gains: Gains) -> Iterator[str]:
    plans = plans_in(gains)
    colours = [COLOURS[number % len(COLOURS)] for number in range(len(plans))]
    yield f"<figure><figcaption>{escape(title)}</figcaption>{legend(zip(plans, colours, strict=True))}"
    yield f'<div class="wide">{gain_chart(title, gains)}</div></figure><details><summary>figures</summary>'
    rows = [
        [escape(name), *(interval_words(found[plan]) if plan in found else NOTHING for plan in plans)]
        for name, found in gains.items()
    ]
    yield f"{table(['', *plans], rows)}</details>"


def _chapter_5(mode: Mode) -> Iterator[str]:
    if mode.pictures:
        yield "<h3>Figures 5.2, 5.3 and A.1: simple plans against Zhang's</h3>"
        yield quiet_paragraph(_GAIN)
    for picture in mode.pictures:
        yield from _figure(f"{picture_title(picture)}: gain over Zhang's, accurate requests", picture.gains)
    if mode.fallbacks:
        yield "<h3>How often Zhang's algorithm falls back to a simple one (§5.2)</h3>"
        yield _fallbacks(mode.fallbacks)
        yield quiet_paragraph(
            "Shares of runs. At once: from the beginning; ever: or later, for what remains. Better: where Zhang's "
            "algorithm does not fall back, how often it is better than the simple one."
        )
    if mode.enhancements:
        yield "<h3>Zhang's algorithm with enhancements 1, 2 and 3, against without (§5.3)</h3>"
        yield _enhancements(shown_enhancements(mode.enhancements))
        yield quiet_paragraph("Runs whose makespan is shorter, by how much on average, and runs whose is longer.")
        yield f"<details><summary>figures</summary>{_enhancements(mode.enhancements)}</details>"


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
    falls, better = "falls back", "where not, better"
    heads = [("", ""), (falls, "at once"), (falls, "ever"), (falls, _THESIS), (better, "ours"), (better, _THESIS)]
    return grouped_table(heads, rows)


def _enhancements(found: Sequence[Enhanced]) -> str:
    rows = []
    for it in found:
        known = ENHANCEMENT_2.get((it.log, it.duration)) if it.variant == ZHANG_AS_CODED else None
        published = NOTHING if known is None else f"{known[0]} of {known[1]}, by {100 * known[2]:.1f}%"
        figures = (f"{it.runs:,}", f"{it.better:,}", f"{100 * it.mean_gain:.1f}%", f"{it.worse:,}", published)
        rows.append([f"{enhancement_words(it.variant)}, {it.log} {it.duration}".strip(), *figures])
    return table(["enhancements", "runs", "better", "by", "worse", _THESIS], rows)
