"""What running jobs give back as a workflow gets narrower."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from headway.grouping.list_schedule import Floats
from headway.model.records import Decision, Release, Shrink, Why
from headway.model.task import Task
from headway.planning.base import Estimate, JobStatus, View
from headway.planning.forecast import Forecast, earliest, forecast, side_by_side
from headway.planning.packing import Packing

# What it is expected to cost, in unit-seconds, to ask again for so many units that are needed in so many seconds.
AskAgain = Callable[[Forecast, Packing, float, float], float]
_LEAST_GAIN = 0.02  # of the remaining work: what giving back for a while must save
_CLEARLY = 2.0


def needless(view: View, planner: str, estimate: Estimate, ask_again: AskAgain, now: float) -> list[Decision]:
    """Give back what is idle, and not needed any more, or not for so long that it is cheaper to ask for it again.

    That is whole jobs and, where the site allows it, nodes of jobs. An anchor keeps at least one node while tasks that
    it is for have not started, or another one would be submitted at once.
    """
    look = _Look(view, estimate, ask_again, now)
    nodes = look.dispensable()
    decisions: list[Decision] = []
    for job in look.started:
        given = nodes.get(job.tag, 0)
        if given and given == job.request.per_node.nodes:
            decisions.append(Release(now, job.tag, Why(planner, "narrower")))
        elif given:
            decisions.append(Shrink(now, job.tag, tuple(look.idle[job.tag][:given]), Why(planner, "narrower")))
    return decisions


class _Look:
    """The jobs that run, and which of their nodes are idle."""

    def __init__(self, view: View, estimate: Estimate, ask_again: AskAgain, now: float) -> None:
        self._view, self._estimate, self._ask_again, self._now = view, estimate, ask_again, now
        self.started = [job for job in view.live if job.started_at is not None and not job.suspended]
        # Names of nodes by tag; none where the site takes only whole jobs back.
        self.idle = {job.tag: view.idle_nodes(job.tag) if view.limits.shrinks else [] for job in self.started}
        self._at_rest = {job.tag for job in self.started if not view.is_busy(job.tag)}

    def dispensable(self) -> dict[str, int]:
        """How many nodes each job may give back."""
        if not (self._at_rest or any(self.idle.values())):
            return {}
        tasks = self._view.work()
        pool = [job for job in self.started if not job.tasks]
        nodes = self._too_short(pool, tasks) if self._view.placeable else self._of_pool(pool, tasks)
        for job in self.started:
            if job.tasks and self.idle[job.tag] and not set(self._view.placeable) & set(job.tasks):
                nodes[job.tag] = self._of_bound(job, tasks)
        return nodes

    def _of_pool(self, pool: Sequence[JobStatus], tasks: Sequence[Task]) -> dict[str, int]:
        """How many nodes to give back of each of the jobs that run any task; all of a job that is over."""
        if not tasks or not pool:
            return {}
        view, now = self._view, self._now
        early = {job.tag for job in view.live if job.role == "ahead" and now < job.expected_start}
        left = {task.terms.share for task in tasks if not view.is_running(task.id)}
        anchors = (job for job in self.started if job.role == "anchor")
        over = self._at_rest - {job.tag for job in anchors if (left if not job.shares else left & set(job.shares))}
        packing = view.packing(tasks)
        held = sum(packing.units_of(job.request) for job in pool)
        rest = _Rest(pool, tasks, packing, forecast(view, tasks, packing, self._estimate, held), now)
        # While a job is on its way for a later stage, what would be given back would be asked for again.
        for_a_while = rest.spare_for_a_while(self._ask_again) if view.limits.shrinks and not early else 0.0
        nodes: dict[str, int] = {}
        for job in sorted(pool, key=lambda job: job.ends_at):  # those that last are kept
            # Early jobs await their tasks.
            spare = rest.dispensable_nodes(job, for_a_while) if job.tag not in early else 0
            whole = job.tag in over and spare == job.request.per_node.nodes
            nodes[job.tag] = spare if whole else min(spare, len(self.idle[job.tag]))
            rest.give(job, nodes[job.tag])
        return nodes

    def _too_short(self, pool: Sequence[JobStatus], tasks: Sequence[Task]) -> dict[str, int]:
        """How many nodes to give back of each job although tasks wait: they would not end before the job does.

        A node is kept for each task that may be ready in time to end in the job, if it is not too long before that.
        """
        view, now = self._view, self._now
        waiting = earliest(view, tasks, self._estimate)
        ready = set(view.placeable)
        nodes: dict[str, int] = {}
        for job in pool:
            has = job.request.per_node.nodes
            free = has if job.tag in self._at_rest else len(self.idle[job.tag])
            fitting = [each for each in waiting if now + each.end_s <= job.ends_at]
            if not free or not fitting:
                nodes[job.tag] = free
                continue
            if any(each.task.id in ready for each in fitting):  # something else than time holds it up
                continue
            wanting = [each.task for each in fitting]
            packing = view.packing(wanting)
            expected = side_by_side(fitting, packing, busy=(has - free) * packing.units_of(job.request) / has)
            rest = _Rest([job], wanting, packing, expected, now)
            early = job.role == "ahead" and now < job.expected_start  # it awaits its tasks
            for_a_while = rest.spare_for_a_while(self._ask_again) if view.limits.shrinks and not early else 0.0
            spare = rest.dispensable_nodes(job, for_a_while)
            nodes[job.tag] = spare if free == has == spare else min(spare, len(self.idle[job.tag]))
        return nodes

    def _of_bound(self, job: JobStatus, tasks: Sequence[Task]) -> int:
        """How many nodes to give back of a job that is for certain tasks: other jobs may have taken some of them."""
        view = self._view
        own = [task for task in tasks if task.id in job.tasks and view.runs_in(task.id) in (None, job.tag)]
        if not own:
            return 0
        packing = view.packing(own)
        expected = forecast(view, own, packing, self._estimate, packing.units_of(job.request))
        return min(_Rest([job], own, packing, expected, self._now).dispensable_nodes(job, 0.0), len(self.idle[job.tag]))


class _Rest:
    """The units that jobs hold until their ends, beside those that tasks are expected to use."""

    def __init__(
        self, held: Sequence[JobStatus], tasks: Sequence[Task], packing: Packing, expected: Forecast, now: float
    ) -> None:
        self._nodes = {job.tag: job.request.per_node.nodes for job in held}
        self._each = {job.tag: packing.units_of(job.request) / self._nodes[job.tag] for job in held}
        self._ends_s = {job.tag: job.ends_at - now for job in held}
        self._widest = max(task.nodes for task in tasks)  # a task that spans nodes needs them in one job
        ends = [end_s for end_s in self._ends_s.values() if 0.0 < end_s < expected.times[-1]]
        self._times = np.union1d(expected.times[:-1], ends)
        self._used = expected.used_at(self._times)
        self._expected, self._packing = expected, packing
        self._held = float(self._there()[0])

    def _there(self) -> Floats:
        """The units that are held at each time."""
        there = np.zeros(len(self._times))
        for tag, nodes in self._nodes.items():
            if nodes >= self._widest:
                there += (self._times < self._ends_s[tag]) * nodes * self._each[tag]
        return there

    def spare_for_a_while(self, ask_again: AskAgain) -> float:
        """How many units may be given back although they will be needed: of those that are idle all, half or a quarter.

        What holding them costs must be twice what asking for them again is expected to cost.
        """
        if self._widest > 1:  # what is asked for again might not be one job
            return 0.0
        spare = self._there() - self._used
        least = max(0.0, float(spare.min()))
        for part in (1.0, 0.5, 0.25):
            units = math.floor(part * (float(spare[0]) - least))
            if units < 1:
                break
            needed_s = float(self._times[spare < least + units][0])
            held_s = units * needed_s
            worth_it = held_s > _LEAST_GAIN * self._expected.work_s
            if worth_it and held_s > _CLEARLY * ask_again(self._expected, self._packing, units, needed_s):
                return least + units
        return 0.0

    def dispensable_nodes(self, job: JobStatus, for_a_while: float) -> int:
        """How many of a job's nodes are not needed as long as the job lasts, or for a while."""
        units = self._nodes[job.tag] * self._each[job.tag]
        there = self._there()
        spare = float((there - self._used)[self._times < self._ends_s[job.tag]].min(initial=units))
        spare = max(spare, min(units, for_a_while - (self._held - float(there[0]))))
        return max(0, math.floor(spare / self._each[job.tag]))

    def give(self, job: JobStatus, nodes: int) -> None:
        """A job gives back so many nodes."""
        self._nodes[job.tag] -= nodes
