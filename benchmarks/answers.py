"""The time that `headway --help` and `headway status` take, compared with an empty Python program."""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed
from benchmarks.throughput import headway


def main(repeats: int = 10) -> None:
    """Print medians."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        headway(directory, 1000, 4)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "headway --help": [sys.executable, "-m", "headway", "--help"],
            "headway status (1,000 tasks)": [sys.executable, "-m", "headway", "status"],
        }
        table = Table(title="time to an answer")
        table.add_column("")
        table.add_column("median", justify="right")
        for name, argv in commands.items():
            median_s = statistics.median(timed(argv, directory).wall_s for _ in range(repeats))
            table.add_row(name, f"{median_s * 1e3:.0f} ms")
    Console().print(table)
