"""WHICH ALLOCATIONS, AND WHEN? Every built-in plan by name."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.grouping import GROUPERS
from headway.planning.base import Estimate, Planner
from headway.planning.headway import Headway
from headway.planning.one_job_per_task import OneJobPerTask
from headway.planning.staged import StagedPlanner
from headway.timing.after_end import AfterEnd
from headway.timing.base import Timing
from headway.timing.on_start import OnStart


class Plan(Struct, frozen=True):
    """A way of asking for allocations, and a line on it."""

    name: str
    words: str
    make: Callable[[Estimate], Planner]

    def __call__(self, estimate: Estimate) -> Planner:
        """The planner, which believes these run times."""
        return self.make(estimate)


def _staged(grouper: str, timing: Timing) -> Plan:
    kind = GROUPERS[grouper]

    def make(estimate: Estimate) -> Planner:
        return StagedPlanner(grouper, kind(), timing, estimate)

    return Plan(grouper, (kind.__doc__ or "").partition("\n")[0], make)


_STAGED: dict[str, Timing] = {
    "one-job": AfterEnd(),
    "big-job": AfterEnd(),
    "level-by-level": AfterEnd(),
    "per-stage": AfterEnd(),
    "zhang": OnStart(),
    "glume": OnStart(),
}
_PLANS = (
    *(_staged(grouper, timing) for grouper, timing in _STAGED.items() if grouper in GROUPERS),
    Plan(Headway.name, (Headway.__doc__ or "").partition("\n")[0], Headway),
    Plan(OneJobPerTask.name, (OneJobPerTask.__doc__ or "").partition("\n")[0], OneJobPerTask),
)
PLANS: dict[str, Plan] = {plan.name: plan for plan in _PLANS}
