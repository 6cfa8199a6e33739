"""What a run teaches is kept: all of it, once, and without holding the run up."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from headway.history import recorder as recorder_module
from headway.history import sqlite
from headway.history.recorder import Recorder
from headway.history.sqlite import SqliteHistory
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, HistoryKey, Launch, TaskEnded
from headway.model.resources import Resources
from headway.model.task import Task

GIVEN = Resources(cores=2, memory_bytes=10**9)


class Run:
    """A run of which only its records are seen."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        self.log: list[Event | Decision] = []
        self.recorder = self.new_recorder()

    def new_recorder(self) -> Recorder:
        key = HistoryKey(str(self.path), "here", "flow")
        return Recorder(SqliteHistory(self.path), key, "uid", self.task, self.warnings.append)

    @staticmethod
    def task(name: str) -> Task:
        return Task(name, name.partition("[")[0], "true", hints={"cores": 2}, input_bytes=7)

    def tell(self, record: Event | Decision) -> None:
        self.log.append(record)
        self.recorder([record])

    def launch(self, task: str, attempt: int = 1) -> None:
        self.tell(Launch(1.0, task, attempt, "node", "tag", GIVEN, "", {}))

    def end(self, task: str, attempt: int = 1, ending: Ending = Ending.SUCCESS) -> None:
        self.tell(TaskEnded(2.0, Outcome(task, attempt, ending, 1.0, 2.0)))

    def kept(self) -> list[tuple[str, int, Ending]]:
        found = [kept.observation for kept in SqliteHistory(self.path).all()]
        return sorted((seen.task, seen.attempt, seen.ending) for seen in found)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path / "history.db")


def test_an_attempt_is_kept_with_all_that_a_sizer_needs(run: Run) -> None:
    run.launch("count[1]")
    run.end("count[1]")
    run.recorder.close()
    (kept,) = SqliteHistory(run.path).all("flow", "count")
    seen = kept.observation
    assert (kept.site, seen.run, seen.given, seen.hints, seen.input_bytes) == ("here", "uid", GIVEN, {"cores": 2}, 7)
    assert seen.as_task() == Task("count[1]", "count", "", hints={"cores": 2}, input_bytes=7)
    assert seen.as_outcome() == Outcome("count[1]", 1, Ending.SUCCESS, 1.0, 2.0)


def test_ends_that_no_task_is_to_blame_for_and_late_news_are_not_kept(run: Run) -> None:
    for number, ending in enumerate(Ending):
        run.launch(f"count[{number}]")
        run.end(f"count[{number}]", ending=ending)
    run.launch("late", 1)
    run.launch("late", 2)
    run.end("late", 1)
    run.end("late", 2, Ending.MEMORY)
    run.recorder.close()
    endings = [ending for task, _, ending in run.kept() if task != "late"]
    assert set(endings) == {ending for ending in Ending if not ending.blameless}
    assert [kept for kept in run.kept() if kept[0] == "late"] == [("late", 2, Ending.MEMORY)]


def test_a_batch_waits_until_there_are_many_and_the_end_writes_the_rest(run: Run) -> None:
    for number in range(recorder_module._MOST_WAITING + 10):
        run.launch(f"count[{number}]")
        run.end(f"count[{number}]")
    assert len(run.kept()) == recorder_module._MOST_WAITING
    run.recorder.close()
    assert len(run.kept()) == recorder_module._MOST_WAITING + 10


def test_a_batch_does_not_wait_long(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_LONGEST_WAIT_S", 0.0)
    run.recorder = run.new_recorder()
    run.launch("count[1]")
    run.end("count[1]")
    assert len(run.kept()) == 1


def test_after_a_kill_the_journal_gives_what_was_not_written(run: Run) -> None:
    for number in range(recorder_module._MOST_WAITING + 10):
        run.launch(f"count[{number}]")
        run.end(f"count[{number}]")
    run.launch("still running")
    run.recorder = run.new_recorder()  # the old one was killed
    run.recorder(run.log)
    run.end("still running")
    run.recorder.close()
    assert len(run.kept()) == len(set(run.kept())) == recorder_module._MOST_WAITING + 11


def test_somebody_who_writes_for_long_costs_nothing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.01)
    monkeypatch.setattr(recorder_module, "_MOST_WAITING", 1)
    run.recorder = run.new_recorder()
    other = sqlite3.connect(run.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(3):
        run.launch(f"count[{number}]")
        run.end(f"count[{number}]")
    other.execute("COMMIT")
    assert run.kept() == []
    run.recorder.close()
    assert len(run.kept()) == 3
    assert run.warnings == []


def test_somebody_who_never_stops_writing_is_told_of(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.01)
    run.recorder = run.new_recorder()
    other = sqlite3.connect(run.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    run.launch("count[1]")
    run.end("count[1]")
    run.recorder.close()
    assert len(run.warnings) == 1 and "not kept" in run.warnings[0] and "writing" in run.warnings[0]


def test_trouble_is_told_once_and_the_run_goes_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_module, "_MOST_WAITING", 1)
    with sqlite3.connect(run.path) as database:
        database.execute("DROP TABLE observations")
    for number in range(3):
        run.launch(f"count[{number}]")
        run.end(f"count[{number}]")
    run.recorder.close()
    assert len(run.warnings) == 1
    assert "what this run teaches is not kept: " in run.warnings[0] and "cannot write the history" in run.warnings[0]
