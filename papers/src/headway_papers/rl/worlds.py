"""`World`: one pipeline's workflow that a machine of 32 cores and 125 GB runs repeatedly.

A world draws once its tasks, the work of each, and how cores make it faster. Its runs repeat the same work
with a little noise, as the thesis repeated the same inputs.
"""

from __future__ import annotations

from collections.abc import Callable
from math import exp, inf
from typing import TYPE_CHECKING

from msgspec import Struct, structs

from headway.model.resources import Resources
from headway.model.task import Task
from headway_papers.malleable_work import MalleableWork
from headway_papers.rl.pipelines import Pipeline, Process, drawing

if TYPE_CHECKING:
    from numpy.random import Generator

MACHINE = Resources(cores=32, memory_bytes=125 * 10**9, disk_bytes=10**15)  # section 5.1
SAMPLES = 2  # of a run: a process that runs once a sample has this many tasks
_MOST_TASKS = 12  # of one process
_STAGE = 4  # processes that depend on the same ones
# The thesis reduced its inputs until runs took 10 to 40 minutes. Ours hold all cores of the machine for ten.
_CORES_BUSY_S = 600.0
_TIME_NOISE, _MEMORY_NOISE = 0.05, 0.02  # standard deviations of logarithms between runs of the same task
OVERHEAD = 0.01


class Law(Struct, frozen=True):
    """How cores make a process faster: what is drawn for each process, and how its threads behave."""

    parallel: Callable[[Generator], float]  # draws the fraction of the work that can be parallel
    most_threads: Callable[[Generator], float] = lambda draw: inf
    always_busy: bool = False


def _two_to_eight(draw: Generator) -> float:
    return float(draw.integers(2, 9))


# Amdahl's law with three distributions of the fraction, and programs that do not obey it.
AMDAHL: dict[str, Law] = {
    "mostly serial": Law(lambda draw: float(draw.beta(2, 5))),
    "evenly spread": Law(lambda draw: float(draw.uniform(0, 1))),
    "mostly parallel": Law(lambda draw: float(draw.beta(5, 1))),
}
BEYOND_AMDAHL: dict[str, Law] = {
    "capped": Law(lambda draw: float(draw.beta(5, 1)), _two_to_eight),
    "busy-waiting": Law(lambda draw: float(draw.uniform(0, 1)), always_busy=True),
    "memory-bound": Law(lambda draw: float(draw.beta(5, 1)), _two_to_eight, always_busy=True),
}
LAWS = AMDAHL | BEYOND_AMDAHL


class World(Struct, frozen=True):
    """Tasks, parents before children, and the work of each."""

    pipeline: str
    law: str
    seed: int
    tasks: list[Task]
    works: dict[str, MalleableWork]

    def works_of_run(self, run: int) -> dict[str, MalleableWork]:
        """The work of the tasks in that run: the same, with a little noise."""
        draw = drawing("run", self.pipeline, self.law, self.seed, run)
        noise = draw.normal(size=(len(self.works), 2))
        return {
            task: structs.replace(
                work,
                one_core_s=work.one_core_s * exp(_TIME_NOISE * seconds),
                memory_bytes=int(work.memory_bytes * exp(_MEMORY_NOISE * memory)),
            )
            for (task, work), (seconds, memory) in zip(self.works.items(), noise.tolist(), strict=True)
        }

    def tasks_a_run(self) -> dict[str, int]:
        """How many tasks of each category a run has."""
        found: dict[str, int] = {}
        for task in self.tasks:
            found[task.category] = found.get(task.category, 0) + 1
        return found


def world_of(pipeline: Pipeline, law: str, seed: int, requests: float = 1.0, overhead: float = OVERHEAD) -> World:
    """Draw a world: stages of tasks that depend on the stage before, with measured work and memory.

    `requests` multiplies the memory that the developers request.
    """
    draw = drawing("world", pipeline.name, seed)
    counts = sorted(process.tasks for process in pipeline.processes if process.tasks > 1)
    typical = counts[len(counts) // 2] if counts else 1
    tasks: list[Task] = []
    works: dict[str, MalleableWork] = {}
    before: list[list[str]] = []  # the last stage: ids by process
    stage: list[list[str]] = []
    for number, process in enumerate(pipeline.processes):
        if number % _STAGE == 0:
            before, stage = stage, []
        speed = _speed(LAWS[law], drawing("fraction", pipeline.name, seed, law, process.name), overhead)
        many = 1 if process.tasks == 1 else min(_MOST_TASKS, max(1, round(SAMPLES * process.tasks / typical)))
        stage.append([f"{process.name} ({index + 1})" for index in range(many)])
        for index, task in enumerate(stage[-1]):
            tasks.append(_task(task, process, _parents(before, index, many), requests))
            works[task] = _work(process, speed, draw)
    return World(pipeline.name, law, seed, tasks, _stretched(tasks, works))


def _task(task: str, process: Process, parents: tuple[str, ...], requests: float) -> Task:
    cores = min(float(process.cores), MACHINE.cores)
    hints = {"cores": cores, "memory_bytes": float(int(min(requests * process.memory_bytes, MACHINE.memory_bytes)))}
    return Task(task, process.name, "-", parents=parents, hints=hints, malleable=True)


def _parents(before: list[list[str]], index: int, many: int) -> tuple[str, ...]:
    """The tasks that it depends on: those of its own sample, or all of them if it runs once."""
    if many == 1:
        return tuple(task for tasks in before for task in tasks)
    return tuple(tasks[index % len(tasks)] for tasks in before)


def _speed(law: Law, draw: Generator, overhead: float) -> MalleableWork:
    """One second of work of a process, which says how it speeds up."""
    parallel = min(0.999, law.parallel(draw))
    return MalleableWork(1.0, parallel, 0, overhead, most_threads=law.most_threads(draw), always_busy=law.always_busy)


def _work(process: Process, speed: MalleableWork, draw: Generator) -> MalleableWork:
    run_s, peak_bytes = process.runs[int(draw.integers(len(process.runs)))]
    alone_s = run_s / speed.run_s(min(float(process.cores), MACHINE.cores))
    peak = int(min(peak_bytes, 0.95 * MACHINE.memory_bytes))
    return structs.replace(speed, one_core_s=alone_s, memory_bytes=peak)


def _stretched(tasks: list[Task], works: dict[str, MalleableWork]) -> dict[str, MalleableWork]:
    """The works with all times multiplied by one factor, so that the requested cores are held for ten minutes."""
    held_s = sum(task.hints["cores"] * works[task.id].run_s(task.hints["cores"]) for task in tasks)
    factor = _CORES_BUSY_S * MACHINE.cores / held_s
    return {task: structs.replace(work, one_core_s=work.one_core_s * factor) for task, work in works.items()}
