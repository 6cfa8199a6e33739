"""How the manager's work grows with the size and shape of a workflow, in virtual time: `python -m benchmarks growth`.

The engine, the default sizer and the default order are those of real runs. Tasks take no time of this machine, and the
journal is not kept, so that what is measured is the CPU time of decisions, and the memory that the state takes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.measure import peak_bytes
from headway.drivers.assemble import assemble, plans
from headway.drivers.run_settings import RunSettings, run_started
from headway.drivers.simulated import SimulatedRun, simulate
from headway.kernels.batch.queue import BatchQueue
from headway.model.outcome import Ending, Measured, Outcome, Quality, Usage
from headway.model.records import Decision, Event, Launch
from headway.model.resources import Resources
from headway.model.task import Task
from headway.planning.base import known_run_times

_NODE = Resources(cores=64, memory_bytes=256 * 10**9, disk_bytes=10**13)
_RUN_S = 60.0

Tasks = Iterator[Task]


def _one_category(tasks: int) -> Tasks:
    return (Task(f"t[{n}]", "t", "true") for n in range(tasks))


def _own_categories(tasks: int) -> Tasks:
    return (Task(f"t{n}", f"t{n}", "true") for n in range(tasks))


def _chain(tasks: int) -> Tasks:
    return (Task(f"t[{n}]", "t", "true", parents=(f"t[{n - 1}]",) if n else ()) for n in range(tasks))


def _layers(tasks: int) -> Tasks:
    """As many layers as each has tasks; each task reads what three tasks of the layer before wrote."""
    width = round(tasks**0.5)
    for layer in range(width):
        for n in range(width):
            made = (f"l{layer - 1}/{each % width}" for each in (n, n + 1, n + 2)) if layer else ()
            yield Task(f"t[{layer},{n}]", f"l{layer}", "true", inputs=tuple(made), outputs=(f"l{layer}/{n}",))


def _many_inputs(files: int) -> Tasks:
    """Twenty tasks that read so many files in all."""
    for n in range(20):
        yield Task(f"t[{n}]", "t", "true", inputs=tuple(f"in/{n}/{each}" for each in range(files // 20)))


class Shape(NamedTuple):
    """A kind of workflow and the sizes that are compared; `plan` is one of a cluster, where jobs are asked for."""

    make: Callable[[int], Tasks]
    sizes: tuple[int, ...]
    counted: str = "tasks"
    plan: str = ""
    nodes: int = 1


SHAPES = {
    "one category": Shape(_one_category, (10_000, 100_000, 1_000_000)),
    "a category for each task": Shape(_own_categories, (1_000, 4_000, 16_000)),
    "a chain": Shape(_chain, (2_000, 20_000, 200_000)),
    "layers of n tasks, n times": Shape(_layers, (10_000, 100_489, 1_000_000)),
    "20 tasks with inputs": Shape(_many_inputs, (20_000, 200_000, 2_000_000), "inputs"),
    "a job for each task, 100 at a time": Shape(_one_category, (500, 2_000, 8_000), "tasks", "one-job-per-task", 100),
}


class Grown(NamedTuple):
    """What a run of one size took."""

    cpu_s: float
    peak_bytes: int


class _Forgetful(list[Event | Decision]):
    """A journal that keeps nothing: the engine holds all that it needs."""

    def append(self, record: Event | Decision) -> None:
        pass


def run_in_virtual_time(shape: Shape, size: int) -> SimulatedRun:
    """Run a workflow of that shape and size to its end."""
    planner = plans()[shape.plan](known_run_times({}, _RUN_S)) if shape.plan else None
    started = run_started(RunSettings(), name="growth", at=0.0, uid="growth")
    run = SimulatedRun(assemble(started, planner), list(shape.make(size)), _outcome, _NODE, journal=_Forgetful())
    simulate(BatchQueue(shape.nodes, most_jobs=100), [run])
    return run


def _outcome(launch: Launch, at: float) -> Outcome:
    usage = Usage(
        wall_s=Measured(_RUN_S, Quality.EXACT),
        cpu_s=Measured(_RUN_S, Quality.EXACT),
        memory_bytes=Measured(2e8 + 1e6 * (hash(launch.task) % 100), Quality.EXACT),
    )
    return Outcome(launch.task, launch.attempt, Ending.SUCCESS, at, at + _RUN_S, usage, exit_code=0)


def measured(name: str, size: int) -> Grown:
    """Run a workflow in a process of its own, whose hashes are the same each time."""
    argv = [sys.executable, "-m", "benchmarks.growth", name, str(size)]
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, env={"PYTHONHASHSEED": "0"})
    return Grown(*json.loads(done.stdout))


def main(largest: int = 1_000_000) -> None:
    """Print time and memory by shape and size, and how much more a task costs than in the size before."""
    table = Table(title="the manager's work in virtual time, default sizer")
    for heading in ("", "size", "CPU", "CPU, ms each", "each, against the size before", "peak memory"):
        table.add_column(heading, justify="left" if not heading else "right")
    console = Console()
    for name, shape in SHAPES.items():
        sizes = [size for size in shape.sizes if size <= largest or shape.counted != "tasks"]
        results = {size: measured(name, size) for size in sizes}
        each_ms = {size: result.cpu_s / size * 1e3 for size, result in results.items()}
        before = {after: each_ms[after] / each_ms[size] for size, after in pairwise(sizes)}
        for size, result in results.items():
            row = (f"{size:,} {shape.counted}", f"{result.cpu_s:.1f} s", f"{each_ms[size]:.3f}")
            ratio = f"{before[size]:.2f}" if size in before else ""
            table.add_row(name if size == sizes[0] else "", *row, ratio, f"{result.peak_bytes / 1e6:.0f} MB")
        console.print(f"  {name}", style="dim")
    console.print(table)


if __name__ == "__main__":
    began_s = time.process_time()
    run_in_virtual_time(SHAPES[sys.argv[1]], int(sys.argv[2]))
    print(json.dumps([time.process_time() - began_s, peak_bytes(os.getpid())]))
