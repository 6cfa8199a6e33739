"""The plans that do not look at the queue: one allocation for a local run, and a job for each task."""

from __future__ import annotations

from headway.model.job import JobRequest
from headway.model.records import Decision, Release, Submit, Why
from headway.planning.base import Estimate, Planner, View
from headway.planning.requested_time import requested_s


class OneAllocation(Planner):
    """Holds one allocation of everything that the run may use, as long as there is work."""

    name = "one-allocation"

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        if view.wanting and not live:
            why = Why(self.name, "work-and-no-nodes", {"tasks": view.wanting, "jobs": len(view.jobs)})
            everything = view.limits.limits.replace(walltime_s=None)  # what a pool grants does not end with a job of it
            return [Submit(now, view.next_tag(), JobRequest(everything), why, role="whole-run")]
        if not view.unfinished:
            why = Why(self.name, "no-more-work")
            return [Release(now, job.tag, why) for job in live]
        return []


class OneJobPerTask(Planner):
    """Submits a job for each task that could run, with the task's number of nodes, up to the site's limit on jobs.

    What most users do by hand, and the plan to which the GLUME thesis (§5.2) compares all others.
    """

    name = "one-job-per-task"

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        over = [job for job in live if all(map(view.is_over, job.tasks))]
        covered = {task for job in live if not job.suspended for task in job.tasks}
        most = view.limits.most_jobs
        room = None if most is None else max(0, most - len(live))
        wanted = [task_id for task_id in view.placeable if task_id not in covered and not view.stopping]
        return [
            *(Release(now, job.tag, Why(self.name, "its-task-is-over")) for job in over),
            *(self._submit(task_id, view, now, index) for index, task_id in enumerate(wanted[:room])),
        ]

    def _submit(self, task_id: str, view: View, now: float, offset: int) -> Submit:
        task = view.workflow.tasks[task_id]
        expected_s = self._estimate(task)
        expired = view.ended_jobs(task_id)
        request = view.request(task.nodes, requested_s(expected_s, expired), [task])
        why = Why(self.name, "a-task-a-job", {"expected_s": expected_s, "expired": expired})
        return Submit(now, view.next_tag(offset), request, why, (task_id,), expected_s, role="single-task")
