"""`Coming`: tasks that a workflow will hand to a pool later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Meta, Struct

from headway.model.limits import MOST_ASKED_S, MOST_BYTES, MOST_CORES, MOST_COUNT
from headway.model.task import Task, Terms

MOST_KINDS = 1000  # categories and levels that are planned for; what comes after them is foreseen later
MOST_OF_A_KIND = 256  # more tasks than that side by side change no plan; they are taken for fewer and longer ones


class Coming(Struct, frozen=True, omit_defaults=True):
    """So many tasks of one category and level, and what each of them is expected to need."""

    category: str
    tasks: Annotated[int, Meta(ge=1, le=MOST_BYTES)]
    # Level 0 is ready; others wait for tasks of the level before, or for such as were handed over.
    level: Annotated[int, Meta(ge=0)]
    cores: Annotated[float, Meta(ge=0, le=MOST_CORES)]
    memory_bytes: Annotated[int, Meta(ge=0, le=MOST_BYTES)]
    gpus: Annotated[float, Meta(ge=0, le=MOST_COUNT)] = 0
    run_s: Annotated[float, Meta(ge=0, le=MOST_ASKED_S)] = 0.0  # 0: not known


def stand_ins(coming: Sequence[Coming], share: str, after: str = "") -> list[Task]:
    """Tasks that stand for those that are to come, parents first: planners see them, and none of them is run.

    `after`: the task that the first of them wait for, unless they are ready.

    >>> soon = [Coming("a", 2, 0, 1, 10**9), Coming("b", 1, 1, 4, 10**9)]
    >>> [(task.id, task.parents) for task in stand_ins(soon, "w")]
    [('w/coming/0/a/0', ()), ('w/coming/0/a/1', ()), ('w/coming/1/b/0', ('w/coming/0/a/1',))]
    """
    tasks: list[Task] = []
    above: tuple[str, ...] = ()
    level = -1
    for each in sorted(coming, key=lambda it: it.level)[:MOST_KINDS]:
        if each.level != level:
            level = each.level
            above = (tasks[-1].id,) if tasks else (after,) if after and level else ()
        number = min(each.tasks, MOST_OF_A_KIND)
        hints = {"cores": each.cores, "memory_bytes": float(each.memory_bytes), "gpus": each.gpus}
        if each.run_s:
            hints["walltime_s"] = each.run_s * each.tasks / number
        known = {name: amount for name, amount in hints.items() if amount}
        terms = Terms(share=share)
        names = (f"{share}/coming/{level}/{each.category}/{index}" for index in range(number))
        tasks += [Task(name, each.category, "", parents=above, hints=known, terms=terms) for name in names]
    return tasks
