"""Synthetic workflows: families that papers use, at any size; the same seed makes the same workflow."""

from __future__ import annotations

from headway.generators import cybershake, epigenomics, ligo, montage, sipht, wfcommons_recipes
from headway.generators.family import Family
from headway.generators.memory_model import MemoryModel
from headway.model.errors import InputError
from headway.model.instance import Instance

__all__ = ["GENERATORS", "MemoryModel", "family_named", "generate"]

GENERATORS: dict[str, Family] = {
    "cybershake": cybershake.FAMILY,
    "epigenomics": epigenomics.FAMILY,
    "ligo": ligo.FAMILY,
    "montage": montage.FAMILY,
    "sipht": sipht.FAMILY,
    **wfcommons_recipes.FAMILIES,
}


def family_named(name: str) -> tuple[str, Family]:
    """Return a family by its name or an alias, and its name."""
    for known, family in GENERATORS.items():
        if name.lower() in (known, *family.aliases):
            return known, family
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), GENERATORS, n=1)
    todo = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(GENERATORS)}"
    raise InputError(f"there is no family {name[:100]!r}", todo=todo)


def generate(family: str, tasks: int, seed: int = 0, memory_model: MemoryModel | None = None) -> Instance:
    """Generate an instance of a family, with `tasks` tasks or the nearest number that the family's shape allows.

    >>> generate("montage", 50, seed=1).workflow.widths()
    [8, 28, 1, 1, 8, 1, 1, 1, 1]
    """
    name, known = family_named(family)
    if tasks < known.fewest_tasks:
        raise InputError(
            f"{tasks} tasks are too few for the family {name}", todo=f"ask for at least {known.fewest_tasks}"
        )
    if seed < 0:
        raise InputError(f"the seed {seed} is negative", todo="use 0 or more")
    instance = known.make(f"{name}-{tasks}-{seed}", tasks, seed)
    return memory_model.apply(instance, seed) if memory_model else instance
