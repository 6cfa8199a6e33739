"""The manager of a run in a job: what `python -m headway.api.manager_in_job RUN-FOLDER TAG` runs.

It waits until no earlier manager can act, goes on with the run, and leaves it to the next manager in time. Its exit
code is 0 if it left the run or saw its end, however the run ended: then the next manager need not ask Slurm.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from pathlib import Path

from rich.console import Console

from headway.api.background import LOG_WIDTH, log_warning, redirect_to
from headway.api.complaints import line_and_code
from headway.api.detach import log_of
from headway.api.finding import reading
from headway.api.resume import CatchUp
from headway.api.run_result import ended
from headway.api.saved_summary import Saving
from headway.api.settings import RunSettings
from headway.api.telling import telling
from headway.crash_points import crash_point
from headway.drivers import runs
from headway.drivers.hand_over import HandOver
from headway.drivers.manager_jobs import ManagerJobs, settings_of_managers
from headway.drivers.real import LEFT
from headway.journal.folder import RunFolder
from headway.log_setup import LEVEL_VARIABLE, set_up_logging
from headway.model.errors import BusyError, SiteError
from headway.report.run.ending import print_ending
from headway.report.run.progress import Lines, Progress
from headway.report.run.story import settings_of
from headway.report.run.summary import RunSummary

_log = logging.getLogger("headway.api.manager_in_job")  # this module runs as __main__

_LOCK_WITHIN_S = 60.0  # the command that submitted this job, or `headway cancel`, may hold the lock for a moment
_LOCK_AGAIN_S = 0.5


def main() -> int:
    """Manage the run for as long as this job may, and return the exit code."""
    folder, tag = RunFolder(Path(sys.argv[1])), sys.argv[2]
    redirect_to(log_of(folder.directory, folder.run), folder.run)
    try:
        settings = settings_of_managers(folder)
        if settings.log_level:
            os.environ[LEVEL_VARIABLE] = settings.log_level  # for the supervisors of the jobs that are submitted here
        set_up_logging(settings.log_level)
        return _manage(folder, tag, settings)
    except Exception as error:
        if os.environ.get("HEADWAY_DEBUG"):
            raise
        text, code = line_and_code(error)
        log_warning(text)
        return code


def _manage(folder: RunFolder, tag: str, settings: RunSettings) -> int:
    with reading(folder) as journal:
        jobs = ManagerJobs(folder, settings_of(journal), settings)
    own = jobs.own(tag)
    jobs.say_ready(own)
    crash_point("ready")
    jobs.wait_for_turn(own)
    crash_point("taking-over")
    width = None if os.environ.get("COLUMNS") else LOG_WIDTH
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)
    progress = Progress(RunSummary()) if settings.quiet else Lines(RunSummary(), console)
    if _go_on(folder, settings, progress, HandOver(jobs, own)) == LEFT:
        crash_point("left")
        _log.info("%s has left the run to the next manager", own)
        return 0
    try:
        jobs.cancel_waiting()
    except SiteError as error:  # it does nothing: the run is over
        log_warning(f"the next manager's job may still be in the queue: {error}")
    if progress.summary.settings is not None:  # otherwise the run was over before this manager's turn
        result = ended(folder, progress, settings)
        if not settings.quiet:
            print_ending(console, result.summary, folder)
    return 0


def _go_on(folder: RunFolder, settings: RunSettings, progress: Progress, hand_over: HandOver) -> str:
    deadline = time.monotonic() + _LOCK_WITHIN_S
    saving = Saving(progress.summary, folder.directory)
    with telling(CatchUp(progress, folder), progress.summary, settings, log_warning) as watching:
        while True:
            try:
                return runs.resume(folder, settings, [watching, saving], log_warning, hand_over=hand_over)
            except BusyError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_LOCK_AGAIN_S)


if __name__ == "__main__":
    # A log may have any encoding: a character that it lacks becomes a question mark.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main())
