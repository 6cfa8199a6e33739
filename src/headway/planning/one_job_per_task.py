"""A job for each task, submitted when the task could run: what most users do by hand."""

from __future__ import annotations

from headway.model.job import JobPhase
from headway.model.records import Decision, Release, Submit, Why
from headway.planning.base import Estimate, JobStatus, Planner, View
from headway.planning.requested_time import requested_s


class OneJobPerTask(Planner):
    """Submits a job for each task that could run, with the task's number of nodes, up to the site's limit on jobs.

    The plan to which the GLUME thesis (§5.2) compares all others.
    """

    name = "one-job-per-task"

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        decisions: list[Decision] = [
            Release(now, job.tag, Why(self.name, "its-task-is-over")) for job in live if _is_done(job, view)
        ]
        covered = {task for job in live for task in job.tasks}
        most = view.limits.most_jobs
        room = None if most is None else max(0, most - len(live))
        wanted = [task_id for task_id in view.placeable if task_id not in covered and not view.stopping]
        submits = [self._submit(task_id, view, now, index) for index, task_id in enumerate(wanted[:room])]
        return [*decisions, *submits]

    def _submit(self, task_id: str, view: View, now: float, offset: int) -> Submit:
        task = view.workflow.tasks[task_id]
        expected_s = self._estimate(task)
        expired = sum(task_id in job.tasks and job.phase is JobPhase.ENDED for job in view.jobs.values())
        request = view.request(task.nodes, requested_s(expected_s, expired))
        why = Why(self.name, "a-task-a-job", {"expected_s": expected_s, "expired": expired})
        return Submit(now, view.next_tag(offset), request, why, (task_id,), expected_s, role="single-task")


def _is_done(job: JobStatus, view: View) -> bool:
    return all(view.is_over(task) for task in job.tasks)
