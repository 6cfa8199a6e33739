"""Twelve tasks of one kind, of which one needs far more than the others: the default sizer against `user`.

`user` gives each task the share of the machine that goes with its core. A sizer that learns from the first tasks and is
strict with the twelfth loses the time of the attempts that it stops.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed
from headway.drivers.run_settings import DEFAULT_SIZER

GOAL = 1.1
ROUNDS = 5
# What a task does with {mb} MB, eleven times with a few and once with many.
KINDS = {
    "memory: 20 MB, once 2,000 MB": ("held = bytearray({mb} * 1_000_000)", 20, 2000),
    "disk: 1 MB, once 200 MB": ("open('out-{n}', 'wb').write(bytes({mb} * 1_000_000))", 1, 200),
}
WORKFLOW = """
name: outlier
tasks:
  sample:
    each: {{n: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]}}
    run: "{command}"
    outputs: ["out-{{n}}"]
"""


def wall_s(kind: str, sizer: str) -> float:
    """Run the twelve tasks without a history; return how long that took."""
    work, few, many = KINDS[kind]
    work = work.replace("{mb}", f"({{n}} == 12 and {many} or {few})")
    command = f'python3 -c \\"import time; {work}; time.sleep(1)\\"; touch out-{{n}}'
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        Path(directory, "workflow.yaml").write_text(WORKFLOW.format(command=command))
        argv = [sys.executable, "-m", "headway", "run", "--sizer", sizer, "--order", "fifo", "--quiet"]
        return timed(argv, Path(directory)).wall_s


def main() -> None:
    """Print the comparison. The sizers take turns."""
    console = Console()
    table = Table(title=f"twelve tasks, one of them an outlier; median of {ROUNDS} rounds")
    for heading in ("", f"--sizer {DEFAULT_SIZER}", "--sizer user", "ratio"):
        table.add_column(heading, justify="left" if not heading else "right")
    worst = 0.0
    for kind in KINDS:
        pairs = [(wall_s(kind, DEFAULT_SIZER), wall_s(kind, "user")) for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
        worst = max(worst, ours / theirs)
        table.add_row(kind, f"{ours:.2f} s", f"{theirs:.2f} s", f"{ours / theirs:.2f}")
    console.print(table)
    verdict = "reached" if worst <= GOAL else "missed"
    console.print(f"The goal, at most {GOAL:g} times the wall time of `user`, is {verdict}.")
