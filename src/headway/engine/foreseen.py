"""`ForeseenWork`: what the workflows of a pool have said that they will hand over later."""

from __future__ import annotations

from msgspec import structs

from headway.model.coming import Coming, stand_ins
from headway.model.records import WorkForeseen
from headway.model.task import Task


class ForeseenWork:
    """What is to come, by share. What was handed over since a workflow said so is left out."""

    def __init__(self) -> None:
        self._coming: dict[str, list[Coming]] = {}
        self._last: dict[str, str] = {}  # by share: the task that was handed over last
        self._tasks: list[Task] | None = []

    def told(self, record: WorkForeseen) -> None:
        """Take what a workflow says in place of what it said before."""
        self._coming.pop(record.share, None)
        if record.coming:
            self._coming[record.share] = sorted(record.coming, key=lambda each: each.level)
        self._tasks = None

    def handed(self, task: Task) -> None:
        """Leave out a task that was handed over."""
        share = task.terms.share
        if not share:
            return
        self._last[share] = task.id
        coming = self._coming.get(share, [])
        for index, each in enumerate(coming):
            if each.category == task.category:
                left = structs.replace(each, tasks=each.tasks - 1)
                coming[index : index + 1] = [left] if left.tasks else []
                self._tasks = None
                break

    def clear(self) -> None:
        """Forget everything: workflows say it again to a pool that was started again."""
        self._coming, self._tasks = {}, []

    def has(self, share: str) -> bool:
        """Whether a share will hand over more."""
        return bool(self._coming.get(share))

    def __bool__(self) -> bool:
        return any(self._coming.values())

    def tasks(self) -> list[Task]:
        """Tasks that stand for what is to come, parents first."""
        if self._tasks is None:
            each = (stand_ins(coming, share, self._last.get(share, "")) for share, coming in self._coming.items())
            self._tasks = [task for tasks in each for task in tasks]
        return self._tasks
