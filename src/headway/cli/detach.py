"""`--detach` of `headway run` and `resume`: the manager goes on in the background and survives a logout."""

from __future__ import annotations

import os
import select
import signal
import socket
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import click

from headway.cli.options import Function

if TYPE_CHECKING:
    from headway.model.records import Decision, Event

LOG = "manager.log"  # in the run's folder

_ASKED_WITHIN_S = 60.0  # a new run should have asked for its first job by then, and heard
_ASKED_AGAIN_WITHIN_S = 3.0  # one that goes on may have its job already
_MOMENT_S = 1.0  # and what stops a run at once does so within that after it
_LOOK_EVERY_S = 0.02


def detach_option(function: Function) -> Function:
    """`--detach`, for verbs that manage a run."""
    return click.option(
        "--detach",
        is_flag=True,
        help="Go on in the background, also after a logout; return when the run has begun.",
    )(function)


class Background:
    """The observer of a run in the background: when the run has begun, it moves to the run's log and tells so.

    Until then errors go where the user sees them. The pipe is closed when the first job was asked for and not refused:
    what is wrong with it (an account that does not exist) should still be seen, too.
    """

    def __init__(self, pipe: int, directory: Path, run: str) -> None:
        self._pipe: int | None = pipe
        self._directory = directory
        self._run = run
        self._begun = False

    def __call__(self, batch: Sequence[Event | Decision]) -> None:
        """The records in `batch` are in the journal."""
        from headway.model.records import Finish, RunStarted, Submit

        if self._pipe is None:
            return
        for record in batch:
            if isinstance(record, RunStarted):
                self._run = record.run
        if not self._begun:
            self._begun = True
            offset = _write_to(log_of(self._directory, self._run), self._run)
            with suppress(OSError):  # nobody waits any more
                os.write(self._pipe, f"{self._run} {offset}\n".encode())
        asked = [record.tag for record in batch if isinstance(record, Submit)]
        if asked or any(isinstance(record, Finish) for record in batch):
            pipe, self._pipe = self._pipe, None
            Thread(target=_close_when_taken, args=(pipe, self._directory, self._run, asked[:1]), daemon=True).start()


def _close_when_taken(pipe: int, directory: Path, run: str, tags: Sequence[str]) -> None:
    """Close the pipe, but not before a batch system has heard of the job. If it refuses, the process ends anyway."""
    from headway.cli.finding import find_run, reading
    from headway.clusters.slurm.marks import JobFolder
    from headway.model.records import RunStarted

    deadline = time.monotonic() + _ASKED_WITHIN_S
    try:
        folder = find_run(directory, run)
        with reading(folder) as journal:
            started = next(journal.replay(kinds=("run-started",)))
        queues = isinstance(started, RunStarted) and started.cluster == "slurm"
        for job in [JobFolder(folder.jobs, tag) for tag in tags if queues]:
            while time.monotonic() < deadline:
                asked = job.asked()
                if asked is not None and (asked.job_id is not None or asked.why_waiting):
                    break
                time.sleep(_LOOK_EVERY_S)
    finally:
        os.close(pipe)


def log_of(directory: Path, run: str) -> Path:
    """What the managers of a run wrote in the background."""
    from headway.journal.folder import Project

    return Project(directory).path / "runs" / run / LOG


def go_to_background(directory: Path, run: str = "", *, as_json: bool) -> Background:
    """Return in a new process, which has no terminal; this one waits until the run has begun, tells, and exits."""
    reads, writes = os.pipe()
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        os.close(reads)
        _leave_terminal()
        return Background(writes, directory, run)
    os.close(writes)
    patience_s = _ASKED_AGAIN_WITHIN_S if run else _ASKED_WITHIN_S
    raise click.exceptions.Exit(_wait(pid, reads, directory, patience_s, as_json=as_json))


def _leave_terminal() -> None:
    """A session of our own. A hang-up is caught rather than ignored: tasks would inherit that they ignore it."""
    os.setsid()
    signal.signal(signal.SIGHUP, lambda *_: None)
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 0)
    os.dup2(nowhere, 1)  # errors are still shown
    os.close(nowhere)


def _write_to(log: Path, run: str) -> int:
    """Let all that is written go to the log from now on; returns where that begins."""
    from headway.version import __version__

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


# --- in front of the user ---


def _wait(pid: int, pipe: int, directory: Path, patience_s: float, *, as_json: bool) -> int:
    """Until the run has begun, has asked for its first job (if that is soon), and lives a moment later."""
    try:
        begun = _first_line(pipe)
        if not begun:  # it has complained itself
            return _exit_code(os.waitpid(pid, 0)[1])
        run, offset = begun.split()
        select.select([pipe], [], [], patience_s)
        code = _end_within(pid, _MOMENT_S)
    except KeyboardInterrupt:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)
        os.waitpid(pid, 0)
        raise
    log = log_of(directory, run)
    if code is not None:
        _repeat(log, int(offset), as_json=as_json)
    if as_json:
        from headway.cli.output import print_json

        print_json(_document(directory, run, pid, log, code))
    elif code is None:
        _tell(directory, run, pid, log)
    return code or 0


def _first_line(pipe: int) -> str:
    line = b""
    while not line.endswith(b"\n"):
        block = os.read(pipe, 100)
        if not block:
            return ""
        line += block
    return line.decode()


def _end_within(pid: int, patience_s: float) -> int | None:
    """The exit code, if it ends that soon."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return _exit_code(status)
        time.sleep(_LOOK_EVERY_S)
    return None


def _exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _repeat(log: Path, offset: int, *, as_json: bool) -> None:
    """Show what a run that is over already wrote, where it would have written that without --detach."""
    with log.open("rb") as file:
        file.seek(offset)
        for line in file.read().decode(errors="replace").splitlines():
            complains = line.startswith("headway: ")
            click.echo(line, err=complains or as_json)


def _document(directory: Path, run: str, pid: int, log: Path, code: int | None) -> dict[str, Any]:
    return {
        "run": run,
        "directory": str(directory.resolve()),
        "manager_pid": pid,
        "host": socket.gethostname(),
        "log": str(log),
        "exit_code": code,
    }


def _tell(directory: Path, run: str, pid: int, log: Path) -> None:
    import shlex

    from headway.report.run.ending import shown

    here = os.path.realpath(os.getcwd()) == os.path.realpath(directory)
    where = "" if here else f" -C {shlex.quote(shown(directory))}"
    click.echo(f"run {run} goes on in the background, as process {pid} on {socket.gethostname()}; you may log out")
    click.echo(f"→ headway attach{where} {run}    follow it (Ctrl-C leaves it alone)")
    click.echo(f"→ headway status{where} {run}    how far is it?")
    click.echo(f"→ headway cancel{where} {run}    stop it")
    click.echo(f"log in {shown(log)}")
