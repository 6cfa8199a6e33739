"""WHICH ALLOCATIONS, AND WHEN? Every built-in plan by name."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from headway.grouping.base import Grouper
from headway.grouping.glume import Glume
from headway.grouping.simple import BigJob, LevelByLevel, OneJob, PerStage
from headway.grouping.zhang import Zhang
from headway.model.preference import Preference
from headway.planning.base import Estimate, Planner
from headway.planning.headway import Headway
from headway.planning.staged import StagedPlanner
from headway.planning.without_queue import OneJobPerTask
from headway.timing.base import Timing
from headway.timing.timings import AfterEnd, Ahead, OnStart
from headway.waiting.asa import Asa, AsaDefault


class Plan(Struct, frozen=True):
    """A planner by name, with a one-line description."""

    name: str
    words: str
    make: Callable[[Estimate], Planner]

    def __call__(self, estimate: Estimate) -> Planner:
        """The planner, with these estimates of run times."""
        return self.make(estimate)


def _ahead(name: str, words: str, timing: Ahead, model: type[Asa] = Asa) -> Plan:
    """One job per stage, submitted the wait that ASA predicts before it is needed (Souza et al. 2020, §3.2)."""
    return Plan(name, words, lambda estimate: StagedPlanner(name, PerStage(), timing, estimate, model()))


def _documented(kind: type[Grouper | Planner], make: Callable[[Estimate], Planner]) -> Plan:
    return Plan(kind.name, (kind.__doc__ or "").partition("\n")[0], make)


def _staged(kind: type[Grouper], timing: Timing) -> Plan:
    return _documented(kind, lambda estimate: StagedPlanner(kind.name, kind(), timing, estimate))


def _preferring(what: str, words: str) -> Plan:
    def make(estimate: Estimate) -> Planner:
        planner = Headway(estimate)
        planner.prefer(Preference.of(what))
        return planner

    return Plan(f"{Headway.name}-{what}", words, make)


_PLANS = (
    *(_staged(kind, AfterEnd()) for kind in (OneJob, BigJob, LevelByLevel, PerStage)),
    *(_staged(kind, OnStart()) for kind in (Zhang, Glume)),
    _ahead(
        "asa",
        "A job for each level, submitted hours ahead; the queue holds it until the last has ended.",
        Ahead(),
    ),
    _ahead(
        "asa-naive",
        "As asa-printed, without dependencies: a job that starts too early is cancelled and submitted again.",
        Ahead(depends=False),
    ),
    _ahead(
        "asa-printed",
        "As asa, but one level ahead by a learned wait: Algorithm 1 and §3.2 of Souza et al. 2020 as printed.",
        Ahead(as_printed=True),
        AsaDefault,
    ),
    _documented(Headway, Headway),
    _preferring("cost", "As headway, with `--prefer cost`: rather fewer core-hours than less time."),
    _preferring("time", "As headway, with `--prefer time`: as soon as possible, whatever it costs."),
    _documented(OneJobPerTask, OneJobPerTask),
)
PLANS: dict[str, Plan] = {plan.name: plan for plan in _PLANS}
