"""Fillers: jobs for ready tasks that would wait longer for the anchor, in gaps of the queue or at its end."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct, structs

from headway.grouping.base import Group
from headway.model.records import Decision, Figure, JobRole, QueueRead, Release, Submit, WakeAt, Why
from headway.model.resources import HELD
from headway.model.task import Task
from headway.planning.base import Estimate, JobStatus, View
from headway.planning.foresight import Foresight
from headway.planning.gaps import asked_unit_s, bundled, longest_gap, matched
from headway.planning.packing import Packing
from headway.planning.requested_time import FACTORS, MARGIN_S, requested_s

MOST_SMALL = 100  # one-node fillers at a time; a run with more tasks than this submits wide ones
SOONER = 0.9  # a filler is worth it if it starts within this share of the time until the anchor starts
IDLE_S = 60.0  # a filler released this soon after its start ran nothing: the next ones are wide
OPENING_S = 60.0  # the nodes of a job that has started are expected to answer within this time
SHORTEST_S = 120.0  # tasks that would make a shorter filler share one: very short jobs are a burden to a batch system
TOO_MUCH = 2.0  # waiting fillers are cancelled when all fillers ask for this many times the remaining work


class Fillers(Struct, frozen=True):
    """What to submit and to give back now for the tasks of a view that are ready.

    Where gaps are many, small fillers do the work as `one-job-per-task` would, without a wait between tasks: one node
    each, given back as soon as they are idle, if the site allows that many jobs. Else they are wide.
    """

    view: View
    queue: QueueRead
    foresight: Foresight
    estimate: Estimate
    now: float

    def decide(self) -> list[Decision]:
        """Submit jobs for the ready tasks that no waiting filler is for: in the longest gap, or in the queue.

        All fillers together ask for no more than the remaining work, a tenth more and a minute per node.
        """
        view, now, live = self.view, self.now, self.view.live
        coming = [job for job in live if job.role == "anchor" and job.started_at is None]
        if any(job.granted or job.expected_start <= now for job in coming):
            return []
        begun = [job for job in live if job.role == "anchor" and job.started_at is not None]
        if any(_awaits_nodes(job, now) for job in begun):  # they will take tasks that are ready
            return [WakeAt(now, now + OPENING_S, Why(self.foresight.plan, "nodes-are-coming"))]
        usual, _ = view.without_large(view.remaining())
        ready, _ = view.without_large([view.workflow.tasks[task_id] for task_id in view.placeable])
        sided = {task_id for job in live if job.role == "side" for task_id in job.meant_for}
        # Tasks that span nodes run in the anchor only.
        narrow = [task for task in ready if task.nodes == 1 and task.id not in sided]
        packing = view.packing(narrow or usual)
        fillers = [job for job in live if job.role in ("filler", "small-filler", "ahead") and not _is_large(view, job)]
        pending = [job for job in fillers if job.started_at is None]
        for_now = [job for job in pending if job.role != "ahead"]
        work_s = view.packing(usual).work_s(usual, self.estimate, packing)
        held = sum(packing.units_of(job.request) for job in live if job.started_at is not None and not job.tasks)
        taken_s = asked_unit_s(fillers, held, work_s, packing, now)
        if for_now and taken_s > TOO_MUCH * FACTORS[0] * work_s:
            return self._give_back(for_now[-1:], "more-than-the-work-left", work_s=work_s)
        times_s = sorted((run_s(view, self.estimate, task) for task in narrow), reverse=True)
        most_s = view.limits.limits.walltime_s or math.inf
        bundles_s = bundled(times_s, packing.tasks_per_unit, SHORTEST_S)
        wanted = sorted((min(most_s, requested_s(each_s)) for each_s in bundles_s), reverse=True)
        uncovered, useless = matched(wanted, pending)
        unused = [job for job in useless if (begun or job.role == "small-filler") and job.role != "ahead"]
        if unused:
            return self._give_back(unused, "for-nobody")
        if not uncovered:
            return []
        useful_s = self._useful_until_s(times_s, packing)
        ask = _Ask(packing, work_s, FACTORS[0] * work_s - taken_s, useful_s)
        most = MOST_SMALL if view.limits.most_jobs is None else min(MOST_SMALL, view.limits.most_jobs - len(live))
        vain = any(
            job.role == "small-filler" and job.released and _changed_lately(job, now) for job in view.jobs.values()
        )
        if view.unfinished <= most and not vain:
            return self._small_fillers(uncovered, ask)
        if view.is_full:
            return self._give_back(useless[:1], "too-short-by-now")
        return self._gap_filler(uncovered, ask) or self._queued_filler(uncovered, ask)

    def on_large_nodes(self) -> list[Decision]:
        """A job for the ready tasks of each category that need larger nodes than the anchor has, and have none yet."""
        view = self.view
        _, large = view.without_large([view.workflow.tasks[task_id] for task_id in view.placeable])
        covered = {task_id for job in view.live if _is_large(view, job) for task_id in job.tasks}
        wanted: dict[str, list[Task]] = {}
        for task in large:
            if task.id not in covered:
                wanted.setdefault(task.category, []).append(task)
        room = MOST_SMALL if view.limits.most_jobs is None else max(0, view.limits.most_jobs - len(view.live))
        submits: list[Decision] = []
        for offset, tasks in enumerate(list(wanted.values())[:room]):
            packing = view.packing(tasks)
            levels = packing.levels(tasks, lambda task: run_s(view, self.estimate, task))
            by_width_s = levels.run_s(0, 0)
            units = min(len(by_width_s), packing.most)
            asked_s = requested_s(float(by_width_s[units - 1]))
            submit = self._submit(packing, "small-filler", units, asked_s, offset=offset)
            ids = tuple(task.id for task in tasks)  # or smaller tasks would take their places
            submits.append(structs.replace(submit, tasks=ids))
        return submits

    def _useful_until_s(self, times_s: Sequence[float], packing: Packing) -> float:
        """Seconds from now before which a filler must start to be of use.

        Before the anchor starts: its expected start. After that: when the jobs that run would have started the last of
        the ready tasks, whose run times are `times_s`, without another job.
        """
        live = self.view.live
        anchors = [job for job in live if job.role == "anchor"]
        if not any(job.started_at is not None for job in anchors):
            return min((job.expected_start - self.now for job in anchors), default=float("inf"))
        held = sum(packing.units_of(job.request) for job in live if job.started_at is not None and not job.tasks)
        return max(times_s[0], sum(times_s) / (packing.tasks_per_unit * max(1, held)))

    def _small_fillers(self, uncovered: Sequence[float], ask: _Ask) -> list[Decision]:
        """A one-node job for each bundle of tasks that would wait longer for the anchor.

        Its walltime is doubled as often as that does not lengthen its wait, so that later tasks can use the job too.
        """
        twin = self.foresight.twin(self.queue, ask.packing)
        lengths: dict[float, list[float]] = {}  # by walltime: the lengths that start as soon, longest first
        submits: list[Decision] = []
        least_s = sum(asked_s - MARGIN_S for asked_s in uncovered)  # for all of them, none made longer
        spare_s = ask.spare_s
        for asked_s in uncovered:
            if asked_s not in lengths:
                tried = [asked_s * times for times in (2, 4, 8, 16) if asked_s * times <= requested_s(ask.work_s)]
                planned_s = twin.waits_s([1] * (1 + len(tried)), np.array([asked_s, *tried]))
                wait_s = self.foresight.corrected_s(1, asked_s, float(planned_s[0]))
                free = [length_s for length_s, it in zip(tried, planned_s[1:], strict=True) if it <= planned_s[0]]
                lengths[asked_s] = sorted([asked_s, *free], reverse=True) if wait_s < SOONER * ask.useful_s else []
            least_s -= asked_s - MARGIN_S
            affordable = (it for it in lengths[asked_s] if it - MARGIN_S <= spare_s - (least_s if it > asked_s else 0))
            length_s = next(affordable, None)
            if length_s is not None:
                spare_s -= length_s - MARGIN_S
                submits.append(self._submit(ask.packing, "small-filler", 1, length_s, offset=len(submits)))
        return submits

    def _gap_filler(self, uncovered: Sequence[float], ask: _Ask) -> list[Decision]:
        """A job in the longest gap that is open now, as wide and as long as the work that remains."""
        gap = longest_gap(ask.packing.in_units(self.queue), uncovered[-1], len(uncovered))
        if gap is None:
            return []
        fitting = [asked_s for asked_s in uncovered if asked_s <= gap[1]]
        nodes = min(gap[0], len(fitting))
        while nodes > 1 and not ask.affords(nodes, fitting[0]):
            nodes //= 2
        longest_s = min(gap[1], requested_s(ask.work_s / nodes) + fitting[0], MARGIN_S + ask.spare_s // nodes)
        if longest_s < fitting[0]:
            return []
        return [self._submit(ask.packing, "filler", nodes, longest_s)]

    def _queued_filler(self, uncovered: Sequence[float], ask: _Ask) -> list[Decision]:
        """A job that fits the longest task, made as wide and then as long as that does not lengthen its wait."""
        asked_s = uncovered[0]
        twin = self.foresight.twin(self.queue, ask.packing)
        wait_s = float(twin.waits_s([1], np.array([asked_s]))[0])
        if not ask.affords(1, asked_s) or self.foresight.corrected_s(1, asked_s, wait_s) >= SOONER * ask.useful_s:
            return []
        bearable_s = 1.1 * wait_s + 60.0
        most = min(len(uncovered), ask.packing.most)
        widths = [width for width in (16, 8, 4, 2) if width <= most and ask.affords(width, asked_s)]
        waits_s = twin.waits_s(widths, np.full(len(widths), asked_s))
        nodes = next((width for width, it_s in zip(widths, waits_s, strict=True) if it_s <= bearable_s), 1)
        whole_s = requested_s(ask.work_s / nodes) + asked_s
        tried = (16 * asked_s, 8 * asked_s, 4 * asked_s, 2 * asked_s)
        lengths = [length for length in tried if length <= whole_s and ask.affords(nodes, length)]
        waits_s = twin.waits_s([nodes] * len(lengths), np.array(lengths))
        asked_s = next((length for length, it_s in zip(lengths, waits_s, strict=True) if it_s <= bearable_s), asked_s)
        group = Group(0, 0, nodes, asked_s, wait_s=wait_s)
        return [self._submit(ask.packing, "filler", nodes, asked_s, group=group)]

    def _give_back(self, jobs: Sequence[JobStatus], rule: str, **figures: Figure) -> list[Decision]:
        return [Release(self.now, job.tag, Why(self.foresight.plan, rule, figures)) for job in jobs]

    def _submit(
        self,
        packing: Packing,
        role: JobRole,
        units: int,
        asked_s: float,
        *,
        group: Group | None = None,
        offset: int = 0,
    ) -> Submit:
        return self.foresight.submit(self.view, packing, role, units, asked_s, self.now, group=group, offset=offset)


class _Ask(NamedTuple):
    """What fillers may ask for."""

    packing: Packing
    work_s: float  # the remaining work, in unit-seconds
    spare_s: float  # the unit-seconds that no filler asks for yet, without the minute of margin in each walltime
    useful_s: float  # a filler that starts later than this brings nothing forward

    def affords(self, nodes: int, walltime_s: float) -> bool:
        """Whether a job of this shape is within what is spare."""
        return nodes * (walltime_s - MARGIN_S) <= self.spare_s


def run_s(view: View, estimate: Estimate, task: Task) -> float:
    """The expected run time of a task. As in the engine, each expiry of its job doubles it."""
    return estimate(task) * 2.0 ** view.cut_off(task.id)


def _is_large(view: View, job: JobStatus) -> bool:
    """Whether a job asks for nodes with more of something than the usual ones have."""
    return bool(set(job.request.per_node.excess(view.limits.limits)) & set(HELD))


def _awaits_nodes(job: JobStatus, now: float) -> bool:
    """Whether a job has just started and some of its nodes have not answered yet."""
    just = job.started_at is not None and now < job.started_at + OPENING_S
    return just and job.answering_nodes < job.request.per_node.nodes


def _changed_lately(job: JobStatus, now: float) -> bool:
    """Whether a released job had started less than a minute ago."""
    return job.changed_at is not None and job.changed_at > now - IDLE_S
