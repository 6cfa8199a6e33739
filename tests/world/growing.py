"""A program that adds tasks to a run while that is at work, as `headway.Executor` and `headway service` do."""

from __future__ import annotations

import time
from functools import partial

from msgspec import structs

from headway.drivers.feed import Feed
from headway.journal.folder import RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.records import NoMoreTasks, TasksAdded
from headway.model.task import Task, Terms
from headway.model.workflow import Workflow
from tests.world.clock import World

GROWS = 0.1  # of all stories
_LONGEST_PAUSE_S = 120.0


class Program(Feed):
    """Adds those tasks of a workflow that the run does not know yet, one after the other, parents first."""

    def __init__(self, world: World, workflow: Workflow, folder: RunFolder | None) -> None:
        super().__init__()
        self._world = world
        known = _known(folder) if folder is not None else set()
        wait_s = 0.0
        for task_id in workflow.topological():
            if task_id not in known:
                wait_s += world.moment_s(_LONGEST_PAUSE_S)
                world.after(wait_s, partial(self._add, workflow.tasks[task_id]))
        world.after(wait_s + world.moment_s(_LONGEST_PAUSE_S), self._end)

    def _add(self, task: Task) -> None:
        if self.tell(TasksAdded(time.time(), [structs.replace(task, terms=Terms(keep=True))])):
            self._world.tell(f"the program adds {task.id}")

    def _end(self) -> None:
        self.tell(NoMoreTasks(time.time()))


def _known(folder: RunFolder) -> set[str]:
    journal = SqliteJournal(folder.journal, read_only=True)
    try:
        added = [record for record in journal.replay() if isinstance(record, TasksAdded)]
    finally:
        journal.close()
    return {task.id for record in added for task in record.tasks}
