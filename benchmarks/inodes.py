"""How many files and directories a run leaves below `.headway` for each of its tasks."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed

TASKS = 200


def left(directory: Path) -> tuple[int, int]:
    """Run tasks that print to both streams and write a small output; return the files and directories that stay."""
    numbers = ", ".join(map(str, range(TASKS)))
    (directory / "workflow.yaml").write_text(
        f"name: inodes\ntasks:\n  t:\n    each: {{n: [{numbers}]}}\n"
        "    run: echo {n} | tee o{n}; echo {n} >&2\n    outputs: o{n}\n"
    )
    timed([sys.executable, "-m", "headway", "run", "--quiet"], directory)
    entries = list((directory / ".headway").rglob("*"))
    folders = sum(entry.is_dir() for entry in entries)
    return len(entries) - folders, folders


def main() -> None:
    """Print the counts, and the files per task."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        files, folders = left(Path(directory))
    table = Table(title=f"what a finished run of {TASKS} tasks with small outputs and logs leaves below .headway")
    for heading in ("files", "directories", "files per task (at most 1)"):
        table.add_column(heading, justify="right")
    table.add_row(f"{files:,}", f"{folders:,}", f"{files / TASKS:.2f}")
    Console().print(table)
