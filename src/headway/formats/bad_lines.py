"""`BadLines`: unusable lines of a log, reported as an error or skipped and counted."""

from __future__ import annotations

from headway.model.errors import InputError

SKIP = "skip such lines with --skip-bad"


class BadLines:
    """The bad lines of one file.

    A reader notes every bad line and calls `complain` at the end, so that the error is about the first bad line in the
    file, in whatever order lines were checked.
    """

    def __init__(self, where: str, skip: bool) -> None:
        self._where = where
        self._skip = skip
        self._first: tuple[int, str, str] | None = None
        self.counts: dict[str, int] = {}

    def note(self, kind: str, line: int, what: str, todo: str = "correct it", lines: int = 1) -> None:
        """Note `lines` bad lines of one kind, the first of which is `line`."""
        self.counts[kind] = self.counts.get(kind, 0) + lines
        if self._first is None or line < self._first[0]:
            self._first = line, what, todo

    def complain(self) -> None:
        """Raise an InputError about the first bad line, unless bad lines are to be skipped."""
        if self._first and not self._skip:
            line, what, todo = self._first
            raise InputError(what, where=f"{self._where}:{line}", todo=f"{todo}, or {SKIP}")

    def no_jobs(self, file: str, todo: str) -> InputError:
        """The error for a file (`log`, `dump`) without a single usable job, with the reasons."""
        reasons = ", ".join(f"{lines} {kind}" for kind, lines in self.counts.items())
        readable = f" that can be read: {reasons}" if reasons else ""
        return InputError(f"there is no job in this {file}{readable}", where=self._where, todo=todo)
