"""What became of attempts whose supervisor is gone: results that they left count, the others are lost.

Nothing of them runs any more, so that a command which has succeeded without its supervisor can be told from one that
was killed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from msgspec import structs

from headway.engine.state import TaskState
from headway.journal.folder import RunFolder
from headway.model.errors import HeadwayError
from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from headway.model.resources import Resources
from headway.workers.attempt import AttemptFolder
from headway.workers.protocol import Start
from headway.workers.runner import is_site_trouble, unreported_success
from headway.workers.sandbox import publish


def settle(running: Iterable[TaskState], folder: RunFolder, now: float) -> list[TaskEnded]:
    """The ends of those attempts that left a result; outputs that are not in place yet are put there."""
    ended = []
    for state in running:
        task, directory = state.attempted, folder.directory
        path = folder.attempt(task.id, state.attempts)
        if (work := task.work) is not None:
            task, directory, path = work.task, Path(work.directory), Path(work.folder)
            if not path.resolve().is_relative_to(directory.resolve() / ".headway"):
                continue  # no pool of ours has written that
        attempt = AttemptFolder(path)
        start = Start(task, work.attempt if work else state.attempts, str(path), Resources())
        outcome = attempt.result() or unreported_success(attempt, start, directory)
        if outcome is None:
            continue
        if outcome.ending is Ending.SUCCESS and task.isolated:
            try:
                for _ in publish(attempt.work, task, directory, state.stale):
                    pass
            except (OSError, HeadwayError) as error:
                if is_site_trouble(error):
                    raise
                message = f"its outputs could not be put in place: {error}"
                outcome = structs.replace(outcome, ending=Ending.MISSING_OUTPUT, message=message)
                attempt.write_result(outcome)
            attempt.tidy(outcome)
        ended.append(TaskEnded(now, structs.replace(outcome, task=state.task.id, attempt=state.attempts)))
    return ended
