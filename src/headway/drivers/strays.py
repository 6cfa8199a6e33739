"""Strays: files that earlier runs here made and that no task of this workflow makes.

A file that no workflow here makes any more is an orphan. In a clean directory there would be none, so no pattern and no
directory among a task's inputs includes an orphan, and no sandbox shows it. A stray that another workflow of the same
directory makes is an ordinary file, unless tasks of this workflow also make files that the pattern or directory
includes: then the input is what this workflow makes. A file with other content than we made is the user's own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from headway.drivers.digests import Digests
from headway.journal.results import Earlier, is_unknown, remember
from headway.model.errors import InputError
from headway.model.outcome import Stamp
from headway.model.records import Known
from headway.model.task import Task, is_pattern
from headway.model.workflow import Workflow, folders_above, matching
from headway.workers.contents import files_below, full_stamp, stamp

_IN_CODE = "code:"  # before the name of a workflow that is not a file
_UNKNOWN = "?"  # an owner that was not recorded
_LATER_NS = 2_000_000_000  # after an attempt's end: somebody else has written a file


def owner_of(workflow: Workflow, source: str, directory: Path) -> str:
    """The name of a workflow as the owner of files: its file, seen from its directory; in code, the workflow's name."""
    return os.path.relpath(os.path.abspath(source), directory) if source else f"{_IN_CODE}{workflow.name}"


def adopt(earlier: Earlier, workflow: Workflow, owner: str, directory: Path) -> Earlier:
    """Note which workflow has the task of each earlier result now, and which files are there without any result.

    A result of another workflow file that is still here is that file's, although a task of this one may have the same
    name; it counts for both if both make the same files, as a copy of a workflow file does. A task that this workflow
    will add while it runs may be one of those that are known: it stays as it is.
    """
    is_live = _Owners(directory, owner)
    others = [result for result in earlier.all_results() if is_live(result.owner)]
    known, superseded = _own_results(earlier, workflow, is_live)
    older = dict(earlier.older)
    former = dict(earlier.former)
    for result in superseded:
        former |= result.outputs
        remember(older, result.outputs)
    for task_id, result in known.items():
        now = result.owner
        if task_id in workflow.tasks:
            now = owner
        elif now == owner and task_id.partition("[")[0] not in workflow.deferred:
            now = ""
        known[task_id] = result if now == result.owner else structs.replace(result, owner=now)
    made = {path for result in (*known.values(), *others) for path in result.outputs}
    for path, before in list(former.items()):
        maker = workflow.producer.get(path)
        is_replaced = maker is not None and workflow.tasks[maker].isolated  # by the task that makes it now
        if path in made or is_replaced or not os.path.exists(directory / path):
            remember(older, {path: former.pop(path)})  # it may come back
        elif is_unknown(before):
            del former[path]
            if _may_be_written_by(directory / path, before):
                former[path] = full_stamp(directory / path)
    return Earlier(known, former, earlier.unfinished, others, older, earlier.theirs)


def _may_be_written_by(path: Path, attempt: Stamp) -> bool:
    """Whether an attempt that has left a file of unknown content may have written it, and nobody since.

    Of a directory that cannot be said: files of the user's may lie in it.
    """
    with suppress(OSError):
        modified_ns = path.stat().st_mtime_ns
        return not path.is_dir() and (not attempt.modified_ns or modified_ns <= attempt.modified_ns + _LATER_NS)
    return False


def _own_results(
    earlier: Earlier, workflow: Workflow, is_live: Callable[[str | None], bool]
) -> tuple[dict[str, Known], list[Known]]:
    """Return the result of each task that may be this workflow's, and those that a newer one has superseded."""

    def rank(result: Known) -> tuple[bool, int, bool]:
        return _makes_the_same(result, workflow), int(result.run), not is_live(result.owner)

    known: dict[str, Known] = {}
    superseded: list[Known] = []
    for result in earlier.all_results():
        if is_live(result.owner) and not _makes_the_same(result, workflow):
            continue
        before = known.get(result.task)
        known[result.task] = newest = result if before is None else max(before, result, key=rank)
        superseded += [each for each in (before, result) if each is not None and each is not newest]
    return known, superseded


def _makes_the_same(result: Known, workflow: Workflow) -> bool:
    """Whether the task of this name makes the same files."""
    task = workflow.tasks.get(result.task)
    return task is not None and set(task.outputs) == result.outputs.keys()


