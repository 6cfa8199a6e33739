"""Files that commands name without declaring them as inputs: declared for `inputs: auto`, otherwise warned about."""

from __future__ import annotations

import fnmatch
import glob
import os
from collections import ChainMap, Counter
from collections.abc import Collection, Container, Iterable, Iterator
from functools import cache
from pathlib import Path

from msgspec import structs

from headway.model.named_paths import named_paths
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow, folders_above

_MOST_TASKS = 1000  # of a category that are looked at for warnings: the others have the same command on other files
_MOST_WARNINGS = 3
_MOST_NAMES = 5  # in the line about all other files


def declare_named_inputs(
    workflow: Workflow, directory: Path, orphans: Collection[str] = ()
) -> tuple[Workflow, list[str]]:
    """Return the workflow with the inputs of tasks that have `inputs: auto`, and warnings about all other tasks.

    `orphans`, files of earlier runs that belong to no task now, are not among them.
    """
    files = _Files(workflow.whole.producer, directory, orphans)
    unnoticed: dict[str, str] = {}  # a task that names it, by file
    looked_at: Counter[str] = Counter()
    for task in workflow:
        if not task.auto_inputs and looked_at[task.category] < _MOST_TASKS:
            looked_at[task.category] += 1
            for path in files.named_by(task):
                if path not in unnoticed and not _declares(task, path, directory):
                    unnoticed[path] = task.id
    if any(task.auto_inputs for task in workflow):
        workflow = workflow.with_tasks(map(files.declared, workflow))
    at_least = "at least " if _MOST_TASKS in looked_at.values() else ""
    return workflow, list(_warnings(unnoticed, at_least))


def declare_in(tasks: Iterable[Task], workflow: Workflow, directory: Path, orphans: Collection[str]) -> list[Task]:
    """Return tasks that are added to a workflow, with the inputs of those that have `inputs: auto`."""
    tasks = list(tasks)
    made = {path for task in tasks for path in task.outputs}
    files = _Files(ChainMap(dict.fromkeys(made, ""), workflow.whole.producer), directory, orphans)
    return [files.declared(task) for task in tasks]


class _Files:
    """The files of the workflow's directory that no task makes. Each directory is listed once."""

    def __init__(self, made: Container[str], directory: Path, orphans: Collection[str]) -> None:
        self._made = made
        self._directory = directory
        self._orphans = frozenset(orphans)
        self._names = cache(self._list)
        self._matches = cache(lambda pattern: any(not self._is_lost(path) for path in self._glob(pattern)))

    def declared(self, task: Task) -> Task:
        """Return a task with `inputs: auto` with the files among its inputs that its command names."""
        if not task.auto_inputs:
            return task
        added = (path for path in self.named_by(task) if path not in task.inputs)
        return structs.replace(task, inputs=(*task.inputs, *added), auto_inputs=False)

    def named_by(self, task: Task) -> list[str]:
        """Return the files, and for `inputs: auto` the patterns with matching files, that a task's command names."""
        return sorted(
            path
            for path in named_paths(task)
            if (task.auto_inputs and self._matches(path) if is_pattern(path) else self._holds(path))
        )

    def _glob(self, pattern: str) -> Iterator[str]:
        return glob.iglob(pattern, root_dir=self._directory)

    def _is_lost(self, path: str) -> bool:
        return bool(self._orphans) and any(each in self._orphans for each in (path, *folders_above(path)))

    def _holds(self, path: str) -> bool:
        folder, _, name = path.rpartition("/")
        if name not in self._names(folder) or self._is_lost(path):
            return False
        return not any(each in self._made for each in (path, *folders_above(path)))

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
