"""An engine made of the policies that a run was started with, built in or brought by a plugin."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import TypeVar

from headway.engine.engine import Engine
from headway.engine.placer import Placer
from headway.model.errors import InputError
from headway.model.records import RunStarted
from headway.ordering import ORDERS
from headway.ordering.base import Order
from headway.planning import PLANS
from headway.planning.base import Planner
from headway.planning.one_allocation import OneAllocation
from headway.planning.run_times import RunTimes
from headway.sizing import SIZERS
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.base import Allocator
from headway.sizing.ways import MakeSizer, WayOfSizing, from_plugin

Policy = TypeVar("Policy")


def sizing_policies() -> dict[str, WayOfSizing]:
    """All that a run's `--sizer` may name."""
    plugins = {**_plugins("headway.sizers"), **_plugins("headway.allocators")}
    return SIZERS | {name: from_plugin(name, plugin) for name, plugin in plugins.items()}


def sizers() -> dict[str, MakeSizer]:
    """Every way of sizing that sizes each resource on its own, by name: how to make its sizers."""
    return {name: way.sizer for name, way in sizing_policies().items() if way.sizer}


def allocators() -> dict[str, Callable[[int], MalleableAllocator]]:
    """Every way of sizing with agents that choose cores, by name: how to make its allocator."""
    return {name: way.agents for name, way in sizing_policies().items() if way.agents}


def allocator_of(name: str, seed: int) -> Allocator:
    """The allocator that a run with that sizer has."""
    return known("sizer", name, sizing_policies()).allocator(seed)


def orders() -> dict[str, type[Order]]:
    """Every order by name."""
    return ORDERS | _plugins("headway.orders")


def assemble(settings: RunStarted, planner: Planner | None = None) -> Engine:
    """The engine for a run, new or resumed; without a planner and a plan it holds one allocation of everything."""
    allocator, order = allocator_of(settings.sizer, settings.seed), known("order", settings.order, orders())
    run_times = RunTimes() if settings.plan else None
    if planner is None:
        planner = known("plan", settings.plan, PLANS)(run_times) if run_times else OneAllocation()
    return Engine(settings, allocator, order(), planner, Placer(), run_times)


def known(what: str, name: str, table: dict[str, Policy]) -> Policy:
    """The policy of that name; a sentence that lists the names if there is none."""
    if name not in table:
        raise InputError(f"there is no {what} called {name!r}", todo=f"choose one of {', '.join(sorted(table))}")
    return table[name]


def _plugins(group: str) -> dict[str, type]:
    return {entry.name: entry.load() for entry in entry_points(group=group)}
