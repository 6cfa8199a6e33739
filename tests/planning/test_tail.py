"""Which jobs are released towards the end of a run."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from headway.model.job import JobPhase, JobRequest
from headway.model.records import LimitsRead, QueueRead, Submit, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.base import JobStatus, View
from headway.planning.tail import unneeded

SITE = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9, nodes=16)


def job(tag: str, nodes: int, until: float = 10_000.0) -> JobStatus:
    """One that runs since 0."""
    status = JobStatus(Submit(0.0, tag, JobRequest(SITE.replace(nodes=nodes, walltime_s=until)), Why("p", "r")))
    status.phase, status.started_at = JobPhase.RUNNING, 0.0
    return status


def view(tasks: Sequence[Task], jobs: Sequence[JobStatus], queue: QueueRead | None = None) -> View:
    return View(
        uid="u",
        submitted=len(jobs),
        unfinished=len(tasks),
        wanting=len(tasks),
        jobs={job.tag: job for job in jobs},
        live=jobs,
        limits=LimitsRead(0.0, SITE),
        queue=queue,
        workflow=Workflow("w", tasks),
        placeable=(),
        is_over=lambda task_id: False,
        is_near=lambda task_id: True,
        is_running=lambda task_id: False,
        cut_off=lambda task_id: 0,
        is_busy=lambda tag: tag == "busy",
        tasks_per_node=lambda: 1,
        needs=lambda tasks: {},
        is_large=lambda task: False,
        wakes_at=None,
        alarm_set_at=None,
        stopping=False,
    )


def line(length: int) -> list[Task]:
    return [Task(f"t{n}", "c", "-", parents=(f"t{n - 1}",) if n else ()) for n in range(length)]


def fan(width: int, **more: dict[str, float]) -> list[Task]:
    return [Task(f"t{n}", "c", "-", **more) for n in range(width)]


@pytest.mark.parametrize(
    ("tasks", "busy", "idle", "given_back"),
    [
        (line(4), job("busy", 1), [job("idle", 4)], ["idle"]),  # one after the other: one node is enough
        (fan(4), job("busy", 2), [job("idle", 2)], []),  # four at a time: all are needed
        (fan(4), job("busy", 2), [job("a", 2), job("b", 3)], ["b"]),  # one of the two is, and the wide one goes
        (line(4), job("busy", 1, until=150.0), [job("idle", 1)], []),  # what is busy ends too early: 4 x 50 s
        (fan(2, hints={"nodes": 2}), job("busy", 1), [job("idle", 4)], []),  # it is too narrow
        (fan(100), job("busy", 100), [job("idle", 1)], ["idle"]),
        (fan(500), job("busy", 100), [job("idle", 1)], []),  # no tail yet
    ],
    ids=["line", "fan", "two", "ends", "narrow", "wide", "many"],
)
def test_jobs_that_are_not_needed_are_released(
    tasks: list[Task], busy: JobStatus, idle: list[JobStatus], given_back: list[str]
) -> None:
    found = unneeded(view(tasks, [busy, *idle]), idle, lambda task: 50.0, 0.0)
    assert [status.tag for status in found] == given_back


def test_at_least_one_job_is_kept() -> None:
    idle = [job("a", 1), job("b", 1)]
    assert unneeded(view(line(3), idle), idle, lambda task: 50.0, 0.0) == []
