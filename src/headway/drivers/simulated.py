"""The driver of simulated runs: virtual time, a batch queue in memory, and tasks that behave as recorded."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Sequence

from msgspec import Struct, field, structs

from headway.clusters.simulated import SimulatedCluster
from headway.engine.engine import Engine
from headway.kernels.batch.queue import BatchQueue
from headway.model import records
from headway.model.job import Asks, JobPhase
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task
from headway.simulation.task_outcomes import saved_outcome

OutcomeOf = Callable[[records.Launch, float], Outcome]  # how an attempt that starts at a time will end


class SimulatedRun(Struct):
    """A run in virtual time; its journal is in memory."""

    engine: Engine
    tasks: Sequence[Task]  # parents before children
    outcome_of: OutcomeOf
    node: Resources  # what a node has
    input_bytes: Callable[[Task], int] = lambda task: 0
    start_s: float = 0.0
    seen_waits: Sequence[records.SeenWait] = ()  # how long other jobs have waited so far
    asks: Asks | None = None  # None: the queue counts nodes
    later: Sequence[records.TasksAdded] = ()  # of a growing run: tasks that come after its start; then no more come
    most_jobs_each: int | None = None  # of a pool: of each workflow
    journal: list[Event | Decision] = field(default_factory=list)

    def ended_at(self) -> float:
        """The time of its last record."""
        return self.journal[-1].at


def simulate(queue: BatchQueue, runs: Sequence[SimulatedRun], progress: Callable[[float], None] | None = None) -> None:
    """Drive runs to their ends in one queue, each as a user of its own; `progress` is called with the virtual time.

    The order is that of real runs: events are applied, decisions are made and applied, then acted on. The same runs and
    the same queue give the same journals, byte by byte.
    """
    driver = _Simulation(queue, runs)
    while driver.step():
        if progress:
            progress(queue.now)


class _Simulation:
    """Future events in a heap, ordered by time and then by when they became known."""

    def __init__(self, queue: BatchQueue, runs: Sequence[SimulatedRun]) -> None:
        self._queue = queue
        self._runs = runs
        self._clusters = [SimulatedCluster(queue, run.node, owner, run.asks) for owner, run in enumerate(runs)]
        self._coming: list[tuple[float, int, int, Event | None]] = []  # time, number, run; None: the run starts
        self._known = 0
        for index, run in enumerate(runs):
            self._expect(run.start_s, index, None)
            for added in run.later:
                self._expect(added.at, index, added)
            if run.engine.settings.growing:
                last_s = run.later[-1].at if run.later else run.start_s
                self._expect(last_s, index, records.NoMoreTasks(last_s))

    def _expect(self, at: float, run: int, event: Event | None) -> None:
        self._known += 1
        heapq.heappush(self._coming, (at, self._known, run, event))

    def step(self) -> bool:
        """Advance to the next time at which something happens; return False if all runs are finished."""
        unfinished = [index for index, run in enumerate(self._runs) if run.engine.finished is None]
        if not unfinished:
            return False
        until = self._coming[0][0] if self._coming else float("inf")
        changed = self._queue.advance(until)
        if changed:
            for index in unfinished:
                facts = [fact for tag in self._clusters[index].tags_of(changed) for fact in self._news_of(index, tag)]
                if facts:
                    self._settle(index, facts)
            return True
        if not self._coming:
            raise RuntimeError("a simulated run waits for something that will never happen")
        happening: dict[int, list[Event]] = {}  # everything that happens at that time, by run
        while self._coming and self._coming[0][0] == until:
            _, _, index, event = heapq.heappop(self._coming)
            happening.setdefault(index, []).extend(self._beginning(index) if event is None else [event])
        for index, events in happening.items():
            news = [event for event in events if self._is_news(index, event)]
            if news:
                self._settle(index, news)
        return True

    def _is_news(self, index: int, event: Event) -> bool:
        """Whether an event still counts: not if it ends an attempt that was given up as lost."""
        if not isinstance(event, records.TaskEnded):
            return True
        return self._runs[index].engine.is_running(event.outcome.task, event.outcome.attempt)

    def _beginning(self, index: int) -> list[Event]:
        run, cluster, now = self._runs[index], self._clusters[index], self._queue.now
        limits = records.LimitsRead(
            now,
            cluster.limits(),
            self._queue.most_jobs,
            shares=cluster.shares,
            shrinks=cluster.shrinks,
            admits=cluster.admits,
            most_jobs_each=run.most_jobs_each,
        )
        waits = [records.WaitsRead(now, list(run.seen_waits))] if run.seen_waits else []
        return [run.engine.settings, limits, *waits, records.TasksAdded(now, list(run.tasks))]

    def _news_of(self, index: int, tag: str) -> list[Event]:
        """The events for a run when one of its jobs has started or ended."""
        engine, cluster, now = self._runs[index].engine, self._clusters[index], self._queue.now
        job, phase = engine.jobs[tag], cluster.poll([tag])[tag]
        if phase is JobPhase.RUNNING and job.phase is not phase:
            names = [f"{tag}.{number}" for number in range(1, job.request.per_node.nodes + 1)]
            share = job.request.places is not None
            capacity = (job.request.per_node.replace(nodes=1) if share else cluster.node).replace(walltime_s=None)
            ups = [records.NodeUp(now, name, tag, capacity, keeps_job=name == names[0]) for name in names]
            return [records.JobState(now, tag, phase), *ups]
        if phase is JobPhase.ENDED and job.phase is not phase and not job.released:
            lost = [node.name for node in engine.nodes.values() if node.tag == tag]
            message = "its job has used up the time it asked for"
            gone = [records.NodeLost(now, name, message, expired=True) for name in lost]
            return [*gone, records.JobState(now, tag, phase)]
        return []

    def _settle(self, index: int, facts: Sequence[Event]) -> None:
        run, now = self._runs[index], self._queue.now
        for fact in facts:
            self._note(run, fact)
        while decisions := run.engine.decide(now):
            for decision in decisions:
                self._note(run, decision)
                if isinstance(decision, records.ReadInputs):
                    seen = run.engine.tasks[decision.task].task
                    self._note(run, records.InputsRead(now, decision.task, run.input_bytes(seen)))
            for decision in decisions:
                self._act(index, decision)

    def _note(self, run: SimulatedRun, record: Event | Decision) -> None:
        run.engine.apply(record)
        run.journal.append(record)

    def _act(self, index: int, decision: Decision) -> None:
        run, cluster, now = self._runs[index], self._clusters[index], self._queue.now
        match decision:
            case records.Submit():
                cluster.submit(decision.request, decision.tag, decision.after)
            case records.Release():
                cluster.cancel([decision.tag])
            case records.Admit():
                cluster.admit(decision.tag)
            case records.Shrink():
                cluster.shrink(decision.tag, decision.nodes, run.engine.jobs[decision.tag].request)
                self._note(run, records.Shrunk(now, decision.tag, decision.nodes))
            case records.Discard():
                self._note(run, records.Discarded(now, decision.task, decision.path))
            case records.AskQueue():
                self._note(run, cluster.snapshot())
            case records.Launch():
                outcome = _outcome(run, decision)
                self._expect(outcome.ended_at, index, records.TaskEnded(outcome.ended_at, outcome))
            case records.GiveNotice():
                began = run.engine.tasks[decision.task].running
                if began is not None:
                    running = Outcome(decision.task, decision.attempt, Ending.SAVED, began.launched_at, now)
                    self._expect(now, index, records.TaskEnded(now, saved_outcome(running, now)))
            case records.WakeAt():
                self._expect(decision.until, index, records.Tick(decision.until))
            case records.Kill():
                cancelled = Outcome(decision.task, decision.attempt, Ending.CANCELLED, now, now)
                self._expect(now, index, records.TaskEnded(now, cancelled))


def _outcome(run: SimulatedRun, launch: records.Launch) -> Outcome:
    """How an attempt will end. One that gets notice goes on where the last one was saved, and ends at its notice."""
    state, given = run.engine.tasks[launch.task], launch.ceiling or launch.resources
    if not state.task.notice_s:
        return run.outcome_of(launch, launch.at)
    unlimited = structs.replace(launch, ceiling=given.replace(walltime_s=None))
    outcome = run.outcome_of(unlimited, launch.at - state.saved_s).after(-state.saved_s)
    until = min(run.engine.nodes[launch.node].until, launch.at + (given.walltime_s or math.inf))
    told_at = max(launch.at, until - state.task.notice_s)
    return saved_outcome(outcome, told_at) if told_at < outcome.ended_at else outcome
