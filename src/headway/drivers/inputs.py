"""Reads a task's input files: whether they exist, their sizes, and digests of their contents."""

from __future__ import annotations

import contextlib
import glob
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from headway.drivers.digests import Digests
from headway.drivers.strays import Strays
from headway.model.errors import InputError
from headway.model.outcome import Ending, Stamp
from headway.model.records import InputsRead, TaskEnded
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow, folders_above, matching, names
from headway.workers.contents import files_below, kept_inside, stamp
from headway.workers.sandbox import stamps

# Up to this much is read in the driver's own thread, more in another one.
QUICK_BYTES = 4_000_000
QUICK_FILES = 200


class InputReader(NamedTuple):
    """Answers `ReadInputs` decisions, and says what an attempt has to see of its inputs."""

    directory: Path
    digests: Digests
    strays: Strays = Strays({}, Workflow("none"))

    def read(
        self,
        task: Task,
        at: float,
        temporary: Mapping[str, str] = {},
        made_before: Mapping[str, Sequence[Stamp]] = {},
    ) -> InputsRead:
        """Read what a run has to know of a task's files before the task starts.

        `temporary` are the digests of temporary files that may be gone; empty where that is not known. `made_before`
        are the outputs of the task's earlier result.
        """
        digests: dict[str, str] = {}
        seen: dict[str, Stamp] = {}
        missing: list[str] = []
        deleted: list[str] = []
        total_bytes = 0
        for path in task.inputs:
            found = self.resolve(path, task)
            gone = [name for name in temporary if name not in found and names(path, name)]
            gone = [name for name in gone if not (self.directory / name).exists()]
            deleted += gone
            if not found and not gone:
                missing.append(path)
            # In the order in which they would be found if none was gone: their order is part of what a task reads.
            for name in sorted([*found, *gone]):
                if name in gone:
                    if name == path or name.count("/") == path.count("/"):
                        digests[name] = temporary[name]
                    continue
                try:
                    name.encode()  # the journal stores it as text
                    # First, so that a change while it is read is noticed.
                    seen[name] = stamp(os.path.join(self.directory, name))
                    digests[name], size_bytes = self._content(name)
                except (OSError, UnicodeEncodeError):
                    missing.append(ascii(name) if not name.isprintable() else name)
                else:
                    total_bytes += size_bytes
                    digests[name] = temporary.get(name) or digests[name]
        made = {path: self._made(path, task, now, made_before) for path, now in stamps(self.directory, task).items()}
        not_made = [path for path in task.outputs if path not in made]
        theirs = {} if task.isolated else dict(_theirs(made, made_before))
        return InputsRead(at, task.id, total_bytes, digests, missing, not_made, made, seen, deleted, theirs)

    def is_quick(self, task: Task, made_before: Mapping[str, Sequence[Stamp]] = {}) -> bool:
        """Whether `read` takes only a moment."""
        if len(task.inputs) > QUICK_FILES or len(made_before) > QUICK_FILES:
            return False
        total_bytes = 0
        for path in task.inputs:
            for name in self.resolve(path, task):
                with contextlib.suppress(OSError):  # `read` reports it
                    total_bytes += self.digests.unread_bytes(os.path.join(self.directory, name))
        for path, before in made_before.items():
            if not task.isolated or any(each.digest for each in before):
                with contextlib.suppress(OSError):
                    total_bytes += self.digests.unread_bytes(os.path.join(self.directory, path))
        return total_bytes <= QUICK_BYTES

    def are_as_read(self, read: Mapping[str, Stamp]) -> bool:
        """Whether the inputs still look as they did when they were read, be it before the run was interrupted."""
        try:
            return all(stamp(os.path.join(self.directory, name)).is_as(before) for name, before in read.items())
        except OSError:
            return False

    def with_moves(self, event: TaskEnded, read: Mapping[str, Stamp]) -> TaskEnded:
        """Return the end of an attempt, which says whether it succeeded with other inputs than were read.

        What it has made need not be read again to see whether it is unchanged.
        """
        if event.outcome.ending is not Ending.SUCCESS:
            return event
        for path, made in event.outcome.outputs.items():
            self.digests.remember(self.directory / path, made)
        return event if self.are_as_read(read) else structs.replace(event, inputs_moved=True)

    def linked(self, read: Iterable[str]) -> tuple[str, ...]:
        """Return what an attempt sees of inputs that were read: of a directory with strays, only the rest."""
        seen: list[str] = []
        for name in read:
            try:
                seen += list(self.strays.inside(self.directory, name)) if self.strays.contains(name) else [name]
            except OSError:  # it has just been deleted: the attempt will not find it either
                seen.append(name)
        return tuple(seen)

    def resolve(self, path: str, task: Task) -> list[str]:
        """Return the files that an input stands for now, without the task's own outputs and without strays."""
        if not is_pattern(path):
            found = [path] if os.path.exists(os.path.join(self.directory, path)) else []
        else:
            own = tuple(f"{output}/" for output in task.outputs)
            matches = sorted(glob.glob(path, root_dir=self.directory))
            others = (each for each in matches if not f"{each}/".startswith(own))
            found = [each for each in self.strays.without(others, path) if os.path.exists(self.directory / each)]
        return [each for each in found if not self.strays.contains(each) or any(self.linked([each]))]

    def _content(self, name: str) -> tuple[str, int]:
        """Return the digest and the size of an input, of a directory without strays."""
        if not self.strays.contains(name):
            return self.digests.of(os.path.join(self.directory, name))
        files = [os.path.join(self.directory, each) for each in self.linked([name])]
        return self.digests.of_files(os.path.join(self.directory, name), files)

    def _made(self, path: str, task: Task, now: Stamp, before: Mapping[str, Sequence[Stamp]]) -> Stamp:
        """Return the stamp of an output; with the digest of its content if only that tells whether it is as before.

        A directory in which a task without a sandbox is about to write has the names of the files that are there, and
        their digests if an earlier run made some of them.
        """
        known = before.get(path, ())
        if not task.isolated and os.path.isdir(self.directory / path):
            with contextlib.suppress(OSError):
                return self._with_files(path, now, are_read=bool(known))
        if not any(each.digest and (each.size_bytes == now.size_bytes or not task.isolated) for each in known):
            return now
        with contextlib.suppress(OSError):
            return structs.replace(now, digest=self.digests.of(os.path.join(self.directory, path))[0])
        return now

    def _with_files(self, path: str, now: Stamp, *, are_read: bool) -> Stamp:
        folder = self.directory / path
        inside = {
            os.path.relpath(file, folder): self.digests.of(file)[0] if are_read else "" for file in files_below(folder)
        }
        digest = self.digests.of(folder)[0] if are_read else ""
        return structs.replace(now, digest=digest, inside=kept_inside(inside))


def _theirs(there: Mapping[str, Stamp], ours: Mapping[str, Sequence[Stamp]]) -> Iterator[tuple[str, list[str]]]:
    """Yield the outputs that are there and that no run here made; of a directory, with its files that none made."""
    for path, seen in there.items():
        made = ours.get(path, ())
        names = [name for name, digest in seen.inside.items() if all(each.inside.get(name) != digest for each in made)]
        if names or not (seen.inside or seen.is_among(made)):
            yield path, names


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
        made = matching(inside, workflow.ordered_outputs) if is_pattern(inside) else (inside,)
        if maker := next((workflow.producer[each] for each in made if each in workflow.producer), ""):
            raise InputError(
                f"input {path!r} of task {task.id!r} is made by task {maker!r}",
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
