"""The manager of a run in the background: what `python -m headway.api.background PIPE` runs, see `detach`."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import msgspec
from rich.console import Console

from headway.api.complaints import line_and_code
from headway.api.detach import Notice, Request, log_of
from headway.api.finding import find_run, reading
from headway.api.resume import resume
from headway.api.start import start
from headway.clusters.slurm.job_folder import JobFolder
from headway.log_setup import LEVEL_VARIABLE, set_up_logging
from headway.model.records import Decision, Event, Finish, RunStarted, Submit
from headway.report.run.ending import print_ending
from headway.report.run.progress import Lines, Progress
from headway.report.run.story import settings_of
from headway.report.run.summary import RunSummary
from headway.version import __version__

_ASKED_WITHIN_S = 60.0
_LOOK_EVERY_S = 0.02
_EXIT_CODES = {"succeeded": 0, "failed": 1}
_STOPPED = 130
LOG_WIDTH = 100


class Announcer:
    """An observer that, when the run has begun, redirects this process's output to the run's log and tells the starter.

    The pipe stays open until the first job was submitted and not refused: an error of the batch system (an account that
    does not exist) should still reach the starter.
    """

    def __init__(self, pipe: int, directory: Path, run: str) -> None:
        self._pipe: int | None = pipe
        self._directory = directory
        self._run = run
        self.begun = False

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        """Take note of records that are in the journal."""
        if self._pipe is None:
            return
        for record in batch:
            if isinstance(record, RunStarted):
                self._run = record.run
        if not self.begun:
            self.begun = True
            _tell(self._pipe, Notice(self._run, redirect_to(log_of(self._directory, self._run), self._run)))
        asked = [record.tag for record in batch if isinstance(record, Submit)]
        if asked or any(isinstance(record, Finish) for record in batch):
            pipe, self._pipe = self._pipe, None
            Thread(target=_close_when_taken, args=(pipe, self._directory, self._run, asked[:1]), daemon=True).start()

    def refuse(self, error: Exception) -> int:
        """Tell the starter why the run cannot begin, or the log why it ended; return the exit code."""
        text, code = line_and_code(error)
        if not self.begun and self._pipe is not None:
            _tell(self._pipe, Notice(error=text, exit_code=code))
        else:
            sys.stderr.write(f"headway: {text}\n")
        return code


def main() -> int:
    """Do what the request on standard input says, and return the exit code."""
    pipe = int(sys.argv[1])
    os.set_inheritable(pipe, False)
    request = msgspec.json.decode(sys.stdin.buffer.read(), type=Request)
    _leave_terminal()
    if request.settings.log_level:
        os.environ[LEVEL_VARIABLE] = request.settings.log_level  # for the supervisors that this process starts
    set_up_logging(request.settings.log_level)
    announcer = Announcer(pipe, Path(request.directory), request.run)
    try:
        return _manage(request, announcer)
    except KeyboardInterrupt:
        return _STOPPED
    except Exception as error:
        if os.environ.get("HEADWAY_DEBUG"):
            raise
        return announcer.refuse(error)


def _manage(request: Request, announcer: Announcer) -> int:
    """Run what was asked for, with progress in the log."""
    width = None if os.environ.get("COLUMNS") else LOG_WIDTH
    console = Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)
    quiet, where, settings = request.settings.quiet, Path(request.directory), request.settings
    progress = Progress(RunSummary()) if quiet else Lines(RunSummary(), console)
    watched: dict[str, Any] = {"progress": progress, "observers": [announcer], "warn": log_warning}
    if request.workflow:
        result = start(request.workflow, where, settings, stand_ins=request.stand_ins, **watched)
    else:
        result = resume(request.run, where, settings, **watched)
    if not quiet:
        print_ending(console, result.summary, result.folder)
    return _EXIT_CODES.get(result.state, _STOPPED)


def log_warning(text: str) -> None:
    """Write a sentence to the log."""
    sys.stderr.write(f"headway: {text}\n")
    sys.stderr.flush()


def _leave_terminal() -> None:
    """Catch hang-ups rather than ignore them (tasks would inherit that), and let go of standard input."""
    signal.signal(signal.SIGHUP, lambda *_: None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.close(nowhere)


def redirect_to(log: Path, run: str) -> int:
    """Send standard output and standard error to the log from now on; return where in the log that begins."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    at = time.strftime("%Y-%m-%d %H:%M:%S %z")
    os.write(handle, f"--- {at}: Headway {__version__}, run {run}, process {os.getpid()}\n".encode())
    offset = os.fstat(handle).st_size
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(handle, 1)
    os.dup2(handle, 2)
    os.close(handle)
    return offset


def _tell(pipe: int, notice: Notice) -> None:
    with suppress(OSError):  # the starter is gone
        os.write(pipe, msgspec.json.encode(notice) + b"\n")


def _close_when_taken(pipe: int, directory: Path, run: str, tags: Sequence[str]) -> None:
    """Close the pipe when the batch system has answered about the job. If it refuses, the process ends anyway."""
    deadline = time.monotonic() + _ASKED_WITHIN_S
    try:
        folder = find_run(directory, run)
        with reading(folder) as journal:
            queues = settings_of(journal).cluster == "slurm"
        for job in [JobFolder(folder.jobs, tag) for tag in tags if queues]:
            while time.monotonic() < deadline:
                asked = job.asked()
                if asked is not None and (asked.job_id is not None or asked.why_waiting):
                    break
                time.sleep(_LOOK_EVERY_S)
    finally:
        os.close(pipe)


if __name__ == "__main__":
    # A log may have any encoding: a character that it lacks becomes a question mark.
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    sys.exit(main())
