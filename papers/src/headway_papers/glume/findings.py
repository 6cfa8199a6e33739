"""Where we agree with the thesis, where not, and why: sentences made from the figures."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean

from headway.model.units import format_duration
from headway.report.words import count
from headway_papers.glume.bar import OURS
from headway_papers.glume.experiment import AS_PUBLISHED, CLEAN, Mode, Results
from headway_papers.glume.published import BETTER_THAN_ZHANG

_SIMILAR = 0.01


def findings(results: Results) -> Iterator[str]:
    """A sentence a finding."""
    published, clean = results.modes.get(AS_PUBLISHED), results.modes.get(CLEAN)
    if published is not None:
        yield from _table_7_1(published)
        yield from _chapter_5(published)
    if clean is not None:
        yield from _table_7_1_clean(clean)
        yield from _bar(clean)
    if published is not None and clean is not None:
        yield from _waits(published, clean)


def effort(results: Results) -> str:
    """How long it took, and how long everything would take."""
    return (
        f"{count(results.new_runs, 'new run')} took {format_duration(results.took_s)}. --full would be "
        f"{results.full_runs:,} runs and take about {format_duration(results.full_s)} of all cores here; with --out it "
        "can be interrupted and gone on with."
    )


def _table_7_1(mode: Mode) -> Iterator[str]:
    for reading, table in mode.table_7_1.items():
        for log in ("KTH", "SDSC"):
            cells = {cell: wins for cell, wins in table.items() if cell.log == log}
            if cells:
                agree = [wins.agrees for wins in cells.values()]
                other = ", ".join(f"{it.requests} {it.duration}" for it, wins in cells.items() if not wins.agrees)
                words = (
                    f"Table 7.1 on {log}, after {reading}: {sum(agree)} of {len(agree)} cells have the thesis's sign"
                )
                yield words + (f"; not {other}." if other else ".")


def _chapter_5(mode: Mode) -> Iterator[str]:
    for picture in mode.pictures:
        for plan in ("one-job-per-task", "one-job", "level-by-level"):
            means = [found[plan].mean for found in picture.gains.values() if plan in found]
            known = BETTER_THAN_ZHANG.get((picture.cap, plan)) if picture.log == "KTH" else None
            if means and known is not None:
                better = sum(value >= -_SIMILAR for value in means)
                yield (
                    f"{picture.log}, at most {picture.cap} jobs: {plan} is better than Zhang's, or within 1%, for "
                    f"{better} of {len(means)} configurations; in the thesis for {known} of 12."
                )
    for fell in mode.fallbacks:
        if fell.published is not None:
            yield (
                f"{fell.log}, at most {fell.cap} jobs: Zhang's algorithm falls back to {fell.to} in "
                f"{100 * fell.share.mean:.1f}% of runs at once, in {100 * fell.sometime:.1f}% sooner or later; in "
                f"the thesis in {100 * fell.published:.1f}%."
            )
    if mode.enhancements:
        runs = sum(it.runs for it in mode.enhancements)
        worse = sum(it.worse for it in mode.enhancements)
        alone = [it for it in mode.enhancements if "2" not in it.variant and it.variant.startswith("zhang-enhanced")]
        without = sum(it.better + it.worse for it in alone)
        yield (
            f"Enhancements make {worse:,} of {runs:,} runs worse (the thesis found none); without the second "
            f"they change {without:,} of {sum(it.runs for it in alone):,} (the thesis: only the second helps)."
        )


def _table_7_1_clean(mode: Mode) -> Iterator[str]:
    table = mode.table_7_1.get("the text", {})
    if table:
        ahead = sum(wins.glume > wins.zhang for wins in table.values())
        behind = sum(wins.glume < wins.zhang for wins in table.values())
        yield f"Clean, GLUME has more wins than Zhang in {ahead} of {count(len(table), 'cell')}, fewer in {behind}."


def _waits(published: Mode, clean: Mode) -> Iterator[str]:
    """How full the queues are: the mean wait of one job for everything."""
    for log, requests in clean.figures:
        means = []
        for mode in (published, clean):
            rows = [row for row in mode.rows if row.plan == "one-job" and row.requests == requests]
            waits = [row.first_wait_s for row in rows if row.trace.startswith(log)]
            if waits:
                means.append(format_duration(fmean(waits)))
        if len(means) == 2:
            yield f"{log}, {requests} requests: one job for everything waits {means[0]} as published, {means[1]} clean."


def _bar(mode: Mode) -> Iterator[str]:
    bar = mode.bar
    if bar is None or not bar.standings:
        return
    lost = [standing.rival for standing in bar.standings if not standing.passed]
    missing = "" if bar.complete else " (of what was run)"
    if lost:
        yield f"Clean{missing}: {OURS} is not as far ahead as it should be of {', '.join(lost)}."
    else:
        yield f"Clean{missing}: {OURS} is ahead of every rival over all, and nowhere more than 5% behind one."
