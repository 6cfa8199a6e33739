"""A look at a task's files: are they there, how large are they, what is in them?"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from headway.drivers.digests import Digests
from headway.model.errors import InputError
from headway.model.records import InputsRead
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow
from headway.workers.sandbox import matching, stamps

# As much is read while everything else waits; more is read beside.
QUICK_BYTES = 4_000_000


class InputReader:
    """Answers `ReadInputs` decisions."""

    def __init__(self, directory: Path, digests: Digests) -> None:
        self._directory = directory
        self._digests = digests

    def read(self, task: Task, at: float) -> InputsRead:
        """What is to be known of the task's files before it runs."""
        digests: dict[str, str] = {}
        missing: list[str] = []
        total_bytes = 0
        for path in task.inputs:
            found = self._resolve(path, task)
            if not found:
                missing.append(path)
            for name in found:
                try:
                    name.encode()  # a journal is text
                    digests[name], size_bytes = self._digests.of(self._directory / name)
                except (OSError, UnicodeEncodeError):
                    missing.append(ascii(name) if not name.isprintable() else name)
                else:
                    total_bytes += size_bytes
        made = stamps(self._directory, task)
        return InputsRead(
            at, task.id, total_bytes, digests, missing, [path for path in task.outputs if path not in made], made
        )

    def is_quick(self, task: Task) -> bool:
        """Whether `read` will be over in a moment."""
        total_bytes = 0
        for path in task.inputs:
            for name in self._resolve(path, task):
                with contextlib.suppress(OSError):  # `read` will say what is wrong
                    total_bytes += self._digests.unread_bytes(self._directory / name)
        return total_bytes <= QUICK_BYTES

    def are_as_read(self, task: Task) -> bool:
        """Whether nobody has changed the inputs since they were read."""
        return all(
            self._digests.is_as_read(self._directory / n) for path in task.inputs for n in self._resolve(path, task)
        )

    def _resolve(self, path: str, task: Task) -> list[str]:
        if is_pattern(path):
            return matching(path, task, self._directory)
        return [path] if (self._directory / path).exists() else []


def check_sources(workflow: Workflow, directory: Path) -> None:
    """Complain of inputs that no task makes and that do not exist, and of outputs that would go elsewhere, at once.

    Where an ancestor does not say what it makes, it may make them: those tasks are judged when their turn comes.
    """
    for folder in {os.path.dirname(path) for path in workflow.producer}:
        place = os.path.realpath(directory / folder)
        if not f"{place}/".startswith(f"{os.path.realpath(directory)}/"):
            raise InputError(
                f"outputs in {folder!r} would leave the workflow's directory through a link",
                where=str(directory),
                todo="make it a directory of its own",
            )
    uncertain: set[str] = set()
    missing: list[tuple[str, str]] = []
    for task_id in workflow.topological():
        task = workflow.tasks[task_id]
        _check_absolute(task, workflow, directory)
        if not task.outputs:
            uncertain.add(task_id)
        if any(parent in uncertain for parent in task.parents):
            uncertain.add(task_id)
            continue
        missing += [(task_id, path) for path in task.inputs if not _may_exist(path, workflow, directory)]
    if missing:
        task_id, path = missing[0]
        others = f" (and {len(missing) - 1} more like it)" if len(missing) > 1 else ""
        raise InputError(
            f"input {path!r} of task {task_id!r} does not exist and no task makes it{others}",
            where=str(directory),
            todo="add the file or correct the name",
        )


def _check_absolute(task: Task, workflow: Workflow, directory: Path) -> None:
    """An absolute path to what a task makes would be read without waiting for it."""
    for path in task.inputs:
        inside = os.path.relpath(path, directory) if path.startswith("/") else ""
        if inside in workflow.producer:
            raise InputError(
                f"input {path!r} of task {task.id!r} is made by task {workflow.producer[inside]!r}",
                where=str(directory),
                todo=f"call it {inside!r}, so that the one waits for the other",
            )


def _may_exist(path: str, workflow: Workflow, directory: Path) -> bool:
    if is_pattern(path):
        return True  # judged when its turn comes: a pattern may match what is made on the way
    made = path in workflow.producer or any(str(above) in workflow.producer for above in Path(path).parents)
    return made or os.path.exists(directory / path) or any(out.startswith(f"{path}/") for out in workflow.producer)
