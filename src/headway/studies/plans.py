"""Every plan that a study can name: the built-in ones, and those that other installed distributions add."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points

from headway.planning import PLANS, Plan


@cache
def added_plans() -> dict[str, Plan]:
    """Plans of the entry point group `headway.planners`, by name.

    An entry is a `Plan`, or something that makes a planner from an estimate of run times and says in its docstring what
    it does.
    """
    found: dict[str, Plan] = {}
    for entry in entry_points(group="headway.planners"):
        made = entry.load()
        words = (made.__doc__ or "").partition("\n")[0]
        found[entry.name] = made if isinstance(made, Plan) else Plan(entry.name, words, made)
    return found


def plan_names() -> list[str]:
    """The names of all plans, the built-in ones first."""
    return [*PLANS, *added_plans()]


def plan_named(name: str) -> Plan:
    """The plan of that name, which must exist."""
    return PLANS[name] if name in PLANS else added_plans()[name]
