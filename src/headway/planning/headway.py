"""Headway's own plan: one job that does all remaining work, and small jobs that use the gaps before it starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from msgspec import structs

from headway.grouping.base import Group, Levels
from headway.model.preference import Preference
from headway.model.records import (
    AskQueue,
    Decision,
    Figure,
    JobRole,
    QueueRead,
    Release,
    SeenWait,
    Submit,
    WakeAt,
    Why,
)
from headway.model.resources import HELD
from headway.model.task import Task
from headway.planning.anchors import Anchor, best_anchor, held_anchor, parts_of
from headway.planning.base import Estimate, JobStatus, Planner, View
from headway.planning.chaining import (
    Link,
    for_rest_s,
    in_job_s,
    links,
    notice,
    notice_due,
    superfluous,
    without_continued,
)
from headway.planning.forecast import Forecast
from headway.planning.gaps import asked_unit_s, bundled, longest_gap, matched
from headway.planning.narrowing import needless
from headway.planning.packing import Packing
from headway.planning.parts import in_parts
from headway.planning.requested_time import FACTORS, MARGIN_S, requested_s
from headway.planning.widening import Later
from headway.waiting.base import Shape
from headway.waiting.corrected_estimate import CorrectedEstimate
from headway.waiting.twin import QueueTwin

LOOK_EVERY_S = 900.0  # how often the queue is read for new gaps,
QUIET = 0.01  # and at least this share of the time since a job of ours was submitted, started or ended
FEW_TASKS = 1000  # with more left, what they will use is not forecast at every event: that would take too long
FORECAST_EVERY_S = 60.0
SAFE = 0.9  # the quantile of the wait that plans count on
FRESH_S = 15.0  # a snapshot of the queue is used for this long
MOST_SMALL = 100  # one-node fillers at a time; a run with more tasks than this submits wide ones
SOONER = 0.9  # a filler is worth it if it starts within this share of the time until the anchor starts
BETTER = 0.8  # an anchor is replaced by one that ends within this share of the held one's time
IDLE_S = 60.0  # a filler released this soon after its start ran nothing: the next ones are wide
OPENING_S = 60.0  # the nodes of a job that has started are expected to answer within this time
SHORTEST_S = 120.0  # tasks that would make a shorter filler share one: very short jobs are a burden to a batch system
TOO_MUCH = 2.0  # waiting fillers are cancelled when all fillers ask for this many times the remaining work


class Headway(Planner):
    """An anchor job for all remaining work waits in the queue; fillers run tasks in the gaps before it starts.

    All jobs form one pool: a task runs in any job that has room until the task's expected end. The anchor is the job
    that `one-job` would submit, so the plan loses nothing against it. Where the queue reserves nodes for dependent
    jobs, the anchor may be a chain of jobs, each for its own levels; elsewhere that of a small workflow may be in parts
    (`planning/parts.py`). Where gaps are many, the fillers do the work as `one-job-per-task` would, without a wait
    between tasks: one node each, released as soon as they are idle, if the site allows that many jobs. The plan is made
    again whenever a job starts or ends, and every 15 minutes.

    A task that checkpoints and outlasts its job goes on in another one, which is asked for ahead by the predicted wait;
    without `chains`, when the task has left its job (`planning/chaining.py`).

    `estimate` gives the expected run time of a task. Queue waits come from the queue's own plan, corrected by
    `CorrectedEstimate`. The plan is our own; docs/planning.md compares it with those of the papers.
    """

    name = "headway"

    def __init__(self, estimate: Estimate, *, chains: bool = True) -> None:
        self._of_task = estimate  # from its beginning to its end
        self._estimate = estimate  # in one job
        self._chains = chains
        self._preference = Preference()
        self._model = CorrectedEstimate()  # learns the actual wait as a function of the planned wait
        self._later = Later()
        self._twin: QueueTwin | None = None
        self._queue: QueueRead | None = None  # as it was read last
        self._forecast_at = -math.inf

    def prefer(self, preference: Preference) -> None:
        self._preference = self._later.preference = preference

    def expected_s(self, task: Task) -> float:
        return self._of_task(task)

    def plan(self, view: View, now: float) -> list[Decision]:
        self._estimate = partial(in_job_s, view, self._of_task)
        live = view.live
        idle = [job for job in live if job.started_at is not None and not view.is_busy(job.tag)]
        if not view.unfinished or view.stopping:
            useless = idle if view.unfinished else live
            return [Release(now, job.tag, Why(self.name, "no-more-work")) for job in useless]
        live = [job for job in live if not job.suspended]  # or no job would be asked for while one stands still
        idle = [job for job in idle if not job.suspended]
        left = without_continued(view)
        over = self._over(view, live, idle, now)
        if left is not view and not left.work():  # all that is left has its next job
            over += [Release(now, job.tag, Why(self.name, "its-task-has-left")) for job in idle if not job.tasks]
        if over:
            return over
        chained = self._chain(view, now) if self._chains else []
        if any(not isinstance(decision, WakeAt) for decision in chained):
            return chained
        planned = self._plan(left, live, now)
        return planned if any(not isinstance(decision, WakeAt) for decision in planned) else _earliest(chained, planned)

    def _plan(self, view: View, live: Sequence[JobStatus], now: float) -> list[Decision]:
        """Plan the tasks for which no next job is asked for yet."""
        if view.unfinished <= FEW_TASKS or now >= self._forecast_at + FORECAST_EVERY_S:
            self._forecast_at = now
            idle_now = needless(view, self.name, self._estimate, self._cost_of_asking_again, now)
            if idle_now:
                return idle_now
        if view.wakes_at is not None and view.wakes_at > now and not self._surprised(view):
            return []
        if view.queue is None or view.queue.at < now - FRESH_S:
            return [AskQueue(now)]
        self._queue = view.queue
        remaining = view.work()
        parts = parts_of(view, remaining, live)
        return (
            _first(self._anchor(part, view.queue, part.remaining(), part.live, now) for part in parts)
            or self._ahead(view, remaining, now)
            or self._on_large_nodes(view, now)
            or _first(self._fillers(part, view.queue, part.remaining(), part.live, now) for part in parts)
            or [WakeAt(now, now + _look_after_s(view, now), Why(self.name, "look-again"))]
        )

    def _surprised(self, view: View) -> bool:
        """Whether a job of ours has started or ended since the alarm was set."""
        since = view.alarm_set_at
        changes = [job.changed_at for job in view.jobs.values() if job.changed_at is not None]
        return since is None or any(at >= since for at in changes)

    def _over(self, view: View, live: Sequence[JobStatus], idle: Sequence[JobStatus], now: float) -> list[Decision]:
        """Cancel jobs that have nothing left to do, and the rest of a chain of which one job has expired."""
        rules = {job.tag: "its-tasks-are-over" for job in live if job.tasks and all(map(view.is_over, job.tasks))}
        rules |= {job.tag: "its-tasks-are-over" for job in live if job.started_at is None and view.has_served(job)}
        # No task that is ready fits into the remaining time of an idle small filler, or it would run there.
        rules |= {job.tag: "idle" for job in idle if job.role == "small-filler"}
        chain = [job for job in view.jobs.values() if job.role == "anchor" and job.tasks]
        expired_at = max((job.ended_at or 0.0 for job in chain if not job.live and not job.released), default=-1.0)
        after_it = [job for job in chain if job.live and job.submitted_at < expired_at]
        rules |= {job.tag: "its-predecessor-expired" for job in after_it if not view.is_busy(job.tag)}
        rules |= dict.fromkeys(superfluous(view, self._of_task, now), "its-task-runs-elsewhere")
        return [Release(now, tag, Why(self.name, rule)) for tag, rule in rules.items()]

    # --- the next jobs of tasks that checkpoint ---

    def _chain(self, view: View, now: float) -> list[Decision]:
        """Move tasks to their next jobs when these are up, and ask for these jobs ahead by the predicted wait."""
        due: list[float] = []
        for link in links(view, self._of_task, now):
            decisions = notice(view, self.name, link, now)
            if link.following is None and not view.is_full:
                is_fresh = view.queue is not None and view.queue.at >= now - FRESH_S
                if is_fresh:
                    self._queue = view.queue
                if self._queue is None:
                    return [AskQueue(now)]
                group, packing = self._continuation(view, link, self._queue)
                ask_at = link.needed_at - group.wait_s - OPENING_S
                if now < ask_at:
                    due.append(max(ask_at, now + OPENING_S))
                elif not is_fresh:
                    return [AskQueue(now)]
                else:
                    asked_s = requested_s(group.run_s, view.cut_off(link.task.id))
                    submit = self._submit(view, packing, "continuation", group.nodes, asked_s, group, now)
                    decisions.append(structs.replace(submit, tasks=(link.task.id,)))
            if decisions:
                return decisions
            due += notice_due(link, now)
        return [WakeAt(now, min(due), Why(self.name, "next-job"))] if due else []

    def _continuation(self, view: View, link: Link, queue: QueueRead) -> tuple[Group, Packing]:
        """The next job of a task, and how long it would most likely wait at most."""
        packing = view.packing([link.task])
        units = link.task.nodes if packing.place is None else packing.places_of(link.task)
        run_s = for_rest_s(view, link.task, link.left_s)
        asked_s = requested_s(run_s, view.cut_off(link.task.id))
        planned_s = float(self._twin_of(queue, packing).waits_s([units], np.array([asked_s]))[0])
        return Group(0, 0, units, run_s, wait_s=self._expected_wait_s(units, asked_s, planned_s)), packing

    # --- the anchor ---

    def _anchor(
        self, view: View, queue: QueueRead, remaining: Sequence[Task], live: Sequence[JobStatus], now: float
    ) -> list[Decision]:
        usual, _ = view.without_large(remaining)
        anchors = [job for job in live if job.role == "anchor"]
        left = [task for task in usual if not view.is_running(task.id)]
        if any(job.started_at is not None or job.granted for job in anchors) or not left:
            return []
        tasks = left if queue.reserves else usual
        packing = view.packing(tasks)
        levels = packing.levels(tasks, lambda task: self._run_s(view, task))
        expired = max(view.cut_off(task.id) for task in tasks)
        twin = self._twin_of(queue, packing)
        mean_cores = packing.work_s(tasks, self._estimate, packing) * packing.cores_per_unit / levels.shortest_s
        nearly = self._preference.nearly(mean_cores)
        best = best_anchor(
            levels, twin, self._expected_wait_s, expired, nearly, chains=queue.reserves and not view.foreseen
        )
        if not queue.reserves and not view.foreseen and view.limits.shrinks:
            room = levels.last + 1 if view.limits.most_jobs is None else view.limits.most_jobs - len(view.live)
            best = in_parts(best, levels, twin, self._expected_wait_s, expired, nearly, most=room)
        if not anchors:
            return self._submit_anchor(view, packing, levels, best, expired, now)
        held = held_anchor(anchors, levels, now)
        if best.worth(thrifty=queue.reserves) < BETTER * held.worth(thrifty=queue.reserves):
            why = Why(self.name, "a-better-anchor", {"held_s": held.through_s, "better_s": best.through_s})
            return [Release(now, job.tag, why) for job in anchors]
        return []

    def _submit_anchor(
        self, view: View, packing: Packing, levels: Levels, best: Anchor, expired: int, now: float
    ) -> list[Decision]:
        """Each job of a chain is for the tasks of its own levels; a single anchor is for any task."""
        most = view.limits.most_jobs
        if most is not None and len(view.live) + len(best.groups) > most:
            return []
        submits: list[Decision] = []
        after: str | None = None
        for number, group in enumerate(best.groups):
            tasks = levels.tasks(group.first, group.last) if len(best.groups) > 1 else []
            asked_s = requested_s(group.run_s, expired)
            nodes = max(group.nodes, levels.least_nodes(group.first, group.last))
            submit = self._submit(view, packing, "anchor", nodes, asked_s, group, now, number)
            ids = tuple(task.id for task in tasks)
            submits.append(structs.replace(submit, tasks=ids, expected_s=group.run_s, after=after))
            after = submit.tag
        return submits

    def _expected_wait_s(self, nodes: int, asked_s: float, planned_s: float) -> float:
        return self._model.quantiles(Shape(nodes, asked_s, planned_s), [SAFE])[0] if planned_s else 0.0

    def observe(self, job: JobStatus) -> None:
        if job.started_at is None or job.ended_at is not None or job.after is not None:
            return  # a dependent job's queue wait is unknown: it is not eligible before its predecessor ends
        if job.wait_estimate_s is not None:
            shape = Shape(job.width, job.request.per_node.walltime_s or 0.0, job.wait_estimate_s)
            self._model.observe(shape, {}, job.started_at - job.submitted_at)
            self._later.observe(shape, job.started_at - job.submitted_at)

    def learn(self, waits: Sequence[SeenWait]) -> None:
        for seen in waits:
            self._model.observe(Shape(seen.nodes, seen.asked_s, seen.estimate_s), {}, seen.waited_s)
            self._later.observe(Shape(seen.nodes, seen.asked_s), seen.waited_s)

    # --- what will be needed later ---

    def _cost_of_asking_again(self, expected: Forecast, packing: Packing, units: float, needed_s: float) -> float:
        return self._later.cost_of_asking_again(expected, packing, units, needed_s, self._wait_s)

    def _wait_s(self, packing: Packing, units: int, asked_s: float) -> float:
        """How long a job would most likely wait at most, by the plan of the queue as it was read last."""
        if self._queue is None:
            return math.inf
        planned_s = float(self._twin_of(self._queue, packing).waits_s([units], np.array([asked_s]))[0])
        return self._expected_wait_s(units, asked_s, planned_s)

    def wait_s(self, jobs: Sequence[JobStatus]) -> float | None:
        if self._queue is None or not jobs:
            return None
        whole = self._queue.counts == "nodes"
        each = [job.request.per_node for job in jobs]
        units = [part.nodes if whole else math.ceil(part.nodes * part.cores) for part in each]
        asked_s = [part.walltime_s or 0.0 for part in each]
        planned_s = QueueTwin(self._queue).waits_s(units, np.array(asked_s)).tolist()
        longest_s = max(self._expected_wait_s(*shape) for shape in zip(units, asked_s, planned_s, strict=True))
        return longest_s if math.isfinite(longest_s) else None

    def _ahead(self, view: View, remaining: Sequence[Task], now: float) -> list[Decision]:
        """A job for what a later stage needs beyond what is held, submitted so early that it has started by then."""
        if view.is_full or not view.limits.shrinks:
            return []
        usual, _ = view.without_large(remaining)
        packing = view.packing(usual)
        missing = self._later.due(view, usual, packing, self._estimate, now)
        if missing is None:
            return []
        units, needed_s, for_s = missing
        group = Group(0, 0, units, for_s, wait_s=needed_s)
        return [self._submit(view, packing, "ahead", units, requested_s(needed_s + for_s), group, now)]

    # --- the fillers ---

    def _fillers(
        self, view: View, queue: QueueRead, remaining: Sequence[Task], live: Sequence[JobStatus], now: float
    ) -> list[Decision]:
        """Submit jobs for the ready tasks that no waiting filler is for: in the longest gap, or in the queue.

        All fillers together ask for no more than the remaining work, a tenth more and a minute per node.
        """
        coming = [job for job in live if job.role == "anchor" and job.started_at is None]
        if any(job.granted or job.expected_start <= now for job in coming):
            return []
        begun = [job for job in live if job.role == "anchor" and job.started_at is not None]
        if any(_awaits_nodes(job, now) for job in begun):  # they will take tasks that are ready
            return [WakeAt(now, now + OPENING_S, Why(self.name, "nodes-are-coming"))]
        usual, _ = view.without_large(remaining)
        ready, _ = view.without_large([view.workflow.tasks[task_id] for task_id in view.placeable])
        narrow = [task for task in ready if task.nodes == 1]  # tasks that span nodes run in the anchor only
        packing = view.packing(narrow or usual)
        fillers = [job for job in live if job.role in ("filler", "small-filler", "ahead") and not _is_large(view, job)]
        pending = [job for job in fillers if job.started_at is None]
        for_now = [job for job in pending if job.role != "ahead"]
        work_s = view.packing(usual).work_s(usual, self._estimate, packing)
        held = sum(packing.units_of(job.request) for job in live if job.started_at is not None and not job.tasks)
        taken_s = asked_unit_s(fillers, held, work_s, packing, now)
        if for_now and taken_s > TOO_MUCH * FACTORS[0] * work_s:
            return [Release(now, for_now[-1].tag, Why(self.name, "more-than-the-work-left", {"work_s": work_s}))]
        run_s = sorted((self._run_s(view, task) for task in narrow), reverse=True)
        most_s = view.limits.limits.walltime_s or math.inf
        bundles_s = bundled(run_s, packing.tasks_per_unit, SHORTEST_S)
        wanted = sorted((min(most_s, requested_s(each_s)) for each_s in bundles_s), reverse=True)
        uncovered, useless = matched(wanted, pending)
        unused = [job for job in useless if (begun or job.role == "small-filler") and job.role != "ahead"]
        if unused:
            return [Release(now, job.tag, Why(self.name, "for-nobody")) for job in unused]
        if not uncovered:
            return []
        useful_s = self._useful_until_s(live, run_s, packing, now)
        ask = _Ask(packing, queue, work_s, FACTORS[0] * work_s - taken_s, useful_s)
        most = MOST_SMALL if view.limits.most_jobs is None else min(MOST_SMALL, view.limits.most_jobs - len(live))
        vain = any(
            job.role == "small-filler" and job.released and _changed_lately(job, now) for job in view.jobs.values()
        )
        if view.unfinished <= most and not vain:
            return self._small_fillers(view, uncovered, ask, now)
        if view.is_full:
            return [Release(now, job.tag, Why(self.name, "too-short-by-now")) for job in useless[:1]]
        return self._gap_filler(view, uncovered, ask, now) or self._queued_filler(view, uncovered, ask, now)

    def _on_large_nodes(self, view: View, now: float) -> list[Decision]:
        """A job for the ready tasks of each category that need larger nodes than the anchor has, and have none yet."""
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
            run_s = packing.levels(tasks, lambda task: self._run_s(view, task)).run_s(0, 0)  # by width
            units = min(len(run_s), packing.most)
            asked_s = requested_s(float(run_s[units - 1]))
            submit = self._submit(view, packing, "small-filler", units, asked_s, None, now, offset)
            ids = tuple(task.id for task in tasks)  # or smaller tasks would take their places
            submits.append(structs.replace(submit, tasks=ids))
        return submits

    def _run_s(self, view: View, task: Task) -> float:
        """The expected run time of a task. As in the engine, each expiry of its job doubles it."""
        return self._estimate(task) * 2.0 ** view.cut_off(task.id)

    def _useful_until_s(self, live: Sequence[JobStatus], run_s: Sequence[float], packing: Packing, now: float) -> float:
        """Seconds from now before which a filler must start to be of use.

        Before the anchor starts: its expected start. After that: when the jobs that run would have started the last of
        the ready tasks, whose run times are `run_s`, without another job.
        """
        anchors = [job for job in live if job.role == "anchor"]
        if not any(job.started_at is not None for job in anchors):
            return min((job.expected_start - now for job in anchors), default=float("inf"))
        held = sum(packing.units_of(job.request) for job in live if job.started_at is not None and not job.tasks)
        return max(run_s[0], sum(run_s) / (packing.tasks_per_unit * max(1, held)))

    def _small_fillers(self, view: View, uncovered: Sequence[float], ask: _Ask, now: float) -> list[Decision]:
        """A one-node job for each bundle of tasks that would wait longer for the anchor.

        Its walltime is doubled as often as that does not lengthen its wait, so that later tasks can use the job too.
        """
        twin = self._twin_of(ask.queue, ask.packing)
        lengths: dict[float, list[float]] = {}  # by walltime: the lengths that start as soon, longest first
        submits: list[Decision] = []
        least_s = sum(asked_s - MARGIN_S for asked_s in uncovered)  # for all of them, none made longer
        spare_s = ask.spare_s
        for asked_s in uncovered:
            if asked_s not in lengths:
                tried = [asked_s * times for times in (2, 4, 8, 16) if asked_s * times <= requested_s(ask.work_s)]
                planned_s = twin.waits_s([1] * (1 + len(tried)), np.array([asked_s, *tried]))
                wait_s = self._expected_wait_s(1, asked_s, float(planned_s[0]))
                free = [length_s for length_s, it in zip(tried, planned_s[1:], strict=True) if it <= planned_s[0]]
                lengths[asked_s] = sorted([asked_s, *free], reverse=True) if wait_s < SOONER * ask.useful_s else []
            least_s -= asked_s - MARGIN_S
            affordable = (it for it in lengths[asked_s] if it - MARGIN_S <= spare_s - (least_s if it > asked_s else 0))
            length_s = next(affordable, None)
            if length_s is not None:
                spare_s -= length_s - MARGIN_S
                submits.append(self._submit(view, ask.packing, "small-filler", 1, length_s, None, now, len(submits)))
        return submits

    def _gap_filler(self, view: View, uncovered: Sequence[float], ask: _Ask, now: float) -> list[Decision]:
        """A job in the longest gap that is open now, as wide and as long as the work that remains."""
        gap = longest_gap(ask.packing.in_units(ask.queue), uncovered[-1], len(uncovered))
        if gap is None:
            return []
        fitting = [asked_s for asked_s in uncovered if asked_s <= gap[1]]
        nodes = min(gap[0], len(fitting))
        while nodes > 1 and not ask.affords(nodes, fitting[0]):
            nodes //= 2
        longest_s = min(gap[1], requested_s(ask.work_s / nodes) + fitting[0], MARGIN_S + ask.spare_s // nodes)
        if longest_s < fitting[0]:
            return []
        return [self._submit(view, ask.packing, "filler", nodes, longest_s, None, now)]

    def _queued_filler(self, view: View, uncovered: Sequence[float], ask: _Ask, now: float) -> list[Decision]:
        """A job that fits the longest task, made as wide and then as long as that does not lengthen its wait."""
        asked_s = uncovered[0]
        twin = self._twin_of(ask.queue, ask.packing)
        wait_s = float(twin.waits_s([1], np.array([asked_s]))[0])
        if not ask.affords(1, asked_s) or self._expected_wait_s(1, asked_s, wait_s) >= SOONER * ask.useful_s:
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
        return [
            self._submit(view, ask.packing, "filler", nodes, asked_s, Group(0, 0, nodes, asked_s, wait_s=wait_s), now)
        ]

    def _twin_of(self, queue: QueueRead, packing: Packing) -> QueueTwin:
        read = packing.in_units(queue)
        if self._twin is None or (self._twin.read is not read and self._twin.read != read):
            self._twin = QueueTwin(read)
        return self._twin

    def _submit(
        self,
        view: View,
        packing: Packing,
        role: JobRole,
        nodes: int,
        asked_s: float,
        group: Group | None,
        now: float,
        offset: int = 0,
    ) -> Submit:
        wait_s, estimate_s = 0.0 if group is None else group.wait_s, None
        figures: dict[str, Figure] = {"wait_s": wait_s}
        if group is not None:
            figures["run_s"] = group.run_s
        if view.queue is not None and packing.node == view.limits.limits:  # compared with the actual wait later
            estimate_s = float(self._twin_of(view.queue, packing).waits_s([nodes], np.array([asked_s]))[0])
            figures["estimate_s"] = estimate_s
        return Submit(
            now,
            view.next_tag(offset),
            packing.request(nodes, asked_s),
            Why(self.name, role, figures),
            expected_s=asked_s,
            role=role,
            expected_wait_s=wait_s,
            wait_estimate_s=estimate_s,
            shares=view.shares,
        )


class _Ask(NamedTuple):
    """What fillers may ask for."""

    packing: Packing
    queue: QueueRead
    work_s: float  # the remaining work, in unit-seconds
    spare_s: float  # the unit-seconds that no filler asks for yet, without the minute of margin in each walltime
    useful_s: float  # a filler that starts later than this brings nothing forward

    def affords(self, nodes: int, walltime_s: float) -> bool:
        """Whether a job of this shape is within what is spare."""
        return nodes * (walltime_s - MARGIN_S) <= self.spare_s


def _look_after_s(view: View, now: float) -> float:
    """The time until the queue is read again: longer where nothing has happened for days, so that years take no time.

    A run of a day is looked at every 15 minutes, one of a year every few days.
    """
    changes = [at for job in view.jobs.values() for at in (job.submitted_at, job.changed_at) if at is not None]
    return max(LOOK_EVERY_S, QUIET * (now - max(changes, default=now)))


def _first(plans: Iterable[list[Decision]]) -> list[Decision]:
    """The first plan that submits or releases something; if none does, an alarm that one of them sets."""
    alarms: list[Decision] = []
    for decisions in plans:
        if any(not isinstance(decision, WakeAt) for decision in decisions):
            return decisions
        alarms = alarms or decisions
    return alarms


def _earliest(*plans: list[Decision]) -> list[Decision]:
    """The first of the alarms that plans set."""
    alarms = [decision for plan in plans for decision in plan if isinstance(decision, WakeAt)]
    return [min(alarms, key=lambda alarm: alarm.until)] if alarms else []


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
