"""The experiment as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import structs, to_builtins

from headway_papers.glume.bar import Bar
from headway_papers.glume.chapter_7 import Gains
from headway_papers.glume.experiment import Mode, Results
from headway_papers.glume.findings import findings


def document(results: Results) -> dict[str, Any]:
    """All figures: what the tables show, and each run."""
    asked = results.asked
    return {
        "experiment": "glume",
        "seed": asked.seed,
        "most_jobs": asked.cap,
        "workflows": [workflow.name for workflow in asked.found.workflows],
        "missing": asked.found.missing,
        "starts": to_builtins(asked.size),
        "modes": {name: _mode(mode) for name, mode in results.modes.items()},
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
        "bar": None if mode.bar is None else _bar(mode.bar),
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


def _bar(bar: Bar) -> dict[str, Any]:
    return {
        "passed": bar.passed,
        "complete": bar.complete,
        "skipped": bar.skipped,
        "rivals": [
            {
                "rival": standing.rival,
                "passed": standing.passed,
                "pairs": standing.pairs,
                "overall": to_builtins(standing.overall),
                "cells": [{**structs.asdict(cell), **to_builtins(found)} for cell, found in standing.cells.items()],
            }
            for standing in bar.standings
        ],
    }
