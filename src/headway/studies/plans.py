"""Every plan that a study can name: the built-in ones, and 002's groupers as its simulator has them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

from headway.grouping.base import Grouper
from headway.grouping.glume import Glume
from headway.grouping.zhang import Zhang
from headway.planning import PLANS, Plan
from headway.planning.base import Estimate, Planner
from headway.planning.staged import StagedPlanner
from headway.timing.on_start import OnStart

ZHANG_AS_CODED = "zhang-as-coded"
GLUME_AS_CODED = "glume-as-coded"


def variant(*, everywhere: bool, best_nodes: bool, binary_search: bool) -> str:
    """What Zhang's algorithm with some of 002 §5.3's three enhancements is called; as published it has the second."""
    numbers = [str(number) for number, on in enumerate((everywhere, best_nodes, binary_search), start=1) if on]
    return ZHANG_AS_CODED if numbers == ["2"] else f"zhang-enhanced-{'+'.join(numbers) or 'not'}"


def _on_start(name: str, words: str, make: Callable[[], Grouper]) -> Plan:
    def planner(estimate: Estimate) -> Planner:
        return StagedPlanner(name, make(), OnStart(), estimate)

    return Plan(name, words, planner)


def _variant(everywhere: bool, best_nodes: bool, binary_search: bool) -> Plan:
    name = variant(everywhere=everywhere, best_nodes=best_nodes, binary_search=binary_search)

    def make() -> Grouper:
        return Zhang.as_coded(everywhere=everywhere, best_nodes=best_nodes, binary_search=binary_search)

    return _on_start(name, "Zhang's algorithm as 002's simulator has it, with some of its three enhancements.", make)


VARIANTS = tuple(_variant(*chosen) for chosen in product((False, True), repeat=3))
_AS_CODED = (*VARIANTS, _on_start(GLUME_AS_CODED, "GLUME as 002's simulator has it.", Glume.as_coded))
CODED: dict[str, Plan] = {plan.name: plan for plan in _AS_CODED}


def plan_named(name: str) -> Plan:
    """A plan that exists."""
    return PLANS[name] if name in PLANS else CODED[name]
