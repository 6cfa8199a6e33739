"""`learning-rank`: what teaches most, then the longest way to go by run times learned so far; ours."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

from headway.model.outcome import Ending, Outcome
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.ordering.base import Order

STEPS_A_DOUBLING = 2  # ranks that differ by less are alike: run times are not known any better
GROWTH = 1.25  # ranks are computed anew when there are so many times as many tasks, or categories with a success


class LearningRank(Order):
    """One task of each kind that never succeeded goes before all others: what it needs is worth knowing for all of its
    kind, and for a plan. Then the longest path to an exit first, in seconds as they were learned so far; of those
    that are about alike, the one that has failed most often, since all of its kind wait for what it teaches (004:
    persevere).

    Run times are means by category; of a category of which nothing is known, the mean of all that ended. Ranks of all
    tasks are computed anew when the successes have doubled or a quarter more categories are known, so that 100,000
    tasks cost a few dozen passes over the graph.
    """

    name = "learning-rank"

    def __init__(self) -> None:
        self._workflow = Workflow("")
        self._successes: Counter[str] = Counter()
        self._seconds: dict[str, float] = {}
        self._every, self._every_s = 0, 0.0  # of all categories together
        self._known_then = 0  # categories with a success when ranks were computed last
        self._probes: dict[str, str] = {}  # by category: the task that is to teach
        self._ranks: dict[str, float] = {}
        self._stale = True

    def added(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        self._workflow = workflow
        if len(workflow) >= GROWTH * len(self._ranks):
            self._stale = True

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        if self._stale:
            self._ranks = self._workflow.ranks(self._mean_s)
            self._known_then = len(self._seconds)
            self._stale = False
        rank_s = self._ranks.get(task.id) or self._mean_s(task)
        teaches = not self._successes[task.category] and self._probes.setdefault(task.category, task.id) == task.id
        return not teaches, -round(STEPS_A_DOUBLING * math.log2(max(1.0, rank_s))), -failures, arrival

    def _mean_s(self, task: Task) -> float:
        count = self._successes[task.category]
        if count:
            return self._seconds[task.category] / count
        return self._every_s / self._every if self._every else 1.0

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
