"""Errors that a user can cause: each says what was wrong, where, and what to do, in one sentence."""

from __future__ import annotations

import errno
from collections.abc import Sequence

_LONGEST = 800  # characters of what was wrong: names in files may be of any length


class HeadwayError(Exception):
    """An error that the user can fix. The command line prints it without a traceback and exits with `exit_code`."""

    exit_code = 2

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        self.what = what if len(what) <= _LONGEST else f"{what[:_LONGEST]}…"
        self.where = where
        self.todo = todo if len(todo) <= _LONGEST else f"{todo[:_LONGEST]}…"
        super().__init__(what)

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        advice = f"; {self.todo}" if self.todo else ""
        return f"{place}{self.what}{advice}"


class InputError(HeadwayError):
    """A file, option or value that cannot be used."""


class WorkflowError(InputError):
    """Tasks that do not form a workflow. `tasks` names them, so that a file reader can add file and line."""

    def __init__(self, what: str, *, tasks: Sequence[str] = (), where: str = "", todo: str = "") -> None:
        super().__init__(what, where=where, todo=todo)
        self.tasks = tuple(tasks)


class SiteError(HeadwayError):
    """The machine or its file system cannot do what is needed: disk full, not writable, journal too new."""

    exit_code = 3


class DiskFullError(SiteError):
    """A disk is full, or a quota on it is used up."""


def is_disk_full(error: BaseException) -> bool:
    """Whether the operating system refused to write since a disk is full, or a quota is used up."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


class BusyError(HeadwayError):
    """Another Headway process works in this directory."""

    exit_code = 4
