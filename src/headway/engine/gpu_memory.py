"""`GpuMemory`: how much memory of a GPU the tasks of each category have used."""

from __future__ import annotations

import math

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task


class GpuMemory:
    """Remembers the most that a successful task of a category used, for each GPU that it asked for.

    A task that asks for half a GPU may use half of its memory, so it counts with twice what it used.
    """

    def __init__(self) -> None:
        self._most_bytes: dict[str, int] = {}

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt."""
        used, gpus = outcome.usage.gpu_memory_bytes, task.hints.get("gpus", 0)
        if outcome.ending is Ending.SUCCESS and used is not None and gpus > 0:
            each = math.ceil(used.value / gpus)
            self._most_bytes[task.category] = max(each, self._most_bytes.get(task.category, 0))

    def used_bytes(self, task: Task) -> int | None:
        """The most that tasks like this one used of a GPU; None if that was never measured."""
        return self._most_bytes.get(task.category)
