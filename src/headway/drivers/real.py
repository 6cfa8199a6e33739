"""The driver of real runs: carries records between engine, journal, cluster and supervisors, in asyncio."""

from __future__ import annotations

import asyncio
import logging
import math
import signal
import threading
import time
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Literal

from msgspec import structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.background import Background
from headway.drivers.environments import Environments
from headway.drivers.feed import Feed
from headway.drivers.inbox import AttemptEnded, Connected, Disconnected, Inbox, JobGone, Message, NodeGone
from headway.drivers.inputs import InputReader
from headway.drivers.job_monitor import JobMonitor
from headway.drivers.node_connections import NodeConnections
from headway.drivers.recovery import settle
from headway.engine.engine import Engine
from headway.engine.state import Phase, Running
from headway.journal.base import Journal
from headway.journal.folder import RunFolder
from headway.model import records
from headway.model.errors import HeadwayError, SiteError
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event
from headway.model.task import Task
from headway.planning.base import JobStatus
from headway.workers import protocol
from headway.workers.connection import Connections

Observer = Callable[[Sequence[Event | Decision]], None]

_log = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5  # for the file that stops a run, and for the wall clock while the run waits for a time
_FORCE_AFTER_GRACE_S = 5.0  # for a supervisor to stop its tasks and report it, beyond the tasks' time of grace
_QUEUE_WITHIN_S = 3600.0  # for a batch system that does not answer
_QUEUE_AGAIN_S = 10.0
_STARTED_BEFORE_S = 5.0  # a batch system counts a job's time from before its script started


