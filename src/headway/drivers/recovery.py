"""What became of attempts whose supervisor is gone: the results they left count, the rest is lost."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from headway.engine.state import TaskState
from headway.journal.folder import RunFolder
from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from headway.workers.attempt import AttemptFolder
from headway.workers.sandbox import publish


def settle(running: Iterable[TaskState], folder: RunFolder, directory: Path, now: float) -> list[TaskEnded]:
    """The ends of those attempts that left a result; their outputs are put in place once more, should that be due."""
    ended = []
    for state in running:
        task = state.task
        attempt = AttemptFolder(folder.attempt(task.id, state.attempts))
        outcome = attempt.result()
        if outcome is None:
            continue
        if outcome.ending is Ending.SUCCESS and task.isolated:
            for _ in publish(attempt.work, task, directory):
                pass
            attempt.tidy(outcome)
        ended.append(TaskEnded(now, outcome))
    return ended
