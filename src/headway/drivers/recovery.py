"""What became of attempts whose supervisor is gone: the results they left count, the rest is lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headway.engine.state import Running
from headway.journal.folder import RunFolder
from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from headway.model.task import Task
from headway.workers.attempt import AttemptFolder
from headway.workers.sandbox import publish


def settle(attempts: Iterable[tuple[Task, Running]], folder: RunFolder, directory: Path, now: float) -> list[TaskEnded]:
    """The ends of those attempts that left a result; their outputs are put in place once more, should that be due."""
    ended = []
    for task, running in attempts:
        attempt = AttemptFolder(folder.attempt(task.id, running.attempt))
        outcome = attempt.result()
        if outcome is None:
            continue
        if outcome.ending is Ending.SUCCESS and task.isolated:
            for _ in publish(attempt.work, task, directory):
                pass
            attempt.tidy(outcome)
        ended.append(TaskEnded(now, outcome))
    return ended
