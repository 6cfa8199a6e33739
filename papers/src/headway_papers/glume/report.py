"""The study's report with its verdicts, and its results as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Any

from msgspec import structs, to_builtins

from headway.drivers.assemble import plans as all_plans
from headway.model.units import format_duration
from headway.report.words import count, share
from headway.studies.paired import BEATS
from headway_papers.frame.report import Report, Verdict, verdicts_json
from headway_papers.glume.chapter_7 import READINGS, Gains
from headway_papers.glume.goal import OURS, Cell, Goal, verdicts_of
from headway_papers.glume.modes import AS_PUBLISHED, CLEAN
from headway_papers.glume.published import BETTER_THAN_ZHANG
from headway_papers.glume.sections import sections
from headway_papers.glume.study import Mode, Results

_SIMILAR = 0.01
CLAIMED_GAIN = 0.30  # the abstract: "improvements of well over 30% are achievable"


def report(results: Results) -> Report:
    """Everything to show."""
    asked = results.asked
    plans = dict.fromkeys(row.plan for mode in results.modes.values() for row in mode.rows)
    missing = "".join(f" {sentence}." for sentence in asked.found.missing)
    goals = [mode.goal for mode in results.modes.values() if mode.goal is not None]
    return Report(
        title="The GLUME thesis (2020) run again: levels grouped into jobs, and ours",
        about=f"Conservative backfilling; {count(len(asked.found.workflows), 'workflow')}, each with its own starts; "
        f"seed {asked.seed}. Short, medium and long workflows are 100, 500 and 1,000 hours of work on one node. "
        f"Intervals are 95%, resampled by days of starts. A plan beats another by {share(BEATS)} or more on average."
        f"{missing}",
        sections=list(sections(results)),
        verdicts=verdicts_on(results),
        seed=asked.seed,
        skipped=[f"{rival}: no runs of {OURS} beside it" for goal in goals for rival in goal.skipped],
        findings=list(findings(results)),
        terms=[(plan, all_plans()[plan].words) for plan in plans],
        ending=f"{count(results.new_runs, 'new run')} took {format_duration(results.took_s)}. --full would be "
        f"{results.full_runs:,} runs and take about {format_duration(results.full_s)} of all cores here; with --out it "
        "can be interrupted and continued.",
    )


def verdicts_on(results: Results) -> list[Verdict]:
    """The thesis's claims in each mode, then our goal."""
    found: list[Verdict] = []
    for name, mode in results.modes.items():
        found += _claims(name, mode)
        if mode.goal is not None:
            found += verdicts_of(mode.goal)
    return found


def _claims(name: str, mode: Mode) -> Iterator[Verdict]:
    """The abstract: GLUME is good in general, by well over 30% in many cases, but poorly with inaccurate requests."""
    reading, table = next(iter(mode.table_7_1.items()))
    glume, _ = READINGS[reading]
    claim = f"{name}, claim of the GLUME thesis (after {reading})"
    if table:
        gains = [wins.gain.mean for wins in table.values()]
        ahead = sum(gain > 0 for gain in gains)
        about = f"{claim}: GLUME's gain over Zhang, mean over cells"
        yield Verdict(about, fmean(gains), 0.0, at_most=False, detail=f"ahead in {ahead} of {len(gains)} cells")
    by_configuration = [
        (gains[glume].mean, f"{configuration} on {log}, {requests} requests")
        for (log, requests), figures in mode.figures.items()
        for configuration, gains in figures.items()
        if glume in gains
    ]
    if by_configuration:
        most, where = max(by_configuration)
        many = sum(gain >= CLAIMED_GAIN for gain, _ in by_configuration)
        detail = f"{where}; {many} of {len(by_configuration)} configurations gain {share(CLAIMED_GAIN)} or more"
        yield Verdict(f"{claim}: GLUME's greatest gain over Zhang", most, CLAIMED_GAIN, at_most=False, detail=detail)
    poor = table.get(Cell("SDSC", "real", "short"))
    if poor is not None:
        about = f"{claim}: GLUME's gain over Zhang where requests are inaccurate (SDSC, short) is a loss"
        yield Verdict(about, poor.gain.mean, 0.0, at_most=True)


