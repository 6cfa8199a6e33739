"""What the start of a task costs among 10, 1,000 and 100,000 files in its directory."""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed

TASKS = 100
FILES = (10, 1_000, 100_000)
LAYOUTS = {"files and outputs side by side": ("", ""), "files in data/, outputs in out/": ("data/", "out/")}


def task_ms(directory: Path, files: int, inputs: str, outputs: str) -> float:
    """Run tasks that read one file each and return the milliseconds that each took, all costs included."""
    (directory / "data").mkdir()
    for number in range(files):
        (directory / f"{inputs}s{number}.txt").touch()
    numbers = ", ".join(map(str, range(TASKS)))
    (directory / "workflow.yaml").write_text(
        f"name: crowded\ntasks:\n  t:\n    each: {{n: [{numbers}]}}\n    run: cp {inputs}s1.txt {outputs}o{{n}}\n"
        f"    inputs: {inputs}s1.txt\n    outputs: '{outputs}o{{n}}'\n    resources: {{cores: 1, memory: 50 MB}}\n"
    )
    command = [sys.executable, "-m", "headway", "run", "--sizer", "user", "--cores", "1", "--quiet", "--json"]
    timed(command, directory)
    text = (directory / "output").read_text()
    wall_s: float = json.loads(text[text.index("{\n") :])["wall_s"]
    return wall_s / TASKS * 1e3


def main() -> None:
    """Print the cost per task, and its ratio to that among the fewest files."""
    table = Table(title=f"{TASKS} tasks `cp`, one at a time")
    for heading in ("", *(f"{files:,} files" for files in FILES), *(f"{files:,} to {FILES[0]}" for files in FILES[1:])):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, (inputs, outputs) in LAYOUTS.items():
        each_ms = []
        for files in FILES:
            with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
                each_ms.append(task_ms(Path(directory), files, inputs, outputs))
        ratios = [f"{ms / each_ms[0]:.2f}" for ms in each_ms[1:]]
        table.add_row(name, *(f"{ms:.1f} ms" for ms in each_ms), *ratios)
    Console().print(table)
