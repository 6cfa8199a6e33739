"""Observations of the history for programs: as JSON and as flat rows."""

from __future__ import annotations

from typing import Any

from headway.history.base import Kept
from headway.report.run.document import amounts

_USED = (
    "wall_s",
    "cpu_s",
    "memory_bytes",
    "disk_bytes",
    "cores_peak",
    "cores_average",
    "gpu_memory_bytes",
    "gpus_average",
)
_ABOUT = ("category", "run", "task", "attempt", "ending", "started_at", "ended_at", "input_bytes")
_GIVEN = ("cores", "memory_bytes", "disk_bytes", "gpus", "walltime_s")


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
    about = {name: getattr(seen, name) for name in _ABOUT}
    whose = {"site": kept.site, "project": kept.project, "workflow": kept.workflow}
    return whose | about | {"ending": str(seen.ending)}
