"""Lines of a log that cannot be used: the first is complained about, or all are left out and counted."""

from __future__ import annotations

from headway.model.errors import InputError

SKIP = "leave such lines out with --skip-bad"


class BadLines:
    """What was wrong with which lines of one file.

    A reader notes every bad line and asks at the end. So the complaint is about the first line of the file that is bad,
    in whatever order the lines were looked at.
    """

    def __init__(self, where: str, skip: bool) -> None:
        self._where = where
        self._skip = skip
        self._first: tuple[int, str, str] | None = None
        self.counts: dict[str, int] = {}

    def note(self, kind: str, line: int, what: str, todo: str = "mend it", lines: int = 1) -> None:
        """`lines` lines are bad in this way, of which `line` is the first."""
        self.counts[kind] = self.counts.get(kind, 0) + lines
        if self._first is None or line < self._first[0]:
            self._first = line, what, todo

    def complain(self) -> None:
        """An InputError about the first bad line, if there is one and it shall not be skipped."""
        if self._first and not self._skip:
            line, what, todo = self._first
            raise InputError(what, where=f"{self._where}:{line}", todo=f"{todo}, or {SKIP}")


def cut(text: str) -> str:
    """The text in quotes and in one line, as a sentence can hold it."""
    return repr(text) if len(text) <= 60 else f"{text[:57]!r}..."
