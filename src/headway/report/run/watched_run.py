"""`WatchedRun`: a summary that also knows each task's state, which tasks are ready, and how sizes move."""

from __future__ import annotations

from collections import Counter, deque
from typing import Literal

from msgspec import Struct, field

from headway.model import records
from headway.model.records import Launch
from headway.model.resources import Resources
from headway.report.run.summary import RunSummary

State = Literal["failed", "running", "retry", "ready", "waiting", "done", "reused", "cut off"]

_LAST_SIZES = 5


class WatchedTask(Struct, gc=False):
    """A task: its number of unfinished parents, and its last attempt."""

    id: str
    category: str
    parents: tuple[str, ...]
    missing: int = 0
    attempt: int = 0  # 0: it had none
    given: Resources | None = None
    node: str = ""
    launched_at: float = 0.0
    ended_at: float | None = None
    ending: str = ""
    used_bytes: float | None = None


class Sizes(Struct):
    """What a category is given: now, and the last amounts of memory that differed; what its last attempt used."""

    now: Resources | None = None
    memory: deque[float] = field(default_factory=lambda: deque(maxlen=_LAST_SIZES))
    used_bytes: float | None = None
    retries: int = 0


class WatchedRun(RunSummary):
    """Memory per task is a small record, so that a run of 100,000 tasks can be watched."""

    tasks: dict[str, WatchedTask] = field(default_factory=dict)
    sizes: dict[str, Sizes] = field(default_factory=dict)
    creating: dict[str, records.EnvironmentMissing] = field(default_factory=dict)  # while nothing was started since
    needed: dict[str, set[str]] = field(default_factory=dict)  # by category: the categories of its tasks' parents
    _ready: set[str] = field(default_factory=set)
    _ready_in: Counter[str] = field(default_factory=Counter)

    def ready(self, category: str) -> int:
        """Return how many tasks of a category could run at once: what they depend on is done."""
        return self._ready_in[category]

    def state(self, task: WatchedTask) -> State:
        """Return the state of a task. `retry`: ready for another attempt."""
        name = task.id
        if name in self.failures:
            return "failed"
        if name in self.running:
            return "running"
        if name in self._done:
            return "reused" if name in self._reused else "done"
        if name in self._cut_off:
            return "cut off"
        if task.missing:
            return "waiting"
        return "retry" if task.attempt else "ready"

    def _place(self, name: str) -> None:
        """Find out anew whether a task is ready."""
        task = self.tasks[name]
        is_ready = self.state(task) in ("ready", "retry")
        if is_ready != (name in self._ready):
            (self._ready.add if is_ready else self._ready.discard)(name)
            self._ready_in[task.category] += 1 if is_ready else -1

    def _count_again(self, name: str, *, was_done: bool) -> None:
        """After a task got a result or lost one: count what its children miss."""
        change = int(was_done) - int(name in self._done)
        for child in self._children.get(name, ()) if change else ():
            self.tasks[child].missing += change
            self._place(child)
        self._place(name)

    # --- handlers of records ---

    def _tasks_added(self, record: records.TasksAdded) -> None:
        for task in record.tasks:
            missing = sum(parent not in self._done for parent in task.parents)
            self.tasks[task.id] = WatchedTask(task.id, task.category, tuple(task.parents), missing)
        super()._tasks_added(record)
        for task in record.tasks:
            self._place(task.id)
            self.sizes.setdefault(task.category, Sizes())
            above = self.needed.setdefault(task.category, set())
            above.update(self.tasks[parent].category for parent in task.parents if parent in self.tasks)

    def _environment_missing(self, record: records.EnvironmentMissing) -> None:
        self.creating[record.environment] = record

    def _launch(self, record: Launch) -> None:
        super()._launch(record)
        self.creating.clear()
        task = self.tasks[record.task]
        task.attempt, task.given, task.node = record.attempt, record.resources, record.node
        task.launched_at, task.ended_at, task.ending = record.at, None, ""
        sizes = self.sizes[task.category]
        if record.attempt > 1:
            sizes.retries += 1
        else:  # a retry gets more for reasons of its own
            sizes.now = record.resources
            if not sizes.memory or sizes.memory[-1] != record.resources.memory_bytes:
                sizes.memory.append(record.resources.memory_bytes)
        self._place(record.task)

    def _task_ended(self, record: records.TaskEnded) -> None:
        outcome = record.outcome
        launch = self.running.get(outcome.task)
        counts = launch is not None and launch.attempt == outcome.attempt
        was_done = outcome.task in self._done
        super()._task_ended(record)
        if not counts:
            return
        task = self.tasks[outcome.task]
        task.ended_at, task.ending = outcome.ended_at, str(outcome.ending)
        task.used_bytes = outcome.usage.memory_bytes.value if outcome.usage.memory_bytes else None
        if task.used_bytes is not None:
            self.sizes[task.category].used_bytes = task.used_bytes
        self._count_again(outcome.task, was_done=was_done)

    def _lost(self, launch: Launch) -> None:
        super()._lost(launch)
        self._place(launch.task)

    def _reuse(self, record: records.Reuse) -> None:
        was_done = record.task in self._done
        super()._reuse(record)
        self._count_again(record.task, was_done=was_done)

    def _remake(self, record: records.Remake) -> None:
        was_done = record.task in self._done
        super()._remake(record)
        self._count_again(record.task, was_done=was_done)

    def _give_up(self, record: records.GiveUp) -> None:
        super()._give_up(record)
        self._place(record.task)

    def _hand_back(self, task: str) -> None:
        was_done = task in self._done
        super()._hand_back(task)
        self._count_again(task, was_done=was_done)

    def _cut(self, task: str) -> bool:
        cut = super()._cut(task)
        if task in self.tasks:
            self._place(task)
        return cut
