"""The records of a run: every event and every decision, and their codec.

Events are facts from outside; decisions are what the engine made of them. Together, in order, they are the run:
applying all of them again rebuilds the same state. Each carries the time at which it was written (`at`, seconds).
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any, Literal

import msgspec
from msgspec import Struct, field, structs

from headway.model.job import JobPhase, JobRequest
from headway.model.observation import Observation
from headway.model.outcome import Outcome, Stamp
from headway.model.resources import Resources
from headway.model.task import Fingerprint, Task

Figure = float | str | None


class Why(Struct, frozen=True, omit_defaults=True, gc=False):
    """Why a policy chose what it chose: the rule it followed and the figures it followed it with.

    `text` is the sentence for people; rule and figures suffice to compute the choice again.
    """

    policy: str
    rule: str
    figures: dict[str, Figure] = field(default_factory=dict)
    text: str = ""


class Known(Struct, frozen=True, gc=False):
    """A success that an earlier run left: its fingerprint says what it is the result of."""

    task: str
    fingerprint: Fingerprint
    run: str
    outputs: dict[str, Stamp] = {}


class HistoryKey(Struct, frozen=True):
    """Where what a run teaches is kept: in which history, as seen on which site, by a workflow of which name."""

    place: str
    site: str
    workflow: str


class Record(Struct, frozen=True, omit_defaults=True, tag_field="kind", gc=False):
    """A line of the journal."""

    at: float


# --- events: facts from outside ---


class RunStarted(Record, frozen=True, tag="run-started"):
    """The first record: what is run, by which policies, with which settings."""

    run: str
    uid: str
    name: str
    directory: str
    source: str
    version: str
    sizer: str
    order: str
    seed: int = 0
    keep_going: bool = False
    again: bool = False
    stated: dict[str, float] = field(default_factory=dict)  # the part of the machine that may be used
    growing: bool = False  # tasks are added while it runs: it is not over before `NoMoreTasks`
    history: HistoryKey | None = None  # None: what it teaches is kept nowhere
    fresh: bool = False  # what earlier runs taught does not count
    cluster: str = "local"
    plan: str = ""  # which allocations are asked for, and when; none: one of everything, as on the local machine
    batch: dict[str, str] = field(default_factory=dict)  # what the batch system is told beyond sizes


class ResultsKnown(Record, frozen=True, tag="results-known"):
    """What earlier runs in this directory left behind."""

    results: list[Known]


class HistoryRead(Record, frozen=True, tag="history-read"):
    """What earlier runs taught, oldest first."""

    observations: list[Observation]


class StateRead(Record, frozen=True, tag="state-read"):
    """What a policy had learned when earlier runs ended: `sizer/NAME/WORKFLOW`, and its state."""

    name: str
    state: dict[str, Any]


class TasksAdded(Record, frozen=True, tag="tasks-added"):
    """The workflow, or what it grew by."""

    tasks: list[Task]


class NoMoreTasks(Record, frozen=True, tag="no-more-tasks"):
    """Whoever let the workflow grow is done; tasks that are running may still add some."""


class TaskWithdrawn(Record, frozen=True, tag="task-withdrawn"):
    """Nobody wants the task's result any more."""

    task: str


class TaskWaits(Record, frozen=True, tag="task-waits"):
    """A running attempt waits for other tasks, or goes on. While it waits, they may have what it was given."""

    task: str
    attempt: int
    waits: bool


class LimitsRead(Record, frozen=True, tag="limits-read"):
    """The most that one task can ever get here, on how many nodes, and how many jobs one may have in the queue."""

    limits: Resources
    most_jobs: int | None = None


class JobState(Record, frozen=True, tag="job-state"):
    """What is known of a job now."""

    tag: str
    phase: JobPhase
    message: str = ""
    since: float | None = None  # when it started or ended, if that was before it was known


class NodeUp(Record, frozen=True, tag="node-up"):
    """A node of a live allocation is ready for tasks."""

    node: str
    tag: str
    capacity: Resources


class NodeLost(Record, frozen=True, tag="node-lost"):
    """A node is gone; what ran there and left no result runs again elsewhere."""

    node: str
    message: str = ""
    expired: bool = False  # its allocation ended when it was meant to: nobody is to blame


class QueueRead(Record, frozen=True, tag="queue-read"):
    """A look at the batch queue: from when on how many nodes are free, if everybody takes as long as they asked for and
    nobody comes. The last holds for ever."""

    times: list[float]
    free: list[float]
    nodes: list[str] = field(default_factory=list)  # which ones, as hexadecimal numbers; none: only their number counts
    contiguous: bool = False  # whether jobs get neighbours only
    reserves: bool = False  # whether a job that waits for another's end has a place in the plan

    def as_of(self, now: float) -> QueueRead:
        """The same look, some time later: what was to happen meanwhile has happened.

        >>> QueueRead(0.0, [0.0, 5.0, 20.0], [1.0, 2.0, 8.0]).as_of(10.0)
        QueueRead(at=10.0, times=[10.0, 20.0], free=[2.0, 8.0], nodes=[], contiguous=False, reserves=False)
        """
        past = max(0, bisect_right(self.times, now) - 1)
        times = [max(now, self.times[past]), *self.times[past + 1 :]]
        return structs.replace(self, at=now, times=times, free=self.free[past:], nodes=self.nodes[past:])