class Driver:
    """Runs one engine to its end.

    Data flows one way: producers (the job monitor, timers, threads, the feed, signals) put messages into the inbox; a
    step turns them into events, lets the engine decide, and acts through the cluster and the connections to nodes.

    Within a step the order is the promise that nothing is lost and nothing done twice: events are applied, decisions
    are made, both are made durable in one transaction, and only then are events acknowledged and decisions acted on.
    """

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        cluster: Cluster,
        connector: Connections,
        folder: RunFolder,
        inputs: InputReader,
        observers: Sequence[Observer] = (),
        *,
        feed: Feed | None = None,
        grace_s: float = 5.0,
        others_waits: Callable[[float], Sequence[Event]] = lambda now: (),
    ) -> None:
        """`others_waits` says how long other runs' jobs have waited lately; it is called in a thread."""
        self._engine = engine
        self._journal = journal
        self._cluster = cluster
        self._connector = connector
        self._folder = folder
        self._inputs = inputs
        self._observers = observers
        self._feed = feed
        self._others_waits = others_waits
        self._force_after_s = grace_s + _FORCE_AFTER_GRACE_S
        self._connections = NodeConnections()
        self._releasing: list[asyncio.Task[Exception | None]] = []  # jobs that are being given back
        self._preparing: dict[str, asyncio.Task[Exception | None]] = {}  # tasks that wait for their environment
        self._interrupts = 0
        self._environments: Environments
        self._inbox: Inbox
        self._background: Background
        self._monitor: JobMonitor

    async def run(self) -> str:
        """Drive the run until it is over; return how it ended."""
        self._inbox = Inbox()
        try:
            async with Background(self._inbox) as self._background:
                nodes_up = {name: node.tag for name, node in self._engine.nodes.items()}
                self._monitor = JobMonitor(
                    self._cluster, self._connector, self._folder.jobs, self._inbox, self._background, nodes_up
                )
                self._environments = Environments(self._folder.directory, self._inbox, self._background)
                self._listen_to_user()
                try:
                    await self._connector.open()
                    return await self._step_until_finished()
                finally:
                    self._stop_listening_to_user()
        finally:
            self._connections.close()
            await (self._connector.end() if self._engine.finished else self._connector.close())

    async def _step_until_finished(self) -> str:
        live = [job for job in self._engine.jobs.values() if job.live]
        self._background.start(self._find_jobs_again(live))
        self._release_again()
        messages = await self._inbox.take() if live else []
        while True:
            await self._step(messages)
            if self._engine.finished:
                return self._engine.finished
            messages = await self._inbox.take()

    # --- producers of messages, besides the job monitor ---

    def _listen_to_user(self) -> None:
        if threading.current_thread() is threading.main_thread():
            loop = asyncio.get_running_loop()
            loop.add_signal_handler(signal.SIGINT, self._interrupted)
            loop.add_signal_handler(signal.SIGTERM, self._stop, "now")
        if self._feed is not None:
            self._feed.attach(self._inbox.put_from_thread)
            self._background.start(self._watch_stop_file())

    def _stop_listening_to_user(self) -> None:
        if self._feed is not None:
            self._feed.detach()
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().remove_signal_handler(number)

    def _interrupted(self) -> None:
        """Stop gently at the first Ctrl-C, at once at the second."""
        self._interrupts += 1
        self._stop("gently" if self._interrupts == 1 else "now")

    def _stop(self, mode: Literal["gently", "now"]) -> None:
        self._inbox.put(records.UserCancel(time.time(), mode))

    async def _watch_stop_file(self) -> None:
        """Stop a run that is part of another program when its stop file appears: signals belong to that program."""
        while not self._folder.stop.exists():
            await asyncio.sleep(_CHECK_EVERY_S)
        self._stop("now")

    async def _force_stop(self) -> None:
        """Cancel all jobs if stopping at once takes too long: a supervisor does not react."""
        await asyncio.sleep(self._force_after_s)
        live = [job.tag for job in self._engine.jobs.values() if job.live]
        await asyncio.to_thread(self._cluster.cancel, live)

    async def _tick_at(self, until: float) -> None:
        """Wait by the wall clock, since asyncio's clock stands still while a machine sleeps."""
        while (left_s := until - time.time()) > 0:
            await asyncio.sleep(min(left_s, _CHECK_EVERY_S))
        self._inbox.put(records.Tick(time.time()))

    def _read_queue(self) -> Sequence[Event]:
        """Read the queue, and other runs' waits. A batch system that does not answer may be restarting: ask again."""
        deadline = time.monotonic() + _QUEUE_WITHIN_S
        while True:
            try:
                queue = self._cluster.snapshot()
                now = time.time()  # a cluster may answer with an earlier reading, to spare the batch system
                return [*self._others_waits(now), queue.as_of(now)]
            except SiteError as error:
                if time.monotonic() > deadline:
                    raise
                _log.info("the queue cannot be read, trying again in %g s: %s", _QUEUE_AGAIN_S, error)
                time.sleep(_QUEUE_AGAIN_S)

    async def _find_jobs_again(self, jobs: Sequence[JobStatus]) -> None:
        """After a resume: follow the jobs that the journal knows; submit again what never reached the cluster."""
        for job in jobs:
            phase = (await asyncio.to_thread(self._cluster.poll, [job.tag]))[job.tag]
            if phase not in (JobPhase.RUNNING, JobPhase.ENDED):  # submitting a job that is there changes nothing
                await asyncio.to_thread(self._cluster.submit, job.request, job.tag, job.after)
            self._monitor.follow(job.tag)
        if jobs:
            self._inbox.put(records.Tick(time.time()))  # if nothing was running, no other message would come

    # --- a step: events, decisions, durability, acts, in this order ---

    async def _step(self, messages: Sequence[Message]) -> None:
        batch: list[Event | Decision] = []
        for message in messages:
            async for event in self._events_of(message):
                self._engine.apply(event)
                batch.append(event)
        while decisions := self._engine.decide(time.time()):
            if any(isinstance(decision, records.Finish) for decision in decisions):
                await self._wait_for_releases()
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
        self._make_durable(batch)

    async def _wait_for_releases(self) -> None:
        """A finished run is never resumed: nothing of it may be left in the queue."""
        for error in await asyncio.gather(*self._releasing):
            if error is not None:
                raise error

    def _make_durable(self, batch: Sequence[Event | Decision]) -> None:
        if batch:
            self._journal.append(batch)
            crash_point("journalled")
        self._connections.acknowledge()
        if any(isinstance(record, records.TaskEnded) for record in batch):
            crash_point("acknowledged")
        if batch:
            for observer in self._observers:
                observer(batch)

    def _read_inputs(self, task_id: str) -> list[Event]:
        """Look at a task's files. This is no act: what was seen before a crash is simply looked at again."""
        task = self._engine.tasks[task_id].task
        if self._inputs.is_quick(task):
            seen = self._inputs.read(task, time.time())
            self._engine.apply(seen)
            return [seen]
        self._background.in_thread(lambda: [self._inputs.read(task, time.time())])
        return []

    # --- from messages to events ---

    async def _events_of(self, message: Message) -> AsyncIterator[Event]:
        """Say what a message means for the run; each event is applied before the next one is asked for."""
        match message:
            case Connected():
                for event in self._connected(message):
                    yield event
            case Disconnected():
                self._connections.drop(message.node, message.connection)
            case AttemptEnded():
                if (ended := self._reported_end(message)) is not None:
                    yield ended
            case NodeGone():
                expired = self._is_time_up(message.tag, message.at)
                async for event in self._lost(message.node, message.message, expired=expired):
                    yield event
            case JobGone():
                async for event in self._job_gone(message):
                    yield event
            case _:
                if (examined := self._examined(message)) is not None:
                    yield examined

    def _connected(self, message: Connected) -> list[Event]:
        """Greet a node's supervisor, which knows nothing of an earlier connection."""
        tag, node, now = message.tag, message.node, time.time()
        job = self._engine.jobs[tag]
        if job.released:  # it was given back while its node was about to answer
            message.connection.close()
            return []
        self._connections.add(tag, node, message.connection, list(self._engine.workflow.producer))
        known = self._engine.nodes.get(node)
        if known is not None:
            for task_id in sorted(known.running):  # a start message may have been journalled and never sent
                self._start(task_id)
            return []
        _log.info("node %s of job %s is up", node, tag)
        capacity = job.request.per_node.replace(nodes=1, walltime_s=None)
        # A job counts as running from its first node on: one without nodes would look like one without work.
        started = [records.JobState(now, tag, JobPhase.RUNNING, since=message.job_started_at)]
        is_new = job.phase is not JobPhase.RUNNING
        return [*(started if is_new else []), records.NodeUp(now, node, tag, capacity)]

    def _reported_end(self, message: AttemptEnded) -> Event | None:
        outcome = message.outcome
        if self._was_cut_off(message):
            return None  # `NodeLost` will say so, and nothing is acknowledged
        self._connections.reported(message.connection, outcome.task, outcome.attempt)
        return self._examined(records.TaskEnded(message.at, outcome))

    def _was_cut_off(self, message: AttemptEnded) -> bool:
        """Whether an attempt was stopped because its job's time was up, and not by us."""
        outcome = message.outcome
        running = self._engine.tasks[outcome.task].running
        by_us = running is not None and running.being_killed
        return outcome.ending is Ending.CANCELLED and not by_us and self._is_time_up(message.tag, message.at)

    def _is_time_up(self, tag: str, at: float) -> bool:
        """Whether a job has used its walltime, whatever else is said of its end."""
        job = self._engine.jobs[tag]
        walltime_s = job.request.per_node.walltime_s
        if job.started_at is None or walltime_s is None:
            return False
        return at >= job.started_at + walltime_s - _STARTED_BEFORE_S

    async def _lost(self, node: str, message: str, *, expired: bool) -> AsyncIterator[Event]:
        """A node is gone: results that its tasks left count, the other tasks will run again."""
        _log.info("node %s is lost: %s", node, message)
        self._connections.drop(node)
        state = self._engine.nodes.get(node)
        running = [self._engine.tasks[task_id] for task_id in sorted(state.running)] if state else []
        now = time.time()
        for event in await asyncio.to_thread(settle, running, self._folder, now):
            # An attempt that was stopped because the time was up needs more time; the node's loss tells the engine.
            cut_off = expired and event.outcome.ending is Ending.CANCELLED
            if not cut_off and (examined := self._examined(event)) is not None:
                yield examined
        yield records.NodeLost(now, node, message, expired=expired)

    async def _job_gone(self, message: JobGone) -> AsyncIterator[Event]:
        news = message.news
        _log.info("job %s has ended (%s)%s", message.tag, news.ending, f": {news.message}" if news.message else "")
        expired = news.ending is Ending.TIME or self._is_time_up(message.tag, message.at)
        for node in message.nodes:
            async for event in self._lost(node, news.message or "its supervisor is gone", expired=expired):
                yield event
        yield records.JobState(time.time(), message.tag, JobPhase.ENDED, news.message, news.ended_at)

    def _examined(self, event: Event) -> Event | None:
        """Return the event as the journal should have it; None if it is no news.

        An attempt ends once: a second or late report does not count. A success whose inputs were changed while it ran
        counts for this run, but no later run may rely on it.
        """
        match event:
            case records.TaskEnded():
                outcome = event.outcome
                if not self._engine.is_running(outcome.task, outcome.attempt):
                    return None
                crash_point("ended")
                read = self._engine.tasks[outcome.task].inputs
                moved = outcome.ending is Ending.SUCCESS and read is not None and not self._inputs.are_as_read(read)
                return structs.replace(event, inputs_moved=True) if moved else event
            case records.TaskWithdrawn():
                state = self._engine.tasks.get(event.task)  # None if a parent's failure kept it from being added
                return event if state is not None and state.phase <= Phase.RUNNING else None
            case records.TasksAdded():
                self._connections.announce([path for task in event.tasks for path in task.outputs])
            case records.UserCancel():
                _log.info("the user wants the run to stop: %s", event.mode)
                if event.mode == "now":
                    self._background.start(self._force_stop())
        return event

    # --- acts ---

    async def _act(self, decision: Decision) -> None:
        match decision:
            case records.Submit():
                _log.info("submitting job %s: %s", decision.tag, decision.request.per_node)
                await asyncio.to_thread(self._cluster.submit, decision.request, decision.tag, decision.after)
                crash_point("submitted")
                self._monitor.follow(decision.tag)
            case records.AskQueue():
                self._background.in_thread(self._read_queue)
            case records.Launch():
                self._start(decision.task)
                crash_point("launched")
            case records.WakeAt():
                self._background.start(self._tick_at(decision.until))
            case records.Kill():
                running = self._engine.tasks[decision.task].running
                if (preparing := self._preparing.get(decision.task)) is not None:
                    preparing.cancel()
                    now = time.time()
                    outcome = Outcome(decision.task, decision.attempt, Ending.CANCELLED, now, now)
                    self._inbox.put(records.TaskEnded(now, outcome))
                elif running is not None:
                    self._connections.send(running.node, protocol.Stop(decision.task, decision.attempt))
            case records.Release():
                _log.info("giving back job %s", decision.tag)
                if self._cluster.queues:
                    self._releasing.append(self._background.start(self._release(decision.tag), report=False))
                else:
                    await self._release(decision.tag)
                crash_point("released")

    def _start(self, task_id: str) -> None:
        """Send a task's start message; without a connection it is sent when the node is connected."""
        state = self._engine.tasks[task_id]
        running = state.running
        if running is None:
            return
        if self._feed is not None and not self._feed.may_start(task_id):
            outcome = Outcome(task_id, state.attempts, Ending.CANCELLED, time.time(), time.time())
            self._inbox.put(records.TaskEnded(time.time(), outcome))
        elif state.task.software and task_id not in self._preparing:
            self._preparing[task_id] = self._background.start(self._start_prepared(task_id))
        elif not state.task.software:
            self._connections.send(running.node, self._start_message(state.task, running))

    async def _start_prepared(self, task_id: str) -> None:
        """Start a task when its environment exists. Meanwhile its node may have been lost, and another be chosen."""
        state = self._engine.tasks[task_id]
        problem = ""
        try:
            await self._environments.prepare(state.task.software)
        except HeadwayError as error:
            problem = str(error)
        finally:
            self._preparing.pop(task_id, None)
        if state.running is not None and problem:
            now = time.time()
            outcome = Outcome(task_id, state.running.attempt, Ending.LAUNCH_FAILED, now, now, message=problem)
            self._inbox.put(records.TaskEnded(now, outcome))
        elif state.running is not None:
            self._connections.send(state.running.node, self._start_message(state.task, state.running))

    def _start_message(self, task: Task, running: Running) -> protocol.Start:
        directory = str(self._folder.attempt(task.id, running.attempt))
        span = [self._connector.node_of(name) for name in running.nodes] if task.nodes > 1 else []
        until = self._engine.nodes[running.node].until
        ends_at = until if until < math.inf else None
        return protocol.Start(task, running.attempt, directory, running.resources, tuple(span), ends_at)

    async def _release(self, tag: str) -> None:
        """Give a job back: its supervisors are told to end, and nothing of it stays in a queue."""
        self._monitor.release(tag)
        told = await self._connections.leave(tag)
        if self._cluster.queues or not told:  # it may still wait, or its supervisor may not react
            await self._monitor.cancel(tag)

    def _release_again(self) -> None:
        """After a resume: a job that was to be given back may still be in the queue."""
        jobs = self._engine.jobs.values()
        tags = [job.tag for job in jobs if job.released and job.phase is not JobPhase.ENDED]
        if tags and self._cluster.queues:
            cancelling = asyncio.to_thread(self._cluster.cancel, tags)
            self._releasing.append(self._background.start(cancelling, report=False))
