"""Resources given and used, by category or by task."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, ClassVar, Literal, Self

from msgspec import Struct, field, structs

from headway.journal.base import Journal
from headway.model.outcome import Measured, Outcome, Usage
from headway.model.records import Decision, Event, Launch, TaskEnded, TasksAdded
from headway.model.resources import Resources
from headway.report.run.figures import MEASURED, STATES, Figures, task_state
from headway.report.run.summary import RunSummary

By = Literal["category", "task"]


class Last(Struct):
    """A task's last attempt: the resources given and, once it has ended, the outcome."""

    attempt: int
    given: Resources
    outcome: Outcome | None = None

    @property
    def usage(self) -> Usage:
        """What it used; empty while the attempt runs or if it was lost."""
        return self.outcome.usage if self.outcome else Usage()


class Row(Struct):
    """The usage of a category or of a task.

    Asked and used are means over a category's attempts, as in the table at a run's end, or those of a task's last
    attempt. Attempts, run time, waste and AWE always cover all attempts.
    """

    name: str
    category: str
    figures: Figures
    last: Last | None = None
    run_state: str = "running"

    @property
    def state(self) -> str:
        """The task's state; for a category, the state of its tasks that needs most attention."""
        figures = self.figures
        counts = {
            "failed": figures.failed,
            task_state("running", self.run_state): figures.running,
            "to be retried": figures.waiting if figures.attempts else 0,
            "waiting": figures.waiting,
            "cut off": figures.cut_off,
            "succeeded": figures.succeeded,
        }
        return next((state for state, number in counts.items() if number), "reused")

    def asked(self, resource: str) -> float | None:
        """The amount given."""
        return self.last.given[resource] if self.last else self.figures.totals[resource].asked_mean

    def used(self, resource: str) -> float | None:
        """The peak use."""
        if self.last:
            peak = self.peak(resource)
            return peak.value if peak else None
        return self.figures.totals[resource].used_mean

    def peak(self, resource: str) -> Measured | None:
        """The peak use of the last attempt, with its precision."""
        return self.last.usage.peak(resource) if self.last else None


class CategoryUsage(RunSummary):
    """A summary with a row for each category."""

    by: ClassVar[By] = "category"

    def rows(self, run_state: str) -> list[Row]:
        """One row per category, or per task, in the order of the workflow."""
        return [Row(figures.name, figures.name, figures, None, run_state) for figures in self.categories.values()]


class PartUsage(CategoryUsage):
    """The figures of some tasks, the `chosen` ones; jobs, core-hours and times are still those of the whole run."""

    chosen: Collection[str] = ()

    def apply(self, record: Event | Decision) -> None:
        if isinstance(record, TasksAdded):
            tasks = [task if task.id in self.chosen else structs.replace(task, category="") for task in record.tasks]
            record = TasksAdded(record.at, tasks)
        super().apply(record)

    def read(self, journal: Journal, after: int = 0) -> Self:
        super().read(journal, after)
        self.categories.pop("", None)  # all the others: their failures still cut off tasks that are chosen
        self.running = {task: launch for task, launch in self.running.items() if task in self.chosen}
        self.failures = {task: failure for task, failure in self.failures.items() if task in self.chosen}
        self.reasons = {reason: tasks for reason, tasks in self.reasons.items() if reason[0]}
        return self


class TaskUsage(CategoryUsage):
    """The same by task: every task is a category of its own, with its last attempt."""

    by: ClassVar[By] = "task"
    _real_category: dict[str, str] = field(default_factory=dict)
    _last: dict[str, Last] = field(default_factory=dict)

    def apply(self, record: Event | Decision) -> None:
        if isinstance(record, TasksAdded):
            self._real_category |= {task.id: task.category for task in record.tasks}
            record = TasksAdded(record.at, [structs.replace(task, category=task.id) for task in record.tasks])
        elif isinstance(record, Launch):
            self._last[record.task] = Last(record.attempt, record.resources)
        elif isinstance(record, TaskEnded):
            launch = self.running.get(record.outcome.task)
            if launch is not None and launch.attempt == record.outcome.attempt:
                # Outputs are many, and not needed here.
                self._last[launch.task].outcome = structs.replace(record.outcome, outputs={})
        super().apply(record)

    def rows(self, run_state: str) -> list[Row]:
        category, last = self._real_category, self._last
        return [
            Row(name, category[name], figures, last.get(name), run_state) for name, figures in self.categories.items()
        ]


def total_of(rows: list[Row]) -> Row:
    """The sum of all rows; asked and used are means."""
    return Row("all", "", Figures.sum(row.figures for row in rows))


def flat(row: Row, by: By) -> dict[str, Any]:
    """A row for JSON and CSV: every figure under a name with its unit; None if unknown."""
    figures, last = row.figures, row.last
    names: dict[str, Any] = {"category": row.category}
    if by == "task":
        outcome = last.outcome if last else None
        names = {
            "task": row.name,
            **names,
            "state": row.state,
            "last_attempt": last.attempt if last else None,
            "last_ending": str(outcome.ending) if outcome else None,
            "last_run_time_s": last.usage.wall_s.value if last and last.usage.wall_s else None,
        }
    answer = {
        **names,
        "tasks": figures.total,
        **{name: getattr(figures, name) for name in STATES if by == "category"},
        "attempts": figures.attempts,
        "attempts_lost": figures.lost,
        "run_time_s": figures.run_s,
        "cpu_time_s": figures.cpu_s,
        "core_time_s": figures.core_s,
        "cores_busy": figures.busy,
    }
    for resource in MEASURED:
        short = resource.removesuffix("_bytes")
        unit = resource.removeprefix(short)
        totals = figures.totals[resource]
        answer |= {
            f"{short}_asked{unit}": row.asked(resource),
            f"{short}_used{unit}": row.used(resource),
            f"{short}_most{unit}": totals.most,
            f"{short}_wasted_{'byte' if unit else 'core'}_s": totals.wasted,
            f"{short}_awe": totals.awe,
        }
    gpus = figures.gpus
    return answer | {"gpu_time_s": gpus.held_s, "gpus_busy": gpus.busy, "gpu_memory_most_bytes": gpus.most}
