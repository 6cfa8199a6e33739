"""What a planner sees, made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headway.model.job import JobPhase, JobRequest
from headway.model.records import LimitsRead, QueueRead, Submit, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.base import JobStatus, View

NODE = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9)


def fan(width: int) -> Workflow:
    """Tasks `w0`, `w1`, … side by side, and `last`, which waits for all of them."""
    wide = [Task(f"w{number}", "wide", "-") for number in range(width)]
    return Workflow("fan", [*wide, Task("last", "last", "-", parents=tuple(task.id for task in wide))])


def job(
    number: int,
    phase: JobPhase = JobPhase.PENDING,
    tasks: Sequence[str] = (),
    nodes: int = 1,
    walltime_s: float = 100.0,
    released: bool = False,
) -> JobStatus:
    """A job that was submitted at 0."""
    request = JobRequest(NODE.replace(nodes=nodes, walltime_s=walltime_s))
    status = JobStatus(Submit(0.0, f"headway-u-{number}", request, Why("test", "test"), tuple(tasks)))
    status.phase = phase
    status.released = released
    return status


def view(
    workflow: Workflow,
    *,
    jobs: Sequence[JobStatus] = (),
    queue: QueueRead | None = None,
    over: Sequence[str] = (),
    placeable: Sequence[str] | None = None,
    nodes: int = 8,
    most_jobs: int | None = None,
) -> View:
    """A view in which the tasks `over` have ended. Placeable by default: tasks whose parents have ended."""
    left = [task for task in workflow if task.id not in over]
    ready = [task.id for task in left if all(parent in over for parent in task.parents)]
    listed: Mapping[str, JobStatus] = {status.tag: status for status in jobs}
    return View(
        uid="u",
        submitted=len(jobs),
        unfinished=len(left),
        wanting=len(ready if placeable is None else placeable),
        jobs=listed,
        live=[status for status in jobs if status.live],
        limits=LimitsRead(0.0, NODE.replace(nodes=nodes), most_jobs),
        queue=queue,
        workflow=workflow,
        placeable=ready if placeable is None else list(placeable),
        is_over=lambda task_id: task_id in over,
        is_near=lambda task_id: True,
        is_running=lambda task_id: False,
        ran_s=lambda task_id: 0.0,
        ended_jobs=lambda task_id: sum(task_id in status.tasks and status.phase is JobPhase.ENDED for status in jobs),
        cut_off=lambda task_id: 0,
        is_busy=lambda tag: False,
        runs_in=lambda task_id: None,
        idle_nodes=lambda tag: [],
        tasks_per_node=lambda: 1,
        needs=lambda tasks: {},
        is_large=lambda task: False,
        wakes_at=None,
        alarm_set_at=None,
        stopping=False,
    )
