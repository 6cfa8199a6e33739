"""The contract of WHICH ALLOCATIONS, AND WHEN: what a planner sees, and what it may decide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct

from headway.model.job import JobPhase, JobRequest
from headway.model.records import Decision, LimitsRead, QueueRead, SeenWait, Submit
from headway.model.task import Task
from headway.model.workflow import Workflow

Estimate = Callable[[Task], float]  # how long a task will run, in seconds


class JobStatus:
    """An allocation that was asked for."""

    __slots__ = (
        "after",
        "changed_at",
        "ended_at",
        "expected_s",
        "lost_nodes",
        "phase",
        "released",
        "request",
        "rule",
        "started_at",
        "submitted_at",
        "tag",
        "tasks",
        "ticket",
    )

    def __init__(self, submit: Submit) -> None:
        self.tag = submit.tag
        self.request: JobRequest = submit.request
        self.rule = submit.why.rule
        self.ticket = submit.why.figures
        self.expected_s = submit.expected_s
        self.after = submit.after
        self.tasks = {task: number for number, task in enumerate(submit.tasks)}  # that may run on it; none: anybody
        self.phase = JobPhase.PENDING
        self.released = False
        self.lost_nodes = 0
        self.submitted_at = submit.at
        self.started_at: float | None = None
        self.ended_at: float | None = None
        self.changed_at: float | None = None  # when it became known that it has started, or ended

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
    live: Sequence[JobStatus]  # those that wait or run
    limits: LimitsRead
    queue: QueueRead | None  # the last look at the batch queue, if there was one
    workflow: Workflow
    placeable: Collection[str]  # tasks that only need a node, in the order in which they came to that
    is_over: Callable[[str], bool]  # whether a task has ended for good, one way or the other
    is_running: Callable[[str], bool]  # whether a task is under way
    cut_off: Callable[[str], int]  # how often a task was under way when its job's time was up
    is_busy: Callable[[str], bool]  # whether a job has tasks running
    tasks_per_node: Callable[[], int]  # how many of the tasks that want to run share a node
    wakes_at: float | None  # when the planner will be called again even if nothing happens
    alarm_set_at: float | None  # when that was decided
    stopping: bool  # whether nothing new is to be started

    @property
    def is_full(self) -> bool:
        """Whether the site allows no further job now."""
        return self.limits.most_jobs is not None and len(self.live) >= self.limits.most_jobs

    @property
    def most_nodes(self) -> int:
        """As many as a job may have, and as there are: some may be down since the limits were read."""
        allowed = self.limits.limits.nodes
        return allowed if self.queue is None else max(1, min(allowed, int(max(self.queue.free))))

    @property
    def expired(self) -> int:
        """How many jobs have ended before they were given back: they were too short."""
        return sum(job.phase is JobPhase.ENDED and not job.released for job in self.jobs.values())

    def remaining(self) -> list[Task]:
        """The tasks that have not ended and are to run, parents first."""
        if self.stopping:
            return []
        tasks = self.workflow.tasks
        return [tasks[task_id] for task_id in self.workflow.topological() if not self.is_over(task_id)]

    def request(self, nodes: int, walltime_s: float) -> JobRequest:
        """So many whole nodes for so long, or as much as the site allows."""
        most = self.limits.limits
        allowed_s = walltime_s if most.walltime_s is None else min(walltime_s, most.walltime_s)
        return JobRequest(most.replace(nodes=min(nodes, most.nodes), walltime_s=allowed_s))

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

    def expected_s(self, task: Task) -> float | None:
        """How long it reckons a task to run, or None. A task is not begun where it is not thought to end."""
        return None

    def observe(self, job: JobStatus) -> None:
        """Learn from a job of ours that has just started, or ended."""

    def learn(self, waits: Sequence[SeenWait]) -> None:
        """Learn from how long others have waited. This and `observe` are all that a planner may remember."""


def known_run_times(run_s: Mapping[str, float], otherwise_s: float) -> Estimate:
    """Estimates from a table by task."""
    return partial(_look_up, run_s, otherwise_s)


def _look_up(run_s: Mapping[str, float], otherwise_s: float, task: Task) -> float:
    return run_s.get(task.id, otherwise_s)
