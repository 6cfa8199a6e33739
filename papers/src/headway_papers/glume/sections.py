"""The study's tables and pictures, mode by mode: ours beside the thesis's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import exp
from statistics import fmean

from headway.report.page_style import legend
from headway.report.words import NOTHING, count, share
from headway.studies.charts import COLOURS_SAY, Dot, ratio_chart
from headway.studies.paired import BEATS, Interval
from headway_papers.frame.page import picture
from headway_papers.frame.report import Marked, Section
from headway_papers.glume.chapter_5 import Enhanced, Fallback, Picture
from headway_papers.glume.chapter_7 import Gains, Wins
from headway_papers.glume.charts import COLOURS, gain_chart, plans_in
from headway_papers.glume.goal import CELLS, MOST, OURS, REQUESTS, Cell, Goal, Standing, percent
from headway_papers.glume.modes import AS_PUBLISHED, CLEAN
from headway_papers.glume.plans import ZHANG_AS_CODED
from headway_papers.glume.published import CONFIGURATIONS, ENHANCEMENT_2
from headway_papers.glume.study import Mode, Results
from headway_papers.glume.workflows import DURATIONS, LOGS

_THESIS = "thesis"
_MODES = {
    AS_PUBLISHED: (
        "As published",
        "The log's first week from an empty machine after a day; neighbouring nodes; jobs that never started run for "
        "all the time that they requested; accurate requests in whole minutes.",
    ),
    CLEAN: (
        "Clean",
        "Four seeded weeks of each log after seven days of warm-up; nodes are only counted; jobs that never started "
        "are left out.",
    ),
}
_GAIN = (
    "By how much of Zhang's makespan each plan's is shorter, on average: up is better. M-50 is Montage with 50 tasks; "
    "C stands for CyberShake, G for Genome, S for SIPHT. Thin lines are 95% intervals, cut off at the border."
)
_SHORTER = {"one-job-per-task": "per-task", "level-by-level": "by-level"}


def sections(results: Results) -> Iterator[Section]:
    """All modes."""
    for name, mode in results.modes.items():
        title, about = _MODES[name]
        failed = sum(not row.through for row in mode.rows)
        more = f" {count(failed, 'run')} did not finish, and are in no comparison." if failed else ""
        yield Section(f"{title}: {count(len(mode.rows), 'run')}", note=about + more)
        if mode.goal is not None and mode.goal.standings:
            yield _goal(mode.goal)
        for reading, wins in mode.table_7_1.items():
            if wins:
                yield from _table_7_1(f"{title}, Table 7.1, after {reading}", wins)
        yield from _chapter_7(title, mode)
        yield from _chapter_5(mode)


def _goal(goal: Goal) -> Section:
    dots = [Dot(it.rival, _as_ratio(it.overall), percent(it.overall)) for it in goal.standings]
    title = f"{OURS}'s makespan against each rival's"
    axis = f"makespan of {OURS}, in those of the rival (logarithmic): shorter to the left"
    rows = [
        [f"{cell.log} {cell.requests} {cell.duration}", *(_change(it, cell) for it in goal.standings)]
        for cell in CELLS
        if any(cell in it.cells for it in goal.standings)
    ]
    rows.append(["all cells", *(_change(it, None) for it in goal.standings)])
    heads = [("", ""), *(("", _SHORTER.get(it.rival, it.rival)) for it in goal.standings)]
    note = f"Geometric means over the same workflow, queue and start; below 0% {OURS} is faster. {COLOURS_SAY}"
    return Section(title, heads, rows, note, [picture(ratio_chart(title, dots, axis))], total=True)


def _as_ratio(found: Interval) -> Interval:
    low, high = (None if end is None else exp(end) for end in (found.low, found.high))
    return Interval(exp(found.mean), low, high)


def _change(standing: Standing, cell: Cell | None) -> Marked | str:
    found = standing.overall if cell is None else standing.cells.get(cell)
    if found is None:
        return NOTHING
    kept = found.mean <= (0.0 if cell is None else MOST)
    return Marked(f"{100 * (exp(found.mean) - 1):+.1f}%", "good" if kept else "bad", percent(found))


# --- chapter 7 ---


def _table_7_1(title: str, table: Mapping[Cell, Wins]) -> Iterator[Section]:
    note = (
        f"Configurations that GLUME wins / that Zhang wins, by {share(BEATS)} or more on average, of "
        f"{max(wins.of for wins in table.values())}; the thesis had {CONFIGURATIONS}. Gain: the share by which GLUME's "
        "makespan is shorter than Zhang's, over all runs of the cell."
    )
    for log in (log for log in LOGS if any(cell.log == log for cell in table)):
        cells = [Cell(log, requests, duration) for requests in REQUESTS for duration in DURATIONS.values()]
        found = [table.get(cell) for cell in cells]
        rows = [
            ["ours", *(NOTHING if it is None else f"{it.glume}/{it.zhang}" for it in found)],
            [_THESIS, *(NOTHING if it is None else "{}/{}".format(*it.published) for it in found)],
            ["GLUME's mean gain", *(NOTHING if it is None else f"{100 * it.gain.mean:+.1f}%" for it in found)],
            ["same sign", *(NOTHING if it is None else "yes" if it.agrees else "no" for it in found)],
        ]
        yield Section(f"{title}: {log}", [("", log), *((it.requests, it.duration) for it in cells)], rows, note)


def _chapter_7(title: str, mode: Mode) -> Iterator[Section]:
    for (log, requests), gains in mode.figures.items():
        for duration in ("medium", "short", "long"):
            shown = {name: found for name, found in gains.items() if name.endswith(duration)}
            if shown:
                real = requests == "real"
                after = (
                    f"7.{1 + 2 * real + (log == 'SDSC')}"
                    if duration == "medium"
                    else f"B.{1 + 2 * real + (duration == 'long')}"
                )
                name = f"{title}, Figure {after}: gain over Zhang's, {log}, {requests} requests, {duration}"
                yield _gains(name, shown, only_on_page=duration != "medium" or mode.goal is not None)


def _gains(title: str, gains: Gains, *, only_on_page: bool = False) -> Section:
    """A row a configuration, a column a plan; the last row is the mean."""
    plans = plans_in(gains)
    rows = [
        [name, *(interval_words(found[it]) if it in found else NOTHING for it in plans)]
        for name, found in gains.items()
    ]
    means = [fmean(found[plan].mean for found in gains.values() if plan in found) for plan in plans]
    rows.append(["mean", *(f"{100 * mean:+.1f}%" for mean in means)])
    keys = legend((plan, COLOURS[number % len(COLOURS)]) for number, plan in enumerate(plans))
    drawn = [picture(gain_chart(title, gains), legend=keys)]
    heads = [("", ""), *(("", plan) for plan in plans)]
    return Section(title, heads, rows, _GAIN if only_on_page else "", drawn, total=True, only_on_page=only_on_page)


def interval_words(found: Interval) -> str:
    """A share as a percentage, and half the width of its interval."""
    words = f"{100 * found.mean:+.1f}%"
    return words if found.low is None or found.high is None else f"{words} ±{50 * (found.high - found.low):.0f}"


# --- chapter 5 ---


def _chapter_5(mode: Mode) -> Iterator[Section]:
    for it in mode.pictures:
        yield _gains(f"{picture_title(it)}: gain over Zhang's, accurate requests", it.gains)
    if mode.fallbacks:
        yield _fallbacks(mode.fallbacks)
    if mode.enhancements:
        title = "Zhang's algorithm with enhancements 1, 2 and 3, against without (§5.3)"
        yield _enhancements(title, _summed(mode.enhancements))
        yield _enhancements(f"{title}: every duration", mode.enhancements, only_on_page=True)


def picture_title(found: Picture) -> str:
    """The number of the thesis's figure, the log, and the cap on jobs."""
    number = {("KTH", 128): "Figure 5.2", ("KTH", 16): "Figure 5.3"}.get((found.log, found.cap), "Figure A.1")
    return f"{number}, {found.log}, at most {found.cap} jobs"


