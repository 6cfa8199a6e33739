"""Strays: files that earlier runs here made and that no task of this workflow makes.

A file that no workflow here makes any more is an orphan. In a clean directory there would be none, so no pattern and no
directory among a task's inputs includes an orphan, and no sandbox shows it. A stray that another workflow of the same
directory makes is an ordinary file, unless tasks of this workflow also make files that the pattern or directory
includes: then the input is what this workflow makes. A file with other content than we made is the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import structs

from headway.drivers.digests import Digests
from headway.journal.results import UNKNOWN, Earlier
from headway.model.errors import InputError
from headway.model.outcome import Stamp
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow, folders_above, matching
from headway.workers.contents import full_stamp, stamp

_IN_CODE = "code:"  # before the name of a workflow that is not a file
_UNKNOWN = "?"  # an owner that was not recorded


def owner_of(workflow: Workflow, source: str, directory: Path) -> str:
    """The name of a workflow as the owner of files: its file, seen from its directory; in code, the workflow's name."""
    return os.path.relpath(os.path.abspath(source), directory) if source else f"{_IN_CODE}{workflow.name}"


def adopt(earlier: Earlier, workflow: Workflow, owner: str, directory: Path) -> Earlier:
    """Note which workflow has the task of each earlier result now, and which files are there without any result.

    A task that this workflow will add while it runs may be one of those that are known: it stays as it is.
    """
    known = {}
    for task_id, result in earlier.known.items():
        now = result.owner
        if task_id in workflow.tasks:
            now = owner
        elif now == owner and task_id.partition("[")[0] not in workflow.deferred:
            now = ""
        known[task_id] = result if now == result.owner else structs.replace(result, owner=now)
    made = {path for result in known.values() for path in result.outputs}
    former = {}
    for path, before in earlier.former.items():
        maker = workflow.producer.get(path)
        is_replaced = maker is not None and workflow.tasks[maker].isolated  # by the task that makes it now
        if path not in made and not is_replaced and os.path.exists(directory / path):
            former[path] = full_stamp(directory / path) if before == UNKNOWN else before
    return Earlier(known, former, earlier.unfinished)


def find_strays(earlier: Earlier, workflow: Workflow, own: str, directory: Path, digests: Digests) -> dict[str, str]:
    """Return the strays of a workflow: files or directories, each with the workflow that makes it; empty: none does.

    `own` is the workflow as an owner: it does not make what its tasks made before, unless they are added again.
    """
    candidates = made_before(earlier, workflow, own, directory)
    found: dict[str, str] = {}
    for path, (before, owner) in candidates.items():
        for inside, seen in _parts(path, before, workflow):
            if _is_unchanged(directory / inside, seen, digests):
                found[inside] = owner
    return found


def in_the_way(earlier: Earlier, workflow: Workflow, own: str, directory: Path, digests: Digests) -> list[str]:
    """Return files that an earlier run made where tasks now make files in a directory of that name.

    A file of the user's there is an error.
    """
    made = made_before(earlier, workflow, own, directory)
    found = []
    for folder in workflow.output_folders:
        if os.path.lexists(directory / folder) and not os.path.isdir(directory / folder):
            before, owner = made.get(folder, (None, ""))
            if before is None or owner or not _is_unchanged(directory / folder, before, digests):
                what, todo = f"tasks make files in {folder!r}, which is a file", "rename or delete it"
                raise InputError(what, where=str(directory), todo=todo)
            found.append(folder)
    return found


def made_before(earlier: Earlier, workflow: Workflow, own: str, directory: Path) -> dict[str, tuple[Stamp, str]]:
    """Return what earlier runs made and this workflow does not, as it was, each with the workflow that makes it now."""
    made = {path: (before, "") for path, before in earlier.former.items()}
    exists: dict[str, bool] = {}
    for result in earlier.known.values():
        others = {path: before for path, before in result.outputs.items() if path not in workflow.producer}
        if not others:
            continue
        owner = _UNKNOWN if result.owner is None else result.owner
        if owner == own or result.task in workflow.tasks:  # whose outputs are others now
            owner = ""
        elif owner and owner != _UNKNOWN and not owner.startswith(_IN_CODE):
            if owner not in exists:
                exists[owner] = (directory / owner).is_file()
            owner = owner if exists[owner] else ""
        made |= {path: (before, owner) for path, before in others.items()}
    return made


