"""The real driver: the order of durability and acts, and what each message does to a run."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from headway.drivers.assemble import assemble
from headway.drivers.digests import Digests
from headway.drivers.feed import Feed
from headway.drivers.inputs import InputReader
from headway.drivers.real import Driver
from headway.engine.engine import Engine
from headway.journal.folder import Project, RunFolder
from headway.model import records
from headway.model.errors import SiteError
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Why
from headway.model.task import Task
from headway.workers import protocol
from headway.workers.attempt import AttemptFolder
from tests.drivers.fakes import MACHINE, FakeCluster, FakeConnections, Trace, TracedJournal, success


class Bench:
    """A run with a fake cluster and fake connections."""

    def __init__(self, directory: Path, *tasks: Task, queues: bool = False, feed: Feed | None = None) -> None:
        self.trace: Trace = []
        self.folder: RunFolder = Project(directory).new_run()
        self.cluster = FakeCluster(self.trace, queues=queues)
        self.connections = FakeConnections(self.trace)
        self.journal = TracedJournal(self.trace)
        self.feed = feed
        self.grace_s = 5.0
        self.first: list[Event | Decision] = [
            records.RunStarted(0.0, "1", "uid", "fake", str(directory), "", "0", "max-seen", "fifo"),
            records.LimitsRead(0.0, MACHINE),
            records.TasksAdded(0.0, list(tasks)),
        ]

    def engine(self, first: list[Event | Decision]) -> Engine:
        engine = assemble(first[0])
        for record in first:
            engine.apply(record)
        return engine

    def run(self, first: list[Event | Decision] | None = None) -> str:
        inputs = InputReader(self.folder.directory, Digests())
        driver = Driver(
            self.engine(first or self.first),
            self.journal,
            self.cluster,
            self.connections,
            self.folder,
            inputs,
            feed=self.feed,
            grace_s=self.grace_s,
        )

        async def bounded() -> str:
            async with asyncio.timeout(20):
                return await driver.run()

        return asyncio.run(bounded())

    def at(self, kind: str, wanted: type | None = None) -> list[int]:
        """Positions in the trace of what happened of a kind, or of records of a type."""
        return [
            position
            for position, (name, what) in enumerate(self.trace)
            if name == kind and (wanted is None or isinstance(what, wanted))
        ]

    def records(self, wanted: type) -> list:
        return [record for record in self.journal.records if isinstance(record, wanted)]


A, B = Task("a", "a", "true"), Task("b", "b", "true", parents=("a",))


def failing_once(start: protocol.Start) -> list[protocol.ToManager]:
    """A supervisor that says nothing of first attempts."""
    return success(start) if start.attempt > 1 else []


def test_decisions_and_ends_are_durable_before_they_are_acted_on_and_acknowledged(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, B)
    assert bench.run() == "succeeded"
    assert bench.at("journal", records.Submit)[0] < bench.at("submit")[0]
    for journalled, acted in (
        (bench.at("journal", records.Launch), bench.at("Start")),
        (bench.at("journal", records.TaskEnded), bench.at("Noted")),
    ):
        assert len(journalled) == len(acted) == 2
        assert all(first < then for first, then in zip(journalled, acted, strict=True))
    (leave,) = bench.at("Leave")
    assert bench.at("journal", records.Release)[0] < leave < bench.at("journal", records.Finish)[0]
    assert bench.connections.ended == "ended"


def test_a_supervisor_learns_what_is_produced_before_its_first_task(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Task("a", "a", "true", outputs=("out",)))
    bench.run()
    assert bench.at("Produced")[0] < bench.at("Start")[0]


def test_an_end_that_is_reported_twice_counts_once_and_is_not_acknowledged_too_early(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    bench.connections.answer = lambda start: success(start) * 2
    bench.run()
    (ended,) = bench.at("journal", records.TaskEnded)
    assert all(ended < noted for noted in bench.at("Noted"))


def test_after_a_lost_connection_start_messages_are_sent_again(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)

    def answer(start: protocol.Start) -> list[protocol.ToManager]:
        if len(bench.connections.made) > 1:
            return success(start)
        bench.connections.made[0].tell(None)
        return []

    bench.connections.answer = answer
    assert bench.run() == "succeeded"
    assert len(bench.at("Start")) == 2
    assert len(bench.records(records.Launch)) == len(bench.records(records.NodeUp)) == 1


def test_when_a_job_ends_its_tasks_run_again_in_another(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)

    def answer(start: protocol.Start) -> list[protocol.ToManager]:
        if start.attempt == 1:
            bench.cluster.end("headway-uid-1", Ending.NODE_LOST, "a node failed")
        return failing_once(start)

    bench.connections.answer = answer
    assert bench.run() == "succeeded"
    (lost,), ended = bench.records(records.NodeLost), bench.records(records.JobState)
    assert (lost.message, lost.expired) == ("a node failed", False)
    assert [(state.tag, state.phase) for state in ended] == [
        ("headway-uid-1", JobPhase.RUNNING),
        ("headway-uid-1", JobPhase.ENDED),
        ("headway-uid-2", JobPhase.RUNNING),
    ]
    assert [launch.attempt for launch in bench.records(records.Launch)] == [1, 2]


def test_a_result_that_a_lost_supervisor_left_counts(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)

    def answer(start: protocol.Start) -> list[protocol.ToManager]:
        attempt = AttemptFolder(Path(start.directory))
        Path(start.directory).mkdir(parents=True)
        attempt.work.mkdir()
        attempt.write_result(Outcome("a", 1, Ending.SUCCESS, 1.0, 2.0))
        bench.cluster.end("headway-uid-1", Ending.NODE_LOST)
        return []

    bench.connections.answer = answer
    assert bench.run() == "succeeded"
    order = [type(record) for record in bench.journal.records]
    assert order.index(records.TaskEnded) < order.index(records.NodeLost) < order.index(records.Finish)
    assert len(bench.records(records.Launch)) == 1


def test_the_outputs_of_a_lost_attempt_are_in_place_when_it_counts(tmp_path: Path) -> None:
    bench = Bench(tmp_path, Task("a", "a", "true", outputs=("out",)))

    def answer(start: protocol.Start) -> list[protocol.ToManager]:
        attempt = AttemptFolder(Path(start.directory))
        attempt.work.mkdir(parents=True)
        (attempt.work / "out").write_text("made")
        attempt.write_result(Outcome("a", 1, Ending.SUCCESS, 1.0, 2.0))
        bench.cluster.end("headway-uid-1", Ending.NODE_LOST)
        return []

    bench.connections.answer = answer
    assert bench.run() == "succeeded"
    assert (tmp_path / "out").exists() and (tmp_path / "out").read_text() == "made"


def test_an_error_of_the_cluster_ends_the_run_as_itself(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    bench.cluster.news_error = SiteError("the cluster is gone")
    with pytest.raises(SiteError, match="the cluster is gone"):
        bench.run()
    assert bench.connections.ended == "closed", "the run may be resumed"


def test_a_resumed_run_submits_again_what_never_reached_the_cluster(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)
    bench.cluster.news_error = SiteError("the manager dies")
    with pytest.raises(SiteError):
        bench.run()
    bench.cluster.news_error = None
    bench.cluster.jobs.clear()
    journal = [*bench.first, *bench.journal.records, records.Resumed(1.0, "0")]
    assert bench.run(journal) == "succeeded"
    assert [what for name, what in bench.trace if name == "submit"] == ["headway-uid-1", "headway-uid-1"]
    assert len(bench.records(records.Submit)) == 1


def test_a_resumed_run_sends_start_messages_that_were_journalled_and_never_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)

    def die(start: protocol.Start) -> list[protocol.ToManager]:
        raise SiteError("the manager dies")

    bench.connections.answer = die
    with pytest.raises(SiteError):
        bench.run()
    bench.connections.answer = success
    assert bench.run([*bench.first, *bench.journal.records, records.Resumed(1.0, "0")]) == "succeeded"
    assert len(bench.records(records.Launch)) == 1


def test_a_resumed_run_repeats_orders_to_stop_and_notices_that_may_never_have_been_sent(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A)

    def die(start: protocol.Start) -> list[protocol.ToManager]:
        raise SiteError("the manager dies")

    bench.connections.answer = die
    with pytest.raises(SiteError):
        bench.run()
    bench.connections.answer = success
    told = [records.Kill(1.0, "a", 1, Why("engine", "test")), records.GiveNotice(1.0, "a", 1, Why("engine", "test"))]
    assert bench.run([*bench.first, *bench.journal.records, *told, records.Resumed(1.0, "0")]) == "succeeded"
    assert bench.connections.made[-1].said[1:3] == [protocol.Stop("a", 1), protocol.GiveNotice("a", 1)]


def test_a_success_whose_inputs_were_changed_meanwhile_says_so(tmp_path: Path) -> None:
    (tmp_path / "in").write_text("before")
    bench = Bench(tmp_path, Task("a", "a", "true", inputs=("in",)), Task("b", "b", "true", inputs=("in",)))

    def answer(start: protocol.Start) -> list[protocol.ToManager]:
        if start.task.id == "a":
            (tmp_path / "in").write_text("another text")
        return success(start)

    bench.connections.answer = answer
    assert bench.run() == "succeeded"
    moved = {ended.outcome.task: ended.inputs_moved for ended in bench.records(records.TaskEnded)}
    assert moved["a"]


def test_a_run_does_not_finish_before_its_jobs_are_given_back(tmp_path: Path) -> None:
    bench = Bench(tmp_path, A, queues=True)
    bench.cluster.failures = 2
    assert bench.run() == "succeeded"
    assert len(bench.at("cancel")) == 3
    assert max(bench.at("cancel")) < bench.at("journal", records.Finish)[0]


def test_stopping_at_once_cancels_jobs_whose_supervisors_do_not_react(tmp_path: Path) -> None:
    feed = Feed()
    bench = Bench(tmp_path, A, feed=feed)
    bench.grace_s = -5.0

    def answer(start: protocol.Start) -> list[protocol.ToManager]:
        feed.tell(records.UserCancel(1.0, "now"))
        return []

    bench.connections.answer = answer
    assert bench.run() == "stopped"
    assert bench.at("Stop") and bench.at("cancel")


def test_a_growing_run_takes_tasks_from_other_threads_until_there_are_no_more(tmp_path: Path) -> None:
    feed = Feed()
    bench = Bench(tmp_path, feed=feed)
    started = bench.first[0]
    bench.first[0] = records.RunStarted(
        0.0, "1", "uid", "fake", started.directory, "", "0", "max-seen", "fifo", growing=True
    )

    def tell() -> None:
        feed.attached.wait()
        feed.tell(records.TasksAdded(1.0, [A]))
        feed.tell(records.NoMoreTasks(1.0))

    threading.Thread(target=tell).start()
    assert bench.run() == "succeeded"
    assert [launch.task for launch in bench.records(records.Launch)] == ["a"]
    assert feed.tell(records.NoMoreTasks(2.0)) is False, "it is over"


def test_an_attempt_that_may_not_start_is_cancelled_without_a_start_message(tmp_path: Path) -> None:
    answers = iter([False, True])
    bench = Bench(tmp_path, A, feed=Feed(may_start=lambda task_id: next(answers)))
    assert bench.run() == "succeeded"
    assert len(bench.at("Start")) == 1
    endings = [ended.outcome.ending for ended in bench.records(records.TaskEnded)]
    assert endings == [Ending.CANCELLED, Ending.SUCCESS]
