"""Depths and ranks of a growing graph, updated as tasks are added, so that adding them one by one stays cheap."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.task import Task
from headway.model.workflow import Workflow


class Depths:
    """The length of the longest path from an entry to each task: a task without parents has depth 0."""

    def __init__(self) -> None:
        self._depth: dict[str, int] = {}

    def __getitem__(self, task_id: str) -> int:
        return self._depth[task_id]

    def add(self, tasks: Sequence[Task]) -> None:
        """Add tasks. They never change the depth of old ones, since no task gets further parents."""
        for task in parents_first(tasks):
            self._depth[task.id] = 1 + max((self._depth[parent] for parent in task.parents), default=-1)


class Ranks:
    """The number of tasks on the longest path from each task to an exit, itself included."""

    def __init__(self) -> None:
        self._rank: dict[str, int] = {}

    def __getitem__(self, task_id: str) -> int:
        return self._rank[task_id]

    def add(self, tasks: Sequence[Task], workflow: Workflow) -> None:
        """Add tasks, and raise the ranks of their ancestors where that makes a difference."""
        raised: list[str] = []
        for task in reversed(parents_first(tasks)):
            below = max((self._rank[child] for child in workflow.children[task.id]), default=0)
            self._rank[task.id] = 1 + below
            raised.append(task.id)
        for task_id in raised:
            self._raise_above(task_id, workflow)

    def _raise_above(self, task_id: str, workflow: Workflow) -> None:
        above = [task_id]
        while above:
            lower = above.pop()
            for parent in workflow.tasks[lower].parents:
                if self._rank[parent] <= self._rank[lower]:
                    self._rank[parent] = self._rank[lower] + 1
                    above.append(parent)


def parents_first(tasks: Sequence[Task]) -> list[Task]:
    """Return the tasks in their order, but each after those of its parents that are among them."""
    among = {task.id: task for task in tasks}
    done: set[str] = set()
    ordered: list[Task] = []
    for task in tasks:
        waiting = [task]
        while waiting:
            last = waiting[-1]
            missing = [among[parent] for parent in last.parents if parent in among and parent not in done]
            if missing:
                waiting += missing[:1]
                continue
            waiting.pop()
            if last.id not in done:
                done.add(last.id)
                ordered.append(last)
    return ordered
