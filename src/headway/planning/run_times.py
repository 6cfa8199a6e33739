"""`RunTimes`: run times of tasks for planners, learned while the run goes on."""

from __future__ import annotations

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.planning.base import Estimate
from headway.sizing.observing import run_s
from headway.sizing.runtime_model import RuntimeModel

SHARE = 0.8  # the quantile of the run time that plans count on
STATED = 2 / 3  # of what a user states is what a task typically takes: such times are limits
UNKNOWN_S = 600.0  # for a task without hint or observation


class RunTimes:
    """One `RuntimeModel` per category. Without observations: the user's hint, else the mean of all tasks so far.

    The engine reports every attempt, those of earlier runs too, in the journal's order, so that a resumed run plans as
    the original would have.
    """

    def __init__(self) -> None:
        self._models: dict[str, RuntimeModel] = {}
        self._seen_s = 0.0
        self._seen = 0
        self._succeeded: set[str] = set()  # categories

    def __call__(self, task: Task) -> float:
        """The run time in seconds that 80% of such tasks do not exceed."""
        model = self._models.get(task.category)
        known_s = None if model is None else model.quantile(task, SHARE)
        if known_s is not None and task.category in self._succeeded:
            return known_s
        # What an attempt took that did not end by itself is a lower bound: its job may have been taken away at once.
        guess_s = task.hints.get("walltime_s") or (self._seen_s / self._seen if self._seen else UNKNOWN_S)
        return max(guess_s, known_s or 0.0)

    def typical_s(self, task: Task) -> float:
        """The run time that half of such tasks do not exceed, or two thirds of what plans count on for them."""
        return self.learned_s(task) or STATED * self(task)

    def learned_s(self, task: Task) -> float:
        """The run time that half of such tasks do not exceed; 0 if none has succeeded."""
        model = self._models.get(task.category) if task.category in self._succeeded else None
        return (None if model is None else model.quantile(task, 0.5)) or 0.0

    def observe(self, task: Task, outcome: Outcome) -> None:
        """Learn from an attempt."""
        self._models.setdefault(task.category, RuntimeModel()).observe(task, outcome)
        if outcome.ending is Ending.SUCCESS:
            self._seen_s += run_s(outcome)
            self._seen += 1
            self._succeeded.add(task.category)


def typical_s(estimate: Estimate, task: Task) -> float:
    """What a task typically takes; an estimate that is not learned is taken for exact."""
    return estimate.typical_s(task) if isinstance(estimate, RunTimes) else estimate(task)
