"""The contract of WHICH ALLOCATIONS, AND WHEN: what a planner sees, and what it may decide."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

from msgspec import Struct, structs

from headway.model.job import JobPhase, JobRequest, eligible_at
from headway.model.preference import Preference
from headway.model.records import Decision, LimitsRead, QueueRead, SeenWait, Submit
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.packing import Need, Packing, largest_of, shares
from headway.planning.requested_time import longer_s

Estimate = Callable[[Task], float]  # the expected run time of a task, in seconds


class JobStatus:
    """A job that was submitted: its request and intent (see `Submit`), and what happened to it since.

    `predecessor`: the job whose end it waits for in the queue.
    """

    def __init__(self, submit: Submit, predecessor: JobStatus | None = None) -> None:
        self.predecessor = predecessor
        self.tag = submit.tag
        self.asked: JobRequest = submit.request
        self.request: JobRequest = submit.request  # with the walltime that the job has now
        self.submitted: JobRequest = submit.request
        self.role = submit.role
        self.expected_s = submit.expected_s
        self.expected_wait_s = submit.expected_wait_s
        self.wait_estimate_s = submit.wait_estimate_s
        self.wait_ticket = submit.wait_ticket
        self.after = submit.after
        self.tasks = {task: number for number, task in enumerate(submit.tasks)}  # that may run in it; empty: any
        self.shares = submit.shares
        self.meant_for = submit.meant_for
        self.phase = JobPhase.PENDING
        self.released = False
        self.lost_nodes = 0
        self.answering_nodes = 0  # that have answered at least once
        self.admitted_at: float | None = None  # when it was let go although its predecessor has not ended
        self.granted = False  # whether it was seen to run; `started_at` is set when the first of its nodes answers
        self.suspended = False  # its processes are stopped until the batch system resumes it
        self.shrunk_at = 0.0  # when it last gave back nodes
        self.core_s_before = 0.0  # that it had held by then
        self.excused = False  # it ended, though not since it was too short
        self.submitted_at = submit.at
        self.started_at: float | None = None
        self.ended_at: float | None = None  # or when it was released
        self.changed_at: float | None = None  # when the run learned that the job had started or ended

    @property
    def live(self) -> bool:
        """Whether the job waits or runs."""
        return self.phase is not JobPhase.ENDED and not self.released

    @property
    def width(self) -> int:
        """Its size in the units of `Packing`."""
        return self.request.width

    @property
    def ends_at(self) -> float:
        """When a running job reaches its walltime."""
        walltime_s = self.request.per_node.walltime_s
        return math.inf if walltime_s is None or self.started_at is None else self.started_at + walltime_s

    def core_s(self, now: float) -> float:
        """The core-seconds that it has held until now."""
        if self.started_at is None:
            return 0.0
        each = self.request.per_node
        since = max(self.started_at, self.shrunk_at)
        until = now if self.ended_at is None else self.ended_at
        return self.core_s_before + each.cores * each.nodes * max(0.0, until - since)

    @property
    def waited_s(self) -> float | None:
        """Its queue wait, from its submission, admission or predecessor's end, if that was later; None: not known."""
        before = self.predecessor
        after, after_ended_at = (None, None) if before is None else (before.tag, before.ended_at)
        since = eligible_at(self.submitted_at, after, after_ended_at, self.admitted_at)
        return None if since is None or self.started_at is None else max(0.0, self.started_at - since)

    @property
    def expected_start(self) -> float:
        """When the plan expected the job to start."""
        return self.submitted_at + (self.expected_wait_s or 0.0)


