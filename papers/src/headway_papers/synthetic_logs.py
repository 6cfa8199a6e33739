"""Logs of generated tasks: the five synthetic workflows of Phung and Thain 2024, section V-B.

The paper names the distributions and shows 1,000 tasks of each (Figure 4); the parameters here are fitted to the
measured use of the paper's tasks. Memory and disk have the same distribution, cores a similar one in whole numbers.
Only in the trimodal workflow do the three change together, from phase to phase.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headway.model.resources import Resources
from headway.model.task_log import LoggedTask, TaskLog

if TYPE_CHECKING:
    import numpy as np
    from numpy.random import Generator
    from numpy.typing import NDArray

    Numbers = NDArray[np.float64]

MACHINE = Resources(cores=16, memory_bytes=64_000_000_000, disk_bytes=64_000_000_000)
TASKS = 1_000
RUN_S = 150.0
# The paper's tasks take their memory at once, then fill the disk, then compute: medians of when its attempts failed.
FAILED_AFTER_S = {"memory_bytes": 5.0, "disk_bytes": 35.0, "cores": 118.0}
_LEAST_BYTES = 10e6
_GB = 1e9

# Draws an amount in GB, or in cores, for each of a number of tasks.
Draw = Callable[["Generator", int], "Numbers"]


def synthetic_log(name: str, seed: int, tasks: int = TASKS) -> TaskLog:
    """A log of the distribution `name` (one of `DISTRIBUTIONS`); the same seed gives the same log."""
    from numpy.random import Generator, Philox

    bytes_drawn, cores_drawn = DISTRIBUTIONS[name]
    draw = Generator(Philox(key=seed, counter=list(DISTRIBUTIONS).index(name)))
    memory, disk = (_bounded(bytes_drawn(draw, tasks) * _GB, _LEAST_BYTES, MACHINE.memory_bytes) for _ in range(2))
    cores = _bounded(cores_drawn(draw, tasks) // 1.0, 1.0, MACHINE.cores)
    logged = [
        LoggedTask(str(number + 1), "default", RUN_S, {"memory_bytes": m, "disk_bytes": d, "cores": c})
        for number, (m, d, c) in enumerate(zip(memory, disk, cores, strict=True))
    ]
    resources = ("memory_bytes", "disk_bytes", "cores")
    return TaskLog(name, logged, resources, MACHINE, resources, dict(FAILED_AFTER_S))


def _bounded(amounts: Numbers, least: float, most: float) -> list[float]:
    return [float(amount) for amount in amounts.clip(least, most)]


def _normal(mean: float, deviation: float) -> Draw:
    return lambda draw, tasks: draw.normal(mean, deviation, tasks)


def _uniform(least: float, most: float) -> Draw:
    return lambda draw, tasks: draw.uniform(least, most, tasks)


def _exponential(mean: float) -> Draw:
    return lambda draw, tasks: draw.exponential(mean, tasks)


def _bimodal(low: Draw, high: Draw) -> Draw:
    """Half of the tasks of each kind, mixed."""

    def either(draw: Generator, tasks: int) -> Numbers:
        is_high = draw.random(tasks) < 0.5
        return is_high * high(draw, tasks) + ~is_high * low(draw, tasks)

    return either


def _in_phases(*phases: Draw) -> Draw:
    """One kind after the other, each for an equal part of the tasks."""

    def one_by_one(draw: Generator, tasks: int) -> Numbers:
        import numpy as np

        ends = [tasks * (number + 1) // len(phases) for number in range(len(phases))]
        return np.concatenate(
            [phase(draw, end - begin) for phase, begin, end in zip(phases, [0, *ends], ends, strict=False)]
        )

    return one_by_one


# By the paper's names: the distributions of memory and disk in GB, and of cores.
DISTRIBUTIONS: dict[str, tuple[Draw, Draw]] = {
    "Normal": (_normal(8, 1), _normal(4, 1)),
    "Uniform": (_uniform(6, 10), _uniform(2, 5)),
    "Bimodal": (_bimodal(_normal(4, 1), _normal(12, 2)), _bimodal(_normal(4, 1), _normal(8, 1))),
    "Trimodal": (
        _in_phases(_normal(4, 1), _normal(12, 2), _normal(8, 1)),
        _in_phases(_normal(2, 1), _normal(7.5, 2), _normal(4, 1)),
    ),
    "Exponential": (_exponential(6), _exponential(4)),
}
