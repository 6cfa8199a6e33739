"""`Foreseeing`: what a workflow tells the pool that it runs in of the tasks that are still to come."""

from __future__ import annotations

import math

from headway.engine.engine import Engine
from headway.engine.state import Phase, TaskState
from headway.model.coming import Coming
from headway.sizing.base import Allocation
from headway.workers.protocol import Foreseen

EVERY_S = 5.0  # all tasks are looked at for a message


class Foreseeing:
    """Counts the tasks that were not handed over, by level and category; says so when that has changed."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._next_at = -math.inf
        self._said: Foreseen | None = None

    def forget(self) -> None:
        """Say it again: the pool is another one, or was started again."""
        self._said, self._next_at = None, -math.inf

    def news(self, now: float) -> Foreseen | None:
        """The message that is due now, if any."""
        if now < self._next_at:
            return None
        self._next_at = now + EVERY_S
        foreseen = Foreseen(self._coming())
        if foreseen == self._said:
            return None
        self._said = foreseen
        return foreseen

    def _coming(self) -> list[Coming]:
        levels: dict[str, int] = {}  # of tasks that are not over; those that were handed over are as if ready
        kinds: dict[tuple[int, str], list[TaskState]] = {}
        for task_id in self._engine.workflow.topological():
            state = self._engine.tasks[task_id]
            if state.phase is Phase.RUNNING:
                levels[task_id] = 0
            elif state.phase < Phase.RUNNING:
                above = [levels[parent] for parent in state.task.parents if parent in levels]
                levels[task_id] = 1 + max(above, default=-1)
                kinds.setdefault((levels[task_id], state.task.category), []).append(state)
        known = [self._kind(level, category, alike) for (level, category), alike in kinds.items()]
        return [*known, *self._engine.to_come(None)]

    def _kind(self, level: int, category: str, alike: list[TaskState]) -> Coming:
        first = alike[0].task
        answer = self._engine.would_give(first.id)
        hints = first.hints
        cores, memory_bytes = hints.get("cores", 1.0), int(hints.get("memory_bytes", 0))
        if isinstance(answer, Allocation):
            cores, memory_bytes = answer.resources.cores, answer.resources.memory_bytes
        run_s = hints.get("walltime_s", 0.0)
        return Coming(category, len(alike), level, cores, memory_bytes, hints.get("gpus", 0.0), run_s)
