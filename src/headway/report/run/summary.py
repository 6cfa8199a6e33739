"""`RunSummary`: the figures of a run, updated with each of its records."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterable
from typing import Any, Self

from msgspec import Struct, field

from headway.journal.base import Journal
from headway.journal.story.jobs import Jobs
from headway.model import records
from headway.model.deferred import DeferredBlock
from headway.model.job import Wish
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event, Launch, RunStarted, Why, kind
from headway.model.resources import Resources
from headway.report.run.figures import Figures


class Failure(Struct, frozen=True):
    """A task that failed for good: why, and the number of its last attempt (0 if it had none)."""

    task: str
    category: str
    why: Why
    attempt: int


class RunSummary(Struct, dict=True):
    """Give it the run's records in order with `apply`; every figure is up to date after each record.

    The live display, the end table, `status` and `run --json` all read this summary. Memory per task is small: category
    and children, and more only for tasks that are running, failed, or waiting for another attempt. Outcomes are added
    to the totals and not kept. All of it can be saved, as `saved_summary` does.
    """

    settings: RunStarted | None = None
    categories: dict[str, Figures] = field(default_factory=dict)
    limits: Resources = field(default_factory=Resources)
    learned_from: int = 0  # number of attempts of earlier runs in the history
    capacity: dict[str, tuple[str, Resources]] = field(default_factory=dict)  # by node: its job's tag, its resources
    running: dict[str, Launch] = field(default_factory=dict)
    troubles: dict[str, Outcome] = field(default_factory=dict)  # the failed last attempt of tasks that wait for another
    failures: dict[str, Failure] = field(default_factory=dict)
    reasons: dict[tuple[str, str], int] = field(default_factory=dict)  # number of tasks by (category, why they ran)
    jobs: Jobs = field(default_factory=Jobs)
    calls: dict[str, int] = field(default_factory=dict)  # of each batch system command
    avoided: dict[str, records.AvoidNode] = field(default_factory=dict)  # by node
    unread: dict[Wish | None, records.QueueUnread] = field(default_factory=dict)  # why no job can be planned now
    stopping: str | None = None
    over_budget: records.BudgetUsed | None = None
    finished: str | None = None
    last_at: float = 0.0
    applied: int = 0  # records; `read` skips those that change no figure
    moved: set[str] = field(default_factory=set)  # tasks that succeeded although an input changed while they ran
    to_come: dict[str, DeferredBlock] = field(default_factory=dict)  # entries whose tasks are not known yet
    _category_of: dict[str, str] = field(default_factory=dict)
    _children: dict[str, list[str]] = field(default_factory=dict)
    _cut_off: set[str] = field(default_factory=set)
    _done: set[str] = field(default_factory=set)
    _reused: set[str] = field(default_factory=set)  # of these, the ones whose earlier result was reused
    _handed_back: set[str] = field(default_factory=set)  # of these, the ones that are submitted again by others
    _withdrawn: set[str] = field(default_factory=set)  # tasks that the user cancelled
    _works: set[str] = field(default_factory=set)  # tasks of a pool that stand for attempts of other runs
    _session_from: float = 0.0
    _earlier_sessions_s: float = 0.0

    def __post_init__(self) -> None:
        # A handler is named after its record: `_node_lost` handles `NodeLost`.
        self._handlers: dict[str, Callable[[Any], None]] = {
            tag: getattr(self, name)
            for tag in (str(each.__struct_config__.tag) for each in records.KINDS)
            if hasattr(self, name := f"_{tag.replace('-', '_')}")
        }
        self._by_type: dict[type, Callable[[Any], None]] = {}  # the same, found faster

    @classmethod
    def of(cls, journal: Journal) -> Self:
        """The summary of all records in the journal."""
        return cls().read(journal)

    def read(self, journal: Journal, after: int = 0) -> Self:
        """Apply all records in the journal, or those after so many."""
        for record in journal.replay(kinds=list(self._handlers), brief=True, after=after):  # skip decoding the rest
            self.apply(record)
        return self

    def apply(self, record: Event | Decision) -> None:
        """Update the figures; records of other kinds only move the time forward."""
        of = type(record)
        if of not in self._by_type:
            self._by_type[of] = self._handlers.get(kind(record), _ignore)
        self._by_type[of](record)
        self.last_at = record.at
        self.applied += 1

    # --- figures ---

    def state_of(self, task: str) -> str:
        """The state of a task, a name of `STATES`; an attempt that was handed back has `failed`."""
        known: tuple[tuple[str, Container[str]], ...] = (
            ("running", self.running),
            ("failed", self.failures),
            ("failed", self._handed_back),
            ("cut_off", self._cut_off),
            ("reused", self._reused),
            ("succeeded", self._done),
        )
        return next((state for state, tasks in known if task in tasks), "waiting")

    def whole(self) -> Figures:
        """The sum of all categories' figures."""
        return Figures.sum(self.categories.values())

    def elapsed_s(self, now: float | None = None) -> float:
        """Seconds in which a manager worked on the run, without the breaks between stopping and resuming."""
        end = now if now is not None and self.finished is None else self.last_at
        return self._earlier_sessions_s + max(0.0, end - self._session_from)

    @property
    def batch(self) -> bool:
        """Whether the run's jobs wait in the queue of a batch system."""
        return self.settings is not None and self.settings.cluster not in ("local", "pool")

    def available(self) -> Resources:
        """The resources of all the run's nodes; before the first node is up, the limits of one."""
        nodes = [capacity for _, capacity in self.capacity.values()]
        return sum(nodes[1:], nodes[0]) if nodes else self.limits

    def in_use(self) -> Resources:
        """The resources that running tasks hold."""
        held = (launch.resources for launch in self.running.values() for _ in (launch.node, *launch.also))
        return sum(held, Resources())

    def _figures(self, task: str) -> Figures:
        return self.categories[self._category_of[task]]

    # --- handlers of records ---

    def _run_started(self, record: records.RunStarted) -> None:
        self.settings = record
        self._session_from = record.at

    def _resumed(self, record: records.Resumed) -> None:
        if not record.relieves:
            self._earlier_sessions_s += max(0.0, self.last_at - self._session_from)
            self._session_from = record.at
            self.stopping = self.over_budget = None
        self.finished = None
        self.unread.clear()  # the new manager reads the queue itself

    def _limits_read(self, record: records.LimitsRead) -> None:
        if record.wish is None:
            self.limits = record.limits

    def _history_read(self, record: records.HistoryRead) -> None:
        self.learned_from += len(record.observations)

    @property
    def at_least(self) -> str:
        """The words before a number of tasks, while more of them may become known."""
        return "at least " if self.to_come and self.finished is None else ""

    def _tasks_deferred(self, record: records.TasksDeferred) -> None:
        self.to_come = {block.name: block for block in record.deferred.blocks}

    def _tasks_added(self, record: records.TasksAdded) -> None:
        for name in record.expands:
            self.to_come.pop(name, None)
        for task in record.tasks:
            figures = self.categories.get(task.category)
            if figures is None:
                figures = self.categories[task.category] = Figures(task.category)
            figures.total += 1
            self._category_of[task.id] = figures.name  # one text for all of them
            if task.work is not None:
                self._works.add(task.id)
            for parent in task.parents:
                self._children.setdefault(parent, []).append(task.id)
            if any(parent in self.failures or parent in self._cut_off for parent in task.parents):
                self._cut(task.id)

    def _avoid_node(self, record: records.AvoidNode) -> None:
        self.avoided[record.node] = record

    def _node_up(self, record: records.NodeUp) -> None:
        self.capacity[record.node] = (record.tag, record.capacity)
        self.jobs.apply(record)

    def _node_lost(self, record: records.NodeLost) -> None:
        self.capacity.pop(record.node, None)
        for launch in [launch for launch in self.running.values() if launch.node == record.node]:
            self._lost(launch)

    def _attempt_lost(self, record: records.AttemptLost) -> None:
        if (launch := self.running.get(record.task)) is not None and launch.attempt == record.attempt:
            self._lost(launch)

    def _lost(self, launch: records.Launch) -> None:
        del self.running[launch.task]
        figures = self._figures(launch.task)
        figures.running -= 1
        figures.lost += 1
        if launch.task in self._works:
            self._hand_back(launch.task)
        self._cut_if_withdrawn(launch.task)

    def _of_job(self, record: Event | Decision) -> None:
        self.jobs.apply(record)

    _submit = _admit = _job_seen = _job_state = _shrunk = _of_job

    def _queue_unread(self, record: records.QueueUnread) -> None:
        self.unread[record.wish] = record
        if not record.message:
            del self.unread[record.wish]

    def _calls_counted(self, record: records.CallsCounted) -> None:
        for command, number in record.calls.items():
            self.calls[command] = self.calls.get(command, 0) + number

    def _release(self, record: records.Release) -> None:
        self.capacity = {node: held for node, held in self.capacity.items() if held[0] != record.tag}
        self.jobs.apply(record)

    def _shrink(self, record: records.Shrink) -> None:
        self.capacity = {node: held for node, held in self.capacity.items() if node not in record.nodes}

    def _launch(self, record: records.Launch) -> None:
        self.running[record.task] = record
        self.troubles.pop(record.task, None)
        figures = self._figures(record.task)
        figures.running += 1
        figures.attempts += 1
        if record.attempt == 1:
            reason = figures.name, record.because
            self.reasons[reason] = self.reasons.get(reason, 0) + 1

    def _task_ended(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        launch = self.running.get(outcome.task)
        if launch is None or launch.attempt != outcome.attempt:
            return  # a late result of an attempt that counts as lost
        del self.running[outcome.task]
        figures = self._figures(outcome.task)
        figures.running -= 1
        figures.ended(launch.resources, outcome)
        self.jobs.used(launch.resources, outcome)
        if outcome.ending is Ending.SUCCESS:
            self._done.add(outcome.task)
            if record.inputs_moved:
                self.moved.add(outcome.task)
        else:
            self.troubles[outcome.task] = outcome
            if outcome.task in self._works:
                self._hand_back(outcome.task)
            self._cut_if_withdrawn(outcome.task)

    def _reuse(self, record: records.Reuse) -> None:
        self._figures(record.task).reused += 1
        self._done.add(record.task)
        self._reused.add(record.task)

    def _remake(self, record: records.Remake) -> None:
        self._figures(record.task).reused -= 1
        self._done.discard(record.task)
        self._reused.discard(record.task)

    def _give_up(self, record: records.GiveUp) -> None:
        figures = self._figures(record.task)
        if record.handed_back:
            self._hand_back(record.task)
            return
        last = self.troubles.pop(record.task, None)
        figures.failed += 1
        self.failures[record.task] = Failure(record.task, figures.name, record.why, last.attempt if last else 0)
        self._cut_all(self._children.get(record.task, ()))

    def _hand_back(self, task: str) -> None:
        """Count the attempt and not the task: the one that is submitted again is the task."""
        self.troubles.pop(task, None)
        self._figures(task).total -= 1
        self._done.add(task)
        self._handed_back.add(task)

    def _task_withdrawn(self, record: records.TaskWithdrawn) -> None:
        self._withdrawn.add(record.task)
        if record.task not in self.running:
            self._cut_if_withdrawn(record.task)

    def _cut_if_withdrawn(self, task: str) -> None:
        if task in self._withdrawn:
            self._cut_all([task])

    def _cut_all(self, tasks: Iterable[str]) -> None:
        """Count tasks and all their descendants as cut off."""
        below = deque(tasks)
        while below:
            task = below.popleft()
            if self._cut(task):
                below.extend(self._children.get(task, ()))

    def _user_cancel(self, record: records.UserCancel) -> None:
        self.stopping = record.mode

    def _budget_used(self, record: records.BudgetUsed) -> None:
        self.stopping, self.over_budget = "gently", record

    def _finish(self, record: records.Finish) -> None:
        self.finished = record.status

    def _cut(self, task: str) -> bool:
        """Count a task as cut off; return False if it was already counted."""
        if task in self._cut_off or task in self.failures or task in self._done:
            return False
        self._cut_off.add(task)
        self._figures(task).cut_off += 1
        return True


def _ignore(record: Event | Decision) -> None:
    """Do nothing with a record of which no figure tells."""
