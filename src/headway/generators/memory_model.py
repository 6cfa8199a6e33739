"""Peak memory for synthetic tasks (Witt et al. 2019, section V-B and Table II).

For each category the model draws the mean of its tasks' peak memory, their standard deviation as a share of the mean,
the unexplained variance v as a share of the whole variance, and a slope. With probability 1/2 the category is linear:
the memory of a task is the slope times the sum of its input sizes plus N(0, v). Otherwise it is normal with that mean
and deviation, whatever the inputs.

The paper's equation 5 has an intercept without a value. Here it is 0, as in the generator of its authors. So that
memory has the mean and the variance that were drawn, the input sum of a linear task is normal with mean / slope and
(variance - v) / slope squared.

File sizes are then changed to have these sums. Since files have several readers, not all sizes can be chosen: if the
inputs of a linear task are too large together, they all shrink by the same factor (a file with several such readers by
the smallest factor). What is missing is added to the largest input that no task makes and no other task reads, or
becomes an additional input file. So what tasks write never grows.
"""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
from msgspec import Struct, structs

from headway.generators.draft import instance_of
from headway.model.instance import Instance, Recorded
from headway.model.task import Task

Range = tuple[float, float]

_OWN_STREAM = 1  # of random numbers, so that shapes and run times are the same with and without a memory model


class _Category(Struct, frozen=True):
    mean_bytes: float
    deviation_bytes: float
    error_bytes: float  # standard deviation of the unexplained part
    slope: float  # 0: independent of the inputs


class MemoryModel(Struct, frozen=True):
    """The ranges from which the models of categories are drawn, uniformly; by default those of Table II."""

    mean_bytes: Range = (1e9, 1e12)
    deviation_share: Range = (0.03, 0.1)
    error_share: Range = (0.1, 0.75)
    slope: Range = (1.0, 10.0)
    linear_probability: float = 0.5

    def apply(self, instance: Instance, seed: int) -> Instance:
        """Return `instance` with a peak memory for every task and file sizes that fit it."""
        random = np.random.default_rng([seed, _OWN_STREAM])
        models = {
            category: self._draw(random) for category in dict.fromkeys(task.category for task in instance.workflow)
        }
        wanted: dict[str, int] = {}  # by linear task: the sum of its input sizes
        for task in instance.workflow:
            model = models[task.category]
            if model.slope:
                explained = math.sqrt(model.deviation_bytes**2 - model.error_bytes**2)
                wanted[task.id] = max(1, round(random.normal(model.mean_bytes, explained) / model.slope))
        tasks, file_bytes = _fit_inputs(instance, wanted)
        recorded: dict[str, Recorded] = {}
        for task in tasks:
            model = models[task.category]
            if model.slope:
                memory = model.slope * wanted[task.id] + random.normal(0.0, model.error_bytes)
            else:
                memory = random.normal(model.mean_bytes, model.deviation_bytes)
            recorded[task.id] = structs.replace(instance.recorded[task.id], memory_bytes=max(1, round(memory)))
        description = f"{instance.description}; memory after Witt et al. 2019, Table II"
        return instance_of(instance.workflow.name, tasks, recorded, file_bytes, description)

    def _draw(self, random: np.random.Generator) -> _Category:
        mean = random.uniform(*self.mean_bytes)
        deviation = random.uniform(*self.deviation_share) * mean
        error = math.sqrt(random.uniform(*self.error_share)) * deviation
        slope = random.uniform(*self.slope)
        return _Category(mean, deviation, error, slope if random.random() < self.linear_probability else 0.0)


def _fit_inputs(instance: Instance, wanted: dict[str, int]) -> tuple[list[Task], dict[str, int]]:
    """Return tasks and file sizes such that the inputs of each task in `wanted` have that total size."""
    tasks = instance.workflow.tasks
    factor: dict[str, float] = {}
    for task_id, sum_bytes in wanted.items():
        now_bytes = sum(instance.file_bytes[path] for path in tasks[task_id].inputs)
        if now_bytes > sum_bytes:
            for path in tasks[task_id].inputs:
                factor[path] = min(factor.get(path, 1.0), sum_bytes / now_bytes)
    file_bytes = {path: int(size * factor.get(path, 1.0)) for path, size in instance.file_bytes.items()}
    readers = Counter(path for task in tasks.values() for path in task.inputs)
    fitted = []
    for task in tasks.values():
        missing_bytes = wanted.get(task.id, 0) - sum(file_bytes[path] for path in task.inputs)
        if task.id not in wanted or not missing_bytes:
            fitted.append(task)
            continue
        own = [path for path in task.inputs if readers[path] == 1 and path not in instance.workflow.producer]
        if own:
            file_bytes[max(own, key=file_bytes.__getitem__)] += missing_bytes
            fitted.append(task)
        else:
            extra = f"{task.id}_data"
            file_bytes[extra] = missing_bytes
            fitted.append(structs.replace(task, inputs=(*task.inputs, extra)))
    return fitted, file_bytes
