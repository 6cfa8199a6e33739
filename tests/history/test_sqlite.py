"""What goes into the history comes out of it, once, whoever else is writing."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.history import sqlite
from headway.history.sqlite import HistoryBusyError, SqliteHistory
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.outcome import Ending
from tests.history.observations import GB, observation, observations


@pytest.fixture
def history(tmp_path: Path) -> SqliteHistory:
    return SqliteHistory(tmp_path / "history.db")


def key(seen: Observation) -> tuple[str, str, int]:
    return seen.run, seen.task, seen.attempt


@settings(max_examples=40)
@given(st.lists(observations, max_size=12, unique_by=key), st.data())
def test_everything_comes_out_as_it_went_in_however_often_it_went_in(
    seen: list[Observation], data: st.DataObject
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = SqliteHistory(Path(folder) / "history.db")
        for _ in range(3):
            some = data.draw(st.lists(st.sampled_from(seen), max_size=20)) if seen else []
            history.add("here", "flow", some)
        history.add("here", "flow", seen)
        found = [kept.observation for kept in history.all()]
        assert sorted(found, key=key) == sorted(seen, key=key)
        history.close()


def test_the_newest_that_teach_something_oldest_first(history: SqliteHistory) -> None:
    history.add("here", "flow", [observation(number) for number in range(20)])
    history.add("here", "flow", [observation(number, ending=Ending.EXIT_CODE) for number in range(100, 150)])
    history.add("here", "flow", [observation(200, ending=Ending.MEMORY)])
    history.add("here", "flow", [observation(number, category="other") for number in range(3)])
    history.add("here", "another flow", [observation(300, run="r2")])
    history.add("there", "flow", [observation(400, run="r3")])
    found = history.newest("here", "flow", ["count", "other", "unheard of"], 5)
    assert [seen.task for seen in found] == [
        *(f"other[{number}]" for number in range(3)),
        *(f"count[{number}]" for number in range(16, 20)),
        "count[200]",
    ]
    assert history.categories("here", "flow") == ["count", "other"]
    assert history.categories("there", "another flow") == []


def test_figures(history: SqliteHistory) -> None:
    history.add("here", "flow", [observation(number, memory=number * GB) for number in (1, 2, 9)])
    history.add("here", "flow", [observation(4, memory=50 * GB, ending=Ending.MEMORY)])
    history.add("here", "other", [observation(5, run="r2", ending=Ending.EXIT_CODE)])
    count, failed = history.figures()
    assert (count.workflow, count.observations, count.failures, count.newest_at) == ("flow", 4, 1, 1009)
    assert count.memory_bytes is not None and (count.memory_bytes.median, count.memory_bytes.most) == (2 * GB, 9 * GB)
    assert count.run_s is not None and (count.run_s.median, count.run_s.most) == (2, 2)
    assert (failed.memory_bytes, failed.run_s) == (None, None)
    assert history.figures("flow", "count") == [count]
    assert history.figures("flow", "other") == []


ages = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(0, 20)), max_size=25)


@settings(max_examples=40)
@given(ages, st.none() | st.sampled_from("ab"), st.none() | st.integers(0, 20), st.none() | st.integers(0, 5))
def test_what_is_removed_is_what_all_conditions_name(
    ages: list[tuple[str, str, int]], workflow: str | None, before: int | None, keep: int | None
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = SqliteHistory(Path(folder) / "history.db")
        for number, (name, category, age) in enumerate(ages):
            history.add("here", name, [observation(number, category=category, ended_at=age)])
        expected = []
        for name, category in {(name, category) for name, category, _ in ages}:
            times = sorted((age for other, kind, age in ages if (other, kind) == (name, category)), reverse=True)
            if workflow in (None, name):
                newest = times[:keep] if keep is not None else []
                times = newest + [age for age in times[len(newest) :] if before is not None and age >= before]
            expected += [(name, category, age) for age in times]
        surplus = history.surplus(workflow, before, keep)
        assert sum(each.observations for each in surplus) == len(ages) - len(expected)
        assert history.remove(workflow, before, keep) == surplus
        left = [(kept.workflow, kept.observation.category, kept.observation.ended_at) for kept in history.all()]
        assert sorted(left) == sorted(expected)
        assert len(history.figures()) == len({each[:2] for each in expected})
        history.close()


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


def test_a_newer_history_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    SqliteHistory(path).close()
    with sqlite3.connect(path) as database:
        database.execute("PRAGMA user_version=99")
    before = path.read_bytes()
    with pytest.raises(SiteError, match=r"newer Headway.*update Headway"):
        SqliteHistory(path)
    assert path.read_bytes() == before


def test_something_that_is_not_a_history_is_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    path.write_text("this is not a database, by any means, but it is long enough to be looked at" * 20)
    with pytest.raises(
        SiteError, match=r"history\.db: cannot open the history: file is not a database; .*HEADWAY_HIST"
    ):
        SqliteHistory(path)


def test_a_row_that_somebody_edited_spoils_only_itself(tmp_path: Path) -> None:
    history = SqliteHistory(tmp_path / "history.db")
    history.add("here", "flow", [observation(number) for number in range(5)])
    with sqlite3.connect(tmp_path / "history.db") as database:
        database.execute("UPDATE observations SET usage = 'no JSON' WHERE task = 'count[1]'")
        database.execute("UPDATE observations SET ended_at = 'yesterday' WHERE task = 'count[2]'")
        database.execute("UPDATE observations SET given = '{\"cores\": \"many\"}' WHERE task = 'count[3]'")
    assert [seen.task for seen in history.newest("here", "flow", ["count"], 10)] == ["count[0]", "count[4]"]
    assert [figures.category for figures in history.figures()] == ["count"]


WRITER = """
import sys
from pathlib import Path
from headway.history.sqlite import SqliteHistory
from tests.history.observations import observation
for number in range(30):
    history = SqliteHistory(Path(sys.argv[1]))
    history.add("here", "flow", [observation(number, run=sys.argv[2]), observation(number, run="everybody's")])
    history.close()
"""


def test_many_runs_begin_it_and_write_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.db"
    root = Path(__file__).parents[2]
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, path, f"run {number}"], cwd=root, stderr=subprocess.PIPE)
        for number in range(6)
    ]
    for writer in writers:
        _, trouble = writer.communicate(timeout=120)
        assert writer.returncode == 0, trouble.decode()
    found = [kept.observation for kept in SqliteHistory(path).all()]
    assert len(found) == len({key(seen) for seen in found}) == 30 * 7


def test_whoever_writes_too_long_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.05)
    history = SqliteHistory(tmp_path / "history.db")
    other = sqlite3.connect(tmp_path / "history.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(HistoryBusyError, match="cannot write the history: database is locked; try again"):
        history.add("here", "flow", [observation()])
    assert history.figures() == [], "reading goes on"
    other.execute("COMMIT")
    history.add("here", "flow", [observation()])
    assert [figures.observations for figures in history.figures()] == [1]


def test_a_full_disk_loses_nothing_that_was_kept(small_disk: Path) -> None:
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
