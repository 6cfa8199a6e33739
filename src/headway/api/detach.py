"""`detach`: start or resume a run in the background; its manager survives a logout."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from io import RawIOBase
from pathlib import Path

import msgspec
from msgspec import Struct

from headway.api.answers import Answer
from headway.api.finding import find_run
from headway.api.runnable import Scale, runnable
from headway.api.settings import RunSettings, settings_for
from headway.drivers.run_history import Warn, warn_program
from headway.drivers.run_settings import IN_JOB
from headway.journal.folder import Project
from headway.model.errors import BusyError, HeadwayError, InputError, SiteError

LOG = "manager.log"  # in the run's folder

_ASKED_WITHIN_S = 60.0  # a new run should have submitted its first job by then, and have an answer
_ASKED_AGAIN_WITHIN_S = 3.0  # a resumed run may have its job already
_MOMENT_S = 1.0  # an error that stops a run at once does so within this time
_ERRORS: dict[int, type[HeadwayError]] = {error.exit_code: error for error in (InputError, SiteError, BusyError)}


class Request(Struct, frozen=True):
    """What a manager in the background has to do: start a workflow, or resume a run if no workflow is named."""

    directory: str
    settings: RunSettings
    workflow: str = ""
    run: str = ""
    stand_ins: Scale | None = None


class Notice(Struct, frozen=True):
    """What the manager tells its starter: that the run has begun and logs from `offset` on, or why it cannot begin."""

    run: str = ""
    offset: int = 0
    error: str = ""
    exit_code: int = 0


class Detached(Answer, frozen=True):
    """A run in the background, whose manager is a process on `host` or lives in a job.

    `exit_code` and `output` are of a run that was over before the call returned.
    """

    unsaid = ("output",)

    run: str
    directory: Path
    manager_pid: int | None
    host: str | None
    log: Path
    exit_code: int | None = None
    output: str = ""
    manager_job: int | None = None


def detach(
    workflow: str | os.PathLike[str] | None = None,
    directory: str | os.PathLike[str] | None = None,
    settings: RunSettings | None = None,
    *,
    run: str | None = None,
    stand_ins: Scale | None = None,
    warn: Warn = warn_program,
) -> Detached:
    """Start a workflow file in the background or, without one, resume a run; return when the run has begun.

    `run` is the run to resume in `directory`, by default the newest. The call returns when the run has submitted its
    first job, or soon after the run has begun. An error that stops the run before it begins is raised here.
    With `manager="job"` in the settings it returns when the job for the run's manager is in the queue; `warn` is told
    of trouble that does not stop the run. Otherwise such trouble is in the log.
    """
    if settings is not None and settings.manager == IN_JOB:
        return _in_job(workflow, directory, settings, run, stand_ins, warn)
    if workflow is None:
        folder = find_run(Path(directory or "."), run)
        where, run = folder.directory, folder.run
    else:
        where = Path(directory) if directory is not None else Path(workflow).absolute().parent
    request = Request(
        str(where), settings or settings_for(where), os.fspath(workflow) if workflow else "", run or "", stand_ins
    )
    reads, writes = os.pipe()
    try:
        process = subprocess.Popen(
            # -P: a file here that is called like a module of ours or Python's must not be taken for it
            [sys.executable, "-P", "-m", "headway.api.background", str(writes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[writes],
            start_new_session=True,
        )
    finally:
        os.close(writes)
    with open(reads, "rb", buffering=0) as pipe:
        return _wait(process, pipe, request)


def _in_job(
    workflow: str | os.PathLike[str] | None,
    directory: str | os.PathLike[str] | None,
    settings: RunSettings,
    run: str | None,
    scale: Scale | None,
    warn: Warn,
) -> Detached:
    from headway.api.in_job import resume_in_job, start_in_job

    if workflow is None:
        folder, job = resume_in_job(run, Path(directory or "."), settings, warn)
    else:
        folder, job = start_in_job(runnable(workflow, directory, settings, scale), warn)
    log = log_of(folder.directory, folder.run)
    return Detached(folder.run, folder.directory, None, None, log, manager_job=job.job_id)


def _wait(process: subprocess.Popen[bytes], pipe: RawIOBase, request: Request) -> Detached:
    """Wait until the run has begun, has submitted its first job (if that is soon), and lives a moment later."""
    try:
        if process.stdin is not None:
            with suppress(BrokenPipeError), process.stdin as stdin:
                stdin.write(msgspec.json.encode(request))
        line = pipe.readline()
        notice = msgspec.json.decode(line, type=Notice) if line.endswith(b"\n") else Notice()
        if not notice.run:
            code = notice.exit_code or _exit_code(process.wait())
            error = _ERRORS.get(code, HeadwayError)(notice.error or "the manager ended before the run began")
            error.exit_code = code
            raise error
        select.select([pipe], [], [], _ASKED_AGAIN_WITHIN_S if request.run else _ASKED_WITHIN_S)
        ended = _end_within(process, _MOMENT_S)
    except KeyboardInterrupt:
        process.send_signal(signal.SIGTERM)
        process.wait()
        raise
    log = log_of(Path(request.directory), notice.run)
    return Detached(
        notice.run,
        Path(request.directory).resolve(),
        process.pid,
        socket.gethostname(),
        log,
        ended,
        "" if ended is None else log.read_bytes()[notice.offset :].decode(errors="replace"),
    )


def log_of(directory: Path, run: str) -> Path:
    """Return the file to which the managers of a run write in the background."""
    return Project(directory).path / "runs" / run / LOG


def _end_within(process: subprocess.Popen[bytes], patience_s: float) -> int | None:
    """Return the exit code of a process that ends within `patience_s`."""
    try:
        return _exit_code(process.wait(patience_s))
    except subprocess.TimeoutExpired:
        # In a program that goes on for long, an ended manager must not stay a zombie.
        threading.Thread(target=process.wait, name="headway-manager", daemon=True).start()
        return None


def _exit_code(code: int) -> int:
    return code if code >= 0 else 128 - code
