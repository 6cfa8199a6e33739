"""RunHistory: reads what earlier runs taught, and records what this run teaches, once and without delaying the run."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path

import pytest

from headway.drivers import run_history as run_history_module
from headway.drivers.history_recorders import AttemptRecorder
from headway.drivers.run_history import RunHistory, history_key
from headway.history import sqlite
from headway.history.sql import History
from headway.history.sqlite import SqliteHistory
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import (
    Decision,
    Event,
    HistoryKey,
    JobState,
    Launch,
    Release,
    RunStarted,
    SeenWait,
    Submit,
    TaskEnded,
    WaitsRead,
    Why,
)
from headway.model.resources import Resources
from headway.model.task import Task
from tests.history.observations import observation

GIVEN = Resources(cores=2, memory_bytes=10**9)
TWO_NODES = JobRequest(Resources(cores=1, nodes=2, walltime_s=600.0))


class Run:
    """A run of which only its records are seen."""

    def __init__(self, path: Path, uid: str = "uid", plan: str = "", sizer: str = "max-seen") -> None:
        self.path = path
        self.key = HistoryKey(str(path), "here", "flow")
        self.settings = RunStarted(0.0, "1", uid, "flow", ".", "", "0", sizer, "fifo", history=self.key, plan=plan)
        self.warnings: list[str] = []
        self.log: list[Event | Decision] = []
        self.history = self.open()

    def open(self) -> RunHistory:
        history = RunHistory(self.key, self.warnings.append)
        history.record(self.settings, self.task)
        return history

    @staticmethod
    def task(name: str) -> Task:
        return Task(name, name.partition("[")[0], "true", hints={"cores": 2}, input_bytes=7)

    def tell(self, *records: Event | Decision) -> None:
        self.log += records
        self.history(records)

    def launch(self, task: str, attempt: int = 1) -> None:
        self.tell(Launch(1.0, task, attempt, "node", "tag", GIVEN, "", {}))

    def end(self, task: str, attempt: int = 1, ending: Ending = Ending.SUCCESS) -> None:
        self.tell(TaskEnded(2.0, Outcome(task, attempt, ending, 1.0, 2.0)))

    def attempt(self, number: int) -> None:
        self.launch(f"count[{number}]")
        self.end(f"count[{number}]")

    def waited(self, tag: str, waited_s: float, after: str | None = None) -> None:
        """Tell of a job that was submitted at 100 s and started `waited_s` later."""
        why = Why("test", "test")
        self.tell(Submit(100.0, tag, TWO_NODES, why, (), None, after, wait_estimate_s=30.0))
        self.tell(JobState(500.0, tag, JobPhase.RUNNING, since=100.0 + waited_s))

    def kept(self) -> list[tuple[str, int, Ending]]:
        found = [kept.observation for kept in SqliteHistory(self.path).all()]
        return sorted((seen.task, seen.attempt, seen.ending) for seen in found)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "history.db"


@pytest.fixture
def run(path: Path) -> Run:
    return Run(path)


def reader(path: Path, warn=pytest.fail, site: str = "here", *, read_only: bool = True) -> RunHistory:
    return RunHistory(HistoryKey(str(path), site, "flow"), warn, read_only=read_only)


# --- one connection ---


def test_a_run_opens_the_history_once(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[History] = []

    def open_history(place: str) -> History:
        opened.append(SqliteHistory(Path(place)))
        return opened[-1]

    monkeypatch.setattr(run_history_module, "open_history", open_history)
    run = Run(path, plan="asa", sizer="gradient-bandit")
    run.history.first_records(["count"], "gradient-bandit", "asa", 0.0)
    run.attempt(1)
    run.waited("a", 60.0)
    run.history.others_waits(1.0)
    run.history.close()
    assert len(opened) == 1
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].newest_waits("here", 1)


def test_other_runs_waits_are_read_in_a_thread_while_the_run_goes_on(path: Path) -> None:
    run, other = Run(path, "mine", plan="asa"), Run(path, "other", plan="asa")
    other.waited("a", 60.0)
    found: list[WaitsRead] = []
    thread = threading.Thread(target=lambda: found.extend(run.history.others_waits(1.0)))
    thread.start()
    thread.join()
    assert [len(record.waits) for record in found] == [1]
    with run.history._lock:  # a server answers slowly
        run.waited("b", 60.0)  # does not wait for it
    assert len(reader(path).waits()) == 1
    run.history.close()
    assert len(reader(path).waits()) == 2


# --- recording attempts ---


def test_an_attempt_is_recorded_with_all_that_a_sizer_needs(run: Run) -> None:
    run.attempt(1)
    run.history.close()
    (kept,) = SqliteHistory(run.path).all("flow", "count")
    seen = kept.observation
    assert (kept.site, seen.run, seen.given, seen.hints, seen.input_bytes) == ("here", "uid", GIVEN, {"cores": 2}, 7)
    assert seen.as_task() == Task("count[1]", "count", "", hints={"cores": 2}, input_bytes=7)
    assert seen.as_outcome() == Outcome("count[1]", 1, Ending.SUCCESS, 1.0, 2.0)


def test_blameless_ends_and_late_reports_are_not_recorded(run: Run) -> None:
    for number, ending in enumerate(Ending):
        run.launch(f"count[{number}]")
        run.end(f"count[{number}]", ending=ending)
    run.launch("late", 1)
    run.launch("late", 2)
    run.end("late", 1)
    run.end("late", 2, Ending.MEMORY)
    run.history.close()
    endings = [ending for task, _, ending in run.kept() if task != "late"]
    assert set(endings) == {ending for ending in Ending if not ending.blameless}
    assert [kept for kept in run.kept() if kept[0] == "late"] == [("late", 2, Ending.MEMORY)]


def test_a_batch_is_written_when_it_is_large_and_the_rest_at_the_end(run: Run) -> None:
    most = AttemptRecorder.most_pending
    for number in range(most + 10):
        run.attempt(number)
    assert len(run.kept()) == most
    run.history.close()
    assert len(run.kept()) == most + 10


def test_a_batch_does_not_wait_long(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AttemptRecorder, "longest_s", 0.0)
    run.history = run.open()
    run.attempt(1)
    assert len(run.kept()) == 1


def test_after_a_kill_the_journal_gives_what_was_not_written(run: Run) -> None:
    most = AttemptRecorder.most_pending
    for number in range(most + 10):
        run.attempt(number)
    run.launch("still running")
    run.history = run.open()  # the old manager was killed
    run.history(run.log)
    run.end("still running")
    run.history.close()
    assert len(run.kept()) == len(set(run.kept())) == most + 11


# --- other writers, and errors ---


def test_another_writer_does_not_delay_the_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.01)
    monkeypatch.setattr(AttemptRecorder, "most_pending", 1)
    run.history = run.open()
    other = sqlite3.connect(run.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    for number in range(3):
        run.attempt(number)
    other.execute("COMMIT")
    assert run.kept() == []
    run.history.close()
    assert len(run.kept()) == 3
    assert run.warnings == []


def test_a_writer_that_never_stops_is_reported_at_the_end(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.01)
    run.history = run.open()
    other = sqlite3.connect(run.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    run.attempt(1)
    run.history.close()
    assert len(run.warnings) == 1 and "not kept" in run.warnings[0] and "writing" in run.warnings[0]


def test_one_warning_for_all_that_cannot_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AttemptRecorder, "most_pending", 1)
    run = Run(path, plan="asa")
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE observations")
        database.execute("DROP TABLE waits")
    for number in range(3):
        run.attempt(number)
        run.waited(f"job {number}", 60.0)
    run.history.close()
    (warning,) = run.warnings
    assert "what this run teaches is not kept: " in warning and "cannot write the history" in warning


def test_a_history_that_cannot_be_opened_is_reported_once(path: Path) -> None:
    path.write_bytes(b"nonsense " * 1000)
    run = Run(path, plan="asa")
    assert run.history.first_records(["count"], "gradient-bandit", "asa", 0.0) == []
    run.attempt(1)
    run.history.close()
    (warning,) = run.warnings
    assert warning.startswith("nothing is learned from earlier runs, nor kept for later ones: ")


def test_damage_that_is_found_while_reading_is_reported_once(path: Path) -> None:
    history = SqliteHistory(path)
    history.add("here", "flow", [observation(number) for number in range(1000)])
    history.close()
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    warnings: list[str] = []
    damaged = reader(path, warnings.append, read_only=False)
    assert damaged.observations(["count"]) == []
    assert damaged.waits() == []
    assert len(warnings) == 1 and "malformed" in warnings[0]


# --- reading ---


def test_many_categories_share_what_may_be_read(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_history_module, "MOST_OF_A_CATEGORY", 8)
    monkeypatch.setattr(run_history_module, "MOST_IN_ALL", 20)
    names = [f"c{number}" for number in range(30)]
    history = SqliteHistory(path)
    for name in names:
        history.add("here", "flow", [observation(number, category=name) for number in range(10)])
    found = reader(path)
    assert len(found.observations(names[:1])) == 8
    assert len(found.observations(names[:5])) == 20
    history.add("here", "flow", [observation(0, category="c3", run="r2", ended_at=5000.0)])
    many = found.observations(None)
    assert len(many) == 20, "of very many categories those that were observed last"
    assert many[-1].category == "c3"
    assert [seen.ended_at for seen in many] == sorted(seen.ended_at for seen in many)
    assert found.observations([]) == []


def test_first_records_are_of_moderate_size(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_history_module, "_OBSERVATIONS_PER_RECORD", 4)
    SqliteHistory(path).add("here", "flow", [observation(number) for number in range(10)])
    read = reader(path).first_records(["count"], "max-seen", "", 5.0)
    assert [len(record.observations) for record in read] == [4, 4, 2]
    ended = [seen.ended_at for record in read for seen in record.observations]
    assert ended == sorted(ended)


def test_reading_creates_no_history(tmp_path: Path) -> None:
    history = reader(tmp_path / "history.db")
    assert history.observations(["count"]) == []
    assert list(tmp_path.iterdir()) == []


def test_a_run_without_a_history_has_no_key(path: Path) -> None:
    assert history_key("none", "flow") is None
    assert history_key(str(path), "flow", "cluster") == HistoryKey(str(path), "cluster", "flow")
    history = RunHistory(None, pytest.fail)
    assert history.first_records(None, "gradient-bandit", "asa", 0.0) == history.others_waits(0.0) == []
    history.close()


# --- waits ---


def test_waits_are_recorded_once_and_read_by_the_next_run(path: Path) -> None:
    for _ in range(2):  # a resumed run tells of its journal again
        run = Run(path, plan="asa")
        run.waited("a", 60.0)
        run.waited("b", 300.0, after="a")  # since when it could start is unknown
        run.history.close()
    (read,) = reader(path).first_records([], "max-seen", "asa", 7.0)
    assert read == WaitsRead(7.0, [SeenWait(2, 600.0, 30.0, 60.0)])
    assert reader(path).first_records([], "max-seen", "", 7.0) == [], "a run without a plan has no use for them"
    assert reader(path, site="another cluster").waits() == []


def test_a_dependent_job_has_waited_since_its_predecessors_end(path: Path) -> None:
    run = Run(path, plan="asa")
    run.waited("a", 0.0)
    run.tell(Release(250.0, "a", Why("test", "its-tasks-are-over")))
    run.waited("b", 190.0, after="a")  # it was submitted at 100 and started at 290
    run.tell(JobState(400.0, "b", JobPhase.ENDED, since=350.0))
    run.waited("c", 250.0, after="b")
    run.waited("d", 20.0, after="a")  # the clocks of a manager and a cluster may differ
    run.history.close()
    waits = reader(path).waits()
    assert [wait.waited_s for wait in waits] == [0.0, 40.0, 0.0, 0.0]
    assert [wait.estimate_s for wait in waits] == [30.0, None, None, None], "the plan of then was about another wait"


def test_a_run_without_a_plan_records_no_waits(run: Run) -> None:
    run.waited("a", 60.0)
    run.history.close()
    assert reader(run.path).waits() == []


def test_runs_learn_from_each_other_while_they_run(path: Path) -> None:
    other = Run(path, "other", plan="asa")
    other.waited("before", 1.0)
    mine = Run(path, "mine", plan="asa")
    assert mine.history.others_waits(1.0) == [], "what was there when it started is in its first records"
    mine.waited("own", 2.0)
    other.waited("beside", 3.0)
    assert mine.history.others_waits(2.0) == [WaitsRead(2.0, [SeenWait(2, 600.0, 30.0, 3.0)])]
    assert mine.history.others_waits(3.0) == []
    with sqlite3.connect(path) as database:
        database.execute("DROP TABLE waits")
    assert mine.history.others_waits(4.0) == []
    assert mine.warnings == [], "it is asked again next time"
