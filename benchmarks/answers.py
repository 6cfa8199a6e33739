"""The time that short commands and imports of `headway` take, compared with an empty Python program."""

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
            "import headway": [sys.executable, "-c", "import headway"],
            "headway.Executor": [sys.executable, "-c", "import headway; headway.Executor"],
            "headway --help": [sys.executable, "-m", "headway", "--help"],
            "headway status (1,000 tasks)": [sys.executable, "-m", "headway", "status"],
        }
        table = Table(title="time to an answer")
        table.add_column("")
        for heading in ("median", "CPU time"):
            table.add_column(heading, justify="right")
        for name, argv in commands.items():
            times = [timed(argv, directory) for _ in range(repeats)]
            medians = statistics.median(each.wall_s for each in times), statistics.median(each.cpu_s for each in times)
            table.add_row(name, *(f"{median_s * 1e3:.0f} ms" for median_s in medians))
    Console().print(table)
