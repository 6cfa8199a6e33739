"""The records of a run: every event and every decision; `codec` writes them as lines.

Events are facts from outside; decisions are the engine's answers to them. A journal holds both in order, and applying
all of them again rebuilds the state of the run. Every record carries the time at which it was written (`at`, seconds).

A decision says what it intends in typed fields. Its `Why` only explains it to people: no code may decide by one.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, field, structs

from headway.model.coming import Coming
from headway.model.deferred import Deferred
from headway.model.devices import Device
from headway.model.job import JobPhase, JobRequest, Wish
from headway.model.observation import Observation
from headway.model.origin import NO_ORIGIN, Origin
from headway.model.outcome import Outcome, Stamp
from headway.model.resources import Resources
from headway.model.share import Share
from headway.model.task import Fingerprint, Task

Figure = float | str | None
_MOVED_S, _MOVED = 300.0, 0.1  # a planned start has moved: by more than this, and by more than this share of the wait

# What a job is for:
# "whole-run": all nodes that the run uses, for as long as it has work; "stage": a group of levels of the workflow;
# "single-task": one task; "anchor": all remaining work, or one job of a chain that does all of it;
# "filler" and "small-filler" (one node): whatever can run before the anchor starts; "ahead": what a later stage needs;
# "side": a node of a wide stage, beside a narrow anchor, on whose end it depends until it is admitted;
# "continuation": one task that checkpoints, whose present job ends before the task does;
# "unstated": the planner knows no roles.
JobRole = Literal[
    "unstated", "whole-run", "stage", "single-task", "anchor", "filler", "small-filler", "ahead", "side", "continuation"
]


# Names of folders and marks of processes are made from these, also from those in a journal that somebody else wrote.
Tag = Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,199}\Z")]
Uid = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
RunNumber = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{0,64}\Z")]
Time = Annotated[float, Meta(ge=-1e11, le=1e11)]  # seconds: some thousand years


class Why(Struct, frozen=True, omit_defaults=True, gc=False):
    """The explanation of a decision: which policy made it, by which rule, from which figures.

    Rule and figures suffice to recompute the choice; `text` says it in a sentence. For display only: a run goes on the
    same way when every `Why` is empty.
    """

    policy: str
    rule: str
    figures: dict[str, Figure] = field(default_factory=dict)
    text: str = ""


REMOVED = "(removed)"  # stands for a secret


class ChosenSetting(Struct, frozen=True, gc=False):
    """A setting that a run did not leave at its default, without secrets.

    `name` is the option's, without dashes. `--set genome=hg38` has the name `set` and the value `genome=hg38`.
    `place` is the environment variable or the file.
    """

    name: str
    value: str
    origin: Literal["command line", "program", "environment", "file"]
    place: str = ""


class Known(Struct, frozen=True, omit_defaults=True, gc=False):
    """A result of an earlier run; the fingerprint identifies the command and the inputs that it was made from.

    `config_changes` tells people which values of the workflow's `config` have changed since, if these changes are all
    that changed the task; else it is empty.
    """

    task: str
    fingerprint: Fingerprint
    run: str
    outputs: dict[str, Stamp] = {}
    temp: dict[str, str] = {}  # digests of what other tasks read of its temporary outputs
    owner: str | None = None  # the workflow that has this task now; empty: none has it; None: not recorded
    config_changes: str = ""


class HistoryKey(Struct, frozen=True):
    """Where a run keeps what it learns: the history's location, the site, the workflow's name, and its origin."""

    place: str
    site: str
    workflow: str
    origin: Origin = NO_ORIGIN


class Record(Struct, frozen=True, omit_defaults=True, tag_field="kind", gc=False):
    """One line of the journal."""

    at: Time


class Event(Record, frozen=True):
    """A fact from outside."""


class Decision(Record, frozen=True):
    """An answer of the engine to the facts so far."""


# --- events ---


class RunStarted(Event, frozen=True, tag="run-started"):
    """The first record of a run: its workflow, policies and settings."""

    run: RunNumber
    uid: Uid
    name: str
    directory: str
    source: str
    version: str
    sizer: str
    order: str
    seed: int = 0
    keep_going: bool = False
    again: bool = False
    stated: dict[str, float] = field(default_factory=dict)  # the part of the machine that the run may use
    growing: bool = False  # tasks are added while it runs; the run ends only after `NoMoreTasks`
    history: HistoryKey | None = None  # None: nothing is kept for later runs
    fresh: bool = False  # ignore what earlier runs learned
    cluster: str = "local"
    plan: str = ""  # name of the planner; empty: one allocation of the whole machine
    batch: dict[str, str] = field(default_factory=dict)  # options for the batch system besides sizes
    warnings: tuple[str, ...] = ()  # about the workflow, when the run started
    failures: float = 1.0  # share of attempts that may fail once a category is known; 1: any
    tasks: tuple[str, ...] = ()  # what the user asked for: only these tasks and what they need; empty: all
    until: tuple[str, ...] = ()  # nothing that comes after these
    force: tuple[str, ...] = ()  # ids of tasks that run although nothing changed
    left_out: tuple[str, ...] = ()  # outputs of tasks that are not part of this run
    owner: str = ""  # the workflow's name as the owner of files: its file, or that it was built in code
    # Files that earlier runs made and no task of this workflow makes, and which workflow makes them now (empty: none).
    strays: dict[str, str] = field(default_factory=dict)
    kept: tuple[str, ...] = ()  # temporary outputs that tasks read which are not part of this run
    prefer: str = ""  # what an hour sooner is worth: time, balanced, cost or a number of core-hours; empty: balanced
    budget: float | None = None  # the core-hours that its jobs may hold; None: any number
    shares: dict[str, Share] = field(default_factory=dict)  # by name: weights and limits of those that use a pool
    made_with: dict[str, str] = field(default_factory=dict)  # versions and machine of the manager, for people
    only: tuple[str, ...] = ()  # only tasks with these values in their columns, `sample=s1,s2`, and what they need
    file: str = ""  # the workflow file, from the workflow's directory; empty: there is none, or it was not recorded
    chosen: tuple[ChosenSetting, ...] = ()  # the settings that took effect besides defaults, for people
    config: dict[str, str | list[str]] = field(default_factory=dict)  # that the workflow used, without secrets
    stand_ins: tuple[float, ...] = ()  # of `--synthetic`: the factors of time, memory and bytes
    sandbox: str = ""  # strict: every task in a sandbox sees its inputs only; otherwise as the workflow says
    check_inputs: bool = False  # a task that looked for a file besides its inputs runs again and sees that file, too
    # What tasks may make that become known while a run goes on, by entry of the whole file: see `DeferredBlock.makes`.
    to_come: dict[str, tuple[str, ...]] | None = None  # None: not recorded

    @property
    def orphans(self) -> list[str]:
        """Files that earlier runs made and that belonged to no workflow when the run started."""
        return [path for path, owner in self.strays.items() if not owner]

    @property
    def partial(self) -> bool:
        """Whether the run is only of a part of the workflow."""
        return bool(self.tasks or self.until or self.only)


class ResultsKnown(Event, frozen=True, tag="results-known"):
    """Results of earlier runs in this directory, and other files that these runs made."""

    results: list[Known]
    former: dict[str, Stamp] = field(default_factory=dict)  # files whose task has no known result, or other outputs now
    unfinished: dict[str, Fingerprint] = field(default_factory=dict)  # tasks that began to write in place
    others: list[Known] = field(default_factory=list)  # results of other workflow files here
    older: dict[str, list[str]] = field(default_factory=dict)  # digests of what files held before, oldest first
    theirs: dict[str, list[str]] = field(default_factory=dict)  # see `InputsRead`


class HistoryRead(Event, frozen=True, tag="history-read"):
    """Observations from earlier runs, oldest first."""

    observations: list[Observation]


class TaskReported(Event, frozen=True, tag="task-reported"):
    """An attempt that another program made, as that program measured it: this run and later ones learn from it."""

    observation: Observation


class StateRead(Event, frozen=True, tag="state-read"):
    """The saved state of a learning policy from earlier runs, named `sizer/NAME/WORKFLOW`."""

    name: str
    state: dict[str, Any]


class TasksAdded(Event, frozen=True, tag="tasks-added"):
    """The tasks of the workflow, or tasks added to it later."""

    tasks: list[Task]
    expands: tuple[str, ...] = ()  # deferred entries of the workflow file, whose tasks are now known
    problem: str = ""  # why such an entry cannot become tasks: the one task stands for it, and fails
    left_out: dict[str, str] = field(default_factory=dict)  # outputs of its tasks that are not part of this run


class TasksDeferred(Event, frozen=True, tag="tasks-deferred"):
    """Entries of the workflow file that become tasks when other tasks have made what they are made of."""

    deferred: Deferred


class QuoteAsked(Event, frozen=True, tag="quote-asked"):
    """A program asks what a task would be given, and will add the task with that quote.

    `failures` are amounts that were not enough for earlier tasks that did the same, by resource, oldest first. A task
    that runs `elsewhere` is not added, and has no other limits than its own.
    """

    quote: str
    wanted: Task
    failures: dict[str, list[float]] = field(default_factory=dict)
    elsewhere: bool = False


class NoMoreTasks(Event, frozen=True, tag="no-more-tasks"):
    """The program that adds tasks has added its last; running tasks may still add some."""


class TaskWithdrawn(Event, frozen=True, tag="task-withdrawn"):
    """The task's result is no longer wanted: its future was cancelled."""

    task: str


