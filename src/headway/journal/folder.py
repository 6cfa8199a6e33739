"""The folder `.headway` in a workflow's directory: its runs by number, and the lock of the one manager at work."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from headway import locks
from headway.journal.ownership import check_ours
from headway.model.errors import BusyError, InputError, SiteError

_HOLDER = re.compile(r"process (\d{1,12}) on (\S+), run (\S+)")
_NUMBER = re.compile(r"[1-9][0-9]{0,8}", re.ASCII)
_LONGEST_NAME = 200  # of the 255 bytes that file systems allow


class Manager(NamedTuple):
    """A process that manages a run."""

    pid: int
    host: str
    run: str  # "?" while it has not started one yet

    @property
    def is_here(self) -> bool:
        """Whether it runs on this machine."""
        return self.pid > 0 and self.host == socket.gethostname()


class RunFolder:
    """The folder of one run, and what is in it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = path / "journal.db"
        self.jobs = path / "jobs"
        self.tasks = path / "tasks"
        self.logs = path / "logs.db"  # what tasks wrote, when the run has ended
        self.summary = path / "summary"  # of a large run: its figures until a while ago
        self.stop = path / "stop"  # created to stop a run that is part of another program, or managed in a job
        self.managers = path / "managers"  # folders of the jobs in which managers live

    @property
    def directory(self) -> Path:
        """The workflow's directory, where it is now: it may have been moved since the run started."""
        return self.path.parents[2]

    @property
    def run(self) -> str:
        """The run's number in its directory, as users write it."""
        return self.path.name

    def attempt(self, task: str, attempt: int) -> Path:
        """The directory of an attempt, which the supervisor claims by creating it."""
        return self.tasks / _file_name(task) / str(attempt)


class Project:
    """A workflow's directory with its runs."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.resolve()
        self.path = self.directory / ".headway"
        self._lock: int | None = None

    def uid(self) -> str:
        """The project's own name in the history, which stays when the directory is moved; empty if it has none yet."""
        try:
            with open(os.open(self.path / "project", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW), "rb") as file:
                return file.read(_LONGEST_NAME).decode(errors="replace").strip()
        except OSError:
            return ""

    def new_uid(self) -> str:
        """Give the project its name in the history."""
        uid = secrets.token_hex(6)
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW
            with open(os.open(self.path / "project", flags, 0o600), "w", encoding="utf-8") as file:
                file.write(f"{uid}\n")
        except OSError as error:
            raise SiteError(f"cannot write here: {error.strerror}", where=str(self.path)) from error
        return uid

    def runs(self) -> list[RunFolder]:
        """All runs that have a journal, oldest first."""
        check_ours(self.path, read_only=True)
        try:
            numbers = _numbers(self.path / "runs")
        except (FileNotFoundError, NotADirectoryError):
            return []
        folders = (RunFolder(self.path / "runs" / str(number)) for number in numbers)
        return [folder for folder in folders if folder.journal.exists()]

    def run(self, number: str | None = None) -> RunFolder:
        """The run with that number, or the newest."""
        runs = self.runs()
        if not runs:
            raise InputError(
                "nothing has been run here", where=str(self.directory), todo="start with `headway run workflow.yaml`"
            )
        if number is None:
            return runs[-1]
        for folder in runs:
            if folder.run == number:
                return folder
        known = ", ".join(folder.run for folder in runs[-5:])
        raise InputError(f"there is no run {number} here", where=str(self.directory), todo=f"the latest are {known}")

    def new_run(self) -> RunFolder:
        """Create a folder with the next free number."""
        try:
            (self.path / "runs").mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = RunFolder(self.path / "runs" / str(max(_numbers(self.path / "runs"), default=0) + 1))
            for path in (folder.path, folder.jobs, folder.tasks):
                path.mkdir(mode=0o700)
        except OSError as error:
            raise SiteError(
                f"cannot create the run's folder: {error.strerror}", where=str(error.filename or self.path)
            ) from error
        return folder

    @contextmanager
    def locked(self, run: str = "") -> Iterator[None]:
        """Be the only manager here, of a run or of a new one, until the block or this process ends."""
        check_ours(self.path)
        try:
            self.path.mkdir(exist_ok=True, mode=0o700)
            check_ours(self.path)  # somebody else may have been faster
            self._lock = locks.take(self.path / "lock", _about_us(run))
        except OSError as error:
            raise SiteError(f"cannot write here: {error.strerror}", where=str(self.directory)) from error
        if self._lock is None:
            raise BusyError(
                f"another Headway is at work here ({locks.holder(self.path / 'lock') or 'just ending'})",
                where=str(self.directory),
                todo="wait for it, or stop it with `headway cancel`",
            )
        try:
            yield
        finally:
            os.close(self._lock)
            self._lock = None

    def works_on(self, run: str) -> None:
        """Write to the lock which run is managed here."""
        if self._lock is None:
            return
        try:
            locks.write(self._lock, _about_us(run))
        except OSError as error:
            raise SiteError(f"cannot write here: {error.strerror}", where=str(self.path / "lock")) from error

    def manager(self) -> Manager | None:
        """The manager at work here, if there is one."""
        words = locks.holder(self.path / "lock")
        if words is None:
            return None
        written = _HOLDER.fullmatch(words)
        return Manager(int(written[1]), written[2], written[3]) if written else Manager(0, "?", "?")


def _numbers(runs: Path) -> list[int]:
    """The numbers of the folders there, in order. A link or a strange name is none of ours."""
    with os.scandir(runs) as entries:
        return sorted(int(entry.name) for entry in entries if _NUMBER.fullmatch(entry.name) and not entry.is_symlink())


def _about_us(run: str) -> str:
    return f"process {os.getpid()} on {socket.gethostname()}, run {run or '?'}"


def _file_name(task: str) -> str:
    """A task's id as one safe file name, different for different ids."""
    name = quote(task, safe="[],=+@ ")
    if name.startswith("."):  # neither "." nor ".." nor a hidden file
        name = "%2E" + name[1:]
    if len(name.encode()) <= _LONGEST_NAME:
        return name
    return f"{name[: _LONGEST_NAME - 40]}%{hashlib.blake2b(task.encode(), digest_size=16).hexdigest()}"
