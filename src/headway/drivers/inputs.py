"""Reads a task's input files: whether they exist, their sizes, and digests of their contents."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from headway.drivers.digests import Digests
from headway.model.errors import InputError
from headway.model.outcome import Stamp
from headway.model.records import InputsRead
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow, folders_above, names
from headway.workers.sandbox import matching, stamp, stamps

# Up to this much is read in the driver's own thread, more in another one.
QUICK_BYTES = 4_000_000
QUICK_FILES = 200


class InputReader(NamedTuple):
    """Answers `ReadInputs` decisions."""

    directory: Path
    digests: Digests

    def read(self, task: Task, at: float, temporary: Mapping[str, str] = {}) -> InputsRead:
        """Read what a run has to know of a task's files before the task starts.

        `temporary` are the digests of temporary files that may be gone; empty where that is not known.
        """
        digests: dict[str, str] = {}
        seen: dict[str, Stamp] = {}
        missing: list[str] = []
        deleted: list[str] = []
        total_bytes = 0
        for path in task.inputs:
            found = self._resolve(path, task)
            gone = [name for name in temporary if name not in found and names(path, name)]
            gone = [name for name in gone if not (self.directory / name).exists()]
            deleted += gone
            digests |= {name: temporary[name] for name in gone if name == path or name.count("/") == path.count("/")}
            if not found and not gone:
                missing.append(path)
            for name in found:
                try:
                    name.encode()  # the journal stores it as text
                    whole = os.path.join(self.directory, name)
                    seen[name] = stamp(whole)  # first, so that a change while it is read is noticed
                    digests[name], size_bytes = self.digests.of(whole)
                except (OSError, UnicodeEncodeError):
                    missing.append(ascii(name) if not name.isprintable() else name)
                else:
                    total_bytes += size_bytes
                    digests[name] = temporary.get(name) or digests[name]
        made = stamps(self.directory, task)
        not_made = [path for path in task.outputs if path not in made]
        return InputsRead(at, task.id, total_bytes, digests, missing, not_made, made, seen, deleted)

    def is_quick(self, task: Task) -> bool:
        """Whether `read` takes only a moment."""
        if len(task.inputs) > QUICK_FILES:
            return False
        total_bytes = 0
        for path in task.inputs:
            for name in self._resolve(path, task):
                with contextlib.suppress(OSError):  # `read` reports it
                    total_bytes += self.digests.unread_bytes(self.directory / name)
        return total_bytes <= QUICK_BYTES

    def are_as_read(self, read: Mapping[str, Stamp]) -> bool:
        """Whether the inputs still look as they did when they were read, be it before the run was interrupted."""
        try:
            return all(stamp(os.path.join(self.directory, name)) == before for name, before in read.items())
        except OSError:
            return False

    def _resolve(self, path: str, task: Task) -> list[str]:
        if is_pattern(path):
            return matching(path, task, self.directory)
        return [path] if os.path.exists(os.path.join(self.directory, path)) else []


def check_sources(workflow: Workflow, directory: Path) -> None:
    """Raise an InputError if an input does not exist and no task produces it, or an output is outside the directory.

    An ancestor that does not declare its outputs may produce the input: such inputs are checked when the task is ready.
    """
    for folder in {os.path.dirname(path) for path in workflow.producer}:
        path = os.path.realpath(directory / folder)
        if not f"{path}/".startswith(f"{os.path.realpath(directory)}/"):
            raise InputError(
                f"outputs in {folder!r} would leave the workflow's directory through a link",
                where=str(directory),
                todo="replace the link by a directory",
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
        others = f" (and {len(missing) - 1} more such inputs)" if len(missing) > 1 else ""
        raise InputError(
            f"input {path!r} of task {task_id!r} does not exist and no task makes it{others}",
            where=workflow.places.get(task_id.partition("[")[0], str(directory)),
            todo="add the file or correct the name",
        )


def _check_absolute(task: Task, workflow: Workflow, directory: Path) -> None:
    """Refuse an absolute path to a task's output: it would be read without waiting for that task."""
    for path in task.inputs:
        inside = os.path.relpath(path, directory) if path.startswith("/") else ""
        if inside in workflow.producer:
            raise InputError(
                f"input {path!r} of task {task.id!r} is made by task {workflow.producer[inside]!r}",
                where=str(directory),
                todo=f"write {inside!r}, so that the task waits for it",
            )


def _may_exist(path: str, workflow: Workflow, directory: Path) -> bool:
    if is_pattern(path):
        return True  # checked when the task is ready: a pattern may match outputs of other tasks
    if path in workflow.producer or os.path.exists(os.path.join(directory, path)):
        return True
    made = any(above in workflow.producer for above in folders_above(path))
    return made or any(out.startswith(f"{path}/") for out in workflow.producer)