class MadeHere:
    """Says of a path, before the workflow is known, whether an earlier run here made it and it belongs to no other.

    `read` returns what earlier runs left; it is called when the first path is asked about.
    """

    def __init__(self, read: Callable[[], Earlier], own: str, directory: Path) -> None:
        self._read, self._own, self._directory = read, own, directory
        self._made: dict[str, tuple[Stamp, str]] | None = None
        self._digests = Digests()

    def __call__(self, path: str) -> bool:
        if self._made is None:
            self._made = made_before(self._read(), Workflow(""), self._own, self._directory)
        for above in (path, *folders_above(path)):
            before, owner = self._made.get(above, (None, ""))
            if before is not None and not owner:
                inside = path.removeprefix(f"{above}/")
                seen = before if above == path else Stamp(-1, 0, before.inside.get(inside, _UNKNOWN))
                return before == UNKNOWN or _is_unchanged(self._directory / path, seen, self._digests)
        return False


def _parts(path: str, before: Stamp, workflow: Workflow) -> Iterator[tuple[str, Stamp]]:
    """Yield what an earlier run made without what this workflow makes: all of it, nothing, or files of a directory."""
    if any(above in workflow.producer for above in (path, *folders_above(path))):
        return
    if not workflow.makes_inside(path):
        yield path, before
        return
    for name, digest in before.inside.items():
        inside = f"{path}/{name}"
        if not any(above in workflow.producer for above in (inside, *folders_above(inside))):
            yield inside, Stamp(-1, 0, digest)


def _is_unchanged(path: Path, before: Stamp, digests: Digests) -> bool:
    """Whether a file or directory is there and has the content that we made."""
    try:
        now = stamp(path)
        if not before.digest:
            return now.is_as(before)
        return before.size_bytes in (-1, now.size_bytes) and digests.of(path)[0] == before.digest
    except OSError:
        return False


class Strays:
    """Leaves strays out of what patterns and directories stand for, while the workflow may grow."""

    def __init__(self, strays: Mapping[str, str], workflow: Workflow) -> None:
        self._strays = strays
        self._workflow = workflow
        self._folders = {above for path in strays for above in folders_above(path)}

    def without(self, found: Iterable[str], pattern: str) -> list[str]:
        """The paths that a pattern matches, without strays."""
        if not self._strays:
            return list(found)
        ours = any(matching(pattern, self._workflow.ordered_outputs))
        return [path for path in found if not self._is_hidden(path, ours=ours)]

    def contains(self, path: str) -> bool:
        """Whether something in a directory has to be left out."""
        return path in self._folders and path not in self._workflow.producer

    def inside(self, directory: Path, folder: str) -> Iterator[str]:
        """Yield what remains of a directory without strays: files, and directories that hold none."""
        yield from self._walk(directory, folder, ours=self._workflow.makes_inside(folder))

    def _walk(self, directory: Path, folder: str, *, ours: bool) -> Iterator[str]:
        for name in sorted(os.listdir(directory / folder)):
            path = f"{folder}/{name}"
            if self._is_hidden(path, ours=ours):
                continue
            if self.contains(path):
                yield from self._walk(directory, path, ours=ours)
            else:
                yield path

    def _is_hidden(self, path: str, *, ours: bool) -> bool:
        for above in (path, *folders_above(path)):
            if above in self._workflow.producer:
                return False
            if above in self._strays:
                return ours or not self._strays[above]
        return False


def check_in_place(
    tasks: Iterable[Task], strays: Mapping[str, str], where: str, places: Mapping[str, str] = {}
) -> list[str]:
    """Raise an error for a task that would see orphans although its pattern must not match them.

    Such a task runs in the workflow's directory, where no file can be hidden. Return warnings about tasks without
    outputs, for which there is no result that could be wrong. `places` are those of the workflow.
    """
    lost = sorted(path for path, owner in strays.items() if not owner)
    if not lost:
        return []
    warnings = []
    for task in tasks:
        if task.isolated:
            continue
        if seen := _reached(task, lost):
            what = f"task {task.id!r} runs in the workflow's directory and reads {seen!r}"
            what += ", which an earlier run made and no task makes now"
            if task.outputs:
                todo = "delete such files with `headway clean --orphans`, or leave out 'sandbox: false'"
                raise InputError(what, where=places.get(task.id.partition("[")[0], where), todo=todo)
            warnings.append(f"{what}; `headway clean --orphans` deletes such files")
    return warnings


def _reached(task: Task, lost: list[str]) -> str:
    """Return an orphan that a pattern or directory among a task's inputs includes."""
    for given in task.inputs:
        if is_pattern(given):
            found = next(matching(given, lost), "")
        else:
            found = next((path for path in lost if path.startswith(f"{given}/")), "")
        if found:
            return found
    return ""
