"""`PerResource`: an allocator made of one sizer for each category and resource."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from msgspec import structs

from headway.model.outcome import Outcome
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.base import Allocation, Allocator, CannotFit, Context, Sizer

LEARNED = ("cores", "memory_bytes", "disk_bytes", "walltime_s")


class PerResource(Allocator):
    """Asks a sizer of its own for each of cores, memory, disk and time; nodes, GPUs and named extras are as hinted."""

    def __init__(self, sizer: Callable[[str], Sizer], seed: int = 0) -> None:
        self._make = sizer
        self._seed = seed
        self._sizers: dict[tuple[str, str], Sizer] = {}

    def allocate(self, task: Task, failures: Mapping[str, Sequence[float]], context: Context) -> Allocation | CannotFit:
        amounts: dict[str, float | None] = {}
        why: dict[str, Why] = {}
        for resource in LEARNED:
            sizer = self._sizers.get((task.category, resource)) or self._make(resource)
            answer = sizer.predict(task, failures.get(resource, ()), self._context(sizer, context, resource))
            if isinstance(answer, CannotFit):
                return answer
            amounts[resource], why[resource] = answer.value, answer.why
        for resource, hint in task.hints.items():
            if resource in LEARNED:
                continue
            limit = context.limits[resource]
            why[resource] = Why("user", "hint", {"hint": hint, "limit": limit}, "the workflow asks for it")
            if limit is None or hint > limit:
                return CannotFit(resource, hint, limit or 0, why[resource])
            amounts[resource] = hint
        return Allocation(Resources.of(amounts), why)

    def observe(self, task: Task, ticket: Mapping[str, Figure], outcome: Outcome) -> None:
        for resource in LEARNED:
            self._sizer(task.category, resource).observe(task, outcome)

    def state(self) -> dict[str, Any]:
        return {
            "version": 1,
            "sizers": [
                [category, resource, sizer.state()] for (category, resource), sizer in sorted(self._sizers.items())
            ],
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        for category, resource, learned in state["sizers"]:
            self._sizer(category, resource).restore(learned)

    def _sizer(self, category: str, resource: str) -> Sizer:
        key = (category, resource)
        if key not in self._sizers:
            self._sizers[key] = self._make(resource)
        return self._sizers[key]

    def _context(self, sizer: Sizer, context: Context, resource: str) -> Context:
        _, _, task, attempt = context.draw
        return structs.replace(context, draw=(self._seed, f"{sizer.name}/{resource}", task, attempt))
