"""Files that commands name without declaring them as inputs: declared for `inputs: auto`, otherwise warned about."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from msgspec import structs

from headway.model.named_paths import named_paths
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow, folders_above

_MOST_TASKS = 1000  # of a category that are looked at for warnings: the others have the same command on other files
_MOST_WARNINGS = 3
_MOST_NAMES = 5  # in the line about all other files


def declare_named_inputs(workflow: Workflow, directory: Path) -> tuple[Workflow, list[str]]:
    """Return the workflow with the inputs of tasks that have `inputs: auto`, and warnings about all other tasks."""
    files = _Files(workflow, directory)
    added: dict[str, list[str]] = {}
    unnoticed: dict[str, str] = {}  # a task that names it, by file
    looked_at: Counter[str] = Counter()
    for task in workflow:
        if task.auto_inputs:
            added[task.id] = [path for path in files.named_by(task) if path not in task.inputs]
        elif looked_at[task.category] < _MOST_TASKS:
            looked_at[task.category] += 1
            for path in files.named_by(task):
                if path not in unnoticed and not _declares(task, path, directory):
                    unnoticed[path] = task.id
    if added:
        workflow = Workflow(workflow.name, [_with(task, added.get(task.id)) for task in workflow])
    at_least = "at least " if _MOST_TASKS in looked_at.values() else ""
    return workflow, list(_warnings(unnoticed, at_least))


def _with(task: Task, added: list[str] | None) -> Task:
    return task if added is None else structs.replace(task, inputs=(*task.inputs, *added), auto_inputs=False)


class _Files:
    """The files of the workflow's directory that no task makes. Each directory is listed once."""

    def __init__(self, workflow: Workflow, directory: Path) -> None:
        self._workflow = workflow
        self._directory = directory
        self._names = cache(self._list)
        self._matches = cache(lambda pattern: any(glob.iglob(pattern, root_dir=directory)))

    def named_by(self, task: Task) -> list[str]:
        """Return the files, and for `inputs: auto` the patterns with matching files, that a task's command names."""
        return sorted(
            path
            for path in named_paths(task)
            if (task.auto_inputs and self._matches(path) if is_pattern(path) else self._holds(path))
        )

    def _holds(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        made = self._workflow.whole.producer
        return name in self._names(folder) and not any(each in made for each in (path, *folders_above(path)))

    def _list(self, folder: str) -> frozenset[str]:
        try:
            with os.scandir(self._directory / folder) as entries:
                return frozenset(entry.name for entry in entries if entry.is_file())
        except (OSError, ValueError):  # most words with a slash are no paths
            return frozenset()


def _declares(task: Task, path: str, directory: Path) -> bool:
    """Whether a path, or a directory above it, is among the task's inputs."""
    names = {path, *folders_above(path), str(directory / path)}
    return any(each in names or (is_pattern(each) and fnmatch.fnmatchcase(path, each)) for each in task.inputs)


def _warnings(unnoticed: dict[str, str], at_least: str) -> Iterator[str]:
    paths = list(unnoticed)
    shown = paths if len(paths) <= _MOST_WARNINGS + 1 else paths[:_MOST_WARNINGS]
    for path in shown:
        yield (
            f"`{path}` is named in the command of task {unnoticed[path]!r} and is not an input; changes to it will not "
            "be noticed; add it to 'inputs' or write 'inputs: auto'"
        )
    more = paths[len(shown) :]
    if more:
        names = ", ".join(more[:_MOST_NAMES]) + (", …" if len(more) > _MOST_NAMES else "")
        yield f"{at_least}{len(more):,} more files are named in commands and are not inputs: {names}"
