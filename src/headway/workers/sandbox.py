"""A task's own working directory: inputs are linked in, and after a success the outputs are renamed out of it."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from headway.model.errors import InputError
from headway.model.named_paths import named_paths
from headway.model.outcome import Stamp
from headway.model.task import Task
from headway.model.workflow import folders_above
from headway.workers.attempt import mode_of, remove_tree
from headway.workers.contents import full_stamp, stamp
from headway.workers.sources import Sources

_LONGEST_NAME = 200  # of the 255 bytes that file systems allow
_MOST_COPIED_BYTES = 256 * 1024  # a larger file is hardly a program


def prepare_directory(work: Path, task: Task, workflow_directory: Path, sources: Sources) -> None:
    """Create the task's directory with links to its inputs and to sources, and folders for its outputs.

    The manager has resolved the patterns among the inputs. A strict task sees no sources but its inputs; those of them
    that may be programs are copied. An interpreter that resolves links, such as Python, would otherwise find modules
    beside the original that are not inputs.
    """
    work.mkdir(mode=mode_of(work.parent))
    made: set[str] = {""}
    inputs = [path for path in (*task.inputs, *task.shown) if not path.startswith("/")]  # absolute paths need no link
    opened = {above for path in (*inputs, *task.outputs) for above in folders_above(path)}
    wanted = _by_folder((*inputs, *task.outputs, *named_paths(task)))
    strict = task.strict and "." not in inputs
    paths = dict.fromkeys((*inputs, *(() if strict else sources.entries(opened, wanted))))
    for path in paths:
        if path != "." and not any(above in paths for above in folders_above(path)):  # a linked directory shows it
            _folder_for(path, work, made)
            if strict and not sources.makes(path) and _may_be_program(workflow_directory / path):
                shutil.copy2(workflow_directory / path, work / path)
            else:
                os.symlink(workflow_directory / path, work / path)
    for path in (*task.outputs, *(f"{folder}/" for folder in task.folders)):
        _folder_for(path, work, made)


def _may_be_program(path: Path) -> bool:
    return path.is_file() and path.stat().st_size <= _MOST_COPIED_BYTES and os.access(path, os.R_OK)


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


def delete_outputs(directory: Path, paths: Iterable[str], outputs: Sequence[str]) -> None:
    """Delete files that an attempt must not find, and the directories among the outputs that are empty without them.

    Another directory stays: files of the user's may lie in it.
    """
    for path in paths:
        inside = [above for above in folders_above(path) if any(f"{above}/".startswith(f"{each}/") for each in outputs)]
        # What is behind a link is not in the workflow's directory: the link itself is deleted.
        links = (above for above in inside if above not in outputs and (directory / above).is_symlink())
        target = directory / next(links, path)
        if target.is_symlink() or not target.is_dir():
            target.unlink(missing_ok=True)
        for above in reversed(inside):
            with suppress(OSError):  # it is not empty
                (directory / above).rmdir()


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
    copied = (*task.inputs, *task.shown) if task.strict else ()
    for folder, _, names in os.walk(work) if task.isolated else ():
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), work)
            if not os.path.islink(os.path.join(folder, name)) and path not in (*task.outputs, *copied):
                yield path


def _points_into(path: Path, folder: str) -> bool:
    """Whether `path` is a symbolic link with an absolute target inside `folder`."""
    return path.is_symlink() and os.path.normpath(os.readlink(path)).startswith(folder)


def stamps(directory: Path, task: Task) -> dict[str, Stamp]:
    """Return size and modification time of each output that exists."""
    return _stamped(directory, task, stamp)


def full_stamps(directory: Path, task: Task) -> dict[str, Stamp]:
    """Return the stamp of each output that exists, with the digest of its content."""
    return _stamped(directory, task, full_stamp)


def _stamped(directory: Path, task: Task, read: Callable[[str], Stamp]) -> dict[str, Stamp]:
    found: dict[str, Stamp] = {}
    for path in task.outputs:
        with suppress(FileNotFoundError, NotADirectoryError):
            found[path] = read(os.path.join(directory, path))
    return found


def publish(work: Path, task: Task, workflow_directory: Path, ours: Collection[str] = ()) -> Iterator[str]:
    """Rename the outputs into the workflow's directory, yielding each. It can be repeated after a crash.

    A directory that is among `ours`, as earlier runs made it, gives way to a file.
    """
    root = os.path.realpath(workflow_directory)
    for path in task.outputs:
        source, target = work / path, workflow_directory / path
        if not os.path.lexists(source):
            continue  # renamed before the crash
        with _writing_to(target.parent):
            target.parent.mkdir(parents=True, exist_ok=True)
            parent = os.path.realpath(target.parent)
            if parent != root and not parent.startswith(root + os.sep):
                raise InputError(f"output {path} would leave the workflow's directory through a link", where=str(root))
            if path in ours and source.is_file() and target.is_dir() and not target.is_symlink():
                remove_tree(target)
            _move(source, target)
        yield path


@contextmanager
def _writing_to(folder: Path) -> Iterator[None]:
    """Say in an error that the folder cannot be written to, if that is the reason.

    A read-only file system stays an OSError: that is trouble of the machine, not of one task.
    """
    try:
        yield
    except OSError as error:
        there = next(path for path in (folder, *folder.parents) if path.exists())
        if os.access(there, os.W_OK | os.X_OK, effective_ids=True):
            raise
        if error.errno == errno.EROFS:
            what = "this folder is on a read-only file system, and outputs cannot be put there"
            raise OSError(errno.EROFS, what, str(there)) from error
        what = f"this folder cannot be written to ({error.strerror})"
        todo = "change its permissions, then `headway run` again"
        raise InputError(what, where=str(there), todo=todo) from error


def _short(name: str) -> str:
    """A name to which some characters can be added; always the same for the same name."""
    encoded = os.fsencode(name)
    return name if len(encoded) <= _LONGEST_NAME else hashlib.blake2b(encoded, digest_size=16).hexdigest()


def _move(source: Path, target: Path) -> None:
    """Move `source` to `target`, replacing what is there. A reader sees the old, the new or nothing, never a part."""
    crosses = source.lstat().st_dev != target.parent.stat().st_dev
    try:
        _replace(source, target, crosses=crosses)
    except OSError as error:
        if crosses or error.errno != errno.EXDEV:
            raise
        _replace(source, target, crosses=True)  # the same file system, mounted at another place


def _replace(source: Path, target: Path, *, crosses: bool) -> None:
    """Rename `source` to `target`; a copy of it if it `crosses` to another file system. It can be repeated."""
    fresh, old = (target.with_name(f".{_short(target.name)}.headway-{part}") for part in ("new", "old"))
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
