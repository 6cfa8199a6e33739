"""Runs of 10,000 and 100,000 tasks: the manager's memory and CPU time."""

from __future__ import annotations

import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.throughput import headway, len_of_machine


def main(sizes: tuple[int, ...] = (10_000, 100_000)) -> None:
    """Print memory and time by size."""
    table = Table(title="the manager of a run")
    for heading in ("tasks", "wall", "manager CPU, ms a task", "peak memory"):
        table.add_column(heading, justify="right")
    for tasks in sizes:
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
            result = headway(Path(directory), tasks, 4 * len_of_machine())
        table.add_row(
            f"{tasks:,}",
            f"{result.wall_s:.0f} s",
            f"{result.cpu_s / tasks * 1e3:.2f}",
            f"{result.peak_bytes / 1e6:.0f} MB",
        )
    Console().print(table)
