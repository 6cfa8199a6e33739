"""An engine made of the policies that a run was started with, built in or brought by a plugin."""

from __future__ import annotations

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
from headway.sizing import ALLOCATORS, SIZERS
from headway.sizing.agents.malleable import MalleableAllocator
from headway.sizing.base import Allocator, Sizer
from headway.sizing.per_resource import PerResource

Policy = TypeVar("Policy")


def sizers() -> dict[str, type[Sizer]]:
    """Every sizer by name: they see to one resource each."""
    return SIZERS | _plugins("headway.sizers")


def allocators() -> dict[str, type[MalleableAllocator]]:
    """Every allocator that chooses cores and memory together, by name."""
    return ALLOCATORS | _plugins("headway.allocators")


def sizing_policies() -> dict[str, type[Sizer] | type[MalleableAllocator]]:
    """All that a run's `--sizer` may name."""
    return {**sizers(), **allocators()}


def allocator_of(name: str, seed: int) -> Allocator:
    """The allocator that a run with that sizer has."""
    if name in allocators():
        return allocators()[name](seed)
    known("sizer", name, sizing_policies())
    return PerResource(sizers()[name], seed)


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
