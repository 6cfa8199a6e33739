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
from headway.planning.base import Planner
from headway.planning.one_allocation import OneAllocation
from headway.sizing import SIZERS
from headway.sizing.base import Sizer
from headway.sizing.per_resource import PerResource

Policy = TypeVar("Policy")


def sizers() -> dict[str, type[Sizer]]:
    """Every sizer by name."""
    return SIZERS | _plugins("headway.sizers")


def orders() -> dict[str, type[Order]]:
    """Every order by name."""
    return ORDERS | _plugins("headway.orders")


def assemble(settings: RunStarted, planner: Planner | None = None) -> Engine:
    """The engine for a run, new or resumed; without a planner it holds one allocation of everything."""
    sizer, order = known("sizer", settings.sizer, sizers()), known("order", settings.order, orders())
    return Engine(settings, PerResource(sizer, settings.seed), order(), planner or OneAllocation(), Placer())


def known(what: str, name: str, table: dict[str, Policy]) -> Policy:
    """The policy of that name; a sentence that lists the names if there is none."""
    if name not in table:
        raise InputError(f"there is no {what} called {name!r}", todo=f"choose one of {', '.join(sorted(table))}")
    return table[name]


def _plugins(group: str) -> dict[str, type]:
    return {entry.name: entry.load() for entry in entry_points(group=group)}