class ShareSet(Event, frozen=True, tag="share-set"):
    """A share of a pool has other terms from now on: a member was invited, or is one no more."""

    share: str
    terms: Share


class WorkForeseen(Event, frozen=True, tag="work-foreseen"):
    """What a workflow of a pool will hand over later, in place of what it said before."""

    share: str
    coming: tuple[Coming, ...] = ()


class TaskWaits(Event, frozen=True, tag="task-waits"):
    """A running attempt starts or stops waiting for other tasks. While it waits, they may use its resources."""

    task: str
    attempt: int
    waits: bool


class LimitsRead(Event, frozen=True, tag="limits-read"):
    """The site's limits: the most that a task can get on a usual node, the nodes of a job, and the jobs of a user."""

    limits: Resources
    most_jobs: int | None = None
    lends: bool = False  # tasks may use memory and disk that no other task holds
    shares: bool = False  # a job may have a share of a node; other jobs may have the rest
    larger: tuple[Resources, ...] = ()  # nodes with more of something than `limits`, for tasks that need it
    preempts: bool = False  # other jobs may take the nodes of some jobs away
    wish: Wish | None = None  # for tasks with this wish
    shrinks: bool = False  # a running job may give back some of its nodes
    admits: bool = False  # a job that depends on another keeps its rank in the queue, and may be admitted early
    most_jobs_each: int | None = None  # of each workflow of a pool; None: an equal part of `most_jobs`

    def nodes_for(self, needed: Resources) -> Resources:
        """The first kind of node that has what is needed; the usual one if none has."""
        usual = self.limits
        return next((kind for kind in (usual, *self.larger) if needed.fits_in(kind.replace(walltime_s=None))), usual)


