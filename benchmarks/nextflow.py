"""Trivial tasks of a Nextflow pipeline: `headway nextflow` against Nextflow's own local executor, in the same run.

`python -m benchmarks.nextflow [TASKS]` runs the pipeline in turns, with each twice, and compares the faster runs. The
pipeline with one task shows what is paid once: Java's start, and the service's.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests import nextflow as real

from benchmarks.measure import timed
from benchmarks.throughput import len_of_machine

GOAL = 1.3
ROUNDS = 2
PIPELINE = """
process TRIVIAL {
    input: val number
    script: 'true'
}
workflow { TRIVIAL(Channel.of(1..params.tasks)) }
"""
CONTENDERS = {"nextflow": ["--off"], "headway nextflow": []}


def wall_s(options: list[str], tasks: int, environment: dict[str, str]) -> float:
    """Time one run of the pipeline."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        (Path(folder) / "main.nf").write_text(PIPELINE)
        words = ["nextflow", *options, "--", "run", "main.nf", "--tasks", str(tasks)]
        return timed([sys.executable, "-m", "headway", *words], Path(folder), **environment).wall_s


def main(tasks: int = 200) -> None:
    """Print the comparison."""
    if obstacle := real.get():
        raise SystemExit(obstacle)
    console = Console()
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as home:
        environment = real.environment(Path(home))
        best: dict[tuple[str, int], float] = {}
        for count in (1, tasks):
            for _ in range(ROUNDS):
                for name, options in CONTENDERS.items():
                    took_s = wall_s(options, count, environment)
                    best[name, count] = min(took_s, best.get((name, count), took_s))
                    console.print(f"  {name}, {count:,} tasks: {took_s:.1f} s", style="dim")
    table = Table(title=f"a pipeline of trivial tasks on {len_of_machine()} cores, wall time")
    for heading in ("", "1 task", f"{tasks:,} tasks", "against nextflow"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name in CONTENDERS:
        ratio = best[name, tasks] / best["nextflow", tasks]
        table.add_row(name, f"{best[name, 1]:.1f} s", f"{best[name, tasks]:.1f} s", f"{ratio:.2f}")
    console.print(table)
    console.print(f"goal: at most {GOAL:g} times Nextflow's own wall time")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
