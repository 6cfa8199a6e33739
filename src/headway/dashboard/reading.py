"""`Reading`: a run's journal, read as it grows, by one thread only (SQLite's connections belong to theirs)."""

from __future__ import annotations

import os
from typing import Protocol

from headway.api.finding import manager_of, state_of
from headway.journal.folder import RunFolder
from headway.journal.sqlite import MOST_AT_ONCE, JournalTail
from headway.model.errors import HeadwayError
from headway.model.records import Decision, Event
from headway.report.run.summary import RunSummary
from headway.report.words import harmless

Signature = tuple[tuple[int, int, int], ...]


class Listener(Protocol):
    """Hears each record once, in order."""

    def apply(self, record: Event | Decision, /) -> None:
        """Take note of a record."""


class DamagedError(Exception):
    """The journal cannot be read, or is gone; the text says why."""


class Reading:
    """Reads what is new; a summary hears it, and then another listener."""

    def __init__(self, folder: RunFolder, summary: RunSummary, listener: Listener) -> None:
        self.folder = folder
        self.summary = summary
        self._listener = listener
        self._tail: JournalTail | None = None
        self._file = 0

    def read(self) -> tuple[bool, bool]:
        """Read at most some thousand records; return whether there were any, and whether there may be more."""
        try:
            number = os.stat(self.folder.journal).st_ino
            if self._tail is None:
                self._tail, self._file = JournalTail(self.folder.journal), number
            if number != self._file:
                raise DamagedError("this run was deleted, and another one has its number now")
            with self._tail.careful():
                news = self._tail.news()
                for record in news:
                    self.summary.apply(record)
                    self._listener.apply(record)
        except FileNotFoundError:
            raise DamagedError("this run was deleted") from None
        except (HeadwayError, OSError) as error:
            raise DamagedError(harmless(str(error))) from error
        return bool(news), len(news) == MOST_AT_ONCE

    def state(self) -> str:
        """How the run is now, as `headway status` says it."""
        return state_of(self.summary, manager_of(self.folder, self.summary))

    def close(self) -> None:
        """Let go of the journal."""
        if self._tail is not None:
            self._tail.close()
            self._tail = None


def signature(folder: RunFolder) -> Signature:
    """What changes when something is appended to a journal that nobody has open."""
    found = []
    for name in (folder.journal, f"{folder.journal}-wal"):
        try:
            seen = os.stat(name)
            found.append((seen.st_ino, seen.st_size, seen.st_mtime_ns))
        except OSError:
            found.append((0, 0, 0))
    return tuple(found)
