"""How long jobs waited, from run to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.drivers.kept_waits import OthersWaits, WaitKeeper, read_waits, wait_keeper
from headway.history.location import open_history
from headway.model.job import JobPhase, JobRequest
from headway.model.records import HistoryKey, JobState, RunStarted, SeenWait, Submit, WaitsRead, Why
from headway.model.resources import Resources

TWO = JobRequest(Resources(cores=1, nodes=2, walltime_s=600.0))


def submit(tag: str, at: float, after: str | None = None) -> Submit:
    return Submit(at, tag, TWO, Why("test", "test"), (), None, after, wait_estimate_s=30.0)


def running(tag: str, at: float, since: float | None = None) -> JobState:
    return JobState(at, tag, JobPhase.RUNNING, since=since)


@pytest.fixture
def key(tmp_path: Path) -> HistoryKey:
    return HistoryKey(str(tmp_path / "history.db"), "cluster", "flow")


def test_waits_are_kept_once_and_told_to_the_next_run(key: HistoryKey) -> None:
    complaints: list[str] = []
    assert read_waits(key, complaints.append, 0.0) == []
    records = [submit("a", 100.0), submit("b", 100.0, after="a"), running("a", 175.0, since=160.0), running("b", 400.0)]
    for _ in range(2):  # a resumed run tells of its journal again
        keeper = WaitKeeper(open_history(key.place), key, "run", complaints.append)
        keeper(records)
        keeper.close()
    (read,) = read_waits(key, complaints.append, 7.0)
    assert read.at == 7.0
    assert read.waits == [SeenWait(2, 600.0, 30.0, 60.0)]  # nobody knows how long the other waited for its turn
    elsewhere = HistoryKey(key.place, "another cluster", "flow")
    assert read_waits(elsewhere, complaints.append, 0.0) == []
    assert complaints == []


def test_runs_learn_from_each_other_while_they_run(key: HistoryKey) -> None:
    def keep(run: str, tag: str, waited_s: float) -> None:
        keeper = WaitKeeper(open_history(key.place), key, run, pytest.fail)
        keeper([submit(tag, 100.0), running(tag, 100.0 + waited_s)])
        keeper.close()

    keep("other", "before", 1.0)
    mine = RunStarted(0.0, "1", "mine", "flow", ".", "", "0", "ladder", "fifo", history=key, plan="asa")
    others = OthersWaits(mine)
    assert others.news(1.0) == []  # of what was there when it began it was told then
    keep("mine", "own", 2.0)
    keep("other", "beside", 3.0)
    assert others.news(2.0) == [WaitsRead(2.0, [SeenWait(2, 600.0, 30.0, 3.0)])]
    assert others.news(3.0) == []
    Path(key.place).write_bytes(b"nonsense " * 1000)
    assert others.news(4.0) == []


def test_nothing_is_kept_where_nothing_waits_or_nobody_wants_it(key: HistoryKey) -> None:
    def started(plan: str, history: HistoryKey | None) -> RunStarted:
        return RunStarted(0.0, "1", "u", "flow", ".", "", "0", "ladder", "fifo", history=history, plan=plan)

    assert wait_keeper(started("", key), print) is None
    assert wait_keeper(started("headway", None), print) is None
    keeper = wait_keeper(started("headway", key), print)
    assert keeper is not None
    keeper.close()


def test_a_history_that_is_broken_is_said_once_and_done_without(key: HistoryKey) -> None:
    Path(key.place).write_bytes(b"nonsense " * 1000)
    complaints: list[str] = []
    assert read_waits(key, complaints.append, 0.0) == []
    assert len(complaints) == 1
