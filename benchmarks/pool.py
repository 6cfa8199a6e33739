"""Speed of simulated fixed pools: by the engine and by the compiled simulator, and how the cost of a task grows."""

from __future__ import annotations

import time
from collections.abc import Callable

from rich.console import Console
from rich.table import Table

from headway.model.instance import Instance
from headway_papers.feedback.workflows import with_estimates, workflow
from headway_papers.fixed_pool.compiled_runs import compiled_in_pool, prepared
from headway_papers.fixed_pool.runs import recorded_in_pool

PAIRS = (
    ("fifo", "percentile-95"),
    ("least-finished-first", "linear-regression-mean-minus"),
    ("learning-rank", "ladder"),
)
SIZES = (1_000, 10_000, 100_000)
TTF = 0.5
ROUNDS = 20  # of the compiled simulator, which is too fast to be timed once
MOST_GROWTH = 2.0  # the cost of a task in the largest workflow over that in the smallest: about linear


def made(tasks: int) -> Instance:
    """Make a workflow of the study of feedback-based allocation."""
    return with_estimates(workflow("montage", 0, tasks=tasks), "power-2")


def cpu_s(run: Callable[[], object]) -> float:
    """Return the CPU time of `run` in this process, which other load on the machine changes little."""
    began = time.process_time()
    run()
    return time.process_time() - began


def main() -> None:
    """Print both tables."""
    console = Console()
    instance = made(SIZES[0])
    numbers = prepared(instance)
    table = Table(title=f"Scenarios a second, {SIZES[0]:,} tasks, one core")
    for head in ("order", "sizer", "engine", "compiled", "ratio"):
        table.add_column(head, justify="left" if head in ("order", "sizer") else "right")
    for order, sizer in PAIRS:
        compiled_in_pool(numbers, order, sizer, TTF)  # compiles
        recorded_in_pool(instance, order, sizer, TTF)
        engine_s = cpu_s(lambda order=order, sizer=sizer: recorded_in_pool(instance, order, sizer, TTF))
        compiled_s = cpu_s(
            lambda order=order, sizer=sizer: [compiled_in_pool(numbers, order, sizer, TTF) for _ in range(ROUNDS)]
        )
        compiled_s /= ROUNDS
        table.add_row(order, sizer, f"{1 / engine_s:.2f}", f"{1 / compiled_s:,.0f}", f"{engine_s / compiled_s:,.0f}")
    console.print(table)
    console.print(growth())


def growth() -> Table:
    """Return a table of the engine's CPU time for each task, by size of the workflow."""
    table = Table(title=f"The engine with {' and '.join(PAIRS[-1])}: ms of CPU time a task")
    table.add_column("tasks", justify="right")
    for head in ("ms a task", "times the first"):
        table.add_column(head, justify="right")
    first = 0.0
    for tasks in SIZES:
        instance = made(tasks)
        each_s = cpu_s(lambda instance=instance: recorded_in_pool(instance, *PAIRS[-1], TTF)) / len(instance.workflow)
        first = first or each_s
        verdict = "" if each_s <= MOST_GROWTH * first else "  MORE THAN LINEAR"
        table.add_row(f"{tasks:,}", f"{1e3 * each_s:.2f}", f"{each_s / first:.2f}{verdict}")
    return table


if __name__ == "__main__":
    main()
