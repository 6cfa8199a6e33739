"""JobMonitor: what it puts into the inbox as jobs and nodes come and go."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from msgspec import structs

from headway.clusters.base import JobNews
from headway.drivers import job_monitor
from headway.drivers.background import Background
from headway.drivers.inbox import AttemptEnded, Connected, Disconnected, Inbox, JobGone, Message, NodeGone
from headway.drivers.job_monitor import JobMonitor
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import JobSeen
from headway.workers import protocol
from headway.workers.node import OVER, node_folder
from tests.drivers.fakes import MACHINE, NODE, FakeCluster, FakeConnections

TAG = "uid-1"
KEY = f"{NODE}#1"
ENDED = protocol.Ended(Outcome("t", 1, Ending.SUCCESS, 1.0, 2.0))


class Bench:
    """A monitor with a fake cluster and fake connections."""

    def __init__(self, path: Path, *, queues: bool) -> None:
        self.jobs = path
        self.cluster = FakeCluster(queues=queues)
        self.connections = FakeConnections()
        self.messages: list[Message] = []
        self.inbox: Inbox
        self.monitor: JobMonitor

    def run(self, script: Callable[[Bench], Awaitable[None]], nodes_up: dict[str, str] | None = None) -> None:
        """Let a script work with the monitor, for half a minute at most."""

        async def bounded() -> None:
            self.inbox = Inbox()
            async with asyncio.timeout(30), Background(self.inbox) as background:
                self.monitor = JobMonitor(
                    self.cluster, self.connections, self.jobs, self.inbox, background, nodes_up or {}
                )
                await script(self)

        asyncio.run(bounded())

    def follow(self, tag: str = TAG) -> None:
        self.cluster.submit(JobRequest(MACHINE), tag)
        self.monitor.follow(tag)

    async def next(self, kind: type) -> Message:
        """Wait for a message of a kind."""
        while True:
            for message in self.messages:
                if isinstance(message, kind):
                    self.messages.remove(message)
                    return message
            self.messages += await self.inbox.take()


@pytest.fixture(params=[False, True], ids=["local", "queue"])
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path, queues=request.param)


def test_a_node_is_connected_and_its_messages_are_passed_on(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        connected = await bench.next(Connected)
        (connection,) = bench.connections.made
        assert connected == Connected(TAG, KEY, connection, 100.0)
        connection.tell(ENDED)
        ended = await bench.next(AttemptEnded)
        assert (ended.tag, ended.outcome, ended.connection) == (TAG, ENDED.outcome, connection)

    bench.run(script)


def test_a_lost_connection_is_made_again(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        first = (await bench.next(Connected)).connection
        first.tell(None)
        assert (await bench.next(Disconnected)).connection is first
        assert first.is_closed
        assert (await bench.next(Connected)).connection is not first

    bench.run(script)


def test_the_end_of_a_job_names_the_nodes_that_had_answered_after_nothing_of_it_is_left(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        await bench.next(Connected)
        bench.cluster.end(TAG, Ending.TIME, "its time was up")
        gone = await bench.next(JobGone)
        assert (gone.tag, gone.nodes, gone.news.ending) == (TAG, (KEY,), Ending.TIME)
        assert ("cancel", [TAG]) in bench.cluster.trace

    bench.run(script)


def test_a_node_that_is_given_back_is_neither_lost_nor_connected_again(tmp_path: Path) -> None:
    async def script(bench: Bench) -> None:
        bench.cluster.jobs[TAG] = JobNews(JobPhase.RUNNING, 1, started_at=100.0, nodes=(NODE, "n2"))
        bench.monitor.follow(TAG)
        connected = [await bench.next(Connected), await bench.next(Connected)]
        given = next(message for message in connected if message.node == "n2#1")
        bench.monitor.give_back(["n2#1"])
        given.connection.tell(None)
        await bench.next(Disconnected)
        over = node_folder(bench.jobs / TAG, "n2") / OVER
        over.parent.mkdir(parents=True)
        over.touch()  # first its supervisor ends, then the batch system takes the node back
        await asyncio.sleep(0.2)
        bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], nodes=(NODE,))
        await asyncio.sleep(0.2)
        bench.cluster.end(TAG, Ending.TIME)
        assert (await bench.next(JobGone)).nodes == (KEY,)
        assert not any(isinstance(message, NodeGone | Connected) for message in bench.messages)
        assert len(bench.connections.made) == 2

    Bench(tmp_path, queues=True).run(script)


def test_a_job_goes_on_without_its_first_node_if_its_script_runs_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def script(bench: Bench) -> None:
        monkeypatch.setattr(bench.cluster, "script_node", lambda tag: "n2")
        bench.cluster.jobs[TAG] = JobNews(JobPhase.RUNNING, 1, started_at=100.0, nodes=(NODE, "n2"))
        bench.monitor.follow(TAG)
        await bench.next(Connected)
        await bench.next(Connected)
        bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], nodes=("n2",))
        assert (await bench.next(NodeGone)).node == KEY
        await asyncio.sleep(0.1)
        assert bench.cluster.trace == []

    Bench(tmp_path, queues=True).run(script)


def test_a_node_that_the_run_used_before_a_resume_is_gone_with_its_job(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.connections.answers = False
        bench.follow()
        bench.cluster.end(TAG, Ending.NODE_LOST)
        assert (await bench.next(JobGone)).nodes == (KEY,)

    bench.run(script, {KEY: TAG})


@pytest.mark.parametrize("how", ["marked", "dropped"])
def test_a_lost_node_of_a_running_job_is_reported_once(bench: Bench, how: str) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        await bench.next(Connected)
        if how == "marked":
            over = node_folder(bench.jobs / TAG, NODE)
            over.mkdir(parents=True)
            (over / OVER).touch()
            goes_on = structs.replace(bench.cluster.jobs[TAG], confirmed_at=time.time() + 60.0)
            bench.cluster.jobs[TAG] = goes_on
        else:
            bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], nodes=("n2",))
        gone = await bench.next(NodeGone)
        assert (gone.tag, gone.node) == (TAG, KEY)
        bench.cluster.end(TAG, Ending.SUCCESS)
        assert KEY not in (await bench.next(JobGone)).nodes
        assert not [message for message in bench.messages if isinstance(message, NodeGone)]

    bench.run(script)


def test_a_supervisor_that_ends_with_its_whole_job_is_not_a_lost_node(tmp_path: Path) -> None:
    """The job's end says why, as soon as the batch system does."""

    async def script(bench: Bench) -> None:
        bench.follow()
        await bench.next(Connected)
        over = node_folder(bench.jobs / TAG, NODE)
        over.mkdir(parents=True)
        (over / OVER).touch()
        await asyncio.sleep(0.2)
        ended = structs.replace(bench.cluster.jobs[TAG], phase=JobPhase.ENDED)
        bench.cluster.jobs[TAG] = ended
        await asyncio.sleep(0.2)
        bench.cluster.jobs[TAG] = structs.replace(ended, ending=Ending.PREEMPTED, message="others took its nodes")
        gone = await bench.next(JobGone)
        assert (gone.nodes, gone.news.message) == ((KEY,), "others took its nodes")
        assert not [message for message in bench.messages if isinstance(message, NodeGone)]

    Bench(tmp_path, queues=True).run(script)


