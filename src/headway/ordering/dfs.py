"""`dfs`, `dfs-postpone`: deep tasks first (Witt et al. 2019, section III-A and Table I)."""

from __future__ import annotations

from typing import Any

from headway.model.task import Task
from headway.ordering.bfs import Bfs


class Dfs(Bfs):
    """Deep tasks first, so that every category is met early; of equals, those that have failed most often."""

    name = "dfs"

    def task_key(self, task: Task, failures: int, arrival: int) -> tuple[Any, ...]:
        depth, *others = super().task_key(task, failures, arrival)
        return -depth, *others


class DfsPostpone(Dfs):
    """Deep tasks first; of equals, those that have failed least often."""

    name = "dfs-postpone"
    failed = "postpone"
