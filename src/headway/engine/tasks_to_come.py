"""`TasksToCome`: entries of the workflow file that become tasks while the run goes on, until they have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

from headway.model.coming import Coming
from headway.model.deferred import DeferredBlock
from headway.model.job import Wish
from headway.model.records import Known, TasksAdded, TasksDeferred
from headway.model.resources import Resources
from headway.model.task import Task


class TasksToCome:
    """The deferred entries that have not become tasks, and how many tasks each of them waits for."""

    def __init__(self) -> None:
        self.blocks: dict[str, DeferredBlock] = {}
        self._expanding: set[str] = set()
        self._unfinished: Counter[str] = Counter()  # tasks that have not succeeded, by category that a block waits for
        self._widths: dict[str, int] = {}  # how many tasks an entry had in earlier runs

    def told(self, record: TasksDeferred, tasks: Mapping[str, Task], known: Mapping[str, Known]) -> None:
        """Wait for the tasks that make what deferred entries are made of; none of these has succeeded yet."""
        self.blocks = {block.name: block for block in record.deferred.blocks}
        watched = {category for block in self.blocks.values() for category in block.of}
        self._unfinished = Counter(task.category for task in tasks.values() if task.category in watched)
        earlier = (task_id.partition("[")[0] for task_id, result in known.items() if result.owner != "")
        self._widths = dict(Counter(category for category in earlier if category in self.blocks))

    def added(self, record: TasksAdded) -> None:
        """Take note of new tasks, and of the entries whose tasks they are."""
        if not self.blocks:
            return
        self._unfinished.update(task.category for task in record.tasks)
        for name in record.expands:
            self.blocks.pop(name, None)
            self._expanding.discard(name)

    def succeeded(self, task: Task) -> None:
        """Wait for one task less."""
        if self.blocks:
            self._unfinished[task.category] -= 1

    def again(self, task: Task) -> None:
        """Wait for a task once more: its temporary outputs are made again."""
        if self.blocks:
            self._unfinished[task.category] += 1

    def begin(self, name: str) -> None:
        """Do not ask for the tasks of an entry again, until it is known what became of that."""
        self._expanding.add(name)

    def resumed(self) -> None:
        """Ask again: the manager that was asked is gone."""
        self._expanding.clear()

    def due(self) -> list[str]:
        """The entries that can become tasks now."""
        return [
            name
            for name, block in self.blocks.items()
            if name not in self._expanding
            and not any(other in self.blocks or self._unfinished[other] > 0 for other in block.of)
            and not any(other in self.blocks for other in block.after)
        ]

    def coming(self, wish: Wish | None, node: Resources, after: int, run_s: Callable[[Task], float]) -> list[Coming]:
        """What is expected of the entries with a wish: as many tasks as in earlier runs, else as fill a node.

        They are expected on the levels after so many that are known.
        """
        found = []
        for place, block in enumerate(self.blocks.values()):
            if block.wish != wish:
                continue
            cores = block.hints.get("cores", 1.0)
            full = max(1, int(node.cores // cores)) if block.of and cores else 1
            task = Task(block.name, block.name, "", hints=dict(block.hints))
            memory_bytes, gpus = int(block.hints.get("memory_bytes", 0)), block.hints.get("gpus", 0)
            width = self._widths.get(block.name, full)
            found.append(Coming(block.name, width, after + place, cores, memory_bytes, gpus, run_s(task)))
        return found

    def __bool__(self) -> bool:
        return bool(self.blocks)
