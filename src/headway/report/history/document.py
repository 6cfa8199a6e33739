"""The history for programs: category figures and observations as JSON and as flat rows."""

from __future__ import annotations

from typing import Any

from headway.history.base import Kept
from headway.history.figures import CategoryFigures, Spread
from headway.report.run.document import amounts

_USED = ("wall_s", "cpu_s", "memory_bytes", "disk_bytes", "cores_peak", "cores_average")
_GIVEN = ("cores", "memory_bytes", "disk_bytes", "gpus", "walltime_s")


def figures_document(figures: CategoryFigures) -> dict[str, Any]:
    """A category's figures as JSON."""
    return {
        "site": figures.site,
        "workflow": figures.workflow,
        "category": figures.category,
        "observations": figures.observations,
        "failures": figures.failures,
        "newest_at": figures.newest_at,
        "memory_bytes": _spread(figures.memory_bytes),
        "run_s": _spread(figures.run_s),
    }


def _spread(spread: Spread | None) -> dict[str, float] | None:
    return None if spread is None else {"median": spread.median, "most": spread.most}


def observation_document(kept: Kept) -> dict[str, Any]:
    """One observation as JSON."""
    seen = kept.observation
    used = {name: getattr(seen.usage, name) for name in _USED}
    return _about(kept) | {
        "given": amounts(seen.given),
        "used": {name: {"value": each.value, "quality": str(each.quality)} for name, each in used.items() if each},
        "measured_by": seen.usage.method,
        "hints": seen.hints,
    }


def observation_row(kept: Kept) -> dict[str, Any]:
    """One observation as a flat row with the same columns for all observations."""
    seen = kept.observation
    row = _about(kept) | {f"given_{name}": seen.given[name] for name in _GIVEN}
    for name in _USED:
        measured = getattr(seen.usage, name)
        row[f"used_{name}"] = measured.value if measured else None
        row[f"used_{name}_quality"] = str(measured.quality) if measured else None
    return row | {"measured_by": seen.usage.method}


def _about(kept: Kept) -> dict[str, Any]:
    seen = kept.observation
    return {
        "site": kept.site,
        "workflow": kept.workflow,
        "category": seen.category,
        "run": seen.run,
        "task": seen.task,
        "attempt": seen.attempt,
        "ending": str(seen.ending),
        "started_at": seen.started_at,
        "ended_at": seen.ended_at,
        "input_bytes": seen.input_bytes,
    }
