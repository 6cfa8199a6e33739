"""Headway's own plan: one job that does all remaining work, and small jobs that use the gaps before it starts."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import partial

from msgspec import structs

from headway.grouping.base import Group, Levels
from headway.model.preference import Preference
from headway.model.records import AskQueue, Decision, QueueRead, Release, SeenWait, WakeAt, Why
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
from headway.planning.fillers import OPENING_S, Fillers, run_s
from headway.planning.forecast import Forecast
from headway.planning.foresight import Foresight, seen_wait
from headway.planning.narrowing import needless
from headway.planning.packing import Packing
from headway.planning.requested_time import requested_s
from headway.planning.run_times import typical_s
from headway.planning.strips import SPARE, due, in_strips
from headway.planning.widening import Later
from headway.waiting.base import Shape

LOOK_EVERY_S = 900.0  # how often the queue is read for new gaps,
QUIET = 0.01  # and at least this share of the time since a job of ours was submitted, started or ended
FEW_TASKS = 1000  # with more left, what they will use is not forecast at every event: that would take too long
FORECAST_EVERY_S = 60.0
FRESH_S = 15.0  # a snapshot of the queue is used for this long
BETTER = 0.8  # an anchor is replaced by one that ends within this share of the held one's time


class Headway(Planner):
    """An anchor job for all remaining work waits in the queue; fillers run tasks in the gaps before it starts.

    All jobs form one pool: a task runs in any job that has room until the task's expected end. The anchor is the job
    that `one-job` would submit, so the plan loses nothing against it. Where the queue reserves nodes for dependent
    jobs, the anchor may be a chain of jobs, each for its own levels; elsewhere that of a small workflow may be in
    strips (`planning/strips.py`). Fillers are in `planning/fillers.py`. The plan is made again whenever a job starts or
    ends, and every 15 minutes.

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
        self._foresight = Foresight(self.name)
        self._later = Later()
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
        beside = due(left, self.name, partial(in_job_s, view, partial(typical_s, self._of_task)), now)
        if any(not isinstance(decision, WakeAt) for decision in beside):
            return beside
        planned = self._plan(left, live, now)
        if any(not isinstance(decision, WakeAt) for decision in planned):
            return planned
        return _earliest(chained, beside, planned)

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
        self._foresight.queue = view.queue
        remaining = view.work()
        parts = parts_of(view, remaining, live)
        for_all, *for_parts = (
            Fillers(part, view.queue, self._foresight, self._estimate, now) for part in (view, *parts)
        )
        return (
            _first(self._anchor(part, view.queue, part.remaining(), part.live, now) for part in parts)
            or self._ahead(view, remaining, now)
            or for_all.on_large_nodes()
            or _first(fillers.decide() for fillers in for_parts)
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
                    self._foresight.queue = view.queue
                if self._foresight.queue is None:
                    return [AskQueue(now)]
                group, packing = self._continuation(view, link)
                ask_at = link.needed_at - group.wait_s - OPENING_S
                if now < ask_at:
                    due.append(max(ask_at, now + OPENING_S))
                elif not is_fresh:
                    return [AskQueue(now)]
                else:
                    asked_s = requested_s(group.run_s, view.cut_off(link.task.id))
                    submit = self._foresight.submit(
                        view, packing, "continuation", group.nodes, asked_s, now, group=group
                    )
                    decisions.append(structs.replace(submit, tasks=(link.task.id,)))
            if decisions:
                return decisions
            due += notice_due(link, now)
        return [WakeAt(now, min(due), Why(self.name, "next-job"))] if due else []

    def _continuation(self, view: View, link: Link) -> tuple[Group, Packing]:
        """The next job of a task, and how long it would most likely wait at most."""
        packing = view.packing([link.task])
        units = link.task.nodes if packing.place is None else packing.places_of(link.task)
        rest_s = for_rest_s(view, link.task, link.left_s)
        asked_s = requested_s(rest_s, view.cut_off(link.task.id))
        return Group(0, 0, units, rest_s, wait_s=self._foresight.wait_s(packing, units, asked_s)), packing

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
        levels = packing.levels(tasks, lambda task: run_s(view, self._estimate, task))
        expired = max(view.cut_off(task.id) for task in tasks)
        twin = self._foresight.twin(queue, packing)
        mean_cores = packing.work_s(tasks, self._estimate, packing) * packing.cores_per_unit / levels.shortest_s
        nearly = self._preference.nearly(mean_cores)
        best = best_anchor(
            levels, twin, self._foresight.corrected_s, expired, nearly, chains=queue.reserves and not view.foreseen
        )
        if not queue.reserves and not view.foreseen and view.limits.admits:
            room = math.inf if view.limits.most_jobs is None else view.limits.most_jobs - len(view.live)
            best = in_strips(best, levels, twin, self._foresight.corrected_s, expired, most=room)
        if not anchors:
            return self._submit_anchor(view, packing, levels, best, expired, now)
        sides = [job for job in live if job.role == "side"]
        held = held_anchor(anchors, levels, now, has_sides=bool(sides))
        if best.worth(thrifty=queue.reserves) < BETTER * held.worth(thrifty=queue.reserves):
            why = Why(self.name, "a-better-anchor", {"held_s": held.through_s, "better_s": best.through_s})
            return [Release(now, job.tag, why) for job in (*anchors, *sides) if job.started_at is None]
        return []

    def _submit_anchor(
        self, view: View, packing: Packing, levels: Levels, best: Anchor, expired: int, now: float
    ) -> list[Decision]:
        """Each job of a chain is for the tasks of its own levels; a single anchor is for any task."""
        most = view.limits.most_jobs
        if most is not None and len(view.live) + len(best.groups) + len(best.sides) > most:
            return []
        submits: list[Decision] = []
        after: str | None = None
        for number, group in enumerate(best.groups):
            tasks = levels.tasks(group.first, group.last) if len(best.groups) > 1 else []
            asked_s = requested_s(group.run_s, expired) * (SPARE if best.sides else 1.0)
            nodes = max(group.nodes, levels.least_nodes(group.first, group.last))
            submit = self._foresight.submit(view, packing, "anchor", nodes, asked_s, now, group=group, offset=number)
            ids = tuple(task.id for task in tasks)
            submits.append(structs.replace(submit, tasks=ids, expected_s=group.run_s, after=after))
            after = submit.tag
        for number, side in enumerate(best.sides, start=len(submits)):
            asked_s = requested_s(side.leeway_s + side.run_s, expired)
            submit = self._foresight.submit(view, packing, "side", side.nodes, asked_s, now, group=side, offset=number)
            ids = tuple(task.id for task in levels.tasks(side.first, side.last))
            held_by = after if side.first else None  # the first levels are ready
            submits.append(structs.replace(submit, meant_for=ids, after=held_by))
        return submits

    def observe(self, job: JobStatus) -> None:
        seen = seen_wait(job)
        if seen is not None:
            self._foresight.learn(*seen)
            self._later.observe(*seen)

    def learn(self, waits: Sequence[SeenWait]) -> None:
        for seen in waits:
            self._foresight.learn(Shape(seen.nodes, seen.asked_s, seen.estimate_s), seen.waited_s)
            self._later.observe(Shape(seen.nodes, seen.asked_s), seen.waited_s)

    # --- what will be needed later ---

    def _cost_of_asking_again(self, expected: Forecast, packing: Packing, units: float, needed_s: float) -> float:
        return self._later.cost_of_asking_again(expected, packing, units, needed_s, self._foresight.wait_s)

    def wait_s(self, jobs: Sequence[JobStatus]) -> float | None:
        return self._foresight.longest_s(jobs)

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
        asked_s = requested_s(needed_s + for_s)
        return [self._foresight.submit(view, packing, "ahead", units, asked_s, now, group=group)]


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
