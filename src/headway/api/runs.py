"""`runs`: the runs of a directory, newest first."""

from __future__ import annotations

import os
import time
from pathlib import Path

from msgspec import Struct, field

from headway.api.answers import Answer
from headway.api.finding import manager_of, reading, state_of
from headway.api.saved_summary import summary_of
from headway.journal.folder import Project, RunFolder
from headway.model.errors import InputError, SiteError
from headway.model.records import ChosenSetting
from headway.report.run.again import again
from headway.report.run.figures import STATES

RESUMABLE = ("stopped", "interrupted")


class RunEntry(Struct, frozen=True):
    """One run. `state` is as for `status`, or `unreadable`.

    `only`, `only_columns` and `until` say which part of the workflow was asked for.
    """

    run: str
    name: str = ""
    source: str = ""
    only: tuple[str, ...] = ()
    only_columns: tuple[str, ...] = ()
    until: tuple[str, ...] = ()
    state: str = "unreadable"
    started_at: float = 0
    wall_s: float = 0
    tasks: dict[str, int] = field(default_factory=dict)  # their number by state, and `total`
    size_bytes: int = 0  # of its folder
    settings: tuple[ChosenSetting, ...] = ()  # that took effect besides defaults
    again: str = ""  # the command that does it again


class RunsView(Answer, frozen=True):
    """The runs of a directory, newest first."""

    directory: Path
    runs: list[RunEntry]


def runs(directory: str | os.PathLike[str] = ".") -> RunsView:
    """Return all runs in `directory`: when they started, how they ended, how long they took and what they occupy."""
    if not Path(directory).is_dir():
        raise InputError("there is no such directory", where=str(directory))
    project = Project(Path(directory))
    return RunsView(project.directory, [entry_of(folder) for folder in reversed(project.runs())])


def entry_of(folder: RunFolder) -> RunEntry:
    """Return what there is to say about a run."""
    try:
        with reading(folder) as journal:
            summary = summary_of(folder, journal)
    except SiteError:
        return RunEntry(folder.run, size_bytes=size_of(folder.path))
    settings, whole = summary.settings, summary.whole()
    state = state_of(summary, manager_of(folder, summary))
    if settings is None:
        return RunEntry(folder.run, size_bytes=size_of(folder.path))
    return RunEntry(
        folder.run,
        settings.name,
        settings.source,
        settings.tasks,
        settings.only,
        settings.until,
        state,
        settings.at,
        summary.elapsed_s(time.time() if state == "running" else None),
        {name: getattr(whole, name) for name in ("total", *STATES)},
        size_of(folder.path),
        settings.chosen,
        again(settings),
    )


def size_of(path: Path) -> int:
    """Return the size of a file, or of all files below a directory."""
    if not path.is_dir() or path.is_symlink():
        return path.lstat().st_size
    return sum(
        os.lstat(name).st_size
        for above, _, names in os.walk(path)
        for name in (os.path.join(above, each) for each in names)
        if os.path.lexists(name)
    )
