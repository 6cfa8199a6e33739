"""Small workflows and made-up queues for tests of groupers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from headway.grouping.base import Levels, Waits
from headway.model.task import Task

Floats = NDArray[np.float64]


def barriers(widths: Sequence[int]) -> list[Task]:
    """Levels of so many tasks, each of which waits for all of the level before."""
    tasks: list[Task] = []
    above: tuple[str, ...] = ()
    for level, width in enumerate(widths):
        now = [Task(f"{level}.{number}", "c", "true", parents=above) for number in range(width)]
        above = tuple(task.id for task in now)
        tasks += now
    return tasks


def four_levels() -> Levels:
    """1, 4, 2 and 1 tasks of 1,000 s each, level after level, on a machine of 10 nodes.

    How long levels take together, on so many nodes:

        levels   1     2     3     4
        0        1000
        0-1      5000  3000  3000  2000
        0-2      7000  4000  4000  3000
        0-3      8000  5000  5000  4000
        1-3      7000  4000  4000  3000
        2-3      3000  2000
        3        1000
    """
    return Levels(barriers([1, 4, 2, 1]), lambda _task: 1000.0, 10)


def two_levels(first_s: float, second_s: float) -> Levels:
    """Two tasks, one after the other: each group can use one node only."""
    return Levels(barriers([1, 1]), lambda task: first_s if task.id == "0.0" else second_s, 10)


def listed(waits_s: Mapping[tuple[int, float], float]) -> Waits:
    """A queue that answers for the listed shapes (nodes, seconds) only; any other shape fails the test."""

    def waits(nodes: Sequence[int], run_s: Floats) -> Floats:
        return np.array([waits_s[shape] for shape in zip(nodes, run_s.tolist(), strict=True)])

    return waits


def by_nodes(steps: Mapping[int, Sequence[tuple[float, float]]]) -> Waits:
    """A queue with a wait for each pair of nodes and longest seconds."""

    def wait(nodes: int, run_s: float) -> float:
        return next((wait_s for up_to_s, wait_s in steps[nodes] if run_s <= up_to_s), math.inf)

    def waits(nodes: Sequence[int], run_s: Floats) -> Floats:
        return np.array([wait(number, seconds) for number, seconds in zip(nodes, run_s.tolist(), strict=True)])

    return waits
