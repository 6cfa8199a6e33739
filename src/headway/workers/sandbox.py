"""A directory of a task's own: what it may read is linked in, what it made is renamed out after success."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from headway.model.errors import InputError
from headway.model.outcome import Stamp
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

    def entries(self, opened: Set[str], folder: str = ".") -> Iterator[str]:
        """Relative paths to link: files, and directories in which nothing is made and that need not be `opened`."""
        place = self._directory / folder
        modified = place.stat().st_mtime_ns
        listed = self._listed.get(folder)
        if listed is None or listed[0] != modified:
            listed = (modified, self._list(folder))
            self._listed[folder] = listed
        for path in listed[1]:
            if path in self._above or (path in opened and (self._directory / path).is_dir()):
                yield from self.entries(opened, path)
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


def prepare_directory(work: Path, task: Task, workflow_directory: Path, sources: Sources) -> None:
    """Make the task's directory, with its inputs and everybody's sources linked in, and folders for its outputs."""
    work.mkdir(mode=0o700)
    made: set[str] = {""}
    inputs = list(_input_files(task, workflow_directory))
    opened = {str(above) for path in (*inputs, *task.outputs) for above in Path(path).parents}
    for path in (*inputs, *sources.entries(opened)):
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
        if not path.startswith("/"):
            yield from matching(path, task, workflow_directory) if is_pattern(path) else [path]


def matching(pattern: str, task: Task, directory: Path) -> list[str]:
    """The files that an input pattern names now; what the task itself makes is no input of it."""
    own = tuple(f"{path}/" for path in task.outputs)
    return sorted(
        path
        for path in glob.glob(pattern, root_dir=directory)
        if not f"{path}/".startswith(own) and os.path.exists(directory / path)
    )


def missing_outputs(work: Path, task: Task) -> list[str]:
    """The declared outputs that are not there, or are links to something that will not stay."""
    inside = os.path.realpath(work) + os.sep
    kept = {inside + path for path in task.outputs}
    missing = []
    for path in task.outputs:
        target = os.path.realpath(work / path)
        passing = task.isolated and target.startswith(inside) and target not in kept
        if not os.path.exists(target) or passing or (task.isolated and _points_into(work / path, inside)):
            missing.append(path)
    return missing


def _points_into(path: Path, folder: str) -> bool:
    """Whether it is a link whose text says a place in `folder`, which will be gone."""
    return path.is_symlink() and os.path.normpath(os.readlink(path)).startswith(folder)


def stamps(directory: Path, task: Task) -> dict[str, Stamp]:
    """What the task's outputs look like, those that exist."""
    return {path: _stamp(directory / path) for path in task.outputs if (directory / path).exists()}


def _stamp(path: Path) -> Stamp:
    if not path.is_dir():
        status = path.stat()
        return Stamp(status.st_size, status.st_mtime_ns)
    files = (os.lstat(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names)
    size_bytes, modified_ns = 0, 0
    for status in files:
        size_bytes += status.st_size
        modified_ns = max(modified_ns, status.st_mtime_ns)
    return Stamp(size_bytes, modified_ns)


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
    folder = source.is_dir() and not source.is_symlink()
    if target.is_dir() and not target.is_symlink():  # rename does not replace a directory that is not empty
        if not folder:
            raise InputError(
                f"output {target.name} is a file, and there is a directory of that name", where=str(target)
            )
        if old.exists():
            remove_tree(old)
        target.rename(old)
    elif folder and os.path.lexists(target):
        target.unlink()
    mode = source.lstat().st_mode
    if folder:  # a directory that may not be written to cannot be moved, either
        source.chmod(mode | 0o700)
    (fresh if crosses else source).rename(target)
    if folder:
        target.chmod(mode)
    if old.exists():
        remove_tree(old)
    if crosses:
        remove_tree(source) if source.is_dir() else source.unlink()


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True, dirs_exist_ok=True)
    else:
        shutil.copy2(source, target, follow_symlinks=False)
