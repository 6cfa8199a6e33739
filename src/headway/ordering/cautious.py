"""`learning-rank-cautious`: the same order, and more memory for tasks on which many others wait (004, section VII)."""

from __future__ import annotations

from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.learning_rank import LearningRank

CAUTION = 1.0  # whole nodes that a failure loses besides, if all other tasks wait for the one that fails


class LearningRankCautious(LearningRank):
    """As learning-rank; and a sizer that weighs the cost of failing gives more to tasks on which many others wait.

    How many wait for a task is counted along all paths, up to all that there are: more than enough where paths meet
    again, and cheap.
    """

    name = "learning-rank-cautious"

    def __init__(self) -> None:
        super().__init__()
        self._below: dict[str, int] = {}

    def at_stake(self, task: Task) -> float:
        if len(self._below) != len(self._workflow):
            self._below = waiting_below(self._workflow)
        return CAUTION * self._below[task.id] / len(self._workflow)


def waiting_below(workflow: Workflow) -> dict[str, int]:
    """For each task, how many paths lead down from it to others, but at most as many as there are tasks."""
    below: dict[str, int] = {}
    for task_id in reversed(workflow.topological()):
        below[task_id] = min(len(workflow), sum(1 + below[child] for child in workflow.children[task_id]))
    return below
