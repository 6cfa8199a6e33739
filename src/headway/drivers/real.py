"""The driver of real runs: carries records between engine, journal, cluster and supervisors, in asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Literal

from msgspec import structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.attendance import Attendance
from headway.drivers.feed import Feed
from headway.drivers.inputs import InputReader
from headway.engine.engine import Engine
from headway.engine.state import Phase, Running
from headway.journal.base import Journal
from headway.journal.folder import RunFolder
from headway.model import records
from headway.model.errors import SiteError
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event
from headway.model.task import Task
from headway.planning.base import JobStatus
from headway.workers import protocol
from headway.workers.connection import Connections

Observer = Callable[[Sequence[Event | Decision]], None]

_GLANCE_S = 0.5  # between two looks at whether somebody wants it to stop
_GRACE_OF_THE_GRACE_S = 5.0  # for a supervisor to stop its tasks and say so
_QUEUE_PATIENCE_S = 3600.0  # for a batch system that does not answer
_QUEUE_AGAIN_S = 10.0


class Driver:
    """Runs one engine to its end.

    The order of things is the promise that nothing is lost and nothing done twice: facts are applied, decisions are
    made, both are made durable in one transaction, and only then are decisions acted on and facts acknowledged.
    """

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        cluster: Cluster,
        lines: Connections,
        folder: RunFolder,
        inputs: InputReader,
        observers: Sequence[Observer] = (),
        *,
        feed: Feed | None = None,
        grace_s: float = 5.0,
        others_waits: Callable[[float], Sequence[Event]] = lambda now: (),
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._cluster = cluster
        self._folder = folder
        self._inputs = inputs
        self._observers = observers
        self._feed = feed
        self._lines = lines
        self._others_waits = others_waits
        self._attendance = Attendance(engine, cluster, lines, folder, self._news_of, self._beside_us, self._start)
        self._news: asyncio.Queue[Event | BaseException] = asyncio.Queue()
        self._helpers: set[asyncio.Task[None]] = set()
        self._interrupts = 0
        self._leaving: set[asyncio.Task[None]] = set()  # jobs that are being given back
        self._force_after_s = grace_s + _GRACE_OF_THE_GRACE_S
        self._few_at_a_time = threading.Semaphore(4)  # a disk does not read faster for being asked more often

    async def run(self) -> str:
        """Go on until the run is over; returns how it ended."""
        loop = asyncio.get_running_loop()
        handles_signals = threading.current_thread() is threading.main_thread()
        if handles_signals:
            loop.add_signal_handler(signal.SIGINT, self._interrupted)
            loop.add_signal_handler(signal.SIGTERM, self._stop, "now")
        try:
            if self._feed is not None:
                self._feed.attach(lambda event: loop.call_soon_threadsafe(self._told, event))
                self._keep(asyncio.create_task(self._watch_for_a_wish_to_stop()))
            await self._lines.open()
            live = [job for job in self._engine.jobs.values() if job.live]
            self._keep(asyncio.create_task(self._take_up(live)))
            self._give_back_again()
            events = await self._next_events() if live else []
            while True:
                await self._step(events)
                if self._engine.finished:
                    return self._engine.finished
                events = await self._next_events()
        finally:
            if self._feed is not None:
                self._feed.detach()
            for number in (signal.SIGINT, signal.SIGTERM) if handles_signals else ():
                loop.remove_signal_handler(number)
            for helper in self._helpers:
                helper.cancel()
            await self._attendance.close(over=self._engine.finished is not None)

    # --- facts come in ---

    async def _next_events(self) -> list[Event]:
        """Wait for news; all that has arrived, in the order in which it did."""
        news = [await self._news.get()]
        news += [self._news.get_nowait() for _ in range(self._news.qsize())]
        events: list[Event] = []
        for item in news:
            if isinstance(item, BaseException):
                raise item
            events.append(item)
        return events

    def _interrupted(self) -> None:
        """Ctrl-C: once stops gently, twice at once."""
        self._interrupts += 1
        self._stop("gently" if self._interrupts == 1 else "now")

    def _stop(self, mode: Literal["gently", "now"]) -> None:
        self._told(records.UserCancel(time.time(), mode))

    async def _watch_for_a_wish_to_stop(self) -> None:
        """A run that is part of another program is stopped by a file: signals are that program's own."""
        while not self._folder.stop.exists():
            await asyncio.sleep(_GLANCE_S)
        self._stop("now")

    def _told(self, event: Event) -> None:
        """Take an event that comes from outside the run."""
        self._news.put_nowait(event)
        if isinstance(event, records.UserCancel) and event.mode == "now":
            self._keep(asyncio.create_task(self._force()))

    def _tick(self) -> None:
        self._told(records.Tick(time.time()))

    async def _force(self) -> None:
        """If stopping at once takes too long, a supervisor does not listen: end it, and its tasks with it."""
        await asyncio.sleep(self._force_after_s)
        live = [job.tag for job in self._engine.jobs.values() if job.live]
        await asyncio.to_thread(self._cluster.cancel, live)

    def _beside(self, work: Callable[[], Sequence[Event]]) -> None:
        """Do slow work in a thread; its events, or its error, come back as news. The run's end does not wait for it."""
        loop = asyncio.get_running_loop()

        def carry() -> None:
            news: Sequence[Event | BaseException]
            try:
                with self._few_at_a_time:
                    news = work()
            except Exception as error:  # raised again where the driver waits for news
                news = [error]
            with contextlib.suppress(RuntimeError):  # the run is over
                for item in news:
                    loop.call_soon_threadsafe(self._news.put_nowait, item)

        threading.Thread(target=carry, daemon=True).start()

    def _news_of(self, item: Event | BaseException) -> None:
        self._news.put_nowait(item)

    def _beside_us(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        return self._keep(asyncio.create_task(work))

    def _keep(self, helper: asyncio.Task[None]) -> asyncio.Task[None]:
        """Let it work beside; an error of it is raised where the driver waits for news."""
        self._helpers.add(helper)
        helper.add_done_callback(self._helped)
        return helper

    def _helped(self, helper: asyncio.Task[None]) -> None:
        self._helpers.discard(helper)
        error = None if helper.cancelled() else helper.exception()
        if error is not None:
            self._news.put_nowait(error)

    # --- facts, decisions, durability, acts: in this order ---

    async def _step(self, events: Sequence[Event]) -> None:
        batch: list[Event | Decision] = []
        for told in events:
            event = self._examined(told)
            if event is not None:
                self._engine.apply(event)
                batch.append(event)
            if isinstance(event, records.TasksAdded):
                self._attendance.say_what_is_produced([out for task in event.tasks for out in task.outputs])
        while decisions := self._engine.decide(time.time()):
            if any(isinstance(decision, records.Finish) for decision in decisions):
                await asyncio.gather(*self._leaving)  # nobody resumes a run that is over: nothing of it may be left
            acts: list[Decision] = []
            for decision in decisions:
                self._engine.apply(decision)
                if isinstance(decision, records.Finish) and self._cluster.calls:
                    batch.append(records.CallsCounted(decision.at, self._cluster.calls))
                batch.append(decision)
                if isinstance(decision, records.ReadInputs):
                    batch.extend(self._read_inputs(decision.task))
                else:
                    acts.append(decision)
            self._make_durable(batch)
            batch = []
            for act in acts:
                await self._act(act)
            await asyncio.sleep(0)
        if batch:
            self._make_durable(batch)

    def _examined(self, event: Event) -> Event | None:
        """The event as it is to be noted; None if it is no news.

        An attempt ends once: what is told twice, or too late, does not count. A success whose inputs were changed under
        its hands counts for this run, but no later run may rely on it.
        """
        if isinstance(event, records.NodeUp) and self._engine.jobs[event.tag].released:
            return None  # it was given back while its node was on its way to us
        if isinstance(event, records.TaskWithdrawn):
            state = self._engine.tasks.get(event.task)  # none, if it was never begun because of something it needs
            return event if state is not None and state.phase <= Phase.RUNNING else None
        if not isinstance(event, records.TaskEnded):
            return event
        outcome = event.outcome
        if not self._engine.is_running(outcome.task, outcome.attempt):
            return None
        crash_point("ended")
        moved = outcome.ending is Ending.SUCCESS and not self._inputs.are_as_read(self._engine.tasks[outcome.task].task)
        return structs.replace(event, inputs_moved=True) if moved else event

    def _make_durable(self, batch: Sequence[Event | Decision]) -> None:
        self._journal.append(batch)
        crash_point("journalled")
        noted = [record.outcome for record in batch if isinstance(record, records.TaskEnded)]
        if noted:
            self._attendance.noted([(outcome.task, outcome.attempt) for outcome in noted])
            crash_point("acknowledged")
        for observer in self._observers:
            observer(batch)

    def _read_inputs(self, task_id: str) -> list[Event]:
        """Looking is no act: what was seen before a crash is simply seen again."""
        task = self._engine.tasks[task_id].task
        if self._inputs.is_quick(task):
            seen = self._inputs.read(task, time.time())
            self._engine.apply(seen)
            return [seen]
        self._beside(lambda: [self._inputs.read(task, time.time())])
        return []

    async def _act(self, decision: Decision) -> None:
        match decision:
            case records.Submit():
                await asyncio.to_thread(self._cluster.submit, decision.request, decision.tag, decision.after)
                crash_point("submitted")
                self._attendance.follow(decision.tag)
            case records.AskQueue():
                self._beside(self._look_at_queue)
            case records.Launch():
                self._start(decision.task)
                crash_point("launched")
            case records.WakeAt():
                self._keep(asyncio.create_task(self._wake(decision.until)))
            case records.Kill():
                self._say_to_node_of(decision.task, protocol.Stop(decision.task, decision.attempt))
            case records.Release():
                leaving = asyncio.create_task(self._attendance.release(decision.tag))
                self._leaving.add(leaving)
                leaving.add_done_callback(self._leaving.discard)
                if not self._cluster.queues:
                    await leaving
                crash_point("released")

    async def _wake(self, until: float) -> None:
        """Tick when it is so late: by the clock on the wall, since asyncio's stands still while a machine sleeps."""
        while (left_s := until - time.time()) > 0:
            await asyncio.sleep(min(left_s, _GLANCE_S))
        self._tick()

    def _look_at_queue(self) -> Sequence[Event]:
        """And at what others have waited. A batch system that does not answer is waited for: it may be restarting, and
        nothing is lost meanwhile."""
        deadline = time.monotonic() + _QUEUE_PATIENCE_S
        while True:
            try:
                queue = self._cluster.snapshot()
                now = time.time()  # a batch system that is slow, or not to be asked too often, tells of the past
                return [*self._others_waits(now), queue.as_of(now)]
            except SiteError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(_QUEUE_AGAIN_S)

    def _start(self, task_id: str) -> None:
        """Send a launch. Without a connection it waits: whoever connects sends all that should be running."""
        state = self._engine.tasks[task_id]
        link = self._attendance.line_of(state.running.node) if state.running else None
        if state.running is not None and self._feed is not None and not self._feed.may_start(task_id):
            outcome = Outcome(task_id, state.attempts, Ending.CANCELLED, time.time(), time.time())
            self._news.put_nowait(records.TaskEnded(time.time(), outcome))
        elif link is not None and state.running is not None:
            link.send(self._order(state.task, state.running))

    def _order(self, task: Task, running: Running) -> protocol.Start:
        directory = str(self._folder.attempt(task.id, running.attempt))
        span = [self._attendance.node_of(name) for name in running.nodes] if task.nodes > 1 else []
        until = self._engine.nodes[running.node].until
        ends_at = until if until < math.inf else None
        return protocol.Start(task, running.attempt, directory, running.resources, tuple(span), ends_at)

    def _say_to_node_of(self, task_id: str, message: protocol.Message) -> None:
        running = self._engine.tasks[task_id].running
        link = self._attendance.line_of(running.node) if running else None
        if link is not None:
            link.send(message)

    # --- jobs and their supervisors ---

    def _give_back_again(self) -> None:
        """After a crash: a job that was to be given back may still be in the queue."""
        jobs = self._engine.jobs.values()
        tags = [job.tag for job in jobs if job.released and job.phase is not JobPhase.ENDED]
        if tags and self._cluster.queues:
            self._leaving.add(asyncio.create_task(asyncio.to_thread(self._cluster.cancel, tags)))

    async def _take_up(self, jobs: Sequence[JobStatus]) -> None:
        """After a crash: find the jobs that the journal knows, and ask again for one that never came to be."""
        for job in jobs:
            phase = (await asyncio.to_thread(self._cluster.poll, [job.tag]))[job.tag]
            if phase not in (JobPhase.RUNNING, JobPhase.ENDED):  # where it is there, asking again changes nothing
                await asyncio.to_thread(self._cluster.submit, job.request, job.tag, job.after)
            self._attendance.follow(job.tag)
        if jobs:
            self._tick()  # where nothing was running nobody else would bring news
