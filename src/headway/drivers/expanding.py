"""Turn a deferred entry of the workflow file into tasks, when what it is made of is there."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from posixpath import normpath

from headway.drivers.named_inputs import declare_in
from headway.drivers.strays import Strays, check_in_place
from headway.drivers.strict_sandboxes import sandboxed
from headway.formats.headway_yaml import expand_block
from headway.model.deferred import Deferred
from headway.model.errors import HeadwayError, InputError, WorkflowError
from headway.model.records import RunStarted, TasksAdded
from headway.model.task import Task
from headway.model.workflow import Workflow, folders_above

_MOST_NAMED = 5


def expanded(
    name: str,
    deferred: Deferred,
    workflow: Workflow,
    directory: Path,
    settings: RunStarted,
    at: float,
    temporary: Collection[str] = (),
) -> TasksAdded:
    """Return the tasks of an entry, or if it cannot become tasks, one that stands for it and says why.

    `temporary` files that its tasks are made of count although they may be gone.
    """
    try:
        is_stray = Strays(settings.strays, workflow).hides
        every = expand_block(deferred, name, workflow, directory, is_stray, temporary)
        tasks = _wanted(every, name, deferred, settings.tasks)
        tasks = workflow.completed(tasks)  # with `inputs: auto`, first the files that other tasks make
        tasks = declare_in(tasks, workflow, directory, settings.orphans)
        tasks = [sandboxed(task, workflow, settings.sandbox) for task in tasks]
        _check_unread(tasks, workflow)
        _check_in_view(tasks, workflow, directory, settings)
    except HeadwayError as error:
        block = next(block for block in deferred.blocks if block.name == name)
        parents = tuple(task.id for task in workflow if task.category in block.of)
        return TasksAdded(at, [Task(name, name, "", parents=parents)], (name,), str(error))
    added = {task.id for task in tasks}
    left_out = {
        normpath(path): task.id for task in every if task.id not in added for path in (*task.outputs, *task.temp)
    }
    return TasksAdded(at, tasks, (name,), left_out=left_out)


def _wanted(tasks: list[Task], name: str, deferred: Deferred, asked: Sequence[str]) -> list[Task]:
    """Return the tasks that the user asked for: all, unless only some are named and no other entry needs the rest."""
    some = [word for word in asked if word.partition("[")[0] == name and word != name]
    meant: set[str] = set()
    for word in some:
        pattern = word.replace("[", "[[]")  # brackets are part of a task's name
        fitting = {task.id for task in tasks if fnmatchcase(task.id, pattern)}
        if not fitting:
            raise InputError(f"no task is called {word!r}", where="TASK", todo=_those(tasks, name))
        meant |= fitting
    if not some or name in asked or any(name in (*block.of, *block.after) for block in deferred.blocks):
        return tasks
    return [task for task in tasks if task.id in meant]


def _those(tasks: Sequence[Task], name: str) -> str:
    """Return the tasks of an entry in words."""
    if not tasks:
        return f"{name!r} has no tasks now"
    more = f" and {len(tasks) - _MOST_NAMED:,} more" if len(tasks) > _MOST_NAMED else ""
    return f"there are {', '.join(task.id for task in tasks[:_MOST_NAMED])}{more}"


def _check_in_view(tasks: Collection[Task], workflow: Workflow, directory: Path, settings: RunStarted) -> None:
    """Raise an error if a new task runs in the workflow's directory and would see orphans among its inputs."""
    made = {path for task in tasks for path in task.outputs} | workflow.producer.keys()
    seen = {path: by for path, by in settings.strays.items() if made.isdisjoint((path, *folders_above(path)))}
    check_in_place(tasks, seen, str(directory), workflow.places)


def _check_unread(tasks: Collection[Task], workflow: Workflow) -> None:
    """Raise an error if a new task makes a file that an earlier one has read without waiting for it."""
    made = {path: task.id for task in tasks for path in task.outputs}
    for task in workflow:
        for path in task.inputs:
            if path in made and path not in workflow.producer:
                what = f"task {made[path]!r} makes {path!r}, which task {task.id!r} has read before"
                raise WorkflowError(what, tasks=[made[path]], todo="let it write to another file")