class JobState(Event, frozen=True, tag="job-state"):
    """The current state of a job, as the batch system or the job itself reports it."""

    tag: str
    phase: JobPhase
    message: str = ""
    since: float | None = None  # when the job started or ended, if earlier than `at`
    excused: bool = False  # the batch system or a user ended it: it was not too short
    expired: bool = False  # it reached its walltime


class JobSeen(Event, frozen=True, tag="job-seen"):
    """What the batch system says of a job: why it waits, and that it runs, though none of its nodes may answer yet."""

    tag: str
    phase: JobPhase
    job_id: int | None = None  # None: it was not submitted yet
    message: str = ""  # why it waits, or which of its nodes are being drained
    held: bool = False  # it waits until somebody releases it
    planned_at: float | None = None  # when the batch system plans to start it
    walltime_s: float | None = None  # from its start to its end, if that is not what it asked for any more
    suspended: bool = False  # its processes are stopped until the batch system resumes it
    partition: str = ""
    why_there: str = ""  # why it is in that partition
    billing: float | None = None  # billing units that it holds while it runs; None: the site has no prices

    def is_news_after(self, before: JobSeen | None) -> bool:
        """Whether it says more than `before` did; a planned start that moves a little is no news."""
        if before is None or self._facts() != before._facts():
            return True
        if self.planned_at is None or before.planned_at is None:
            return self.planned_at is not before.planned_at
        return abs(self.planned_at - before.planned_at) > max(_MOVED_S, _MOVED * (self.planned_at - self.at))

    def _facts(self) -> tuple[object, ...]:
        return self.phase, self.job_id, self.message, self.suspended, self.walltime_s


