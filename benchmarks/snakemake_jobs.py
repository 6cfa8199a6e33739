"""Snakemake with Headway's executor against its own for one machine: trivial jobs, several times in turn in one run."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from statistics import median

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed
from benchmarks.throughput import len_of_machine

TURNS = 3
GOAL = 1.3
SNAKEFILE = """
rule all:
    input: expand('done/{{n}}', n=range({jobs}))
rule t:
    output: touch('done/{{n}}')
    shell: 'true'
"""


def wall_s(executor: str, jobs: int) -> float:
    """Return how long Snakemake takes, start and end included."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        (directory / "Snakefile").write_text(SNAKEFILE.format(jobs=jobs))
        command = [sys.executable, "-m", "snakemake", "--cores", str(len_of_machine()), "--executor", executor]
        own = {"XDG_CACHE_HOME": str(directory / "cache"), "HEADWAY_HISTORY": str(directory / "history.db")}
        return timed([*command, "--quiet", "all"], directory, **own).wall_s


def main(jobs: int = 200) -> None:
    """Print the comparison."""
    times: dict[str, list[float]] = {"local": [], "headway": []}
    for _ in range(TURNS):
        for executor, taken in times.items():
            taken.append(wall_s(executor, jobs))
    table = Table(title=f"{jobs} jobs `true` of Snakemake on {len_of_machine()} cores, median of {TURNS} runs in turn")
    for heading in ("executor", "wall", "all runs", "ratio"):
        table.add_column(heading, justify="left" if heading == "executor" else "right")
    base = median(times["local"])
    for executor, taken in times.items():
        ratio = median(taken) / base
        each = ", ".join(f"{it:.1f} s" for it in taken)
        table.add_row(executor, f"{median(taken):.1f} s", each, f"{ratio:.2f} (goal {GOAL})" if ratio != 1 else "")
    Console().print(table)


if __name__ == "__main__":
    main()
