"""What is SQLite's own about a history: its file. What every history does is in `test_contract.py`."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headway.history.schema import VERSION
from headway.history.sqlite import SqliteHistory
from headway.model.errors import SiteError
from tests.history.observations import observation


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    path = tmp_path / "data" / "headway" / "history.db"
    SqliteHistory(path).close()
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)


def test_a_file_that_others_may_read_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    SqliteHistory(path).close()
    path.chmod(0o660)
    SqliteHistory(path).close()
    assert path.stat().st_mode & 0o777 == 0o660


def test_a_file_that_is_not_a_history_is_an_error_of_one_line(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("this is not a database, by any means, but it is long enough to be looked at" * 20)
    with pytest.raises(
        SiteError, match=r"history\.db: cannot open the history: file is not a database; .*HEADWAY_HIST"
    ):
        SqliteHistory(path)


def test_a_column_of_another_type_affects_only_its_row(tmp_path: Path) -> None:
    history = SqliteHistory(tmp_path / "history.db")
    history.add("here", "flow", [observation(number) for number in range(5)])
    with sqlite3.connect(tmp_path / "history.db") as database:
        database.execute("UPDATE observations SET usage = x'ff00' WHERE task = 'count[1]'")
        database.execute("UPDATE observations SET ended_at = 'yesterday' WHERE task = 'count[2]'")
    assert [seen.task for seen in history.newest("here", "flow", ["count"], 10)] == ["count[0]", "count[3]", "count[4]"]
    assert [figures.category for figures in history.figures()] == ["count"]


def test_a_full_disk_loses_nothing_that_was_written(small_disk: Path) -> None:
    history = SqliteHistory(small_disk / "history.db")
    with pytest.raises(SiteError, match=r"cannot write the history: .*full"):
        for number in range(1000):
            history.add("here", "flow", [observation(number * 100 + each) for each in range(100)])
    kept = len(list(history.all()))
    assert kept > 0 and kept % 100 == 0, "all or none of a batch"


def test_odd_paths(tmp_path: Path) -> None:
    path = tmp_path / "100% odd? #1 ä" / "history.db"
    SqliteHistory(path).add("here", "flow", [observation()])
    assert [figures.observations for figures in SqliteHistory(path, read_only=True).figures()] == [1]


FORMAT_1 = """
CREATE TABLE IF NOT EXISTS categories (
    id INTEGER PRIMARY KEY, site TEXT NOT NULL, workflow TEXT NOT NULL, category TEXT NOT NULL,
    UNIQUE (site, workflow, category)
);
CREATE TABLE IF NOT EXISTS observations (
    id INTEGER PRIMARY KEY, category INTEGER NOT NULL REFERENCES categories, run TEXT NOT NULL, task TEXT NOT NULL,
    attempt INTEGER NOT NULL, ending TEXT NOT NULL, started_at REAL NOT NULL, ended_at REAL NOT NULL,
    given TEXT NOT NULL, usage TEXT NOT NULL, input_bytes INTEGER, hints TEXT NOT NULL,
    UNIQUE (run, task, attempt)
);
CREATE INDEX IF NOT EXISTS observations_by_category ON observations (category, ended_at);
INSERT INTO categories (site, workflow, category) VALUES ('here', 'flow', 'count');
INSERT INTO observations (category, run, task, attempt, ending, started_at, ended_at, given, usage, input_bytes, hints)
VALUES (1, 'r1', 'count[1]', 1, 'success', 999.0, 1001.0, '{"cores":1.0,"memory_bytes":1000000000}',
    '{"wall_s":[2.0,"exact"],"memory_bytes":[500000000.0,"exact"],"method":"polling"}', 10, '{}');
PRAGMA user_version=1;
"""


def test_a_file_of_the_first_format_is_upgraded(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as database:
        database.executescript(FORMAT_1)
    history = SqliteHistory(path)
    history.add("here", "flow", [observation(2), observation(1)])
    assert history.newest("here", "flow", ["count"], 10) == [observation(1), observation(2)]
    assert history.update_state("here", "asa", lambda _: {"n": 1}) == {"n": 1}
    with sqlite3.connect(path) as database:
        assert database.execute("PRAGMA user_version").fetchone() == (VERSION,)


def test_a_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE observations (bird TEXT)")
    with pytest.raises(SiteError, match="cannot open the history: table observations already exists"):
        SqliteHistory(path)
    with sqlite3.connect(path) as database:
        assert database.execute("SELECT name FROM sqlite_master").fetchall() == [("observations",)]
