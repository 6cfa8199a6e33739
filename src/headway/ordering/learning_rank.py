"""`learning-rank`: what teaches most, then the longest way to go, by run times learned so far; ours."""

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

STEPS_A_DOUBLING = 2  # ranks that differ by less are alike: run times are not known any better
GROWTH = 1.25  # ranks are computed anew when there are so many times as many tasks, or categories with a success


class LearningRank(Order):
    """One task of each kind that never succeeded first, then the longest path to an exit; of equals, the most failures.

    What the first of a kind needs is worth knowing for all of its kind. Of tasks that are as far from an exit, counted
    in tasks, the one that has failed most often goes first, since its kind waits for what it teaches (004: persevere);
    then the one with the longest way by run times learned so far.

    Run times only decide among the like: tasks get their keys at different times, and what was known then is not what
    is known now. They are means by category, in units of the mean of all that ended. Ranks of all tasks are
    computed anew when the successes have doubled or a quarter more categories or tasks are known: 100,000 tasks cost a
    few dozen passes over the graph.
    """

    name = "learning-rank"

    def __init__(self) -> None:
        self._workflow = Workflow("")
        self._successes: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._every, self._every_s = 0, 0.0  # of all categories together
        self._known_then = 0  # categories with a success when ranks were computed last
        self._probes: dict[str, str] = {}  # by category: the task that is to teach
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
        """Its category's mean run time over that of all; what is not known yet is taken to be average."""
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
