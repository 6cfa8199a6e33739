"""Strict sandboxes: which tasks of a run have one, and paths in their commands that no sandbox hides."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from msgspec import structs

from headway.drivers.run_settings import STRICT
from headway.model.task import Task
from headway.model.workflow import Workflow, folders_above

_MOST_WARNINGS = 3


def with_sandboxes(workflow: Workflow, whole: Workflow, directory: Path, sandbox: str) -> tuple[Workflow, list[str]]:
    """Return the workflow with the sandboxes that the run is to have, and warnings about what these do not hide.

    `whole` is the workflow as it was read, which knows the lines of its tasks.
    """
    tasks = [sandboxed(task, whole, sandbox) for task in workflow]
    if not any(task.strict for task in tasks):
        return workflow, []
    warned = unhidden_paths((task for task in tasks if task.strict), directory)
    return workflow.with_tasks(tasks), warned


def sandboxed(task: Task, whole: Workflow, sandbox: str) -> Task:
    """Return the task with the sandbox that it is to have in a run."""
    if not task.strict and not (sandbox == STRICT and task.isolated):
        return task
    name, place = whole.declared(task.id)
    return structs.replace(task, strict=True, declared_as=f"{name!r} ({place})" if place else repr(name))


def unhidden_paths(tasks: Iterable[Task], directory: Path) -> list[str]:
    """Return warnings about commands that name the workflow's directory by its absolute path, one per category."""
    roots = sorted({str(directory), os.path.realpath(directory)} - {"/"})
    if not roots:
        return []
    named = re.compile(rf"({'|'.join(map(re.escape, roots))})(?![\w.-])([^\s'\"`;|&<>(),:]*)")
    found: dict[str, str] = {}
    for task in tasks:
        if task.category not in found and (path := next(_undeclared(task, named), "")):
            found[task.category] = (
                f"task {task.id!r} names {path}: a strict sandbox hides only relative paths, so that changes to files "
                "that it reads there are not noticed; use relative paths and add them to 'inputs'"
            )
    warnings = list(found.values())
    more = len(warnings) - _MOST_WARNINGS
    if more > 0:
        others = ", ".join(list(found)[_MOST_WARNINGS:][:_MOST_WARNINGS]) + ", …" * (more > _MOST_WARNINGS)
        return [*warnings[:_MOST_WARNINGS], f"so do tasks of {more} more categories: {others}"]
    return warnings


def _undeclared(task: Task, named: re.Pattern[str]) -> Iterator[str]:
    """Yield the absolute paths that a task names and that are not among its inputs."""
    for text in (task.command, *task.setup, *task.environment.values()):
        for found in named.finditer(text):
            path = os.path.normpath(found[0])
            if not any(each in task.inputs for each in (path, *folders_above(path))):
                yield path
