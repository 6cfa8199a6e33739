"""`learning-rank-cautious`: the order of learning-rank, and more memory for tasks that many others wait for."""

from __future__ import annotations

from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.learning_rank import LearningRank

CAUTION = 1.0  # whole nodes that a failure costs besides, if all other tasks wait for the one that fails


class LearningRankCautious(LearningRank):
    """As learning-rank; and a sizer that weighs the cost of failing gives more to tasks that many others wait for.

    Witt et al. 2019 propose this in section VII. The tasks that wait are counted along all paths, at most as many as
    there are tasks: that counts too many where paths meet again, but is cheap.
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
    """Return for each task the number of paths from it to other tasks, at most the number of tasks."""
    below: dict[str, int] = {}
    for task_id in reversed(workflow.topological()):
        below[task_id] = min(len(workflow), sum(1 + below[child] for child in workflow.children[task_id]))
    return below
