"""`follow`: watch a run that another process manages, until it ends."""

from __future__ import annotations

import os
import socket
import time
from contextlib import closing
from pathlib import Path

from headway.api.detach import LOG
from headway.api.finding import find_run, manager_of
from headway.api.run_result import RunResult, ended
from headway.drivers.manager_jobs import manager_jobs
from headway.journal.folder import RunFolder
from headway.journal.sqlite import JournalTail
from headway.model.errors import SiteError
from headway.report.run.ending import elsewhere
from headway.report.run.progress import Progress
from headway.report.run.summary import RunSummary

_LOOK_EVERY_S = 0.5
_LOOK_FOR_MANAGER_S = 3.0
_ASK_SLURM_EVERY_S = 20.0  # while no lock shows that the manager in a job is at work


def follow(
    run: str | None = None, directory: str | os.PathLike[str] = ".", *, progress: Progress | None = None
) -> RunResult:
    """Wait for the end of a run (by default the newest) and return how it ended; `progress` hears what happens.

    It only reads the journal: any number of processes may follow a run, and a KeyboardInterrupt leaves the run alone.
    Raises a `SiteError` if no process manages the run any more.
    """
    folder = find_run(Path(directory), run)
    progress = progress or Progress(RunSummary())
    tail = JournalTail(folder.journal)
    with closing(tail), tail.careful():
        while batch := tail.news():  # what happened before is no news
            progress.catch_up(batch)
        if not progress.summary.finished:
            progress(())
            _follow(tail, folder, progress)
    return ended(folder, progress)


def _follow(tail: JournalTail, folder: RunFolder, progress: Progress) -> None:
    looked_at = 0.0
    while not progress.summary.finished:
        batch = tail.news()
        if batch:
            progress(batch)
            continue
        every_s = _ASK_SLURM_EVERY_S if folder.managers.exists() else _LOOK_FOR_MANAGER_S
        if time.monotonic() - looked_at >= every_s:
            looked_at = time.monotonic()
            if manager_of(folder, progress.summary) is None and not (batch := tail.news()):
                raise _without_manager(folder, progress.summary)
            progress(batch)
        time.sleep(_LOOK_EVERY_S)


def _without_manager(folder: RunFolder, summary: RunSummary) -> SiteError:
    """Return the error for a run that has no manager and is not over."""
    try:
        last = (folder.path.parents[1] / "lock").read_text(errors="replace").partition(", run ")
    except OSError:
        last = ("", "", "")
    who = f" ({last[0]})" if last[2] == folder.run else ""
    how, why, where = "--detach", "was killed or crashed", ""
    if jobs := manager_jobs(folder):
        how, who, why = "--manager job", f" (in {jobs[-1]})", "ended, and no other job for one is in the queue"
        where = str(folder.path / LOG)
    elif who and not last[0].endswith(f" on {socket.gethostname()}"):
        why = "is gone, as far as can be seen from here"
    elif summary.last_at < _booted_at():
        why = "ended when this machine was restarted"
    return SiteError(
        f"run {folder.run} has no manager any more: its manager{who} {why}; nothing is lost",
        where=where,
        todo=f"`headway resume {how}{elsewhere(summary)} {folder.run}` goes on with it",
    )


def _booted_at() -> float:
    try:
        return time.time() - float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 0.0
