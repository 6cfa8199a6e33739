"""`Draft`: an instance while it is being made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow

SHORTEST_S = 0.001


class Draft:
    """Collects made-up tasks and files; all that is random comes from one generator, so that a seed says it all."""

    def __init__(self, name: str, seed: int) -> None:
        self.name = name
        self.random = np.random.default_rng(seed)
        self.file_bytes: dict[str, int] = {}
        self._tasks: list[Task] = []
        self._recorded: dict[str, Recorded] = {}
        self._count: Counter[str] = Counter()

    def draw(self, mean: float, deviation: float = 0.0) -> float:
        """A positive number from the gamma distribution with that mean and standard deviation.

        Published figures are means and deviations, and some deviations exceed their mean: cutting a normal
        distribution at zero would shift the mean, a gamma distribution keeps both.
        """
        if not deviation:
            return mean
        shape = (mean / deviation) ** 2
        return float(self.random.gamma(shape, mean / shape))

    def file(self, path: str, mean_bytes: float, deviation_bytes: float = 0.0) -> str:
        """Name a file and draw its size; returns its path."""
        self.file_bytes[path] = max(1, round(self.draw(mean_bytes, deviation_bytes)))
        return path

    def bytes_of(self, paths: Iterable[str]) -> int:
        """The size of some files together."""
        return sum(self.file_bytes[path] for path in paths)

    def task(self, category: str, run_s: float, inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """Add a task; returns its id."""
        self._count[category] += 1
        task_id = f"{category}_{self._count[category]:05d}"
        self._tasks.append(Task(task_id, category, "", inputs=tuple(inputs), outputs=tuple(outputs)))
        self._recorded[task_id] = Recorded(run_s=max(SHORTEST_S, round(run_s, 3)), cores=1.0)
        return task_id

    def shares(self, total: int, parts: int) -> list[int]:
        """`total` things in `parts` groups of about, but not exactly, the same size; none is empty."""
        more = self.random.multinomial(total - parts, [1 / parts] * parts)
        return [1 + int(count) for count in more]

    def instance(self, description: str) -> Instance:
        """What has been collected, as a valid instance."""
        return instance_of(self.name, self._tasks, self._recorded, self.file_bytes, description)


def instance_of(
    name: str, tasks: Iterable[Task], recorded: Mapping[str, Recorded], file_bytes: Mapping[str, int], description: str
) -> Instance:
    """An instance whose tasks read and wrote what their files weigh."""
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