class _Owners:
    """Says of the owner of a result whether it is another workflow than this one, and still here."""

    def __init__(self, directory: Path, own: str) -> None:
        self._exists = cache(lambda owner: owner.startswith(_IN_CODE) or (directory / owner).is_file())
        self._own = own

    def __call__(self, owner: str | None) -> bool:
        return bool(owner) and owner != self._own and self._exists(owner)


class Made(NamedTuple):
    """What earlier runs made at a path, as it was, and the workflow that makes it now; empty: none does."""

    before: tuple[Stamp, ...]
    owner: str
    older: Collection[str] = ()  # digests of what it held before that

    def is_unchanged(self, path: Path, digests: Digests) -> bool:
        """Whether a file or directory is there and has a content that we made."""
        try:
            now = stamp(path)
            if any(not before.digest and now.is_as(before) for before in self.before):
                return True
            known = {each.digest for each in self.before if each.digest and each.size_bytes in (-1, now.size_bytes)}
            known.update(self.older)
            return bool(known) and digests.of(path)[0] in known
        except OSError:
            return False


def find_strays(earlier: Earlier, workflow: Workflow, own: str, directory: Path, digests: Digests) -> dict[str, str]:
    """Return the strays of a workflow: files or directories, each with the workflow that makes it; empty: none does.

    `own` is the workflow as an owner: it does not make what its tasks made before, unless they are added again.
    """
    found: dict[str, str] = {}
    candidates = made_before(earlier, workflow, own, directory)
    for path, made in sorted(candidates.items()):  # a directory before what is in it
        above = folders_above(path)
        if path in workflow.producer or path in workflow.sheets or any(each in workflow.producer for each in above):
            continue
        if any(each in found for each in above):
            continue
        if not workflow.makes_inside(path) and made.is_unchanged(directory / path, digests):
            found[path] = made.owner
            continue
        for name in dict.fromkeys(name for before in made.before for name in before.inside):
            part = f"{path}/{name}"
            if any(each in workflow.producer for each in (part, *folders_above(part))):
                continue
            if _inside(made, name, earlier.older.get(part, ())).is_unchanged(directory / part, digests):
                found[part] = made.owner
    return found


def in_the_way(earlier: Earlier, workflow: Workflow, own: str, directory: Path, digests: Digests) -> list[str]:
    """Return what earlier runs left at paths that are something else now.

    These are files where tasks now make files in a directory of that name, and directories where a task now makes an
    output of that name. A file of the user's in such a place is an error, and a directory with one stays.
    """
    made = made_before(earlier, workflow, own, directory)
    current = {path for result in earlier.known.values() if result.task in workflow.tasks for path in result.outputs}
    folders = {above for path in made for above in folders_above(path) if above in workflow.producer} - current
    found = [path for path in sorted(folders) if _holds_only(made, directory, path, digests)]
    for folder in workflow.output_folders:
        if os.path.lexists(directory / folder) and not os.path.isdir(directory / folder):
            before = made.get(folder)
            if before is None or before.owner or not before.is_unchanged(directory / folder, digests):
                what, todo = f"tasks make files in {folder!r}, which is a file", "rename or delete it"
                raise InputError(what, where=str(directory), todo=todo)
            found.append(folder)
    return found


def made_before(earlier: Earlier, workflow: Workflow, own: str, directory: Path) -> dict[str, Made]:
    """Return what earlier runs made and this workflow does not, each with the workflow that makes it now."""
    is_live = _Owners(directory, own)
    theirs, older = earlier.theirs, earlier.older
    made = {path: Made((), "", digests) for path, digests in older.items() if path not in theirs}
    for path, before in earlier.former.items():
        made |= dict(_ours(path, before, "", theirs, older))
    for result in earlier.all_results():
        owner = _UNKNOWN if result.owner is None else result.owner if is_live(result.owner) else ""
        if result.task in workflow.tasks and not is_live(result.owner):  # whose outputs are others now
            owner = ""
        for path, before in result.outputs.items():
            if path in workflow.producer:
                continue
            for each, ours in _ours(path, before, owner, theirs, older):
                others = made.get(each, Made((), ""))
                made[each] = Made((*others.before, *ours.before), owner or others.owner, ours.older)
    for path in older:  # a file of a directory belongs to whoever makes the directory
        if path in made and not made[path].before:
            owner = next((made[above].owner for above in folders_above(path) if above in made), "")
            made[path] = made[path]._replace(owner=owner)
    return {path: made[path] for path in made if path not in workflow.producer}


