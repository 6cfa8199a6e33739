"""The part of this machine that a program lets a run use."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from headway.model.hints import hints


def stated_amounts(cores: float | None, memory: float | str | None, disk: float | str | None = None) -> dict[str, Any]:
    """Return the amounts by field of `RunSettings`. Inside a task, an amount that is not given is the task's own."""
    given: Mapping[str, float | str | None] = {"cores": cores, "memory": memory, "disk": disk}
    stated = hints({name: amount for name, amount in given.items() if amount is not None})
    for name, variable in (("cores", "HEADWAY_CORES"), ("memory_bytes", "HEADWAY_MEMORY_BYTES")):
        if name not in stated and variable in os.environ and "HEADWAY_TASK" in os.environ:
            stated[name] = float(os.environ[variable])
    return stated