def _fallbacks(found: Sequence[Fallback]) -> Section:
    def optional(value: float | None) -> str:
        return NOTHING if value is None else f"{100 * value:.1f}%"

    rows = [
        [
            f"{it.log}, cap {it.cap}: {it.to}",
            interval_words(it.share).lstrip("+"),
            *map(optional, (it.sometime, it.published, it.better, it.published_better)),
        ]
        for it in found
    ]
    falls, better = "falls back", "where not, better"
    heads = [("", ""), (falls, "at once"), (falls, "ever"), (falls, _THESIS), (better, "ours"), (better, _THESIS)]
    note = (
        "Shares of runs. At once: from the beginning; ever: or later, for the remaining levels. Better: where Zhang's "
        "algorithm does not fall back, how often it is better than the simple one."
    )
    return Section("How often Zhang's algorithm falls back to a simple one (§5.2)", heads, rows, note)


def _enhancements(title: str, found: Sequence[Enhanced], *, only_on_page: bool = False) -> Section:
    rows = []
    for it in found:
        known = ENHANCEMENT_2.get((it.log, it.duration)) if it.variant == ZHANG_AS_CODED else None
        published = NOTHING if known is None else f"{known[0]} of {known[1]}, {100 * known[2]:.1f}%"
        numbers = "2" if it.variant == ZHANG_AS_CODED else it.variant.removeprefix("zhang-enhanced-")
        figures = (f"{it.runs:,}", f"{it.better:,}", f"{100 * it.mean_gain:.1f}%", f"{it.worse:,}", published)
        rows.append([f"{numbers}, {it.log} {it.duration}".strip(), *figures])
    heads = [("", title) for title in ("enhancements", "runs", "better", "by", "worse", _THESIS)]
    note = "Runs whose makespan is shorter, by how much on average, and runs whose makespan is longer."
    return Section(title, heads, rows, note, keep=(60, 90, 85, 80, 70), only_on_page=only_on_page)


def _summed(found: Sequence[Enhanced]) -> list[Enhanced]:
    """The second enhancement alone for each duration, as in the thesis; the others over all durations."""
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