class View(Struct, frozen=True):
    """What a planner sees of the run: the tasks with one wish, and the jobs for them."""

    uid: str
    submitted: int  # jobs of the run so far, also those for other tasks
    unfinished: int  # tasks that may still have to run
    wanting: int  # tasks that need a node now
    jobs: Mapping[str, JobStatus]  # by tag, in the order of submission
    live: Sequence[JobStatus]  # the jobs that wait or run
    limits: LimitsRead
    queue: QueueRead | None  # the last snapshot of the batch queue; None: the queue has changed since, or was not read
    workflow: Workflow
    placeable: Collection[str]  # tasks that only need a node, in the order in which they became so
    is_over: Callable[[str], bool]  # whether a task has succeeded, failed for good or been cut off
    is_near: Callable[[str], bool]  # whether a task is planned now, and not with another wish or after such tasks
    is_running: Callable[[str], bool]  # whether a task is running
    runs_in: Callable[[str], str | None]  # the tag of the job in which a task is running
    ran_s: Callable[[str], float]  # how long the running attempt of a task has been running; 0 if there is none
    ended_jobs: Callable[[str], int]  # how many jobs for a task have ended
    cut_off: Callable[[str], int]  # how often a task was running when its job reached its walltime
    is_busy: Callable[[str], bool]  # whether a job has tasks running
    idle_nodes: Callable[[str], list[str]]  # the nodes of a running job that it can give back
    tasks_per_node: Callable[[], int]  # how many of the tasks that want to run share a node
    needs: Callable[[Sequence[Task]], dict[str, Need]]  # what tasks need on a node, by category
    is_large: Callable[[Task], bool]  # whether a task needs more than a usual node has
    wakes_at: float | None  # when the planner will be called again even if nothing happens
    alarm_set_at: float | None  # when that was decided
    stopping: bool  # whether nothing new is to be started
    share_is_over: Callable[[str], bool] = lambda share: False  # whether no task of a share may still have to run
    shares: tuple[str, ...] = ()  # of a pool, if this is the view of some of its workflows
    rest: Sequence[Task] | None = None  # the tasks that remain, if they are known
    checkpointing: Collection[str] = ()  # running tasks that get notice before their job ends, and go on in another
    saved_s: Callable[[str], float] = lambda task_id: 0.0  # how long a task ran before the checkpoint it goes on from
    attempt: Callable[[str], tuple[int, bool]] = lambda task_id: (0, False)  # the running one; whether it has notice
    opening_s: float = 0.0  # how much longer a job must last because its nodes take long to answer
    foreseen: Sequence[Task] = ()  # of a pool: stand for tasks that its workflows will hand over later

    @property
    def is_full(self) -> bool:
        """Whether the site's limit on jobs is reached."""
        return self.limits.most_jobs is not None and len(self.live) >= self.limits.most_jobs

    def of(self, shares: tuple[str, ...], tasks: Sequence[Task], live: Sequence[JobStatus], workflows: int) -> View:
        """The view of some workflows of a pool, as if there were no others."""
        mine = set(shares)
        rest = [task for task in tasks if task.terms.share in mine]
        jobs = {tag: job for tag, job in self.jobs.items() if not mine.isdisjoint(job.shares)}
        each = self.limits.most_jobs_each
        most = self.limits.most_jobs
        if each is None and most is not None:
            each = max(2, most // workflows)
        limit = None if each is None else each * len(shares)
        if limit is not None and most is not None:
            limit = min(limit, most - len(self.live) + len([job for job in jobs.values() if job.live]))
        of_all = self.workflow.tasks
        return structs.replace(
            self,
            unfinished=len(rest),
            jobs=jobs,
            live=[job for job in live if job.tag in jobs],
            limits=structs.replace(self.limits, most_jobs=limit),
            placeable=[task_id for task_id in self.placeable if of_all[task_id].terms.share in mine],
            shares=shares,
            rest=rest,
        )

    @property
    def most_nodes(self) -> int:
        """The most nodes that a job can have: the site's limit, or fewer while nodes are down."""
        most = self.limits.limits
        if self.queue is None:
            return most.nodes
        return max(1, min(most.nodes, int(max(Packing(most, most.nodes).in_units(self.queue).free))))

    @property
    def expired(self) -> int:
        """How many jobs have ended without being released: they were too short."""
        ended = [job for job in self.jobs.values() if job.phase is JobPhase.ENDED]
        return sum(not job.released and not job.excused for job in ended)

    def remaining(self) -> list[Task]:
        """The tasks that are not over and are to run, parents first."""
        if self.stopping:
            return []
        if self.rest is not None:
            return list(self.rest)
        tasks, ids = self.workflow.tasks, self.workflow.topological()
        return [tasks[task_id] for task_id in ids if not self.is_over(task_id) and self.is_near(task_id)]

    def fits_s(self, estimate: Estimate, task: Task) -> float:
        """How much time of a job a task needs to be started there."""
        return longer_s(estimate(task), self.cut_off(task.id), self.limits.limits.walltime_s)

    def work(self) -> list[Task]:
        """The tasks that remain, and those that stand for what is foreseen."""
        return [*self.remaining(), *self.foreseen]

    @property
    def _chooses(self) -> bool:
        """Whether a job's shape depends on its tasks."""
        return self.limits.shares or bool(self.limits.larger)

    def packing(self, tasks: Sequence[Task]) -> Packing:
        """What jobs for these tasks ask for: shares of nodes where the site allows that, whole nodes otherwise."""
        return structs.replace(self._packing(tasks), opening_s=self.opening_s)

    def _packing(self, tasks: Sequence[Task]) -> Packing:
        usual = self.limits.limits
        narrow = bool(tasks) and all(task.nodes == 1 for task in tasks)
        if not narrow or not self._chooses:
            return Packing(usual, self.most_nodes, self.tasks_per_node())
        needs = self.needs(tasks)
        node = self.limits.nodes_for(largest_of(needs.values()))
        if self.limits.shares:
            return shares(node, self.queue if node is usual else None, needs)
        return Packing(node, self.most_nodes if node is usual else node.nodes, self.tasks_per_node())

    def without_large(self, tasks: Sequence[Task]) -> tuple[list[Task], list[Task]]:
        """The tasks that fit on usual nodes, and those that need more, where there are larger nodes."""
        if not self.limits.larger:
            return list(tasks), []
        usual: list[Task] = []
        large: list[Task] = []
        for task in tasks:
            (large if task.nodes == 1 and self.is_large(task) else usual).append(task)
        return usual, large

    def request(self, nodes: int, walltime_s: float, tasks: Sequence[Task] = ()) -> JobRequest:
        """A request within the site's limits: for whole nodes, or for `tasks` a share where the site allows it."""
        usual = Packing(self.limits.limits, nodes, opening_s=self.opening_s)
        packing = self.packing(tasks) if tasks and self._chooses else usual
        return packing.request(nodes, walltime_s)

    def has_served(self, job: JobStatus) -> bool:
        """Whether all tasks of the shares of a pool that a job was sized for are over."""
        return bool(job.shares) and all(map(self.share_is_over, job.shares))

    def next_tag(self, offset: int = 0) -> str:
        """The tag of the next job, or of the job `offset` places after it."""
        return f"headway-{self.uid}-{self.submitted + 1 + offset}"


class Planner(ABC):
    """Submits jobs and releases them. The engine calls it whenever something has happened.

    A planner has no state except what `observe` and `learn` taught it: every decision follows from the view, so that a
    resumed run goes on as the original would have. What a planner intends with a job it states in the fields of
    `Submit`, where it finds them again in `JobStatus`. A planner that needs queue waits decides `AskQueue` and is
    called again with the answer in `view.queue`.
    """

    name: str

    @abstractmethod
    def plan(self, view: View, now: float) -> list[Decision]:
        """The submissions and releases that are due now."""

    def expected_s(self, task: Task) -> float | None:
        """The expected run time of a task, or None. No task starts in a job that ends before the task would."""
        return None

    def prefer(self, preference: Preference) -> None:
        """Weigh time against core-hours in this way; a plan that has no choice ignores it."""

    def wait_s(self, jobs: Sequence[JobStatus]) -> float | None:
        """How long the queue would let jobs like these wait that were submitted now, or None if that is not known."""
        return None

    def observe(self, job: JobStatus) -> None:
        """Learn from a job of this run that has just started or ended."""

    def learn(self, waits: Sequence[SeenWait]) -> None:
        """Learn from the queue waits of other runs and users."""


def known_run_times(run_s: Mapping[str, float], otherwise_s: float) -> Estimate:
    """An `Estimate` that looks up run times by task id."""
    return partial(_look_up, run_s, otherwise_s)


def _look_up(run_s: Mapping[str, float], otherwise_s: float, task: Task) -> float:
    return run_s.get(task.id, otherwise_s)
