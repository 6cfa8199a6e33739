"""The contract of WHICH ALLOCATIONS, AND WHEN: what a planner sees, and what it may decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping
from functools import partial

from msgspec import Struct

from headway.model.job import JobPhase, JobRequest
from headway.model.records import Decision, LimitsRead, QueueRead, Submit
from headway.model.task import Task
from headway.model.workflow import Workflow

Estimate = Callable[[Task], float]  # how long a task will run, in seconds


class JobStatus:
    """An allocation that was asked for."""

    __slots__ = ("ended_at", "phase", "released", "request", "started_at", "submitted_at", "tag", "tasks")

    def __init__(self, submit: Submit) -> None:
        self.tag = submit.tag
        self.request: JobRequest = submit.request
        self.tasks = dict.fromkeys(submit.tasks)  # those that may run on it, in order; none: anybody
        self.phase = JobPhase.PENDING
        self.released = False
        self.submitted_at = submit.at
        self.started_at: float | None = None
        self.ended_at: float | None = None

    @property
    def live(self) -> bool:
        """Whether it may still give us nodes."""
        return self.phase is not JobPhase.ENDED and not self.released


class View(Struct, frozen=True):
    """What a planner sees of the run."""

    uid: str
    unfinished: int  # tasks that may still have to run
    wanting: int  # tasks that need a node now
    jobs: Mapping[str, JobStatus]  # by tag, in the order in which they were asked for
    limits: LimitsRead
    queue: QueueRead | None  # the last look at the batch queue, if there was one
    workflow: Workflow
    placeable: Collection[str]  # tasks that only need a node, in the order in which they came to that
    is_over: Callable[[str], bool]  # whether a task has ended for good, one way or the other

    def live(self) -> list[JobStatus]:
        """The jobs that wait or run."""
        return [job for job in self.jobs.values() if job.live]

    def remaining(self) -> list[Task]:
        """The tasks that have not ended, parents first."""
        tasks = self.workflow.tasks
        return [tasks[task_id] for task_id in self.workflow.topological() if not self.is_over(task_id)]

    def next_tag(self, offset: int = 0) -> str:
        """A name for the next job, by which it is found again after a crash."""
        return f"headway-{self.uid}-{len(self.jobs) + 1 + offset}"


class Planner(ABC):
    """Asks for allocations and gives them back. Called whenever something happened.

    It keeps nothing in mind: all that it decides follows from the view, so that a resumed run goes on as it would have.
    One that has to know how long a job would wait decides to ask (`AskQueue`) and is called again with the answer.
    """

    name: str

    @abstractmethod
    def plan(self, view: View, now: float) -> list[Decision]:
        """The submissions and releases that are due now."""


def known_run_times(run_s: Mapping[str, float], otherwise_s: float) -> Estimate:
    """Estimates from a table by task."""
    return partial(_look_up, run_s, otherwise_s)


def _look_up(run_s: Mapping[str, float], otherwise_s: float, task: Task) -> float:
    return run_s.get(task.id, otherwise_s)
