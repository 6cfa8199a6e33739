"""A directory of a task's own: what it may read is linked in, what it made is renamed out after success."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from headway.model.errors import InputError
from headway.model.task import Task, is_pattern
from headway.workers.attempt import remove_tree

_OURS = ".headway"


class Sources:
    """The entries of the workflow's directory that no task makes, listed again only when the directory changed.

    A directory in which no task makes anything is linked as a whole. Renaming an output into a directory changes it
    too; such changes are our own and `expect_change` spares the listing, or a run of 10,000 tasks would list 10,000
    entries 10,000 times.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._produced: set[str] = set()
        self._above: set[str] = {"."}  # directories in which something is made
        self._listed: dict[str, tuple[int, list[str]]] = {}

    def add_produced(self, paths: Iterable[str]) -> None:
        """Take note of more paths that tasks make."""
        for path in paths:
            self._produced.add(path)
            self._above.update(str(parent) for parent in Path(path).parents)
        self.forget()

    def forget(self) -> None:
        """List anew: a task that writes in place may have left anything."""
        self._listed.clear()

    def entries(self, folder: str = ".") -> Iterator[str]:
        """Relative paths to link: files, and directories in which nothing is made."""
        place = self._directory / folder
        modified = place.stat().st_mtime_ns
        listed = self._listed.get(folder)
        if listed is None or listed[0] != modified:
            listed = (modified, self._list(folder))
            self._listed[folder] = listed
        for path in listed[1]:
            if path in self._above:
                yield from self.entries(path)
            else:
                yield path

    def _list(self, folder: str) -> list[str]:
        paths = (os.path.normpath(f"{folder}/{entry.name}") for entry in os.scandir(self._directory / folder))
        return [path for path in paths if path not in self._produced and path != _OURS]

    def expect_change(self, folder: str, before_ns: int) -> None:
        """A directory that was as listed at `before_ns` has since been changed by us alone."""
        listed = self._listed.get(folder)
        if listed and listed[0] == before_ns:
            self._listed[folder] = ((self._directory / folder).stat().st_mtime_ns, listed[1])

    def modified_ns(self, folder: str) -> int:
        """When the directory last changed; 0 if it does not exist yet."""
        place = self._directory / folder
        return place.stat().st_mtime_ns if place.exists() else 0


def furnish(work: Path, task: Task, workflow_directory: Path, sources: Sources) -> None:
    """Make the task's directory, with its inputs and everybody's sources linked in, and folders for its outputs."""
    work.mkdir(mode=0o700)
    made: set[str] = {""}
    for path in (*_input_files(task, workflow_directory), *sources.entries()):
        _folder_for(path, work, made)
        try:
            os.symlink(workflow_directory / path, work / path)
        except FileExistsError:
            continue  # an input that is also a source
    for path in task.outputs:
        _folder_for(path, work, made)


def _folder_for(path: str, work: Path, made: set[str]) -> None:
    folder = os.path.dirname(path)
    if folder not in made:
        (work / folder).mkdir(parents=True, exist_ok=True)
        made.add(folder)


def _input_files(task: Task, workflow_directory: Path) -> Iterator[str]:
    """The inputs inside the workflow's directory, patterns resolved; others are read where they are."""
    for path in task.inputs:
        if path.startswith("/"):
            continue
        yield from glob.glob(path, root_dir=workflow_directory) if is_pattern(path) else [path]


def missing_outputs(work: Path, task: Task) -> list[str]:
    """The declared outputs that are not there, or are links to something that will not stay."""
    inside = os.path.realpath(work) + os.sep
    kept = {inside + path for path in task.outputs}
    missing = []
    for path in task.outputs:
        target = os.path.realpath(work / path)
        passing = target.startswith(inside) and target not in kept and task.isolated
        if not os.path.exists(target) or passing:
            missing.append(path)
    return missing


def publish(work: Path, task: Task, workflow_directory: Path) -> Iterator[str]:
    """Rename the outputs into the workflow's directory, yielding each. Repeating it after a crash does no harm."""
    root = os.path.realpath(workflow_directory)
    for path in task.outputs:
        source, target = work / path, workflow_directory / path
        if not os.path.lexists(source):
            continue  # renamed before the crash
        target.parent.mkdir(parents=True, exist_ok=True)
        place = os.path.realpath(target.parent)
        if place != root and not place.startswith(root + os.sep):
            raise InputError(f"output {path} would leave the workflow's directory through a link", where=str(root))
        _move(source, target)
        yield path


def _move(source: Path, target: Path) -> None:
    """Put `source` in the place of whatever is at `target`; a reader finds the old, nothing, or the new, never half."""
    fresh, old = (target.with_name(f".{target.name}.headway-{part}") for part in ("new", "old"))
    crosses = source.lstat().st_dev != target.parent.stat().st_dev
    if crosses:
        _copy(source, fresh)
    if target.is_dir() and not target.is_symlink():  # rename does not replace a directory that is not empty
        if old.exists():
            remove_tree(old)
        target.rename(old)
    elif source.is_dir() and os.path.lexists(target):
        target.unlink()
    (fresh if crosses else source).rename(target)
    if old.exists():
        remove_tree(old)
    if crosses:
        remove_tree(source) if source.is_dir() else source.unlink()


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
