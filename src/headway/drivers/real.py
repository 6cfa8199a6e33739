"""The driver of real runs: carries records between engine, journal, cluster and supervisors, in asyncio."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct, structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.admitting import Admitting
from headway.drivers.background import Background
from headway.drivers.checkpoints import adopt_checkpoint
from headway.drivers.environments import Environments
from headway.drivers.expanding import expanded
from headway.drivers.feed import Feed
from headway.drivers.foreseeing import Foreseeing
from headway.drivers.giving_back import GivingBack
from headway.drivers.hand_over import HandOver
from headway.drivers.inbox import (
    AttemptEnded,
    AttemptGone,
    Connected,
    Disconnected,
    Inbox,
    JobGone,
    Leave,
    Message,
    NodeGone,
    Resized,
    SignalTask,
)
from headway.drivers.inputs import InputReader
from headway.drivers.job_monitor import JobMonitor
from headway.drivers.listening import Listening
from headway.drivers.node_connections import NodeConnections
from headway.drivers.recovery import settle
from headway.drivers.run_settings import POOL
from headway.drivers.starting import Starting
from headway.engine.engine import Engine
from headway.engine.state import Phase
from headway.journal.base import Journal
from headway.journal.folder import RunFolder
from headway.model import records
from headway.model.errors import SiteError
from headway.model.job import JobPhase, JobRequest, Wish
from headway.model.outcome import Ending
from headway.model.records import Decision, Event
from headway.planning.base import JobStatus
from headway.workers import protocol
from headway.workers.attempt import remove
from headway.workers.connection import Connections

Observer = Callable[[Sequence[Event | Decision]], None]

_log = logging.getLogger(__name__)

_CHECK_EVERY_S = 0.5  # for the wall clock, while the run waits for a time
_FORCE_AFTER_GRACE_S = 5.0  # for a supervisor to stop its tasks and report it, beyond the tasks' time of grace
_QUEUE_AGAIN_S = 5.0  # a cluster asks its batch system less often than that
# Tasks of a growing run come and go one by one; while many run, a step waits for more news, since each step is a
# transaction on disk.
_MANY, _GATHER_S = 8, 0.003
LEFT = "left"  # how a run ends for a manager that leaves it to the next one
MOST_CANCELLED = 3  # jobs in a row: then their user wants the run to end
_STARTED_BEFORE_S = 5.0  # a batch system counts a job's time from before its script started


class Driver(Struct, eq=False, dict=True):
    """Runs one engine to its end.

    Data flows one way: producers (the job monitor, timers, threads, the feed, signals) put messages into the inbox; a
    step turns them into events, lets the engine decide, and acts through the cluster and the connections to nodes.

    Within a step the order is the promise that nothing is lost and nothing done twice: events are applied, decisions
    are made, both are made durable in one transaction, and only then are events acknowledged and decisions acted on.
    """

    engine: Engine
    journal: Journal
    cluster: Cluster
    connector: Connections
    folder: RunFolder
    inputs: InputReader
    observers: Sequence[Observer] = ()
    feed: Feed | None = None
    grace_s: float = 5.0
    # How long other runs' jobs have waited lately; called in a thread.
    others_waits: Callable[[float], Sequence[Event]] = lambda now: ()
    hand_over: HandOver | None = None  # of a manager in a job

    def __post_init__(self) -> None:
        self._connections = NodeConnections()
        self._batch: list[Event | Decision] = []  # applied, and not durable yet
        self._alarms: asyncio.Task[Exception | None] | None = None  # waits until the planner has to be called
        self._foreseeing = Foreseeing(self.engine) if self.connector.name == POOL else None
        self._leaving = False
        self._cancelled_by_hand = 0  # jobs in a row, while no task succeeded
        self._inbox: Inbox
        self._background: Background
        self._monitor: JobMonitor
        self._starting: Starting
        self._giving_back: GivingBack
        self._admitting: Admitting

    async def run(self) -> str:
        """Drive the run until it is over; return how it ended, or `LEFT` if another manager has to go on with it."""
        self._inbox = Inbox()
        try:
            async with Background(self._inbox) as self._background:
                nodes_up = {name: node.tag for name, node in self.engine.nodes.items()}
                self._monitor = JobMonitor(
                    self.cluster, self.connector, self.folder.jobs, self._inbox, self._background, nodes_up
                )
                environments = Environments(self.folder.directory, self._inbox, self._background)
                nodes = (self.connector, self._connections)
                beside = (self._inbox, self._background)
                self._starting = Starting(
                    self.engine, *nodes, self.folder, self.inputs, self.feed, environments, *beside
                )
                self._admitting = Admitting(self.engine, self.cluster, self._background)
                self._giving_back = GivingBack(self.engine, self.cluster, *nodes, self._monitor, *beside)
                with Listening(*beside, self.folder.stop, self.feed, self.hand_over).to_user():
                    await self.connector.open()
                    return await self._step_until_finished()
        finally:
            self._connections.close()
            await (self.connector.end() if self.engine.finished else self.connector.close())

    async def _step_until_finished(self) -> str:
        live = [job for job in self.engine.jobs.values() if job.live]
        self._background.start(self._find_jobs_again(live))
        self._giving_back.again()
        self.cluster.avoid(self.engine.bad_nodes.avoided)
        messages = await self._inbox.take() if live else []
        while True:
            await self._step(messages)
            if self.engine.finished:
                return self.engine.finished
            if self._leaving:
                return LEFT
            many = self.feed is not None and self.engine.busy >= _MANY
            messages = await self._inbox.take(_GATHER_S if many else 0.0)

    # --- producers of messages, besides the job monitor ---

    async def _force_stop(self) -> None:
        """Cancel all jobs if stopping at once takes too long: a supervisor does not react."""
        await asyncio.sleep(self.grace_s + _FORCE_AFTER_GRACE_S)
        live = [job.tag for job in self.engine.jobs.values() if job.live]
        await asyncio.to_thread(self.cluster.cancel, live)

    def _set_alarm(self) -> None:
        if self._alarms is None or self._alarms.done():
            self._alarms = self._background.start(self._ring_alarms())

    async def _ring_alarms(self) -> None:
        """Wait by the wall clock, since asyncio's clock stands still while a machine sleeps."""
        while (due := self.engine.wakes_at) is not None:
            left_s = due - time.time()
            if left_s <= 0:
                self._inbox.put(records.Tick(time.time()))
            await asyncio.sleep(min(left_s, _CHECK_EVERY_S) if left_s > 0 else _CHECK_EVERY_S)

    def _read_queue(self, wish: Wish | None) -> Sequence[Event]:
        """Read the queue, and other runs' waits.

        A batch system that does not answer may be restarting, and nodes that are drained come back: that is said, and
        the queue is read again until it works.
        """
        cluster = self.cluster if wish is None else self.cluster.wishing(wish) or self.cluster
        said = ""
        while True:
            try:
                queue = cluster.snapshot()
                now = time.time()  # a cluster may answer with an earlier reading, to spare the batch system
                again = [records.QueueUnread(now, "", wish)] if said else []
                return [*again, *self.others_waits(now), structs.replace(queue.as_of(now), wish=wish)]
            except SiteError as error:
                _log.info("the queue cannot be read, trying again in %g s: %s", _QUEUE_AGAIN_S, error)
                if error.what != said:
                    said = error.what
                    self._inbox.put_from_thread(records.QueueUnread(time.time(), said, wish))
                time.sleep(_QUEUE_AGAIN_S)

    async def _find_jobs_again(self, jobs: Sequence[JobStatus]) -> None:
        """After a resume: follow the jobs that the journal knows; submit again what never reached the cluster."""
        for job in jobs:
            phase = (await asyncio.to_thread(self.cluster.poll, [job.tag]))[job.tag]
            if phase not in (JobPhase.RUNNING, JobPhase.ENDED):  # submitting a job that is there changes nothing
                await self._submit(job.request, job.tag, job.after)
                if job.admitted_at is not None:  # the cluster may not have heard of that either
                    self._admitting.admit(job.tag)
            self._monitor.follow(job.tag)
        if jobs:
            self._inbox.put(records.Tick(time.time()))  # if nothing was running, no other message would come

    # --- a step: events, decisions, durability, acts, in this order ---

    async def _step(self, messages: Sequence[Message]) -> None:
        for message in messages:
            await self._receive(message)
        while decisions := self.engine.decide(time.time()):
            if any(isinstance(decision, records.Finish) for decision in decisions):
                await self._giving_back.all_released()
            for decision in decisions:
                self.engine.apply(decision)
                if isinstance(decision, records.Finish) and self.cluster.calls:
                    self._batch.append(records.CallsCounted(decision.at, self.cluster.calls))
                self._batch.append(decision)
                if isinstance(decision, records.ReadInputs):
                    self._read_inputs(decision.task)
                elif isinstance(decision, records.Expand):
                    self._expand(decision.block)
            self._make_durable()
            for decision in decisions:
                await self._act(decision)
            await asyncio.sleep(0)
        self._make_durable()
        if self._foreseeing is not None and (foreseen := self._foreseeing.news(time.time())) is not None:
            for node in self.engine.nodes:
                self._connections.send(node, foreseen)

    def _make_durable(self) -> None:
        batch, self._batch = self._batch, []
        if batch:
            self.journal.append(batch)
            crash_point("journalled")
        self._connections.acknowledge()
        if any(isinstance(record, records.TaskEnded) for record in batch):
            crash_point("acknowledged")
        if batch:
            for observer in self.observers:
                observer(batch)

    def _read_inputs(self, task_id: str) -> None:
        """Look at a task's files. This is no act: what was seen before a crash is simply looked at again."""
        task = self.engine.tasks[task_id].task
        temporary, made_before = self.engine.temporary(task), self.engine.made_before(task_id)
        if self.inputs.is_quick(task, made_before):
            self._note(self.inputs.read(task, time.time(), temporary, made_before))
        else:
            self._background.in_thread(lambda: [self.inputs.read(task, time.time(), temporary, made_before)])

    def _expand(self, name: str) -> None:
        """Add the tasks of a deferred entry. This is no act either: after a crash it is done again."""
        engine = self.engine
        about = (engine.deferred, engine.workflow, self.folder.directory, engine.settings)
        self._note(expanded(name, *about, time.time(), engine.temporary_for(name)))
        crash_point("expanded")

    # --- from messages to events ---

    async def _receive(self, message: Message) -> None:
        """Note the events that a message means for the run."""
        match message:
            case Connected():
                self._connected(message)
            case Disconnected():
                self._connections.drop(message.node, message.connection)
            case AttemptEnded():
                self._reported_end(message)
            case AttemptGone():
                self._attempt_gone(message)
            case Resized():
                known = self.engine.nodes.get(message.node)
                if known is not None and known.capacity != message.capacity:
                    self._note(records.NodeUp(time.time(), message.node, message.tag, message.capacity))
            case NodeGone():
                await self._lost(message.node, message.message, expired=self._is_time_up(message.tag, message.at))
            case JobGone():
                await self._job_gone(message)
            case SignalTask():
                running = self.engine.tasks[message.task].running if message.task in self.engine.tasks else None
                if running is not None:
                    self._connections.send(running.node, protocol.Signal(message.task, running.attempt, message.number))
            case Leave():
                self._leaving = True
            case _:
                self._note(message)

    def _note(self, event: Event) -> None:
        """Apply an event, if it is news, and keep it for the journal.

        An attempt ends once: a second or late report does not count. A success whose inputs were changed while it ran
        counts for this run, but no later run may rely on it.
        """
        match event:
            case records.TaskEnded():
                outcome = event.outcome
                if not self.engine.is_running(outcome.task, outcome.attempt):
                    return
                crash_point("ended")
                if outcome.ending is Ending.SUCCESS:
                    self._cancelled_by_hand = 0
                event = self.inputs.with_moves(event, self.engine.tasks[outcome.task].inputs)
            case records.TaskWithdrawn():
                state = self.engine.tasks.get(event.task)  # None if a parent's failure kept it from being added
                if state is None or state.phase > Phase.RUNNING:
                    return
            case records.InputsRead():
                task = self.engine.tasks[event.task].task
                if task.notice_s and task.work is None:
                    adopt_checkpoint(self.folder, task, event.digests, anew=bool(self.engine.rerun(task.id)))
            case records.UserCancel():
                _log.info("the user wants the run to stop: %s", event.mode)
                if event.mode == "now":
                    self._background.start(self._force_stop())
        self.engine.apply(event)
        self._batch.append(event)
        if isinstance(event, records.TasksAdded):
            made = [path for task in event.tasks for path in task.outputs]
            self._connections.announce([*made, *self.inputs.strays.left_out_by(event.tasks)])

    def _connected(self, message: Connected) -> None:
        """Greet a node's supervisor, which knows nothing of an earlier connection."""
        tag, node, now = message.tag, message.node, time.time()
        job = self.engine.jobs[tag]
        if job.released or node in self.engine.given.get(tag, ()):  # given back while it was about to answer
            message.connection.close()
            return
        if self._foreseeing is not None:
            self._foreseeing.forget()
        settings = self.engine.settings
        hidden = [*settings.orphans, *self.inputs.strays.left_out_by(self.engine.workflow)]
        made = [*self.engine.workflow.producer, *settings.left_out, *hidden]
        self._connections.add(tag, node, message.connection, made)
        known = self.engine.nodes.get(node)
        if known is not None:
            for task_id in sorted(known.running):  # a start message may have been journalled and never sent
                self._starting.start(task_id)
                running = self.engine.tasks[task_id].running
                if running is not None and running.being_killed:  # and so may the message to stop it
                    self._connections.send(node, protocol.Stop(task_id, running.attempt))
                if running is not None and running.noticed:
                    self._connections.send(node, protocol.GiveNotice(task_id, running.attempt))
            return
        _log.info("node %s of job %s is up", node, tag)
        if job.phase is not JobPhase.RUNNING:
            # A job counts as running from its first node on: one without nodes would look like one without work.
            self._note(records.JobState(now, tag, JobPhase.RUNNING, since=message.job_started_at))
        has = self.cluster.on_node(job.request, tag, self.connector.node_of(node))
        keeps_job = self.connector.node_of(node) == self.cluster.script_node(tag)
        # A job has whole GPUs, and may have been granted more of them than its tasks asked for.
        devices = message.connection.hello.devices if has.gpus else ()
        has = has.replace(gpus=len(devices)) if devices else has
        self._note(records.NodeUp(now, node, tag, has, keeps_job, devices))

    def _reported_end(self, message: AttemptEnded) -> None:
        outcome = message.outcome
        state = self.engine.tasks.get(outcome.task)  # None if it was over long ago
        by_us = state is not None and state.running is not None and state.running.being_killed
        if outcome.ending is Ending.CANCELLED and not by_us and self._is_time_up(message.tag, message.at):
            return  # stopped since its job's time was up: `NodeLost` will say so, and nothing is acknowledged
        self._connections.reported(message.connection, outcome.task, outcome.attempt)
        self._note(records.TaskEnded(message.at, outcome))

    def _attempt_gone(self, message: AttemptGone) -> None:
        lost = message.lost
        self._connections.reported(message.connection, lost.task, lost.attempt)
        if self.engine.is_running(lost.task, lost.attempt):
            how = (lost.message, lost.expired, lost.excused, lost.alone)
            self._note(records.AttemptLost(message.at, lost.task, lost.attempt, *how))

    def _is_time_up(self, tag: str, at: float) -> bool:
        """Whether a job has used its walltime, whatever else is said of its end."""
        return at >= self.engine.jobs[tag].ends_at - _STARTED_BEFORE_S

    async def _lost(self, node: str, message: str, *, expired: bool, excused: bool = False) -> None:
        """A node is gone: results that its tasks left count, the other tasks will run again."""
        _log.info("node %s is lost: %s", node, message)
        self._connections.drop(node)
        state = self.engine.nodes.get(node)
        running = [self.engine.tasks[task_id] for task_id in sorted(state.running)] if state else []
        now = time.time()
        for event in await asyncio.to_thread(settle, running, self.folder, now):
            # An attempt that was stopped because the time was up needs more time; the node's loss tells the engine.
            if not (expired and event.outcome.ending is Ending.CANCELLED):
                self._note(event)
        self._note(records.NodeLost(now, node, message, expired=expired, excused=excused))

    async def _job_gone(self, message: JobGone) -> None:
        news = message.news
        _log.info("job %s has ended (%s)%s", message.tag, news.ending, f": {news.message}" if news.message else "")
        is_up = self._is_time_up(message.tag, min(message.at, news.ended_at or message.at))
        # If the time was cut while the job ran, none of its tasks took too long.
        taken = news.ending in (Ending.PREEMPTED, Ending.CANCELLED)
        expired = not news.cut and (news.ending is Ending.TIME or (is_up and not taken))
        # On one machine there is no other node to suspect: a supervisor that was killed says nothing of its tasks.
        excused = news.cut or taken or not self.cluster.queues
        for node in message.nodes:
            await self._lost(node, news.message or "its supervisor is gone", expired=expired, excused=excused)
        how = (news.message, news.ended_at, excused, expired)
        self._note(records.JobState(time.time(), message.tag, JobPhase.ENDED, *how))
        if news.ending is Ending.CANCELLED and not self.engine.jobs[message.tag].released:
            self._cancelled_by_hand += 1
            if self._cancelled_by_hand == MOST_CANCELLED:
                because = f"{MOST_CANCELLED} of its jobs in a row were cancelled by hand"
                self._note(records.UserCancel(time.time(), "gently", because))

    # --- acts ---

    async def _act(self, decision: Decision) -> None:
        match decision:
            case records.Submit():
                _log.info("submitting job %s: %s", decision.tag, decision.request.per_node)
                await self._submit(decision.request, decision.tag, decision.after)
                crash_point("submitted")
                self._monitor.follow(decision.tag)
            case records.AvoidNode():
                _log.info("node %s is avoided: %s", decision.node, decision.why.text)
                self.cluster.avoid({decision.node: decision.until})
            case records.Discard():
                self._background.in_thread(partial(self._discard, decision))
            case records.AskQueue():
                self._background.in_thread(partial(self._read_queue, decision.wish))
            case records.Launch():
                self._starting.start(decision.task)
                crash_point("launched")
            case records.WakeAt():
                self._set_alarm()
            case records.Kill():
                self._starting.kill(decision)
            case records.GiveNotice():
                self._starting.give_notice(decision)
                crash_point("noticed")
            case records.Release():
                _log.info("giving back job %s", decision.tag)
                await self._giving_back.release(decision.tag)
                crash_point("released")
            case records.Admit():
                crash_point("admitting")
                self._admitting.admit(decision.tag)
            case records.Shrink():
                _log.info("job %s gives back %s", decision.tag, ", ".join(decision.nodes))
                self._giving_back.shrink(decision)

    async def _submit(self, request: JobRequest, tag: str, after: str | None) -> None:
        try:
            await asyncio.to_thread(self.cluster.submit, request, tag, after)
        except SiteError as error:
            if request.wish is None:
                raise
            task = next(task.id for task in self.engine.workflow if task.wish == request.wish)
            what = f"task {task} asks for {request.wish}: {error.what}"
            raise SiteError(what, where=error.where, todo=error.todo) from error

    def _discard(self, decision: records.Discard) -> Sequence[Event]:
        """Delete a temporary output; one that cannot be deleted stays."""
        try:
            remove(self.folder.directory / decision.path)
        except OSError as error:
            _log.warning("cannot delete %s: %s", decision.path, error)
        return [records.Discarded(time.time(), decision.task, decision.path)]
