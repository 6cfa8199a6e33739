"""`learning-rank`, `learning-rank-cautious`: one task of each new category, then the longest path to an exit."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order
from headway.ordering.topology import Ranks

STEPS_A_DOUBLING = 2  # ranks that differ by less count as equal: run times are not known any better
GROWTH = 1.25  # ranks are computed again when tasks, or categories with a success, have grown by this factor
CAUTION = 1.0  # whole nodes that a failure costs besides, if all other tasks wait for the one that fails


class LearningRank(Order):
    """One task of each category without a success first, then the longest path to an exit; of equals, the most failed.

    What the first task of a category needs is worth knowing for all its tasks. Among tasks that are equally far from an
    exit, counted in tasks, the one that has failed most often goes first, since its category waits for what it teaches
    (to persevere, in Witt et al. 2019); then the one with the longest path by run times learned so far.

    Run times decide only among equals, since tasks get their keys at different times, from different knowledge. They
    are means by category, in units of the mean of all successes. The ranks of all tasks are computed again when
    successes have doubled or there are a quarter more categories or tasks: 100,000 tasks cost a few dozen passes over
    the graph. This order is Headway's own.
    """

    name = "learning-rank"

    def __init__(self) -> None:
        self._workflow = Workflow("")
        self._successes: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._every, self._every_s = 0, 0.0  # successes of all categories and their run time
        self._known_then = 0  # categories with a success when ranks were last computed
        self._probes: dict[str, str] = {}  # by category: the task that goes first
        self._in_tasks = Ranks()
        self._ranks: dict[str, float] = {}  # by run times
        self._stale = True

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        self._workflow = workflow
        self._in_tasks.add(tasks, workflow)
        if len(workflow) >= GROWTH * len(self._ranks):
            self._stale = True

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        if self._stale:
            self._ranks = self._workflow.ranks(self._relative)
            self._known_then = len(self._seconds)
            self._stale = False
        rank = self._ranks.get(task.id) or self._relative(task)
        teaches = not self._successes[task.category] and self._probes.setdefault(task.category, task.id) == task.id
        way = round(STEPS_A_DOUBLING * math.log2(max(1.0, rank)))
        return not teaches, -self._in_tasks[task.id], -failures, -way, arrival

    def _relative(self, task: Task) -> float:
        """Return the category's mean run time over that of all; 1 where it is unknown."""
        count = self._successes[task.category]
        if not count or not self._every_s:
            return 1.0
        return self._seconds[task.category] / count / (self._every_s / self._every)

    def observe(self, task: Task, outcome: Outcome) -> None:
        if outcome.ending is not Ending.SUCCESS:
            return
        wall = outcome.usage.wall_s
        seconds = wall.value if wall else outcome.ended_at - outcome.started_at
        self._successes[task.category] += 1
        self._seconds[task.category] = self._seconds.get(task.category, 0.0) + seconds
        self._every += 1
        self._every_s += seconds
        if self._every & (self._every - 1) == 0 or len(self._seconds) > GROWTH * self._known_then:
            self._stale = True


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
