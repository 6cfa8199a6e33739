"""Zhang's algorithm and GLUME as the thesis's simulator has them; plans that the entry points make known to Headway."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

from headway.drivers.assemble import plans as all_plans
from headway.grouping.base import Grouper
from headway.grouping.glume import Glume
from headway.grouping.zhang import Zhang
from headway.model.errors import InputError
from headway.planning import Plan
from headway.planning.base import Estimate, Planner
from headway.planning.staged import StagedPlanner
from headway.timing.timings import OnStart

ZHANG_AS_CODED = "zhang-as-coded"
GLUME_AS_CODED = "glume-as-coded"


def variant(*, everywhere: bool, best_nodes: bool, binary_search: bool) -> str:
    """The name of Zhang's algorithm with some of the three enhancements of §5.3; the simulator's has the second."""
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

    words = "Zhang's algorithm as the GLUME thesis's simulator has it, with some of its three enhancements."
    return _on_start(name, words, make)


VARIANTS = tuple(_variant(*chosen) for chosen in product((False, True), repeat=3))
# By the numbers of their enhancements, for the entry points.
ZHANG, ZHANG_3, ZHANG_2, ZHANG_23, ZHANG_1, ZHANG_13, ZHANG_12, ZHANG_123 = VARIANTS
GLUME = _on_start(GLUME_AS_CODED, "GLUME as the thesis's simulator has it.", Glume.as_coded)


def check_plans(names: Sequence[str]) -> None:
    """Refuse a name that no plan has."""
    for name in names:
        if name not in all_plans():
            todo = f"there are {', '.join(sorted(all_plans()))}"
            raise InputError(f"there is no plan called {name!r}", where="--plans", todo=todo)