@pytest.mark.parametrize("how", ["refused", "requeued", "restarted"])
def test_a_job_that_will_never_start_or_starts_again_is_over(tmp_path: Path, how: str) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        await bench.next(Connected)
        if how == "refused":
            bench.cluster.end(TAG, Ending.LAUNCH_FAILED, "not your account")
            bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], refused=True)
        elif how == "restarted":
            bench.cluster.jobs[TAG] = structs.replace(
                bench.cluster.jobs[TAG], phase=JobPhase.ENDED, ending=Ending.SUCCESS, restarts=1
            )
        else:
            bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], phase=JobPhase.PENDING, restarts=1)
        gone = await bench.next(JobGone)
        assert (gone.nodes, gone.news.ending) == ((KEY,), Ending.PREEMPTED)

    if how == "refused":
        with pytest.raises(SiteError, match=r"will never start job .*: not your account"):
            Bench(tmp_path, queues=True).run(script)
    else:
        Bench(tmp_path, queues=True).run(script)


@pytest.mark.parametrize("lost", [0, 1], ids=["first", "second"])
def test_a_job_without_its_first_node_is_cancelled(bench: Bench, lost: int) -> None:
    """Its script ran there: the batch system would keep the rest of the job, although nothing runs in it any more."""

    async def script(bench: Bench) -> None:
        bench.cluster.submit(JobRequest(MACHINE), TAG)
        both = (NODE, "n2")
        bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], nodes=both)
        bench.monitor.follow(TAG)
        for _ in both:
            await bench.next(Connected)
        bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], nodes=both[1 - lost : 2 - lost])
        assert (await bench.next(NodeGone)).node == f"{both[lost]}#1"
        if lost == 1:
            bench.cluster.end(TAG, Ending.SUCCESS)
        assert (await bench.next(JobGone)).nodes == (f"{both[1 - lost]}#1",)

    bench.run(script)


