"""`Draft`: an instance while it is being generated."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow

SHORTEST_S = 0.001


class Draft:
    """Collects synthetic tasks and files. One generator draws all random numbers, so that the seed determines them."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.random = np.random.default_rng(seed)
        self.file_bytes: dict[str, int] = {}
        self._tasks: list[Task] = []
        self._recorded: dict[str, Recorded] = {}
        self._count: Counter[str] = Counter()

    def draw(self, mean: float, deviation: float = 0.0) -> float:
        """Draw a positive number from the gamma distribution with that mean and standard deviation.

        Published figures are means and deviations, and some deviations exceed their mean: cutting a normal
        distribution at zero would shift the mean, a gamma distribution keeps both.
        """
        if not deviation:
            return mean
        shape = (mean / deviation) ** 2
        return float(self.random.gamma(shape, mean / shape))

    def file(self, path: str, mean_bytes: float, deviation_bytes: float = 0.0) -> str:
        """Add a file, draw its size and return its path."""
        self.file_bytes[path] = max(1, round(self.draw(mean_bytes, deviation_bytes)))
        return path

    def bytes_of(self, paths: Iterable[str]) -> int:
        """Return the total size of some files."""
        return sum(self.file_bytes[path] for path in paths)

    def task(self, category: str, run_s: float, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """Add a task and return its id."""
        self._count[category] += 1
        task_id = f"{category}_{self._count[category]:05d}"
        self._tasks.append(Task(task_id, category, "", inputs=tuple(inputs), outputs=tuple(outputs)))
        self._recorded[task_id] = Recorded(run_s=max(SHORTEST_S, round(run_s, 3)), cores=1.0)
        return task_id

    def shares(self, total: int, parts: int) -> list[int]:
        """Split `total` things into `parts` random groups of about the same size; none is empty."""
        more = self.random.multinomial(total - parts, [1 / parts] * parts)
        return [1 + int(count) for count in more]

    def instance(self, description: str) -> Instance:
        """Return what has been collected as an instance."""
        return instance_of(self.name, self._tasks, self._recorded, self.file_bytes, description)


def instance_of(
    name: str, tasks: Iterable[Task], recorded: Mapping[str, Recorded], file_bytes: Mapping[str, int], description: str
) -> Instance:
    """Make an instance whose tasks read and write as much as the sizes of their files."""
    workflow = Workflow(name, tasks)
    figures = {
        task.id: Recorded(
            run_s=recorded[task.id].run_s,
            cores=recorded[task.id].cores,
            memory_bytes=recorded[task.id].memory_bytes,
            read_bytes=sum(file_bytes[path] for path in task.inputs),
            written_bytes=sum(file_bytes[path] for path in task.outputs),
        )
        for task in workflow
    }
    return Instance(workflow, figures, dict(file_bytes), description=description)
