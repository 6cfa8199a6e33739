"""Which tasks of a workflow a run is about: those that the user names, with what they need."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from headway.api.nearest import nearest
from headway.drivers.run_settings import RunSettings
from headway.model.errors import InputError
from headway.model.workflow import Workflow


def chosen(workflow: Workflow, settings: RunSettings) -> tuple[Workflow, RunSettings]:
    """Return the part of a workflow that the settings ask for, and the settings with the ids of forced tasks."""
    if not (settings.tasks or settings.until or settings.force):
        return workflow, settings
    named = [_named(workflow, name, "TASK") for name in settings.tasks]
    last = [task for name in settings.until for task in _named(workflow, name, "--until")]
    after = workflow.reach(last, down=True) - set(last)
    kept = (workflow.reach(task for tasks in named for task in tasks) if named else workflow.tasks.keys()) - after
    for name, tasks in zip(settings.tasks, named, strict=True):
        if out := [task for task in tasks if task not in kept]:
            raise InputError(f"{out[0]!r} comes after what --until names", where=name, todo="leave one of the two out")
    forced = []
    for name in settings.force:
        ids = [task for task in _named(workflow, name, "--force") if task in kept]
        if not ids:
            raise InputError(f"{name!r} is not among the tasks of this run", where="--force", todo="name it as a TASK")
        forced += ids
    asked = {task for tasks in named for task in tasks}
    part = workflow if len(kept) == len(workflow) and not asked else workflow.part(kept, asked)
    return part, structs.replace(settings, force=tuple(dict.fromkeys(forced)))


def _named(workflow: Workflow, name: str, where: str) -> Sequence[str]:
    """Return the task, the tasks of the category, or the task that makes the file of that name."""
    if name in workflow.tasks:
        return [name]
    of_category = [task.id for task in workflow if task.category == name]
    path = name.removeprefix("./").rstrip("/")
    if of_category or path in workflow.producer:
        return of_category or [workflow.producer[path]]
    siblings = [task.id for task in workflow if task.category == name.partition("[")[0]]
    names = [*dict.fromkeys(task.category for task in workflow), *workflow.tasks, *workflow.producer]
    todo = nearest(name, siblings or names, otherwise="there are")
    raise InputError(f"no task or output is called {name!r}", where=where, todo=todo)
