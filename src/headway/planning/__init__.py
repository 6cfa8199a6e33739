"""WHICH ALLOCATIONS, AND WHEN? Every built-in plan by name."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.grouping import GROUPERS
from headway.grouping.simple import PerStage
from headway.planning.base import Estimate, Planner
from headway.planning.headway import Headway
from headway.planning.staged import StagedPlanner
from headway.planning.without_queue import OneJobPerTask
from headway.timing.base import Timing
from headway.timing.timings import AfterEnd, Ahead, OnStart
from headway.waiting.asa import Asa


class Plan(Struct, frozen=True):
    """A planner by name, with a one-line description."""

    name: str
    words: str
    make: Callable[[Estimate], Planner]

    def __call__(self, estimate: Estimate) -> Planner:
        """The planner, with these estimates of run times."""
        return self.make(estimate)


def _ahead(name: str, words: str, *, depends: bool) -> Plan:
    """One job per stage, submitted the wait that ASA predicts before it is needed (Souza et al. 2020, §3.2)."""
    timing = Ahead(depends=depends)
    return Plan(name, words, lambda estimate: StagedPlanner(name, PerStage(), timing, estimate, Asa()))


def _staged(grouper: str, timing: Timing) -> Plan:
    kind = GROUPERS[grouper]
    words = (kind.__doc__ or "").partition("\n")[0]
    return Plan(grouper, words, lambda estimate: StagedPlanner(grouper, kind(), timing, estimate))


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
    _ahead(
        "asa",
        "A job for each level, submitted a learned wait ahead; the queue holds it until the last has ended.",
        depends=True,
    ),
    _ahead(
        "asa-naive",
        "As asa, without dependencies: a job that starts too early is cancelled and submitted again.",
        depends=False,
    ),
    Plan(Headway.name, (Headway.__doc__ or "").partition("\n")[0], Headway),
    Plan(OneJobPerTask.name, (OneJobPerTask.__doc__ or "").partition("\n")[0], OneJobPerTask),
)
PLANS: dict[str, Plan] = {plan.name: plan for plan in _PLANS}
