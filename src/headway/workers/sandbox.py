"""A task's own working directory: inputs are linked in, and after a success the outputs are renamed out of it."""

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

_HEADWAY_FOLDER = ".headway"


class Sources:
    """The entries of the workflow's directory that no task makes. They are linked into every task's directory.

    A directory in which no task makes anything is linked as a whole. A directory is listed again only when its
    modification time has changed. Publishing an output changes it, too; `expect_change` avoids the listing then,
    without which 10,000 tasks would list 10,000 entries 10,000 times.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._produced: set[str] = set()
        self._above: set[str] = {"."}  # directories in which tasks make something
        self._listed: dict[str, tuple[int, list[str]]] = {}  # (modification time, entries) by directory

    def add_produced(self, paths: Iterable[str]) -> None:
        """Add paths that tasks make."""
        for path in paths:
            self._produced.add(path)
            self._above.update(str(parent) for parent in Path(path).parents)
        self.forget()

    def forget(self) -> None:
        """List all directories anew: a task that is not isolated can have changed any of them."""
        self._listed.clear()

    def entries(self, opened: Set[str], folder: str = ".") -> Iterator[str]:
        """Yield the relative paths to link: files, and directories to link as a whole.

        A directory is entered instead if tasks make something in it, or if it is in `opened`.
        """
        modified = (self._directory / folder).stat().st_mtime_ns
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
        return [path for path in paths if path not in self._produced and path != _HEADWAY_FOLDER]

    def expect_change(self, folder: str, before_ns: int) -> None:
        """Keep the listing of a directory that only we have changed since its modification time was `before_ns`."""
        listed = self._listed.get(folder)
        if listed and listed[0] == before_ns:
            self._listed[folder] = ((self._directory / folder).stat().st_mtime_ns, listed[1])

    def modified_ns(self, folder: str) -> int:
        """Return the directory's modification time; 0 if it does not exist."""
        path = self._directory / folder
        return path.stat().st_mtime_ns if path.exists() else 0


def prepare_directory(work: Path, task: Task, workflow_directory: Path, sources: Sources) -> None:
    """Create the task's directory with links to its inputs and to all sources, and folders for its outputs."""
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
    """Yield the inputs inside the workflow's directory, with patterns resolved. Absolute paths need no link."""
    for path in task.inputs:
        if not path.startswith("/"):
            yield from matching(path, task, workflow_directory) if is_pattern(path) else [path]


def matching(pattern: str, task: Task, directory: Path) -> list[str]:
    """Return the files that an input pattern matches now, without the task's own outputs."""
    own = tuple(f"{path}/" for path in task.outputs)
    return sorted(
        path
        for path in glob.glob(pattern, root_dir=directory)
        if not f"{path}/".startswith(own) and os.path.exists(directory / path)
    )


def missing_outputs(work: Path, task: Task) -> list[str]:
    """Return the declared outputs that do not exist, or that are links to files which will be deleted with `work`."""
    inside = os.path.realpath(work) + os.sep
    kept = {inside + path for path in task.outputs}
    missing = []
    for path in task.outputs:
        target = os.path.realpath(work / path)
        is_temporary = task.isolated and target.startswith(inside) and target not in kept
        if not os.path.exists(target) or is_temporary or (task.isolated and _points_into(work / path, inside)):
            missing.append(path)
    return missing


def _points_into(path: Path, folder: str) -> bool:
    """Whether `path` is a symbolic link with an absolute target inside `folder`."""
    return path.is_symlink() and os.path.normpath(os.readlink(path)).startswith(folder)


def stamps(directory: Path, task: Task) -> dict[str, Stamp]:
    """Return size and modification time of each output that exists."""
    return {path: stamp(directory / path) for path in task.outputs if (directory / path).exists()}


def stamp(path: Path) -> Stamp:
    """Return size and modification time of a file, or of all files of a directory together."""
    if not path.is_dir():
        status = path.stat()
        return Stamp(status.st_size, status.st_mtime_ns)
    files = [os.lstat(os.path.join(folder, name)) for folder, _, names in os.walk(path) for name in names]
    return Stamp(sum(file.st_size for file in files), max((file.st_mtime_ns for file in files), default=0))


def publish(work: Path, task: Task, workflow_directory: Path) -> Iterator[str]:
    """Rename the outputs into the workflow's directory, yielding each. It can be repeated after a crash."""
    root = os.path.realpath(workflow_directory)
    for path in task.outputs:
        source, target = work / path, workflow_directory / path
        if not os.path.lexists(source):
            continue  # renamed before the crash
        target.parent.mkdir(parents=True, exist_ok=True)
        parent = os.path.realpath(target.parent)
        if parent != root and not parent.startswith(root + os.sep):
            raise InputError(f"output {path} would leave the workflow's directory through a link", where=str(root))
        _move(source, target)
        yield path


def _move(source: Path, target: Path) -> None:
    """Move `source` to `target`, replacing what is there. A reader sees the old, the new or nothing, never a part."""
    fresh, old = (target.with_name(f".{target.name}.headway-{part}") for part in ("new", "old"))
    crosses = source.lstat().st_dev != target.parent.stat().st_dev
    folder = source.is_dir() and not source.is_symlink()
    if crosses and folder:
        shutil.copytree(source, fresh, symlinks=True, dirs_exist_ok=True)
    elif crosses:
        fresh.unlink(missing_ok=True)  # after a crash: a link is not overwritten
        shutil.copy2(source, fresh, follow_symlinks=False)
    if target.is_dir() and not target.is_symlink():  # rename(2) does not replace a directory that is not empty
        if not folder:
            raise InputError(f"output {target.name} is a file, but a directory of that name exists", where=str(target))
        if old.exists():
            remove_tree(old)
        target.rename(old)
    elif folder and os.path.lexists(target):
        target.unlink()
    mode = source.lstat().st_mode
    if folder:  # a directory without write permission cannot be moved
        source.chmod(mode | 0o700)
    (fresh if crosses else source).rename(target)
    if folder:
        target.chmod(mode)
    if old.exists():
        remove_tree(old)
    if crosses:
        remove_tree(source) if folder else source.unlink()