class SeenWait(Struct, frozen=True, array_like=True, gc=False):
    """How long a job of anybody's waited, and how long the scheduler's plan had said it would (None: nobody asked)."""

    nodes: int
    asked_s: float
    estimate_s: float | None
    waited_s: float


class WaitsRead(Record, frozen=True, tag="waits-read"):
    """How long jobs have waited lately, oldest first."""

    waits: list[SeenWait]


class CallsCounted(Record, frozen=True, tag="calls-counted"):
    """How often a manager has called each of the batch system's commands, told when it has done its work."""

    calls: dict[str, int]


class Tick(Record, frozen=True, tag="tick"):
    """The time has come that somebody wanted to be woken at."""


class InputsRead(Record, frozen=True, tag="inputs-read"):
    """A look at a ready task's files."""

    task: str
    input_bytes: int = 0
    digests: dict[str, str] = field(default_factory=dict)
    missing_inputs: list[str] = field(default_factory=list)
    missing_outputs: list[str] = field(default_factory=list)
    outputs: dict[str, Stamp] = field(default_factory=dict)  # what those that exist look like


class TaskEnded(Record, frozen=True, tag="task-ended"):
    """An attempt ended; if it succeeded, its outputs are already in their place."""

    outcome: Outcome
    inputs_moved: bool = False  # an input was changed after it was looked at: who knows what this is the result of


class UserCancel(Record, frozen=True, tag="user-cancel"):
    """The user wants to stop: `gently` lets running tasks end, `now` does not."""

    mode: Literal["gently", "now"]


class Resumed(Record, frozen=True, tag="resumed"):
    """A new manager took over; an earlier wish to stop is void."""

    version: str


# --- decisions: what the engine made of them ---


class Submit(Record, frozen=True, tag="submit"):
    """Ask the cluster for an allocation. The tag finds it again after a crash."""

    tag: str
    request: JobRequest
    why: Why
    tasks: tuple[str, ...] = ()  # the only ones that may run on it; none: anybody
    expected_s: float | None = None  # how long it is thought to be needed
    after: str | None = None  # the job whose end it waits for in the queue


class AskQueue(Record, frozen=True, tag="ask-queue"):
    """Look at the batch queue: somebody has to know how long a job would wait."""


class WakeAt(Record, frozen=True, tag="wake-at"):
    """Nothing is to be done now, but then."""

    until: float
    why: Why


class Release(Record, frozen=True, tag="release"):
    """Give an allocation back."""

    tag: str
    why: Why


class ReadInputs(Record, frozen=True, tag="read-inputs"):
    """Look at a ready task's files: do they exist, how large are they, have they changed?"""

    task: str


class Reuse(Record, frozen=True, tag="reuse"):
    """An earlier run's result stands; the task need not run."""

    task: str
    run: str


class Launch(Record, frozen=True, tag="launch"):
    """Run an attempt on a node, with these resources and no more."""

    task: str
    attempt: int
    node: str
    tag: str
    resources: Resources
    because: str  # why it runs at all
    why: dict[str, Why]  # why that much, by resource
    ticket: dict[str, Figure] = field(default_factory=dict)  # what the allocator needs to learn from the outcome
    overtook: str | None = None  # the ready task ahead of it that did not fit
    also: tuple[str, ...] = ()  # further nodes of the same job that it spans, each with these resources


class Kill(Record, frozen=True, tag="kill"):
    """Stop a running attempt."""

    task: str
    attempt: int
    why: Why


class GiveUp(Record, frozen=True, tag="give-up"):
    """The task has failed for good; what depends on it cannot run."""

    task: str
    why: Why


class Finish(Record, frozen=True, tag="finish"):
    """The run is over, or stopped in a state that can be resumed."""

    status: Literal["succeeded", "failed", "stopped"]


Event = (
    RunStarted
    | ResultsKnown
    | HistoryRead
    | StateRead
    | TasksAdded
    | NoMoreTasks
    | TaskWithdrawn
    | TaskWaits
    | LimitsRead
    | JobState
    | NodeUp
    | NodeLost
    | QueueRead
    | WaitsRead
    | CallsCounted
    | Tick
    | InputsRead
    | TaskEnded
    | UserCancel
    | Resumed
)
Decision = Submit | AskQueue | WakeAt | Release | ReadInputs | Reuse | Launch | Kill | GiveUp | Finish

_ENCODER = msgspec.json.Encoder()
_DECODER: msgspec.json.Decoder[Event | Decision] = msgspec.json.Decoder(Event | Decision)


def encode(record: Event | Decision) -> bytes:
    """The record as one JSON object."""
    return _ENCODER.encode(record)


def decode(line: bytes) -> Event | Decision:
    """The record that `encode` wrote; fields that a later version added are passed over."""
    return _DECODER.decode(line)


def kind(record: Event | Decision) -> str:
    """The record's name in the journal, such as `launch`."""
    return str(type(record).__struct_config__.tag)


def task_of(record: Event | Decision) -> str | None:
    """The task that the record is about, if it is about one."""
    return record.outcome.task if isinstance(record, TaskEnded) else getattr(record, "task", None)