def document(results: Results) -> dict[str, Any]:
    """All figures, and each run, as JSON."""
    asked = results.asked
    return {
        "experiment": "glume",
        "seed": asked.seed,
        "most_jobs": asked.cap,
        "workflows": [workflow.name for workflow in asked.found.workflows],
        "missing": asked.found.missing,
        "starts": to_builtins(asked.size),
        "modes": {name: _mode(mode) for name, mode in results.modes.items()},
        "verdicts": verdicts_json(verdicts_on(results)),
        "findings": list(findings(results)),
        "took_s": results.took_s,
        "full": {"runs": results.full_runs, "expected_s": results.full_s},
    }


def _mode(mode: Mode) -> dict[str, Any]:
    return {
        "table_7_1": [
            {"reading": reading, **structs.asdict(cell), **to_builtins(wins), "agrees": wins.agrees}
            for reading, table in mode.table_7_1.items()
            for cell, wins in table.items()
        ],
        "figures": [
            {"log": log, "requests": requests, "gains": _gains(gains)}
            for (log, requests), gains in mode.figures.items()
            if gains
        ],
        "bar": None if mode.goal is None else _goal(mode.goal),
        "pictures": [{"log": it.log, "most_jobs": it.cap, "gains": _gains(it.gains)} for it in mode.pictures],
        "fallbacks": to_builtins(mode.fallbacks),
        "enhancements": to_builtins(mode.enhancements),
        "runs": to_builtins(mode.rows),
    }


def _gains(gains: Gains) -> list[dict[str, Any]]:
    return [
        {"configuration": name, "plan": plan, **to_builtins(found)}
        for name, by_plan in gains.items()
        for plan, found in by_plan.items()
    ]


def _goal(goal: Goal) -> dict[str, Any]:
    return {
        "passed": goal.passed,
        "complete": goal.complete,
        "skipped": goal.skipped,
        "rivals": [
            {
                "rival": standing.rival,
                "passed": standing.passed,
                "pairs": standing.pairs,
                "overall": to_builtins(standing.overall),
                "cells": [{**structs.asdict(cell), **to_builtins(found)} for cell, found in standing.cells.items()],
            }
            for standing in goal.standings
        ],
    }


def findings(results: Results) -> Iterator[str]:
    """Where we agree with the thesis, where not, and why: sentences made from the figures."""
    published, clean = results.modes.get(AS_PUBLISHED), results.modes.get(CLEAN)
    if published is not None:
        yield from _table_7_1(published)
        yield from _chapter_5(published)
    if clean is not None:
        yield from _table_7_1_clean(clean)
        yield from _ahead(clean)
    if published is not None and clean is not None:
        yield from _waits(published, clean)


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
    """The mean wait of one job for everything, in both modes."""
    for log, requests in clean.figures:
        means = []
        for mode in (published, clean):
            rows = [row for row in mode.rows if row.plan == "one-job" and row.requests == requests]
            waits = [row.first_wait_s for row in rows if row.trace.startswith(log)]
            if waits:
                means.append(format_duration(fmean(waits)))
        if len(means) == 2:
            yield f"{log}, {requests} requests: one job for everything waits {means[0]} as published, {means[1]} clean."


def _ahead(mode: Mode) -> Iterator[str]:
    goal = mode.goal
    if goal is None or not goal.standings:
        return
    lost = [standing.rival for standing in goal.standings if not standing.passed]
    missing = "" if goal.complete else " (of what was run)"
    if lost:
        yield f"Clean{missing}: {OURS} is not as far ahead as it should be of {', '.join(lost)}."
    else:
        yield f"Clean{missing}: {OURS} is ahead of every rival over all, and nowhere more than 5% behind one."
