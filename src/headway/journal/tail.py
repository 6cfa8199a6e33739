"""`JournalTail`: reads the records of a run as another process appends them."""

from __future__ import annotations

from pathlib import Path

from headway.journal.sqlite import SqliteJournal
from headway.model.records import Decision, Event

MOST_AT_ONCE = 5000


class JournalTail(SqliteJournal):
    """Each call of `news` returns what was appended since the last."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, read_only=True)
        self._seen = 0

    def news(self) -> list[Event | Decision]:
        """The next records, at most `MOST_AT_ONCE`; empty if there are none yet."""
        query = "SELECT sequence, body FROM records WHERE sequence > ? ORDER BY sequence LIMIT ?"
        with self._complaints("read"):
            rows = self._database.execute(query, (self._seen, MOST_AT_ONCE)).fetchall()
        if rows:
            self._seen = rows[-1][0]
        return [self._decoded(*row) for row in rows]
