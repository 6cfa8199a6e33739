"""`StagedPlanner`: one group of tasks after the other, made of who forms groups and who says when."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.grouping.base import Floats, Group, Grouper, Levels, Waits
from headway.model.records import AskQueue, Decision, Figure, QueueRead, Release, SeenWait, Submit, WakeAt, Why
from headway.model.task import Task
from headway.planning.base import Estimate, JobStatus, Planner, View
from headway.planning.packing import Packing
from headway.planning.requested_time import requested_s
from headway.planning.without_queue import OneJobPerTask
from headway.timing.base import NOT_YET, Predecessor, Timing
from headway.waiting.base import Shape, Wait, WaitModel
from headway.waiting.twin import QueueTwin

TOO_EARLY = "too-early"  # the rule of such a release
WORTH_IT_S = 60.0  # a job that started early is kept if it is idle for no longer than this


class StagedPlanner(Planner):
    """Submits one job after another, each for the next group of levels, at the time that the timing says.

    `grouper` forms the next group from the tasks that no live job covers; `timing` says when to submit it; `estimate`
    gives run times; `model`, if there is one, predicts queue waits (otherwise the queue's own plan is believed).

    A job is released when its tasks are over. When a job reaches its walltime with tasks unfinished, the jobs behind it
    are cancelled and the remaining tasks are planned again; finished tasks stay finished (GLUME thesis, §5.1).
    """

    def __init__(
        self, name: str, grouper: Grouper, timing: Timing, estimate: Estimate, model: WaitModel | None = None
    ) -> None:
        self.name = name
        self._model = model
        self._grouper = grouper
        self._timing = timing
        self._estimate = estimate
        self._per_task = OneJobPerTask(estimate)
        self._twin: QueueTwin | None = None

    def plan(self, view: View, now: float) -> list[Decision]:
        live = [job for job in view.live if not job.suspended]
        releases = self._releases(view, now)
        if releases:
            return releases
        if any(job.role == "single-task" for job in view.jobs.values()):
            return self._per_task.plan(view, now)
        before = _expected_ends(live, now)
        if view.stopping or view.is_full or not view.unfinished or not self._timing.may_be_due(before):
            return []
        covered = {task for job in live for task in job.tasks}
        remaining = [task for task in _not_stalled(view) if task.id not in covered]
        if not remaining:
            return []
        if view.queue is None:
            return [AskQueue(now)]
        return self._next(view, view.queue, remaining, before, now)

    def _releases(self, view: View, now: float) -> list[Decision]:
        """Cancel jobs that have nothing left to do, started too early, or follow a job that has expired.

        What runs in a job is not lost for its start's or its predecessor's sake.
        """
        rules: list[tuple[JobStatus, str]] = []
        since = -1.0  # when the last job before it expired
        before: list[JobStatus] = []
        for job in view.jobs.values():
            if not job.live:
                since = since if job.released else max(since, job.ended_at or 0.0)
                continue
            if not view.unfinished or all(view.is_over(task) for task in job.tasks):
                rules.append((job, "its-tasks-are-over"))
            elif not view.is_busy(job.tag):
                if job.role != "single-task" and job.submitted_at < since:
                    rules.append((job, "its-predecessor-expired"))
                elif self._timing.resubmits and _is_early(job, before, now):
                    rules.append((job, TOO_EARLY))
            before.append(job)
        return [Release(now, job.tag, Why(self.name, rule), rule == TOO_EARLY) for job, rule in rules]

    def _next(
        self, view: View, queue: QueueRead, remaining: list[Task], before: Sequence[Predecessor], now: float
    ) -> list[Decision]:
        packing = view.packing(remaining)
        levels = packing.levels(remaining, self._estimate)
        expired = view.expired
        waits = self._waits(packing.in_units(queue), expired)
        group = self._grouper.next_group(levels, waits, self._timing.delay_s(before, now))
        if group is None:
            return self._per_task.plan(view, now)
        wait = self._expected(group, view, expired)
        wait_s = min([wait.wait_s, *_waits_of_early_jobs(view)]) if self._timing.resubmits else wait.wait_s
        at = self._timing.submit_at(before, wait_s, now)
        if at == NOT_YET:
            return []
        if at > now:
            return [WakeAt(now, at, Why(self.name, "ahead", {"wait_s": wait_s}))]
        return [self._submit(view, packing, levels, group, wait, before, expired, now)]

    def _expected(self, group: Group, view: View, expired: int) -> Wait:
        """The queue wait to plan with, and the wait model's ticket."""
        if self._model is None:
            return Wait(group.wait_s)
        shape = Shape(group.nodes, requested_s(group.run_s + group.leeway_s, expired), group.wait_s)
        expected = self._model.predict(shape, (0, self._model.name, view.next_tag(), 1))
        if self._timing.covers is None:
            return expected
        return Wait(self._model.quantiles(shape, [self._timing.covers])[0], expected.ticket)

    def observe(self, job: JobStatus) -> None:
        if self._model is None or job.waited_s is None or job.ended_at is not None:
            return
        # The queue's own plan was read at submission; it says nothing about a wait that began later.
        estimate_s = job.wait_estimate_s if job.predecessor is None else None
        shape = Shape(job.width, job.request.per_node.walltime_s or 0.0, estimate_s)
        self._model.observe(shape, job.wait_ticket, job.waited_s)

    def learn(self, waits: Sequence[SeenWait]) -> None:
        if self._model is not None and self._model.learns:
            for seen in waits:
                self._model.observe(Shape(seen.nodes, seen.asked_s, seen.estimate_s), {}, seen.waited_s)

    def _waits(self, queue: QueueRead, expired: int) -> Waits:
        if self._twin is None or self._twin.read is not queue:
            self._twin = QueueTwin(queue)
        twin = self._twin

        def waits(nodes: Sequence[int], run_s: Floats) -> Floats:
            return twin.waits_s(nodes, np.array([requested_s(seconds, expired) for seconds in run_s.tolist()]))

        return waits

    def _submit(
        self,
        view: View,
        packing: Packing,
        levels: Levels,
        group: Group,
        wait: Wait,
        before: Sequence[Predecessor],
        expired: int,
        now: float,
    ) -> Submit:
        walltime_s = requested_s(group.run_s + group.leeway_s, expired)
        request = packing.request(max(group.nodes, levels.least_nodes(group.first, group.last)), walltime_s)
        figures: dict[str, Figure] = {
            "levels": group.last - group.first + 1,
            "of": len(levels),
            "run_s": group.run_s,
            "leeway_s": group.leeway_s,
            "estimate_s": group.wait_s,
            "wait_s": wait.wait_s,
            "expired": expired,
            **wait.ticket,
        }
        tasks = tuple(task.id for task in levels.tasks(group.first, group.last))
        after = before[-1].tag if before and self._timing.depends else None
        why = Why(self._grouper.name, self._timing.name, figures)
        return Submit(
            now,
            view.next_tag(),
            request,
            why,
            tasks,
            expected_s=group.run_s,
            after=after,
            role="stage",
            expected_wait_s=wait.wait_s,
            wait_estimate_s=group.wait_s,
            wait_ticket=wait.ticket,
        )


def _not_stalled(view: View) -> list[Task]:
    """The remaining tasks that do not depend on one that stands still in a suspended job."""
    stalled = {task_id for job in view.live if job.suspended for task_id in job.tasks if view.is_running(task_id)}
    kept: list[Task] = []
    for task in view.remaining():  # parents first
        if task.id in stalled or not stalled.isdisjoint(task.parents):
            stalled.add(task.id)
        else:
            kept.append(task)
    return kept


def _expected_ends(live: Sequence[JobStatus], now: float) -> list[Predecessor]:
    """Our jobs and their expected ends: waiting jobs start one after the other, the first of them now."""
    found: list[Predecessor] = []
    free_at = now
    for job in live:
        walltime_s = job.request.per_node.walltime_s or 0.0
        expected_s = walltime_s if job.expected_s is None else min(job.expected_s, walltime_s)
        begin = job.started_at
        if begin is None:
            free_at += expected_s
            found.append(Predecessor(job.tag, None, None, free_at))
        else:
            free_at = max(free_at, begin + expected_s)
            found.append(Predecessor(job.tag, begin + expected_s, begin + walltime_s, begin + expected_s))
    return found


def _waits_of_early_jobs(view: View) -> list[float]:
    """The wait of the last job that was released because it started too early: the next will wait about as long."""
    jobs = [job for job in view.jobs.values() if job.released and job.started_at is not None]
    early = [job for job in jobs if not all(view.is_over(task) for task in job.tasks)]
    return [job.waited_s for job in early[-1:] if job.waited_s is not None]


def _is_early(job: JobStatus, before: Sequence[JobStatus], now: float) -> bool:
    """Whether a job has started while one before it is expected to run for more than a minute."""
    if job.started_at is None:
        return False
    ends = [other.expected_end for other in _expected_ends(before, now)]
    return any(end is not None and end - now > WORTH_IT_S for end in ends)
