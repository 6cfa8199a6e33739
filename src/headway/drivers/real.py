"""The driver of real runs: carries records between engine, journal, cluster and supervisors, in asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
import time
from collections.abc import Callable, Sequence
from typing import Literal

from msgspec import structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.feed import Feed
from headway.drivers.inputs import InputReader
from headway.drivers.recovery import settle
from headway.engine.engine import Engine
from headway.engine.state import Phase
from headway.journal.base import Journal
from headway.journal.folder import RunFolder
from headway.model import records
from headway.model.errors import SiteError
from headway.model.job import JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Why
from headway.planning.base import JobStatus
from headway.workers import protocol
from headway.workers.link import Link

Observer = Callable[[Sequence[Event | Decision]], None]

_ANSWER_WITHIN_S = 60.0  # a supervisor on a busy machine may take seconds to start
_GLANCE_S = 0.5  # between two looks at whether it lives
_GRACE_OF_THE_GRACE_S = 5.0  # for a supervisor to stop its tasks and say so
_PATHS_A_LINE = 10_000
_MOST_STILLBORN = 2  # somebody may kill one; three in a row are a sign that none can live here


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
        folder: RunFolder,
        inputs: InputReader,
        observers: Sequence[Observer] = (),
        *,
        feed: Feed | None = None,
        grace_s: float = 5.0,
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._cluster = cluster
        self._folder = folder
        self._inputs = inputs
        self._observers = observers
        self._feed = feed
        self._links: dict[str, Link] = {}  # by tag
        self._news: asyncio.Queue[Event | BaseException] = asyncio.Queue()
        self._helpers: set[asyncio.Task[None]] = set()
        self._interrupts = 0
        self._stillborn = 0  # supervisors in a row that ended before they answered
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
            live = [job for job in self._engine.jobs.values() if job.live]
            self._keep(asyncio.create_task(self._take_up(live)))
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
            for link in self._links.values():
                link.close()

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

    def _beside(self, work: Callable[[], Event]) -> None:
        """Do slow work in a thread; its event, or its error, comes back as news. The run's end does not wait for it."""
        loop = asyncio.get_running_loop()

        def carry() -> None:
            news: Event | BaseException
            try:
                with self._few_at_a_time:
                    news = work()
            except Exception as error:  # raised again where the driver waits for news
                news = error
            with contextlib.suppress(RuntimeError):  # the run is over
                loop.call_soon_threadsafe(self._news.put_nowait, news)

        threading.Thread(target=carry, daemon=True).start()

    def _keep(self, helper: asyncio.Task[None]) -> None:
        """Let it work beside; an error of it is raised where the driver waits for news."""
        self._helpers.add(helper)
        helper.add_done_callback(self._helped)

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
                self._say_what_is_produced(list(self._links.values()), [out for t in event.tasks for out in t.outputs])
        while decisions := self._engine.decide(time.time()):
            acts: list[Decision] = []
            for decision in decisions:
                self._engine.apply(decision)
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
            message = protocol.Noted([(outcome.task, outcome.attempt) for outcome in noted])
            for link in self._links.values():
                link.say(message)
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
        self._beside(lambda: self._inputs.read(task, time.time()))
        return []

    async def _act(self, decision: Decision) -> None:
        match decision:
            case records.Submit():
                await asyncio.to_thread(self._cluster.submit, decision.request, decision.tag)
                crash_point("submitted")
                self._keep(asyncio.create_task(self._connect(self._engine.jobs[decision.tag])))
            case records.Launch():
                self._start(decision.tag, decision.task)
                crash_point("launched")
            case records.WakeAt():
                loop = asyncio.get_running_loop()
                loop.call_later(max(0.0, decision.until - time.time()), self._tick)
            case records.Kill():
                self._say_to_node_of(decision.task, protocol.Stop(decision.task, decision.attempt))
            case records.Release():
                await self._release(decision.tag)
                crash_point("released")

    def _start(self, tag: str, task_id: str) -> None:
        """Send a launch. Without a connection it waits: whoever connects sends all that should be running."""
        state, link = self._engine.tasks[task_id], self._links.get(tag)
        if state.running is not None and self._feed is not None and not self._feed.may_start(task_id):
            outcome = Outcome(task_id, state.attempts, Ending.CANCELLED, time.time(), time.time())
            self._news.put_nowait(records.TaskEnded(time.time(), outcome))
        elif link is not None and state.running is not None:
            directory = str(self._folder.attempt(task_id, state.running.attempt))
            link.say(protocol.Start(state.task, state.running.attempt, directory, state.running.resources))

    def _say_to_node_of(self, task_id: str, message: protocol.Message) -> None:
        running = self._engine.tasks[task_id].running
        link = self._links.get(self._engine.nodes[running.node].tag) if running else None
        if link is not None:
            link.say(message)

    async def _release(self, tag: str) -> None:
        link = self._links.pop(tag, None)
        if link is None:  # nobody to tell: it may be on its way, or not be listening
            await asyncio.to_thread(self._cluster.cancel, [tag])
        else:
            link.say(protocol.Leave())
            await link.flush()
            link.close()

    # --- jobs and their supervisors ---

    async def _take_up(self, jobs: Sequence[JobStatus]) -> None:
        """After a crash: find the jobs that the journal knows, and ask again for one that never came to be."""
        for job in jobs:
            phase = (await asyncio.to_thread(self._cluster.poll, [job.tag]))[job.tag]
            if phase is JobPhase.RUNNING:
                await self._connect(job)
            elif phase is JobPhase.ENDED:
                await self._job_ended(job.tag)
            else:
                await self._act(records.Submit(time.time(), job.tag, job.request, Why("driver", "ask-again")))

    async def _connect(self, job: JobStatus) -> None:
        """Get in touch with a job's supervisor, or find out that it is gone."""
        tag = job.tag
        known_before = job.phase is JobPhase.RUNNING
        deadline = time.monotonic() + _ANSWER_WITHIN_S
        while (link := await Link.open(self._folder.jobs / tag, _GLANCE_S)) is None:
            phase = (await asyncio.to_thread(self._cluster.poll, [tag]))[tag]
            if phase is JobPhase.ENDED and (known_before or self._stillborn < _MOST_STILLBORN):
                self._stillborn += not known_before
                await self._job_ended(tag)
                return
            if phase is JobPhase.ENDED or time.monotonic() > deadline:
                what = "ended at once" if phase is JobPhase.ENDED else f"did not answer within {_ANSWER_WITHIN_S:g} s"
                log = str(self._folder.jobs / tag / "log")
                todo = "see there what is wrong, then `headway resume`"
                self._news.put_nowait(SiteError(f"the node supervisor {what}", where=log, todo=todo))
                return
        self._links[tag] = link
        self._stillborn = 0
        self._say_what_is_produced([link], list(self._engine.workflow.producer))
        self._news.put_nowait(records.JobState(time.time(), tag, JobPhase.RUNNING))
        if not known_before:
            self._news.put_nowait(records.NodeUp(time.time(), link.hello.node, tag, job.request.per_node))
        for node in self._engine.nodes.values():
            if node.tag == tag:  # what it should be running, in case a launch was journalled and never sent
                for task_id in sorted(node.running):
                    self._start(tag, task_id)
        self._keep(asyncio.create_task(self._listen(tag, link)))

    def _say_what_is_produced(self, links: Sequence[Link], paths: Sequence[str]) -> None:
        for begin in range(0, len(paths), _PATHS_A_LINE):
            for link in links:
                link.say(protocol.Produced(list(paths[begin : begin + _PATHS_A_LINE])))

    async def _listen(self, tag: str, link: Link) -> None:
        while (message := await link.hear()) is not None:
            if isinstance(message, protocol.Trouble):
                todo = "nothing is lost: make room or mend it, then `headway resume`"
                self._news.put_nowait(SiteError(message.what, where=message.where, todo=todo))
            elif isinstance(message, protocol.Ended):
                outcome = message.outcome
                if self._engine.is_running(outcome.task, outcome.attempt):
                    self._news.put_nowait(records.TaskEnded(time.time(), outcome))
                else:
                    link.say(protocol.Noted([(outcome.task, outcome.attempt)]))
        if self._links.get(tag) is link:
            del self._links[tag]
            await self._connect(self._engine.jobs[tag])

    async def _job_ended(self, tag: str) -> None:
        """A job is over: what its tasks left counts, the rest will run again, once nothing of it is left running."""
        await asyncio.to_thread(self._cluster.cancel, [tag])
        now = time.time()
        for node in [node for node in self._engine.nodes.values() if node.tag == tag]:
            running = [self._engine.tasks[task_id] for task_id in sorted(node.running)]
            for event in await asyncio.to_thread(settle, running, self._folder, now):
                self._news.put_nowait(event)
            self._news.put_nowait(records.NodeLost(now, node.name, "its supervisor is gone"))
        self._news.put_nowait(records.JobState(now, tag, JobPhase.ENDED))
