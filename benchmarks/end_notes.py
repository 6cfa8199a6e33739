"""What it costs to note on disk how a command ended (`workers/trees/end_note.py`)."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from headway.workers.trees import spawner
from headway.workers.trees.end_note import expect_end, forget_end

TIMES = 5000


def cost_s(folder: Path) -> dict[str, float]:
    """Return the median times of the steps, in a folder with the files of an attempt."""
    for name in ("stdout", "stderr", "script", "work"):
        (folder / name).touch()
    note = str(folder / "end")
    fields = spawner._stat(os.getpid())
    steps: dict[str, Callable[[], object]] = {
        "the file is made before the command starts": lambda: expect_end(note),
        "it is renamed when the command ends": lambda: spawner._note(os.fsencode(note), 0, 1.0, 2.0, fields),
        "it is deleted after the attempt": lambda: forget_end(note),
    }
    taken: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(TIMES):
        for name, step in steps.items():
            began_s = time.perf_counter()
            step()
            taken[name].append(time.perf_counter() - began_s)
    return {name: median(spans_s) for name, spans_s in taken.items()}


def main() -> None:
    """Print the cost of each step, and of all together."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        costs_s = cost_s(Path(directory))
    table = Table(title="what the note of a command's end costs (together at most 0.1 ms)")
    table.add_column("step")
    table.add_column("ms", justify="right")
    for name, span_s in (costs_s | {"together": sum(costs_s.values())}).items():
        table.add_row(name, f"{span_s * 1000:.3f}")
    Console().print(table)


if __name__ == "__main__":
    main()
