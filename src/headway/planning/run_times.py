"""`RunTimes`: how long tasks take, learned while they run, for planners."""

from __future__ import annotations

from headway.model.outcome import Ending, Outcome
from headway.model.resources import Resources
from headway.model.task import Task
from headway.sizing.runtime_model import RuntimeModel

SHARE = 0.8  # of tasks that take no longer than what is said
UNKNOWN_S = 600.0  # a task of which nobody knows anything


class RunTimes:
    """A model for each category. Of a category that is not known the user's word is taken, else what others took.

    It is told of every attempt, of earlier runs' too, in the journal's order: a resumed run plans as it would have.
    """

    def __init__(self) -> None:
        self._models: dict[str, RuntimeModel] = {}
        self._seen_s = 0.0
        self._seen = 0

    def __call__(self, task: Task) -> float:
        """How long four in five such tasks take at most, in seconds."""
        model = self._models.get(task.category)
        known_s = None if model is None else model.quantile(task, Resources(cores=task.hints.get("cores", 1.0)), SHARE)
        if known_s is not None:
            return known_s
        return task.hints.get("walltime_s") or (self._seen_s / self._seen if self._seen else UNKNOWN_S)

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt."""
        self._models.setdefault(task.category, RuntimeModel()).observe(task, outcome)
        if outcome.ending is Ending.SUCCESS:
            self._seen_s += outcome.ended_at - outcome.started_at
            self._seen += 1
