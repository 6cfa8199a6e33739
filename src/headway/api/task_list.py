"""The tasks of a category and their states: the answer of `why` and `logs` to a name that means several tasks."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from headway.api.answers import Answer
from headway.journal.base import Journal
from headway.model.outcome import Ending
from headway.model.records import GiveUp, Launch, NodeLost, Reuse, TaskEnded
from headway.model.task import Task
from headway.report.run.summary import RunSummary


class TaskState(Struct, frozen=True):
    """A task, its state in words, and how many attempts it had."""

    task: str
    state: str
    attempts: int


class TaskList(Answer, frozen=True):
    """The tasks of a category."""

    category: str
    tasks: list[TaskState]


def list_tasks(journal: Journal, category: str, tasks: Sequence[Task]) -> TaskList:
    """Return the tasks and their states, as far as the journal tells."""
    ids = {task.id for task in tasks}
    state = dict.fromkeys(ids, "waiting")
    attempts = dict.fromkeys(ids, 0)
    for record in journal.replay(kinds=["launch", "task-ended", "reuse", "give-up", "node-lost"]):
        match record:
            case Launch() if record.task in ids:
                state[record.task], attempts[record.task] = "running", record.attempt
            case TaskEnded() if record.outcome.task in ids:
                success = record.outcome.ending is Ending.SUCCESS
                state[record.outcome.task] = "succeeded" if success else "to be retried"
            case Reuse() if record.task in ids:
                state[record.task] = "reused"
            case GiveUp() if record.task in ids:
                state[record.task] = "failed"
            case NodeLost():
                state |= {task: "to be retried" for task, each in state.items() if each == "running"}
    if "waiting" in state.values():
        summary = RunSummary.of(journal)
        state |= {task: "cut off" for task in ids if summary.is_cut_off(task)}
    return TaskList(category, [TaskState(task.id, state[task.id], attempts[task.id]) for task in tasks])
