"""Ours: one job that is sure to finish everything, and small ones that use every gap until then."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headway.grouping.base import Group, Levels
from headway.model.job import JobRequest
from headway.model.records import AskQueue, Decision, Figure, QueueRead, Release, SeenWait, Submit, WakeAt, Why
from headway.model.task import Task
from headway.planning.base import Estimate, JobStatus, Planner, View
from headway.planning.requested_time import requested_s
from headway.waiting.base import Shape
from headway.waiting.corrected_estimate import CorrectedEstimate
from headway.waiting.twin import QueueTwin

ANCHOR = "anchor"
FILLER = "filler"
LOOK_EVERY_S = 900.0  # how often the queue is looked at for new gaps
_WIDTHS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 112, 128, 192, 256, 384, 512)
SAFE = 0.9  # the share of waits that a plan is made with: the anchor is to keep its time
NEARLY = 1.02  # of anchors that are through at nearly the same time, the one with the fewest nodes
BETTER = 0.8  # an anchor is given up for one that is through in this share of the time


class Headway(Planner):
    """An anchor for all that remains keeps a place in the queue; fillers in its gaps do what they can before it starts.

    All jobs are one pool: a task runs wherever there is room until its expected end. The anchor is what `one-job` would
    submit, so nothing is lost against it; where gaps are plenty, the fillers do the work as `one-job-per-task` would,
    but without a wait between one task and the next. What remains is planned again whenever a job starts or ends, and
    every quarter of an hour.
    """

    name = "headway"

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate
        self._model = CorrectedEstimate()  # how long those really wait whom the plan says to wait so long
        self._twin: QueueTwin | None = None

    def expected_s(self, task: Task) -> float:
        return self._estimate(task)

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        idle = [job for job in live if job.started_at is not None and not view.is_busy(job.tag)]
        if not view.unfinished or view.stopping:
            useless = idle if view.unfinished else live
            return [Release(now, job.tag, Why(self.name, "no-more-work")) for job in useless]
        if any(job.rule == ANCHOR and job.started_at is not None for job in live):
            fillers = [job for job in idle if job.rule == FILLER]
            if fillers and not view.placeable:
                return [Release(now, job.tag, Why(self.name, "the-anchor-has-room")) for job in fillers]
        if view.wakes_at is not None and view.wakes_at > now and not self._surprised(view, now):
            return []
        if view.queue is None or view.queue.at < now:
            return [AskQueue(now)]
        remaining = view.remaining()
        levels = Levels(remaining, self._estimate, view.limits.limits.nodes)
        return (
            self._anchor(view, view.queue, levels, live, now)
            or self._fillers(view, view.queue, remaining, live, now)
            or [WakeAt(now, now + LOOK_EVERY_S, Why(self.name, "look-again"))]
        )

    def _surprised(self, view: View, now: float) -> bool:
        """Whether a job of ours has just started or ended."""
        return any(now in (job.started_at, job.ended_at) for job in view.jobs.values())

    # --- the anchor ---

    def _anchor(
        self, view: View, queue: QueueRead, levels: Levels, live: Sequence[JobStatus], now: float
    ) -> list[Decision]:
        anchors = [job for job in live if job.rule == ANCHOR]
        if any(job.started_at is not None for job in anchors):
            return []
        expired = view.expired
        best = self._best_anchor(queue, levels, expired)
        if not anchors:
            if view.is_full:
                return []
            return [self._submit(view, ANCHOR, best.nodes, requested_s(best.run_s, expired), best, now)]
        held = anchors[0]
        left_s = max(0.0, _expected_start(held) - now)
        run_s = levels.run_s(0, levels.last)
        held_s = left_s + float(run_s[min(held.request.per_node.nodes, len(run_s)) - 1])
        if best.wait_s + best.run_s < BETTER * held_s:
            return [Release(now, held.tag, Why(self.name, "a-better-anchor", {"held_s": held_s}))]
        return []

    def _best_anchor(self, queue: QueueRead, levels: Levels, expired: int) -> Group:
        """Of some numbers of nodes, the one that is through first if it waits as long as nine in ten do at most."""
        all_run_s = levels.run_s(0, levels.last)
        nodes = [width for width in _WIDTHS if width < len(all_run_s)] + [len(all_run_s)]
        run_s = all_run_s[np.array(nodes) - 1]
        asked_s = np.array([requested_s(seconds, expired) for seconds in run_s.tolist()])
        planned_s = self._twin_of(queue).waits_s(nodes, asked_s)
        wait_s = np.array([self._expected_wait_s(shape) for shape in zip(nodes, asked_s, planned_s, strict=True)])
        through_s = wait_s + run_s
        best = int(np.argmax(through_s <= NEARLY * through_s.min()))
        return Group(0, levels.last, nodes[best], float(run_s[best]), wait_s=float(wait_s[best]))

    def _expected_wait_s(self, shape: tuple[int, float, float]) -> float:
        nodes, asked_s, planned_s = shape
        if planned_s == 0.0:
            return 0.0
        return self._model.quantiles(Shape(nodes, float(asked_s), float(planned_s)), [SAFE])[0]

    def learn(self, waits: Sequence[SeenWait]) -> None:
        for seen in waits:
            self._model.observe(Shape(seen.nodes, seen.asked_s, seen.estimate_s), {}, seen.waited_s)

    # --- the fillers ---

    def _fillers(
        self, view: View, queue: QueueRead, remaining: Sequence[Task], live: Sequence[JobStatus], now: float
    ) -> list[Decision]:
        """One more job for ready tasks for which none is on its way: in the longest gap, or in the queue."""
        if any(_expected_start(job) <= now for job in live if job.rule == ANCHOR and job.started_at is None):
            return []
        ready = sorted((requested_s(self._estimate(view.workflow.tasks[it])) for it in view.placeable), reverse=True)
        uncovered, useless = _matched(ready, [job for job in live if job.rule == FILLER and job.started_at is None])
        if not uncovered:
            return []
        if view.is_full:
            return [Release(now, job.tag, Why(self.name, "too-short-by-now")) for job in useless[:1]]
        work_s = sum(self._estimate(task) for task in remaining)
        gap = _longest_gap(queue, uncovered[-1], len(uncovered))
        if gap is not None:
            nodes, length_s = gap
            fitting = [asked_s for asked_s in uncovered if asked_s <= length_s]
            nodes = min(nodes, len(fitting))
            return [
                self._submit(view, FILLER, nodes, min(length_s, requested_s(work_s / nodes) + fitting[0]), None, now)
            ]
        return [self._queued_filler(view, queue, uncovered, work_s, now)]

    def _queued_filler(
        self, view: View, queue: QueueRead, uncovered: Sequence[float], work_s: float, now: float
    ) -> Submit:
        """A job for the longest task, and as wide and then as long as costs no further wait."""
        nodes, asked_s = 1, uncovered[0]
        twin = self._twin_of(queue)
        wait_s = float(twin.waits_s([1], np.array([asked_s]))[0])
        bearable_s = 1.1 * wait_s + 60.0
        widths = [width for width in (16, 8, 4, 2) if width <= min(len(uncovered), view.limits.limits.nodes)]
        for width, width_wait_s in zip(widths, twin.waits_s(widths, np.full(len(widths), asked_s)), strict=True):
            if width_wait_s <= bearable_s:
                nodes = width
                break
        whole_s = requested_s(work_s / nodes) + asked_s
        lengths = [length for length in (16 * asked_s, 8 * asked_s, 4 * asked_s, 2 * asked_s) if length <= whole_s]
        for length_s, length_wait_s in zip(
            lengths, twin.waits_s([nodes] * len(lengths), np.array(lengths)), strict=True
        ):
            if length_wait_s <= bearable_s:
                asked_s = length_s
                break
        return self._submit(view, FILLER, nodes, asked_s, Group(0, 0, nodes, asked_s, wait_s=wait_s), now)

    def _twin_of(self, queue: QueueRead) -> QueueTwin:
        if self._twin is None or self._twin.read is not queue:
            self._twin = QueueTwin(queue)
        return self._twin

    def _submit(self, view: View, rule: str, nodes: int, asked_s: float, group: Group | None, now: float) -> Submit:
        request = JobRequest(view.limits.limits.replace(nodes=nodes, walltime_s=asked_s))
        figures: dict[str, Figure] = {"wait_s": group.wait_s, "run_s": group.run_s} if group else {"wait_s": 0.0}
        return Submit(now, view.next_tag(), request, Why(self.name, rule, figures), (), asked_s)


def _expected_start(job: JobStatus) -> float:
    wait_s = job.ticket.get("wait_s")
    return job.submitted_at + (wait_s if isinstance(wait_s, float) else 0.0)


def _matched(ready: Sequence[float], pending: Sequence[JobStatus]) -> tuple[list[float], list[JobStatus]]:
    """The ready tasks (the time that each asks for, longest first) for which no job is on its way, and the jobs that
    are on their way for nobody. Each node of a job is for one task, of the shortest job that is long enough."""
    jobs = sorted(pending, key=lambda job: job.request.per_node.walltime_s or 0.0)
    room = [job.request.per_node.nodes for job in jobs]
    uncovered: list[float] = []
    for asked_s in ready:
        fitting = (
            index
            for index, job in enumerate(jobs)
            if room[index] and (job.request.per_node.walltime_s or 0.0) >= asked_s
        )
        index = next(fitting, None)
        if index is None:
            uncovered.append(asked_s)
        else:
            room[index] -= 1
    return uncovered, [job for job, left in zip(jobs, room, strict=True) if left == job.request.per_node.nodes]


def _longest_gap(queue: QueueRead, at_least_s: float, most_nodes: int) -> tuple[int, float] | None:
    """Of the gaps that are open now and long enough, the longest: how many nodes, and for how long."""
    free = int(queue.free[0])
    best: tuple[int, float] | None = None
    for begin, now_free in zip([*queue.times[1:], float("inf")], [*queue.free[1:], 0.0], strict=True):
        length_s = begin - queue.at
        if now_free < free or begin == float("inf"):  # so many nodes are free until then, and no longer
            if free >= 1 and length_s >= at_least_s:
                best = (min(free, most_nodes), length_s)
            free = min(free, int(now_free))
        if free < 1:
            break
    return best