def _ours(
    path: str, before: Stamp, owner: str, theirs: Container[str], older: Mapping[str, Collection[str]]
) -> Iterator[tuple[str, Made]]:
    """Yield what is ours of what was recorded of a path: all, or files of a directory in which the user has others."""
    if path not in theirs:
        yield path, Made((before,), owner, older.get(path, ()))
        return
    for name, digest in before.inside.items():
        inside = f"{path}/{name}"
        yield inside, Made((Stamp(-1, 0, digest),), owner, older.get(inside, ()))


def _holds_only(made: Mapping[str, Made], directory: Path, folder: str, digests: Digests) -> bool:
    """Whether a directory is there and holds nothing but what earlier runs made and no task makes now."""
    if not os.path.isdir(directory / folder) or os.path.islink(directory / folder):
        return False
    files = [path for path in files_below(directory / folder) if not os.path.isdir(path) or os.path.islink(path)]
    for path in (os.path.relpath(file, directory) for file in files):
        before = made.get(path)
        if before is None or before.owner or not before.is_unchanged(directory / path, digests):
            return False
    return True


class MadeHere:
    """Says of a path, before the workflow is known, whether an earlier run here made it and it belongs to no other.

    `read` returns what earlier runs left; it is called when the first path is asked about.
    """

    def __init__(self, read: Callable[[], Earlier], own: str, directory: Path) -> None:
        self._read, self._own, self._directory = read, own, directory
        self._made: dict[str, Made] | None = None
        self._digests = Digests()

    def __call__(self, path: str) -> bool:
        if self._made is None:
            self._made = made_before(self._read(), Workflow(""), self._own, self._directory)
        for above in (path, *folders_above(path)):
            made = self._made.get(above)
            if made is None or made.owner:
                continue
            file = self._directory / path
            if any(is_unknown(before) and _may_be_written_by(file, before) for before in made.before):
                return True
            part = made if above == path else _inside(made, path.removeprefix(f"{above}/"))
            if part.is_unchanged(file, self._digests):
                return True
        return False


def _inside(made: Made, name: str, older: Collection[str] = ()) -> Made:
    """Return what an earlier run made at a path in a directory."""
    before = tuple(Stamp(-1, 0, each.inside[name]) for each in made.before if name in each.inside)
    return Made(before, made.owner, older)


class Strays:
    """Leaves strays out of what patterns and directories stand for, while the workflow may grow."""

    def __init__(self, strays: Mapping[str, str], workflow: Workflow) -> None:
        self._strays = strays
        self._workflow = workflow
        self._folders = {above for path in strays for above in folders_above(path)}
        self._others = sorted(path for path, owner in strays.items() if owner)
        self._in_folders: dict[str, list[str]] = {}  # files of other workflows, by the directories above
        for path in self._others:
            for above in folders_above(path):
                self._in_folders.setdefault(above, []).append(path)

    def without(self, found: Iterable[str], pattern: str) -> list[str]:
        """The paths that a pattern matches, without strays."""
        if not self._strays:
            return list(found)
        ours = any(matching(pattern, self._workflow.ordered_outputs))
        return [path for path in found if not self._is_hidden(path, ours=ours)]

    def left_out_by(self, tasks: Iterable[Task]) -> list[str]:
        """Files of other workflows that no sandbox must show, given tasks of this one.

        These are all in directories in which these tasks make something, also below, and what their patterns leave out.
        """
        if not self._others:
            return []
        folders = {above for task in tasks for path in task.outputs for above in folders_above(path)}
        found = {path for folder in folders for path in self._in_folders.get(folder, ())}
        for given in {given for task in tasks for given in task.inputs if is_pattern(given)}:
            if any(matching(given, self._workflow.ordered_outputs)):
                found.update(matching(given, self._others))
        return sorted(found)

    def hides(self, path: str) -> bool:
        """Whether a path is a stray, or in one, where tasks of this workflow make such files."""
        return self._is_hidden(path, ours=True)

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