def test_a_released_job_is_not_followed_any_more(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        connection = (await bench.next(Connected)).connection
        bench.monitor.release(TAG)
        await asyncio.sleep(0.2)
        assert not connection.is_closed  # whoever releases it tells its supervisor to end, and then hangs up
        connection.close()
        await bench.next(Disconnected)
        bench.cluster.end(TAG, Ending.CANCELLED)
        await asyncio.sleep(0.2)
        assert all(isinstance(message, JobSeen) for message in bench.messages)

    bench.run(script)


def test_four_jobs_in_a_row_without_an_answer_stop_the_run(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.connections.answers = False
        for number in range(1, 5):
            tag = f"uid-{number}"
            bench.follow(tag)
            bench.cluster.end(tag, Ending.EXIT_CODE, "it ended with exit code 1")
            if number < 4:
                assert (await bench.next(JobGone)).nodes == ()
        with pytest.raises(SiteError, match=r"the node supervisor ended at once \(it ended with exit code 1\)"):
            await bench.next(JobGone)

    bench.run(script)


def test_jobs_that_others_end_do_not_stop_the_run(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.connections.answers = False
        for number in range(1, 9):
            bench.follow(f"uid-{number}")
            bench.cluster.end(f"uid-{number}", Ending.PREEMPTED)
            assert (await bench.next(JobGone)).news.ending is Ending.PREEMPTED

    bench.run(script)


def test_a_supervisor_that_never_answers_stops_the_run(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_monitor, "_ANSWER_WITHIN_S", 0.05)
    monkeypatch.setattr(job_monitor, "_ANSWER_QUEUED_WITHIN_S", 0.05)

    async def script(bench: Bench) -> None:
        bench.connections.answers = False
        bench.follow()
        with pytest.raises(SiteError, match=r"did not answer within 0\.05 s"):
            await bench.next(Connected)

    bench.run(script)


def test_a_supervisor_in_a_suspended_job_has_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_monitor, "_ANSWER_QUEUED_WITHIN_S", 0.05)

    async def script(bench: Bench) -> None:
        bench.connections.answers = False
        bench.follow()
        bench.cluster.jobs[TAG] = structs.replace(bench.cluster.jobs[TAG], suspended=True)
        assert (await bench.next(JobSeen)).suspended
        await asyncio.sleep(0.3)
        bench.connections.answers = True
        await bench.next(Connected)

    Bench(tmp_path, queues=True).run(script)


def test_trouble_on_a_node_stops_the_run(bench: Bench) -> None:
    async def script(bench: Bench) -> None:
        bench.follow()
        connection = (await bench.next(Connected)).connection
        connection.tell(protocol.Trouble("the disk is full", "/scratch"))
        with pytest.raises(SiteError, match="the disk is full"):
            await bench.next(AttemptEnded)

    bench.run(script)


def test_a_queue_that_does_not_answer_is_asked_again_to_cancel(tmp_path: Path) -> None:
    async def script(bench: Bench) -> None:
        bench.cluster.submit(JobRequest(MACHINE), TAG)
        bench.cluster.failures = 2
        await bench.monitor.cancel(TAG)
        assert bench.cluster.jobs[TAG].phase is JobPhase.ENDED

    Bench(tmp_path, queues=True).run(script)
    with pytest.raises(SiteError, match="does not answer"):
        Bench(tmp_path, queues=False).run(script)


def test_what_a_job_waits_for_is_passed_on_once(tmp_path: Path) -> None:
    async def script(bench: Bench) -> None:
        bench.cluster.starts = False
        bench.follow()
        assert (await bench.next(JobSeen)).phase is JobPhase.PENDING
        waits = JobNews(JobPhase.PENDING, 1, message="others are before it (Priority)", planned_at=5_000_000_000.0)
        bench.cluster.jobs[TAG] = waits
        seen = await bench.next(JobSeen)
        assert (seen.job_id, seen.message, seen.held) == (1, "others are before it (Priority)", False)
        bench.cluster.jobs[TAG] = structs.replace(waits, planned_at=5_000_000_060.0)  # it moves by a minute: no news
        await asyncio.sleep(0.2)
        bench.cluster.jobs[TAG] = structs.replace(waits, message="held (JobHeldUser)", held=True)
        assert (await bench.next(JobSeen)).held
        assert bench.messages == []

    Bench(tmp_path, queues=True).run(script)
