"""`clean`: delete what earlier runs have left and nothing needs any more."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Literal

from msgspec import Struct, structs

from headway.api.answers import Answer
from headway.api.finding import reading
from headway.api.runs import RESUMABLE, RunEntry, entry_of, size_of
from headway.drivers.earlier_runs import orphans
from headway.journal.folder import Project, RunFolder
from headway.model.errors import InputError, SiteError
from headway.model.workflow import folders_above
from headway.report.run.story import tasks_of
from headway.workers.attempt import remove
from headway.workers.environments import described_environment


class Leftover(Struct, frozen=True):
    """Something to delete; `name` is a run's number, a task with its attempt, an environment's folder, or a file."""

    kind: Literal["run", "sandbox", "environment", "orphan"]
    name: str
    paths: list[Path]
    size_bytes: int


class Cleaned(Answer, frozen=True):
    """What was found, and whether it was deleted."""

    directory: Path
    found: list[Leftover]
    removed: bool = False

    @property
    def size_bytes(self) -> int:
        """The size of all that was found."""
        return sum(each.size_bytes for each in self.found)


def clean(
    directory: str | os.PathLike[str] = ".",
    *,
    keep: int = 1,
    unfinished: bool = False,
    only_orphans: bool = False,
    dry_run: bool = False,
    confirm: Callable[[Cleaned], bool] = lambda found: True,
) -> Cleaned:
    """Delete old runs, sandboxes of failed attempts, unused environments and orphans, if `confirm` returns True.

    An orphan is a file that an earlier run made and that belongs to no task of the newest run or of another workflow
    here; one that was changed since is not. A directory that is empty without its orphans goes with them.

    The newest `keep` runs stay, the newest run of all tasks of each workflow, and those that can be resumed, unless
    `unfinished` says otherwise. Results stay valid, and what was learned is kept elsewhere. Nothing is deleted while a
    run is at work here.
    """
    if not Path(directory).is_dir():
        raise InputError("there is no such directory", where=str(directory))
    if keep < 1:
        raise InputError("the newest run has to stay: it knows which results are valid", where="--keep")
    project = Project(Path(directory))
    if not project.path.is_dir():
        return Cleaned(project.directory, [])
    with nullcontext() if dry_run else project.locked():
        leftovers = [] if only_orphans else list(_leftovers(project, keep, unfinished))
        found = Cleaned(project.directory, [*leftovers, *_orphans(project)])
        if dry_run or not found.found or not confirm(found):
            return found
        for each in found.found:
            for path in each.paths:
                try:
                    remove(path)
                except OSError as error:
                    raise SiteError(f"cannot delete this: {error.strerror}", where=str(path)) from error
            if each.kind == "orphan":
                _remove_empty(project.directory, folders_above(each.name))
    return structs.replace(found, removed=True)


def _leftovers(project: Project, keep: int, unfinished: bool) -> Iterator[Leftover]:
    runs = {folder.run: (folder, entry_of(folder)) for folder in project.runs()}
    kept = _kept([entry for _, entry in runs.values()], keep, unfinished)
    for path in sorted((project.path / "runs").glob("[0-9]*"), key=lambda path: path.name.zfill(20)):
        if path.name not in kept:  # some may have no journal
            yield Leftover("run", path.name, [path], size_of(path))
    for run in kept:
        folder, entry = runs[run]
        if entry.state in ("succeeded", "failed"):
            yield from _sandboxes(folder)
    yield from _environments(project, [runs[run][0] for run in kept])


def _remove_empty(directory: Path, folders: Sequence[str]) -> None:
    """Delete those of these directories, outermost first, that are empty now."""
    with suppress(OSError):  # something is in it
        for folder in reversed(folders):
            (directory / folder).rmdir()


def _orphans(project: Project) -> Iterator[Leftover]:
    """Yield the files and directories that no task makes any more."""
    for path in orphans(project):
        yield Leftover("orphan", path, [project.directory / path], size_of(project.directory / path))


def _kept(runs: Sequence[RunEntry], keep: int, unfinished: bool) -> list[str]:
    """Return the numbers of the runs that stay, given all of them, oldest first."""
    whole = {(run.source, run.name): run.run for run in runs if not (run.only or run.only_columns or run.until)}
    newest = {run.run for run in runs[-keep:]}
    protected = {run.run for run in runs if run.state == "running" or (run.state in RESUMABLE and not unfinished)}
    return [run.run for run in runs if run.run in newest | protected | set(whole.values())]


def _sandboxes(folder: RunFolder) -> Iterator[Leftover]:
    """Yield the working directories of attempts that failed, and what they saved for a next attempt."""
    for path in sorted((*folder.tasks.glob("*/*/work"), *folder.tasks.glob("*/kept"))):
        name = f"{path.parent.relative_to(folder.tasks)}, run {folder.run}"
        yield Leftover("sandbox", name, [path], size_of(path))


def _environments(project: Project, runs: Sequence[RunFolder]) -> Iterator[Leftover]:
    """Yield the environments that no task of these runs would use now."""
    used = set()
    for folder in runs:
        with suppress(SiteError), reading(folder) as journal:
            wanted = {str(task.software): task.software for task in tasks_of(journal).values() if task.software}
            for software in wanted.values():
                with suppress(SiteError):  # the file that describes it is gone
                    used.add(getattr(described_environment(software, project.directory), "prefix", None))
    entries = sorted((project.path / "envs").glob("*"))
    for prefix in dict.fromkeys(path.with_suffix("") for path in entries):
        if prefix not in used:
            paths = [path for path in entries if path.with_suffix("") == prefix]
            yield Leftover("environment", prefix.name, paths, sum(map(size_of, paths)))
