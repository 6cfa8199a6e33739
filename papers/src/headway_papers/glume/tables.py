"""The experiment on a screen: ours beside the thesis's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import exp
from statistics import fmean
from typing import Any

from rich.text import Text

from headway.report.columns import Field, table_lines
from headway.report.words import NOTHING, count, share
from headway.studies.paired import BEATS, Interval
from headway.studies.plans import ZHANG_AS_CODED
from headway_papers.glume.bar import CELLS, MOST, OURS, Bar, Cell, Standing
from headway_papers.glume.chapter_5 import Enhanced, Fallback, Picture
from headway_papers.glume.chapter_7 import Gains, Wins
from headway_papers.glume.experiment import AS_PUBLISHED, CLEAN, Mode, Results
from headway_papers.glume.findings import effort, findings
from headway_papers.glume.published import CONFIGURATIONS, ENHANCEMENT_2
from headway_papers.glume.workflows import DURATIONS, LOGS

Line = tuple[Text | str, bool]  # and whether it is laid out, and must not be wrapped

MODE_WORDS = {
    AS_PUBLISHED: "As published: the log's first week from an empty machine after a day, neighbouring nodes, jobs that "
    "never started take all they asked for, accurate requests in whole minutes",
    CLEAN: "Clean: four seeded weeks of each log after seven days of warm-up, nodes only counted, jobs that never "
    "started left out",
}


def lines_of(results: Results, width: int) -> Iterator[Line]:
    """Everything, mode by mode."""
    yield Text("GLUME, a thesis of 2020 (002): grouping levels into jobs, and ours", style="bold"), False
    asked = results.asked
    yield _note(
        f"Conservative backfilling; {count(len(asked.found.workflows), 'workflow')}, each from starts of its own; "
        f"seed {asked.seed}. Intervals are 95%, resampled by days of starts. A plan beats another by "
        f"{share(BEATS)} or more on average."
    )
    for name, mode in results.modes.items():
        yield from _section(f"{MODE_WORDS[name]}; {count(len(mode.rows), 'run')}")
        if name == AS_PUBLISHED:
            yield from _as_published(mode, width)
        if mode.bar is not None:
            yield from _clean(mode, mode.bar, width)
        unfinished = sum(not row.through for row in mode.rows)
        if unfinished:
            yield _note(f"{count(unfinished, 'run')} did not get through, and are in no comparison.")
    yield from _section("What this says")
    for sentence in findings(results):
        yield f"- {sentence}", False
    yield "", False
    yield _note(effort(results))


def _clean(mode: Mode, bar: Bar, width: int) -> Iterator[Line]:
    yield from _table_7_1(mode, width)
    if bar.standings:
        yield from _section(f"{OURS}'s makespan against each rival's, geometric mean over workflows and starts")
        yield from _laid_out(_bar_table(bar, width))
        yield "", False
    yield from verdict_lines(bar)


# --- the bar ---


def verdict_lines(bar: Bar) -> Iterator[Line]:
    """A line a rival."""
    for standing in bar.standings:
        words = Text.assemble(("pass" if standing.passed else "FAIL", "bold green" if standing.passed else "bold red"))
        worst = standing.cells[standing.worst]
        words.append(
            f"  {standing.rival}: overall {percent(standing.overall)} (needs < 0), worst cell "
            f"{percent(worst)} in {standing.worst} (needs ≤ {share(exp(MOST) - 1)})"
        )
        if len(standing.cells) < len(CELLS):
            words.append(f"; {len(CELLS) - len(standing.cells)} cells without runs")
        yield words, False
    for rival in bar.skipped:
        yield Text(f"skip  {rival}: no runs of {OURS} beside it"), False


def _bar_table(bar: Bar, width: int) -> list[Text]:
    rows: list[Cell | None] = [cell for cell in CELLS if any(cell in it.cells for it in bar.standings)]
    rows.append(None)

    def value(standing: Standing, cell: Cell | None) -> str:
        found = standing.overall if cell is None else standing.cells.get(cell)
        return NOTHING if found is None else f"{100 * (exp(found.mean) - 1):+.1f}%"

    def style(standing: Standing, cell: Cell | None) -> str:
        found = standing.overall if cell is None else standing.cells.get(cell)
        return "red" if found is not None and found.mean > (0 if cell is None else MOST) else ""

    shorter = {"one-job-per-task": "per-task", "level-by-level": "by-level"}
    titles = [shorter.get(it.rival, it.rival) for it in bar.standings]
    fields = [
        Field("", title, partial(value, it), 80, partial(style, it))
        for title, it in zip(titles, bar.standings, strict=True)
    ]
    names = ["all cells" if cell is None else _cell_name(cell) for cell in rows]
    return table_lines("", names, rows, fields, width, total=True)


def _cell_name(cell: Cell) -> str:
    return f"{cell.log} {cell.requests} {cell.duration}"


def percent(found: Interval) -> str:
    """A mean logarithm of ratios as a percentage with its interval."""
    words = f"{100 * (exp(found.mean) - 1):+.1f}%"
    if found.low is None or found.high is None:
        return words
    return f"{words} ({100 * (exp(found.low) - 1):+.1f} to {100 * (exp(found.high) - 1):+.1f})"


# --- as published ---


def _as_published(mode: Mode, width: int) -> Iterator[Line]:
    yield from _table_7_1(mode, width)
    for (log, requests), gains in mode.figures.items():
        medium = of_duration(gains, "medium")
        if medium:
            yield from _section(figure_title(log, requests, "medium"))
            yield from _laid_out(gains_table(medium, width))
    for picture in mode.pictures:
        yield from _section(f"{picture_title(picture)}: gain over Zhang's, accurate requests")
        yield from _laid_out(gains_table(picture.gains, width))
    if mode.fallbacks:
        yield from _section("How often Zhang's algorithm falls back to a simple one (§5.2)")
        yield from _laid_out(_fallback_table(mode.fallbacks, width))
    if mode.enhancements:
        yield from _section("Zhang's algorithm with enhancements 1, 2 and 3, against without (§5.3)")
        yield from _laid_out(_enhancement_table(shown_enhancements(mode.enhancements), width))


def of_duration(gains: Gains, duration: str) -> Gains:
    """Only the configurations with so much work."""
    return {name: found for name, found in gains.items() if name.endswith(duration)}


def figure_title(log: str, requests: str, duration: str) -> str:
    """Which figure of the thesis it is."""
    real = requests == "real"
    if duration == "medium":
        number = f"7.{1 + 2 * real + (log == 'SDSC')}"
    else:
        number = f"B.{1 + 2 * real + (duration == 'long')}"
    return f"Figure {number}: gain over Zhang's, {log}, {requests} requests, {duration}"


def picture_title(picture: Picture) -> str:
    """Which figure of the thesis it is."""
    number = {("KTH", 128): "Figure 5.2", ("KTH", 16): "Figure 5.3"}.get((picture.log, picture.cap), "Figure A.1")
    return f"{number}, {picture.log}, at most {picture.cap} jobs"


def _table_7_1(mode: Mode, width: int) -> Iterator[Line]:
    for reading, table in mode.table_7_1.items():
        if not table:
            continue
        yield from _section(f"Table 7.1, after {reading}: configurations that GLUME wins / that Zhang wins")

        def cell(log: str, requests: str, duration: str, row: str, table: Mapping[Cell, Wins] = table) -> str:
            wins = table.get(Cell(log, requests, duration))
            if wins is None:
                return NOTHING
            if row == "002":
                return "{}/{}".format(*wins.published)
            return f"{wins.glume}/{wins.zhang}" if row == "ours" else f"{100 * wins.gain.mean:+.1f}%"

        rows = ["ours", "002", "GLUME's mean gain"]
        for log in (log for log in LOGS if any(cell.log == log for cell in table)):
            fields = [
                Field(requests, duration, partial(cell, log, requests, duration), 80)
                for requests in ("accurate", "real")
                for duration in DURATIONS.values()
            ]
            yield from _laid_out(table_lines(log, rows, rows, fields, width, total=False))
            yield "", False
        yield _note(
            f"{max(wins.of for wins in table.values())} configurations a cell; the thesis had {CONFIGURATIONS}."
        )


def gains_table(gains: Gains, width: int) -> list[Text]:
    """A line a configuration, a column a plan; the last is the mean."""
    plans = list(dict.fromkeys(plan for found in gains.values() for plan in found))
    rows: list[dict[str, Interval] | None] = [*gains.values(), None]

    def value(plan: str, row: dict[str, Interval] | None) -> str:
        if row is None:
            return f"{100 * fmean(found[plan].mean for found in gains.values() if plan in found):+.1f}%"
        return interval_words(row[plan]) if plan in row else NOTHING

    fields = [Field("", plan, partial(value, plan), 80) for plan in plans]
    return table_lines("", [*gains, "mean"], rows, fields, width, total=True)


def interval_words(found: Interval) -> str:
    """A share as a percentage, and half the width of its interval."""
    words = f"{100 * found.mean:+.1f}%"
    return words if found.low is None or found.high is None else f"{words} ±{50 * (found.high - found.low):.0f}"


def _fallback_table(found: Sequence[Fallback], width: int) -> list[Text]:
    def optional(name: str, row: Fallback) -> str:
        value = getattr(row, name)
        return NOTHING if value is None else f"{100 * value:.1f}%"

    fields = [
        Field("falls back", "at once", lambda row: interval_words(row.share).lstrip("+"), 90),
        Field("falls back", "ever", partial(optional, "sometime"), 88),
        Field("falls back", "002", partial(optional, "published"), 85),
        Field("where not", "better", partial(optional, "better"), 80),
        Field("where not", "002", partial(optional, "published_better"), 75),
    ]
    names = [f"{row.log}, cap {row.cap}: {row.to}" for row in found]
    return table_lines("", names, found, fields, width, total=False)


def _enhancement_table(found: Sequence[Enhanced], width: int) -> list[Text]:
    def published(row: Enhanced) -> str:
        known = ENHANCEMENT_2.get((row.log, row.duration)) if row.variant == ZHANG_AS_CODED else None
        return NOTHING if known is None else f"{known[0]} of {known[1]}, {100 * known[2]:.1f}%"

    fields: list[Any] = [
        Field("", "runs", lambda row: f"{row.runs:,}", 60),
        Field("", "better", lambda row: f"{row.better:,}", 90),
        Field("", "by", lambda row: f"{100 * row.mean_gain:.1f}%", 85),
        Field("", "worse", lambda row: f"{row.worse:,}", 80),
        Field("", "002", published, 70),
    ]
    names = [f"{enhancement_words(row.variant)}, {row.log} {row.duration}".strip() for row in found]
    return table_lines("", names, found, fields, width, total=False)


def shown_enhancements(found: Sequence[Enhanced]) -> list[Enhanced]:
    """The second alone for each kind of runs, as in the thesis; of the others all durations together."""
    shown = [row for row in found if row.variant == ZHANG_AS_CODED]
    for variant in dict.fromkeys(row.variant for row in found if row.variant != ZHANG_AS_CODED):
        for log in LOGS:
            rows = [row for row in found if (row.variant, row.log) == (variant, log)]
            if rows:
                better = sum(row.better for row in rows)
                gain = sum(row.mean_gain * row.better for row in rows) / better if better else 0.0
                runs, worse = sum(row.runs for row in rows), sum(row.worse for row in rows)
                shown.append(Enhanced(variant, log, "", runs, better, worse, gain))
    return shown


def enhancement_words(variant: str) -> str:
    """Which of the three."""
    return "2" if variant == ZHANG_AS_CODED else variant.removeprefix("zhang-enhanced-")


# --- lines ---


def _section(title: str) -> Iterator[Line]:
    yield "", False
    yield Text(title, style="bold"), False


def _note(text: str) -> Line:
    return Text(text, style="dim"), False


def _laid_out(lines: Sequence[Text]) -> Iterator[Line]:
    for line in lines:
        yield line, True
