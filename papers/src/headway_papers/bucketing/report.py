"""The study's report, and its results as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import Any

from msgspec import to_builtins

from headway.model.units import format_duration
from headway_papers.bucketing.allocators import ANY, ENTRANTS, EXACT, OURS
from headway_papers.bucketing.cells import NEAREST, PLAIN
from headway_papers.bucketing.own_runs import OwnRun
from headway_papers.bucketing.sections import PAPER, sections
from headway_papers.bucketing.study import Results
from headway_papers.bucketing.verdicts import BASELINE, verdicts_on
from headway_papers.frame.report import Report, verdicts_json


def report(results: Results) -> Report:
    """Everything to show."""
    verdicts = verdicts_on(results.cells, results.times)
    return Report(
        title="Phung and Thain 2024 run again: seven allocators, and ours",
        about="AWE, Absolute Workflow Efficiency, is what successes used over all that was given, both times run time; "
        f"{PAPER} is what the paper published. {EXACT!r} is not in the paper: it gives the greatest peak so far, as "
        f"the paper's own bucketing runs did. {OURS!r} keeps failures below --failures, {ANY!r} does not. Seeds: "
        f"{', '.join(map(str, results.seeds))}. {' '.join(results.missing)}",
        sections=list(sections(results)),
        verdicts=verdicts,
        seed=results.seeds[0],
        skipped=[] if verdicts else ["none: they are about the paper's logs, which are not here"],
        findings=[own_runs_say(results.own_runs)] if results.own_runs else [],
        ending=f"This took {format_duration(results.took_s)}.",
    )


def own_runs_say(runs: Sequence[OwnRun]) -> str:
    """What the logs of the paper's own runs say, in short."""
    apart = [abs(run.awe[name] - value) for run in runs for name, value in run.published.items() if value is not None]
    in_flight = median([run.in_flight for run in runs if run.allocator != BASELINE] or [0])
    drawn = [run for run in runs if ENTRANTS[run.allocator].draws]
    lowered = (
        f" In its {len(drawn)} runs of greedy and exhaustive bucketing, {sum(run.lowered for run in drawn):,} of "
        f"{sum(run.first_amounts for run in drawn):,} first amounts after exploration are lower than the one before."
        if drawn
        else ""
    )
    return (
        f"{len(runs)} of the paper's own runs have a log; from it the same formula gives the published AWE to within "
        f"{max(apart, default=0.0):.5f} in all {len(apart)} cells. When one of their attempts started, {in_flight:.0f} "
        f"were running (median of the runs that did not give whole machines): so lag {NEAREST.lag} is the nearest "
        f"setting.{lowered}"
    )


def document(results: Results) -> dict[str, Any]:
    """All figures, and each cell, as JSON."""
    return {
        "experiment": "bucketing",
        "full": results.full,
        "failures": results.failures,
        "seeds": results.seeds,
        "missing": results.missing,
        "plain": to_builtins(PLAIN),
        "nearest": to_builtins(NEAREST),
        "verdicts": verdicts_json(verdicts_on(results.cells, results.times)),
        "cells": [_cell(cell) for cell in to_builtins(results.cells, str_keys=True)],
        "own_runs": to_builtins(results.own_runs),
        "times": to_builtins(results.times),
        "took_s": results.took_s,
    }


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    """The setting's lag and time to failure among the other keys, so that cells can be filtered by them."""
    setting = cell.pop("setting")
    return {**cell, **setting}