class NodeUp(Event, frozen=True, tag="node-up"):
    """A node of a live allocation is ready for tasks; of one that is ready already, what it has from now on."""

    node: str
    tag: str
    capacity: Resources
    keeps_job: bool = False  # the job's own script runs there: it can be given back only with the whole job
    devices: tuple[Device, ...] = ()  # its GPUs; empty also where only their number is known


class NodeLost(Event, frozen=True, tag="node-lost"):
    """A node is gone; attempts that ran there and left no result run again elsewhere."""

    node: str
    message: str = ""
    expired: bool = False  # the allocation reached its walltime: not a failure of the node
    excused: bool = False  # the batch system or a user ended the job: not a failure of the node or of its tasks


class AttemptLost(Event, frozen=True, tag="attempt-lost"):
    """An attempt in a pool was lost with its node there and left no result; the task runs again."""

    task: str
    attempt: int
    message: str = ""
    expired: bool = False  # as in `NodeLost`
    excused: bool = False
    alone: bool = False  # nothing else was running on that node


class Shrunk(Event, frozen=True, tag="shrunk"):
    """The batch system has taken nodes of a running job back, as a `Shrink` wanted, or refuses to."""

    tag: str
    nodes: tuple[str, ...] = ()
    refused: str = ""  # its words: the job keeps its nodes, and no job of the run gives back any


class QueueRead(Event, frozen=True, tag="queue-read"):
    """A snapshot of the batch queue's plan: `free[i]` nodes or cores are free from `times[i]` to `times[i + 1]`.

    The plan assumes that every job runs for its whole walltime and that no further job is submitted.
    """

    times: list[float]
    free: list[float]
    nodes: list[str] = field(default_factory=list)  # bit masks of the free nodes, in hexadecimal; empty: only counts
    contiguous: bool = False  # a job gets only neighbouring nodes
    reserves: bool = False  # a job that depends on another's end has a reservation in the plan
    counts: Literal["nodes", "cores"] = (
        "nodes"  # cores: memory that others hold counts as cores, by its share of a node
    )
    wish: Wish | None = None  # where jobs with this wish go
    waiting: int | None = None  # jobs that wait for nodes
    ahead_s: float | None = None  # what they request, in seconds of the whole machine

    def as_of(self, now: float) -> QueueRead:
        """The same plan, with the times before `now` dropped.

        >>> read = QueueRead(0.0, [0.0, 5.0, 20.0], [1.0, 2.0, 8.0]).as_of(10.0)
        >>> read.at, read.times, read.free
        (10.0, [10.0, 20.0], [2.0, 8.0])
        """
        past = max(0, bisect_right(self.times, now) - 1)
        times = [max(now, self.times[past]), *self.times[past + 1 :]]
        return structs.replace(self, at=now, times=times, free=self.free[past:], nodes=self.nodes[past:])


class SeenWait(Struct, frozen=True, array_like=True, gc=False):
    """How long some user's job waited. `estimate_s`: the wait by the scheduler's plan at submission, if it was read."""

    nodes: int
    asked_s: float
    estimate_s: float | None
    waited_s: float


