"""Workflows that a seed makes up, and what their commands do."""

from __future__ import annotations

import random

from msgspec import structs

from headway.model.task import Task
from headway.model.workflow import Workflow
from tests.world.batch import HAS, LONGEST_S
from tests.world.nodes import Behaviour

_LONGEST_S = 5000.0
_LONG = 0.1  # of all workflows have a task that takes longer than a job may, and checkpoints


def made_up(chance: random.Random, name: str = "") -> tuple[Workflow, dict[str, Behaviour]]:
    """Make up a workflow of a few stages; each task reads files of the stage before. Tasks are called for a `name`."""
    tasks: list[Task] = []
    behaviours: dict[str, Behaviour] = {}
    before: list[Task] = []
    for stage in range(chance.randint(1, 4)):
        typical_s, typical_bytes = 10 ** chance.uniform(0.0, 2.8), 10 ** chance.uniform(7.0, 9.7)
        made = []
        for number in range(chance.choice([1, 2, 3, 6])):
            read = {chance.choice(before).outputs[0] for _ in range(chance.randint(1, 3))} if before else set()
            failures = chance.choice([0, 0, 0, 0, 1])
            hints = {"cores": float(chance.choice([1, 1, 2, 4]))}
            if chance.random() < 0.5:
                stated = round(typical_bytes * chance.choice([0.5, 1.5, 5.0]))
                hints["memory_bytes"] = float(min(stated, HAS.memory_bytes / 2))
            task = Task(
                f"{name}s{stage}[{number}]",
                f"{name}s{stage}",
                "do",
                inputs=tuple(sorted(read)),
                outputs=(f"{stage}-{number}",),
                hints=hints,
                retries=failures + 1,
            )
            run_s = min(typical_s * chance.uniform(0.5, 2.0), _LONGEST_S)
            behaviours[task.id] = Behaviour(run_s, round(typical_bytes * chance.uniform(0.7, 1.3)), failures)
            made.append(task)
        tasks += made
        before = made
    return Workflow(name or "story", tasks), behaviours


def with_long_task(
    workflow: Workflow, behaviours: dict[str, Behaviour], chance: random.Random
) -> tuple[Workflow, dict[str, Behaviour]]:
    """Make one task of some workflows a long one that saves a checkpoint when it gets notice."""
    if chance.random() >= _LONG:
        return workflow, behaviours
    chosen = chance.choice(list(workflow.tasks))
    run_s, notice_s = LONGEST_S * chance.uniform(0.5, 2.0), chance.uniform(30.0, 300.0)
    hints = workflow.tasks[chosen].hints | ({"walltime_s": run_s * 1.2} if chance.random() < 0.5 else {})
    longer = structs.replace(workflow.tasks[chosen], notice_s=notice_s, hints=hints)
    tasks = [longer if task.id == chosen else task for task in workflow]
    changed = structs.replace(behaviours[chosen], run_s=run_s, saves=True)
    return Workflow(workflow.name, tasks), behaviours | {chosen: changed}
