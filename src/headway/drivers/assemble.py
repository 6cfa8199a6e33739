"""An engine made of the policies that a run was started with, built in or brought by a plugin."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from headway.engine.engine import Engine
from headway.model.errors import InputError
from headway.model.preference import Preference
from headway.model.records import RunStarted
from headway.ordering import ORDERS
from headway.ordering.base import Order
from headway.ordering.witt import Fifo
from headway.planning import PLANS, Plan
from headway.planning.base import Planner
from headway.planning.run_times import RunTimes
from headway.planning.without_queue import OneAllocation
from headway.registry import WithPlugins
from headway.sizing import SIZERS
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.base import Allocator
from headway.sizing.estimators.baselines import User
from headway.sizing.ways import MakeSizer, WayOfSizing, from_plugin, summary
from headway.waiting import WAITS
from headway.waiting.base import WaitModel

Policy = TypeVar("Policy")


def sizing_policies() -> Mapping[str, WayOfSizing]:
    """All that a run's `--sizer` may name."""
    return WithPlugins("headway.allocators", WithPlugins("headway.sizers", SIZERS, from_plugin), from_plugin)


def sizers() -> dict[str, MakeSizer]:
    """Every way of sizing that sizes each resource on its own, by name: how to make its sizers."""
    return {name: way.sizer for name, way in sizing_policies().items() if way.sizer}


def allocators() -> dict[str, Callable[[int], MalleableAllocator]]:
    """Every way of sizing with agents that choose cores, by name: how to make its allocator."""
    return {name: way.agents for name, way in sizing_policies().items() if way.agents}


def agents_of(sizer: str) -> Callable[[int], MalleableAllocator] | None:
    """How to make the allocator of a way of sizing with agents that choose cores; None if it has none."""
    way = sizing_policies().get(sizer)
    return None if way is None else way.agents


def allocator_of(name: str, seed: int, failures: float = 1.0) -> Allocator:
    """The allocator that a run with that sizer has, which lets at most a share of attempts fail; 1: any."""
    return known("sizer", name, sizing_policies()).allocator(seed, failures)


def orders() -> Mapping[str, type[Order]]:
    """Every order by name."""
    return WithPlugins("headway.orders", ORDERS)


def plans() -> Mapping[str, Plan]:
    """Every plan by name. A plugin is a `Plan`, or makes a planner from an estimate of run times."""
    return WithPlugins(
        "headway.planners",
        PLANS,
        lambda name, plan: plan if isinstance(plan, Plan) else Plan(name, summary(plan), plan),
    )


def wait_models() -> Mapping[str, type[WaitModel]]:
    """Every model of queue waits by name."""
    return WithPlugins("headway.wait_models", WAITS)


def assemble(settings: RunStarted, planner: Planner | None = None) -> Engine:
    """The engine for a run, new or resumed; without a planner and a plan it holds one allocation of everything."""
    allocator = allocator_of(settings.sizer, settings.seed, settings.failures)
    order = known("order", settings.order, orders())
    run_times = RunTimes() if settings.plan else None
    if planner is None:
        planner = known("plan", settings.plan, plans())(run_times) if run_times else OneAllocation()
    if settings.prefer:
        planner.prefer(Preference.of(settings.prefer))
    return Engine(settings, allocator, order(), planner, run_times)


def bystander(settings: RunStarted) -> Engine:
    """An engine that follows a run's records and is not asked to decide: it needs none of the run's policies."""
    return Engine(settings, SIZERS[User.name].allocator(settings.seed, 1.0), ORDERS[Fifo.name](), OneAllocation())


def known(what: str, name: str, table: Mapping[str, Policy]) -> Policy:
    """The policy of that name; a sentence that lists the names if there is none."""
    if name not in table:
        raise InputError(f"there is no {what} called {name!r}", todo=f"choose one of {', '.join(sorted(table))}")
    return table[name]
