"""Files that tasks looked for and that are not among their inputs, in a run that checks the inputs."""

from __future__ import annotations

from headway.engine.state import TaskState
from headway.model.outcome import Outcome
from headway.model.task import Task

MOST_SHOWN = 500  # files that the tasks of one entry of the workflow file see besides their inputs


class UnseenInputs:
    """What tasks see besides their inputs: what they, or others of the same entry of the file, have looked for before.

    Each further attempt sees at least one file more, up to MOST_SHOWN, so that there is a last one.
    """

    def __init__(self) -> None:
        self._found: dict[str, dict[str, None]] = {}  # by entry of the workflow file

    def shown(self, task: Task) -> tuple[str, ...]:
        """Return what the next attempt at a task sees besides its inputs."""
        return tuple(self._found.get(_entry(task), ()))

    def shows_more(self, state: TaskState, outcome: Outcome) -> bool:
        """Take note of what an attempt looked for; return whether the next attempt sees more than this one did."""
        found = self._found.setdefault(_entry(state.task), {})
        for path in outcome.unseen:
            if len(found) < MOST_SHOWN:
                found[path] = None
        return any(path in found and path not in state.shown for path in outcome.unseen)


def _entry(task: Task) -> str:
    return task.declared_as or task.category
