"""WHICH ALLOCATIONS, AND WHEN? Every built-in plan by name."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.grouping import GROUPERS
from headway.grouping.by_level import PerStage
from headway.planning.base import Estimate, Planner
from headway.planning.headway import Headway
from headway.planning.one_job_per_task import OneJobPerTask
from headway.planning.staged import StagedPlanner
from headway.timing.after_end import AfterEnd
from headway.timing.ahead import Ahead
from headway.timing.base import Timing
from headway.timing.on_start import OnStart
from headway.waiting.asa import Asa


class Plan(Struct, frozen=True):
    """A way of asking for allocations, and a line on it."""

    name: str
    words: str
    make: Callable[[Estimate], Planner]

    def __call__(self, estimate: Estimate) -> Planner:
        """The planner, which believes these run times."""
        return self.make(estimate)


def _ahead(name: str, words: str, *, depends: bool) -> Plan:
    """000: a job a stage, each asked for so long before it is needed as ASA expects it to wait."""

    def make(estimate: Estimate) -> Planner:
        return StagedPlanner(name, PerStage(), Ahead(depends=depends), estimate, Asa())

    return Plan(name, words, make)


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
    _ahead("asa", "A job for each level, asked for a learned wait ahead; the queue holds it.", depends=True),
    _ahead("asa-naive", "The same, but a job that comes too early is given back and asked for again.", depends=False),
    Plan(Headway.name, (Headway.__doc__ or "").partition("\n")[0], Headway),
    Plan(OneJobPerTask.name, (OneJobPerTask.__doc__ or "").partition("\n")[0], OneJobPerTask),
)
PLANS: dict[str, Plan] = {plan.name: plan for plan in _PLANS}
