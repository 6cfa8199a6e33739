"""What became of attempts whose supervisor is gone: results that they left count, the others are lost."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import structs

from headway.engine.state import TaskState
from headway.journal.folder import RunFolder
from headway.model.errors import HeadwayError
from headway.model.outcome import Ending
from headway.model.records import TaskEnded
from headway.workers.attempt import AttemptFolder
from headway.workers.runner import is_site_trouble
from headway.workers.sandbox import publish


def settle(running: Iterable[TaskState], folder: RunFolder, now: float) -> list[TaskEnded]:
    """The ends of those attempts that left a result; outputs that are not in place yet are put there."""
    ended = []
    for state in running:
        task = state.attempted
        attempt = AttemptFolder(folder.attempt(task.id, state.attempts))
        outcome = attempt.result()
        if outcome is None:
            continue
        if outcome.ending is Ending.SUCCESS and task.isolated:
            try:
                for _ in publish(attempt.work, task, folder.directory):
                    pass
            except (OSError, HeadwayError) as error:
                if is_site_trouble(error):
                    raise
                message = f"its outputs could not be put in place: {error}"
                outcome = structs.replace(outcome, ending=Ending.MISSING_OUTPUT, message=message)
                attempt.write_result(outcome)
            attempt.tidy(outcome)
        ended.append(TaskEnded(now, outcome))
    return ended