class WaitsRead(Event, frozen=True, tag="waits-read"):
    """Recent queue waits, oldest first."""

    waits: list[SeenWait]


class CallsCounted(Event, frozen=True, tag="calls-counted"):
    """How often a manager called each of the batch system's commands; written when the manager ends."""

    calls: dict[str, int]


class QueueUnread(Event, frozen=True, tag="queue-unread"):
    """Why no job can be planned now for tasks with a wish, or without one; without a message: one can again."""

    message: str
    wish: Wish | None = None


class EnvironmentMissing(Event, frozen=True, tag="environment-missing"):
    """The manager begins to create an environment that tasks wait for."""

    environment: str
    log: str  # the file with the output of the programs that create it


class Tick(Event, frozen=True, tag="tick"):
    """The time of a `WakeAt` has come."""


class InputsRead(Event, frozen=True, tag="inputs-read"):
    """The state of a ready task's files."""

    task: str
    input_bytes: int = 0
    digests: dict[str, str] = field(default_factory=dict)
    missing_inputs: list[str] = field(default_factory=list)
    missing_outputs: list[str] = field(default_factory=list)
    outputs: dict[str, Stamp] = field(default_factory=dict)  # size and time of the outputs that exist
    inputs: dict[str, Stamp] = field(default_factory=dict)  # size and time of the inputs when they were read
    deleted: list[str] = field(default_factory=list)  # inputs that were temporary: their makers' results stand
    # Outputs of a task in the workflow's directory that are there and that no run here made; of a directory, its files.
    theirs: dict[str, list[str]] = field(default_factory=dict)


class TaskEnded(Event, frozen=True, tag="task-ended"):
    """An attempt ended; if it succeeded, its outputs are already in place."""

    outcome: Outcome
    inputs_moved: bool = False  # an input changed after it was read: the result must not be reused


class Discarded(Event, frozen=True, tag="discarded"):
    """A temporary output was deleted."""

    task: str
    path: str


class UserCancel(Event, frozen=True, tag="user-cancel"):
    """The user stops the run: `gently` lets running tasks end, `now` kills them."""

    mode: Literal["gently", "now"]
    because: str = ""  # what the user did, if that was not to stop the run itself


class Resumed(Event, frozen=True, tag="resumed"):
    """A new manager took over the run; an earlier `UserCancel` no longer counts, unless it `relieves` another."""

    version: str
    growing: bool = False  # tasks are added again
    relieves: bool = False  # it goes on as the last one would have: the user has not asked for anything


# --- decisions ---


class Quote(Decision, frozen=True, tag="quote"):
    """The amounts that a task with this quote gets for its first attempt, exactly; None: it would fit nowhere."""

    quote: str
    resources: Resources | None
    why: dict[str, Why] = field(default_factory=dict)
    ticket: dict[str, Figure] = field(default_factory=dict)


class Submit(Decision, frozen=True, tag="submit"):
    """Submit a job. Its tag finds it again after a crash."""

    tag: Tag
    request: JobRequest
    why: Why
    tasks: tuple[str, ...] = ()  # the only tasks that may run in it; empty: any task
    expected_s: float | None = None  # how long the job is expected to be needed, once it has started
    after: Tag | None = None  # the tag of the job whose end this one waits for in the queue
    role: JobRole = "unstated"
    expected_wait_s: float | None = None  # the queue wait that the plan counts on
    wait_estimate_s: float | None = None  # the queue wait by the scheduler's own plan, as in `SeenWait`
    wait_ticket: dict[str, Figure] = field(default_factory=dict)  # what the wait model needs to learn from the wait
    shares: tuple[str, ...] = ()  # of a pool, whose tasks it was sized for, though any may run in it; empty: all
    meant_for: tuple[str, ...] = ()  # the tasks that a side job was sized for, though any may run in it


class AskQueue(Decision, frozen=True, tag="ask-queue"):
    """Read the batch queue; `QueueRead` answers."""

    wish: Wish | None = None  # where jobs with this wish go


