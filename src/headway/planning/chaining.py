"""Tasks that checkpoint and outlast their jobs: when to ask for the next job, and when to move there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec import structs

from headway.model.records import Decision, Figure, GiveNotice, Why
from headway.model.task import Task
from headway.planning.base import Estimate, JobStatus, View
from headway.planning.requested_time import FACTORS, MARGIN_S, left_s

# A task whose next job starts early moves after this share of the time that its present job has for it: if it moved at
# once, and the wait is predicted to be longer than a job, it would do nothing but move.
_LEAST_SHARE = 0.25


class Link(NamedTuple):
    """A running task that checkpoints, in a job that ends before the task does."""

    task: Task
    job: JobStatus
    following: JobStatus | None  # the job in which it will go on: it waits or runs
    left_s: float  # how long the task is still expected to run
    began_at: float  # when it was started in its present job

    @property
    def needed_at(self) -> float:
        """When the task is told to save its checkpoint, since its job is about to end."""
        return self.job.ends_at - self.task.notice_s

    @property
    def moves_at(self) -> float:
        """The earliest time at which the task moves to its next job."""
        return self.began_at + _LEAST_SHARE * (self.needed_at - self.began_at)

    @property
    def is_cut(self) -> bool:
        """Whether its job has less time than when the task was started: its supervisor does not know that."""
        now_s, asked_s = self.job.request.per_node.walltime_s, self.job.asked.per_node.walltime_s
        return now_s is not None and asked_s is not None and now_s < asked_s


def in_job_s(view: View, estimate: Estimate, task: Task) -> float:
    """How much time of its next job a task is expected to need; if it checkpoints, no more than a job can have."""
    return for_rest_s(view, task, left_s(estimate(task), view.saved_s(task.id))) if task.notice_s else estimate(task)


def for_rest_s(view: View, task: Task, rest_s: float) -> float:
    """How much time of a job is needed for the rest of a task that checkpoints: it must end before it gets notice."""
    needed_s, most_s = rest_s + task.notice_s, view.limits.limits.walltime_s
    return needed_s if most_s is None else min(needed_s, max(1.0, (most_s - MARGIN_S) / FACTORS[0]))


def links(view: View, estimate: Estimate, now: float) -> Iterator[Link]:
    """The running tasks that will have to go on in another job."""
    for task_id in view.checkpointing:
        job = view.jobs.get(view.runs_in(task_id) or "")
        task = view.workflow.tasks[task_id]
        if job is None or not job.live or job.suspended:
            continue
        ran_s = view.ran_s(task_id)
        rest_s = left_s(estimate(task), view.saved_s(task_id) + ran_s)
        if now + rest_s > job.ends_at - task.notice_s:
            jobs = continuations(view.live, task_id)
            later = jobs[jobs.index(job) + 1 :] if job in jobs else jobs
            yield Link(task, job, later[0] if later else None, rest_s, now - ran_s)


def continuations(live: Sequence[JobStatus], task_id: str) -> list[JobStatus]:
    """The jobs that were asked for so that a task can go on in them, in the order of their submission."""
    return [job for job in live if job.role == "continuation" and task_id in job.tasks]


def is_up(job: JobStatus) -> bool:
    """Whether all nodes of a job have answered."""
    return job.started_at is not None and job.answering_nodes >= job.request.per_node.nodes


def notice(view: View, planner: str, link: Link, now: float) -> list[Decision]:
    """Tell the task of a link to save its checkpoint, if its next job is up or its present one was cut."""
    attempt, is_told = view.attempt(link.task.id)
    ready = link.following is not None and is_up(link.following) and now >= link.moves_at
    due = link.is_cut and now >= link.needed_at
    if is_told or not (ready or due):
        return []
    text = "its next job is up" if ready else "its job was cut, and ends soon"
    figures: dict[str, Figure] = {"job_ends_at": link.job.ends_at, "left_s": link.left_s}
    return [GiveNotice(now, link.task.id, attempt, Why(planner, "next-job" if ready else "end-of-job", figures, text))]


def notice_due(link: Link, now: float) -> list[float]:
    """The times at which the task of a link may have to be told, though nothing else happens."""
    waits = link.following is not None and is_up(link.following)
    times = [*([link.moves_at] if waits else []), *([link.needed_at] if link.is_cut else [])]
    return [at for at in times if at > now]


def superfluous(view: View, estimate: Estimate, now: float) -> list[str]:
    """Jobs that a task has left or would have to leave at once, and those that it need not go on in after all."""
    needed = {link.following.tag for link in links(view, estimate, now) if link.following is not None}
    found: list[str] = []
    for job in view.live:
        if job.role == "continuation" and job.started_at is not None and job.tag not in needed:
            tasks = [view.workflow.tasks[task_id] for task_id in job.tasks]
            elsewhere = all(view.runs_in(task.id) is not None for task in tasks)
            is_late = any(now + task.notice_s >= job.ends_at for task in tasks)
            if (elsewhere or is_late) and not view.is_busy(job.tag):
                found.append(job.tag)
    return found


def without_continued(view: View) -> View:
    """The view without the tasks for which a next job was asked for."""
    going_on = {task_id for job in view.live if job.role == "continuation" for task_id in job.tasks}
    if not going_on:
        return view
    rest = [task for task in view.remaining() if task.id not in going_on]
    return structs.replace(view, rest=rest, placeable=[each for each in view.placeable if each not in going_on])
