"""A task's own working directory: inputs are linked in, and after a success the outputs are renamed out of it."""

from __future__ import annotations

import glob
import hashlib
import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path

from headway.model.errors import InputError
from headway.model.named_paths import named_paths
from headway.model.outcome import Stamp
from headway.model.task import Task, is_pattern
from headway.model.workflow import folders_above
from headway.workers.attempt import mode_of, remove_tree
from headway.workers.sources import Sources

_LONGEST_NAME = 200  # of the 255 bytes that file systems allow


def prepare_directory(work: Path, task: Task, workflow_directory: Path, sources: Sources) -> None:
    """Create the task's directory with links to its inputs and to sources, and folders for its outputs."""
    work.mkdir(mode=mode_of(work.parent))
    made: set[str] = {""}
    inputs = list(_input_files(task, workflow_directory))
    opened = {above for path in (*inputs, *task.outputs) for above in folders_above(path)}
    wanted = _by_folder((*inputs, *task.outputs, *named_paths(task)))
    paths = dict.fromkeys((*inputs, *sources.entries(opened, wanted)))
    for path in paths:
        if path != "." and not any(above in paths for above in folders_above(path)):  # a linked directory shows it
            _folder_for(path, work, made)
            os.symlink(workflow_directory / path, work / path)
    for path in task.outputs:
        _folder_for(path, work, made)


def _by_folder(paths: Iterable[str]) -> dict[str, set[str]]:
    """Return the paths and the directories above them, by the directory in which each lies."""
    found: dict[str, set[str]] = {}
    for path in paths:
        for each in (path, *folders_above(path)):
            found.setdefault(os.path.dirname(each) or ".", set()).add(each)
    return found


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


def undeclared(work: Path, task: Task) -> Iterator[str]:
    """Yield the files that a command made in its own directory and that are not among the task's outputs."""
    for folder, _, names in os.walk(work) if task.isolated else ():
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), work)
            if not os.path.islink(os.path.join(folder, name)) and path not in task.outputs:
                yield path


def _points_into(path: Path, folder: str) -> bool:
    """Whether `path` is a symbolic link with an absolute target inside `folder`."""
    return path.is_symlink() and os.path.normpath(os.readlink(path)).startswith(folder)


def stamps(directory: Path, task: Task) -> dict[str, Stamp]:
    """Return size and modification time of each output that exists."""
    return {path: stamp(directory / path) for path in task.outputs if (directory / path).exists()}


def stamp(path: str | Path) -> Stamp:
    """Return size and modification time of a file, or of all files of a directory together."""
    status = os.stat(path)
    if not stat.S_ISDIR(status.st_mode):
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


def _short(name: str) -> str:
    """A name to which some characters can be added; always the same for the same name."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_NAME else hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _move(source: Path, target: Path) -> None:
    """Move `source` to `target`, replacing what is there. A reader sees the old, the new or nothing, never a part."""
    fresh, old = (target.with_name(f".{_short(target.name)}.headway-{part}") for part in ("new", "old"))
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