class WakeAt(Decision, frozen=True, tag="wake-at"):
    """Call the planner again at `until`, even if nothing happens before."""

    until: float
    why: Why
    wish: Wish | None = None  # for tasks with this wish


class Release(Decision, frozen=True, tag="release"):
    """Cancel a job, waiting or running."""

    tag: str
    why: Why
    too_early: bool = False  # the job started before its tasks could, and will be submitted again


class Admit(Decision, frozen=True, tag="admit"):
    """Let a waiting job start before the job that it depends on has ended."""

    tag: str
    why: Why


class Shrink(Decision, frozen=True, tag="shrink"):
    """Give back some nodes of a running job, on which nothing runs; the job goes on with the others."""

    tag: str
    nodes: tuple[str, ...]
    why: Why


class BudgetUsed(Decision, frozen=True, tag="budget-used"):
    """Start nothing more: jobs have held all the core-hours that the run may have, or it is known to need more."""

    held: float  # core-hours so far
    needed: float = 0.0  # by all that is left, as far as that is known


class AvoidNode(Decision, frozen=True, tag="avoid-node"):
    """Start nothing on this machine, and ask for jobs without it, until a time."""

    node: str  # as the batch system names it
    until: float
    why: Why


class Expand(Decision, frozen=True, tag="expand"):
    """Turn a deferred entry of the workflow file into tasks; `TasksAdded` answers."""

    block: str


class ReadInputs(Decision, frozen=True, tag="read-inputs"):
    """Read the state of a ready task's files: whether they exist, their sizes and digests."""

    task: str


class Reuse(Decision, frozen=True, tag="reuse"):
    """Take an earlier run's result; the task need not run."""

    task: str
    run: RunNumber


class Remake(Decision, frozen=True, tag="remake"):
    """Run a task whose result stands: a task has to run that reads one of its temporary outputs, which are gone."""

    task: str
    reader: str


class Discard(Decision, frozen=True, tag="discard"):
    """Delete a temporary output: all tasks that read it have succeeded. `Discarded` answers."""

    task: str
    path: str


class Launch(Decision, frozen=True, tag="launch"):
    """Start an attempt on a node, which holds these resources for it."""

    task: str
    attempt: int
    node: str
    tag: str
    resources: Resources
    because: str  # why the task has to run at all
    why: dict[str, Why] = field(default_factory=dict)  # why that amount, by resource
    ticket: dict[str, Figure] = field(default_factory=dict)  # what the allocator needs to learn from the outcome
    overtook: str | None = None  # the ready task ahead of it that did not fit
    also: tuple[str, ...] = ()  # further nodes of the same job, each with these resources
    ceiling: Resources | None = None  # what it may use, if that is more than what is held for it
    remake: bool = False  # only temporary outputs that are gone are made; they count as what they were
    devices: tuple[str, ...] = ()  # the GPUs that it holds, by id, where the node's are known


class Kill(Decision, frozen=True, tag="kill"):
    """Stop a running attempt."""

    task: str
    attempt: int
    why: Why


class GiveNotice(Decision, frozen=True, tag="give-notice"):
    """Tell a running attempt to save its checkpoint and end: the task goes on in another job."""

    task: str
    attempt: int
    why: Why


class GiveUp(Decision, frozen=True, tag="give-up"):
    """Fail a task for good; tasks that depend on it cannot run.

    One that is `handed_back` ran out of something, and the program that added it submits it again with more: the run
    has not failed.
    """

    task: str
    why: Why
    handed_back: bool = False


class Finish(Decision, frozen=True, tag="finish"):
    """End the run: it is over, or stopped in a state that can be resumed."""

    status: Literal["succeeded", "failed", "stopped"]


KINDS: list[type[Event | Decision]] = [*Event.__subclasses__(), *Decision.__subclasses__()]


def kind(record: Event | Decision) -> str:
    """The record's name in the journal, such as `launch`."""
    return str(type(record).__struct_config__.tag)


def task_of(record: Event | Decision) -> str | None:
    """The task that the record is about, if it is about one."""
    return record.outcome.task if isinstance(record, TaskEnded) else getattr(record, "task", None)
