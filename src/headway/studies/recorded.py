"""Recorded workflows: those that can be simulated, because their files say how long every task ran."""

from __future__ import annotations

from pathlib import Path

from headway.formats.read_any import read_instance
from headway.model.errors import InputError
from headway.model.instance import Instance


def recorded_instance(path: Path, verb: str) -> Instance:
    """Read a recorded workflow; InputError if a task has no run time. `verb` is what the user wants to do with it."""
    instance = read_instance(path)
    recorded = instance.recorded
    unknown = [task.id for task in instance.workflow if task.id not in recorded or recorded[task.id].run_s is None]
    if unknown:
        raise InputError(
            f"nothing says how long {unknown[0]!r} runs ({len(unknown)} of {len(instance.workflow)} tasks)",
            where=str(path),
            todo=f"{verb}: WfFormat, Pegasus DAX, or `headway convert` of a finished run",
        )
    return instance
