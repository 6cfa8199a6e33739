"""`python -m tests.journal.half_written JOURNAL`: add records without a write-ahead log, and die in the middle."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

TORN = b"torn"


def die_while_writing(journal: Path) -> None:
    """Let a process write as a manager does on a network file system, and be killed before it commits."""
    words = [sys.executable, "-m", "tests.journal.half_written", str(journal)]
    done = subprocess.run(words, cwd=Path(__file__).parents[2], check=False, timeout=300)
    assert done.returncode == -signal.SIGKILL


def _write(journal: Path) -> None:
    database = sqlite3.connect(journal, isolation_level=None, timeout=300)
    (mode,) = database.execute("PRAGMA journal_mode=TRUNCATE").fetchone()
    assert mode == "truncate"
    database.execute("PRAGMA cache_size=1")
    database.execute("BEGIN IMMEDIATE")
    rows = [("tick", TORN * 100)] * 200  # more than the cache holds: the file is changed before the commit
    database.executemany("INSERT INTO records (kind, body) VALUES (?, ?)", rows)
    assert TORN in journal.read_bytes()
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    _write(Path(sys.argv[1]))
