"""What the study runs in each mode, and the figures that follow from it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from headway.studies.ledger import Ledger
from headway.studies.processes import cores
from headway.studies.queues import named
from headway.studies.runs import Row, Run
from headway.studies.study import Tell, study
from headway_papers.glume.chapter_5 import (
    Enhanced,
    Fallback,
    Picture,
    enhancements,
    fallbacks,
    pictures,
)
from headway_papers.glume.chapter_7 import READINGS, Gains, Wins, gains_over, table_7_1
from headway_papers.glume.goal import Cell, Goal, goal_of
from headway_papers.glume.modes import (
    AS_PUBLISHED,
    CLEAN,
    FULL,
    THESIS_PLANS,
    Asked,
    chapter_5_runs,
    clean_runs,
    enhancement_runs,
    published_runs,
)
from headway_papers.glume.plans import ZHANG_AS_CODED


class Mode(Struct, frozen=True):
    """The results of one mode."""

    rows: list[Row]
    table_7_1: dict[str, dict[Cell, Wins]]  # by reading of the thesis
    figures: dict[tuple[str, str], Gains]  # by log and requests: Figures 7.1 to 7.4 and B.1 to B.4
    goal: Goal | None = None
    pictures: list[Picture] = []
    fallbacks: list[Fallback] = []
    enhancements: list[Enhanced] = []


class Results(Struct, frozen=True):
    """Everything that the study found."""

    asked: Asked
    modes: dict[str, Mode]
    new_runs: int  # not in the ledger before
    took_s: float
    full_runs: int  # of --full, and an estimate of their time
    full_s: float


def run_study(
    asked: Asked,
    modes: Sequence[str],
    ledger: Ledger,
    *,
    processes: int | None = None,
    tell: Tell | None = None,
) -> Results:
    """Run what is not in the ledger, and compute all figures."""
    began = time.monotonic()
    known = len(ledger.rows)
    parts: dict[str, list[Run]] = {}
    if AS_PUBLISHED in modes:
        parts = {
            "chapter 7": list(published_runs(asked)),
            "chapter 5": list(chapter_5_runs(asked)),
            "enhancements": list(enhancement_runs(asked)),
        }
    if CLEAN in modes:
        parts["clean"] = list(clean_runs(asked))
    rows = {row.key: row for row in study((run for runs in parts.values() for run in runs), ledger, processes, tell)}
    of = {part: [rows[run.key] for run in runs] for part, runs in parts.items()}
    logs = {named(file): name for name, file in asked.found.logs.items()}
    found = {}
    if AS_PUBLISHED in modes:
        found[AS_PUBLISHED] = _as_published(of, asked, logs)
    if CLEAN in modes:
        found[CLEAN] = _clean(of["clean"], asked, logs)
    full_runs, full_s = _extrapolated(of, asked, processes or cores())
    new_runs = len(ledger.rows) - known
    return Results(asked, found, new_runs, time.monotonic() - began, full_runs, full_s)


def _as_published(of: Mapping[str, list[Row]], asked: Asked, logs: Mapping[str, str]) -> Mode:
    workflows = {workflow.name: workflow for workflow in asked.found.workflows}
    rows = of["chapter 7"]
    plans = [plan for plan in THESIS_PLANS if plan != ZHANG_AS_CODED]
    return Mode(
        rows,
        {name: table_7_1(rows, logs, workflows, *pair) for name, pair in READINGS.items()},
        _figures(rows, ZHANG_AS_CODED, plans, asked, logs),
        pictures=pictures(of["chapter 5"], logs, workflows),
        fallbacks=fallbacks(of["chapter 5"], logs),
        enhancements=enhancements(of["enhancements"], logs, workflows),
    )


def _clean(rows: list[Row], asked: Asked, logs: Mapping[str, str]) -> Mode:
    workflows = {workflow.name: workflow for workflow in asked.found.workflows}
    plans = [plan for plan in dict.fromkeys(row.plan for row in rows) if plan != "zhang"]
    glume, zhang = READINGS["the text"]
    return Mode(
        rows,
        {"the text": table_7_1(rows, logs, workflows, glume, zhang)},
        _figures(rows, zhang, plans, asked, logs),
        goal_of(rows, logs, workflows),
    )


def _figures(
    rows: Sequence[Row], base: str, plans: Sequence[str], asked: Asked, logs: Mapping[str, str]
) -> dict[tuple[str, str], Gains]:
    workflows = {workflow.name: workflow for workflow in asked.found.workflows}
    return {
        (log, requests): gains_over(
            [row for row in rows if (row.trace, row.requests) == (trace, requests)], base, plans, workflows
        )
        for trace, log in logs.items()
        for requests in ("accurate", "real")
    }


def _extrapolated(of: Mapping[str, Iterable[Row]], asked: Asked, processes: int) -> tuple[int, float]:
    """The number of runs of --full, and their time: in proportion to the number of starts."""
    scale = {
        "chapter 7": FULL.as_published / asked.size.as_published,
        "chapter 5": FULL.as_published / asked.size.as_published,
        "enhancements": FULL.enhancements / asked.size.enhancements * len(FULL.caps) / len(asked.size.caps),
        "clean": FULL.clean / asked.size.clean,
    }
    seen: set[object] = set()
    runs = seconds = 0.0
    for part, rows in of.items():
        for row in rows:
            if row.key not in seen:
                seen.add(row.key)
                runs += scale[part]
                seconds += scale[part] * row.cpu_s
    return round(runs), seconds / processes
