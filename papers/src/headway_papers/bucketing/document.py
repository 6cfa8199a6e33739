"""The experiment as JSON."""

from __future__ import annotations

from typing import Any

from msgspec import to_builtins

from headway_papers.bucketing.cells import NEAREST, PLAIN
from headway_papers.bucketing.experiment import Results
from headway_papers.bucketing.verdicts import Verdict


def document(results: Results) -> dict[str, Any]:
    """All figures: what the tables show, and each cell."""
    return {
        "experiment": "bucketing",
        "full": results.full,
        "seeds": results.seeds,
        "missing": results.missing,
        "plain": to_builtins(PLAIN),
        "nearest": to_builtins(NEAREST),
        "verdicts": [_verdict(verdict) for verdict in results.verdicts],
        "cells": [_cell(cell) for cell in to_builtins(results.cells, str_keys=True)],
        "own_runs": to_builtins(results.own_runs),
        "times": to_builtins(results.times),
        "took_s": results.took_s,
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {**to_builtins(verdict), "passed": verdict.passed}


def _cell(cell: dict[str, Any]) -> dict[str, Any]:
    """The setting's two figures among the others, so that cells can be filtered by them."""
    setting = cell.pop("setting")
    return {**cell, **setting}
