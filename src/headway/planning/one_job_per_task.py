"""One job for each task, as soon as it could run: what most people do."""

from __future__ import annotations

from headway.model.job import JobPhase
from headway.model.records import Decision, Release, Submit, Why
from headway.planning.base import Estimate, JobStatus, Planner, View
from headway.planning.requested_time import requested_s

PER_TASK = "a-task-a-job"  # the rule by which such jobs are known


class OneJobPerTask(Planner):
    """Submits a job for each task that could run, of one node or as many as it spans, as many jobs at a time as the
    site allows (002 §5.2)."""

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
        walltime_s = requested_s(expected_s, expired)
        request = view.request(task.nodes, walltime_s)
        why = Why(self.name, PER_TASK, {"expected_s": expected_s, "expired": expired})
        return Submit(now, view.next_tag(offset), request, why, (task_id,), expected_s)


def _is_done(job: JobStatus, view: View) -> bool:
    return all(view.is_over(task) for task in job.tasks)
