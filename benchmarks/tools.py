"""Other tools on Headway against their own executors, in one run: Parsl's apps, and a CWL scatter of trivial tools.

Parsl's first calls, which start the workers, are not timed. A CWL run is timed whole, with the start of the service.
The rounds take turns; the best of each counts.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.throughput import len_of_machine

ROUNDS = 3
PROGRAM = """
import sys, time
import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider
from headway.integrations.parsl import HeadwayExecutor

kind, calls, workers = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
executors = {
    "htex": lambda: HighThroughputExecutor(
        label="htex",
        address="127.0.0.1",
        max_workers_per_node=workers,
        provider=LocalProvider(init_blocks=1, max_blocks=1),
    ),
    "headway": lambda: HeadwayExecutor(cores=workers, fresh=True),
}
parsl.load(Config(executors=[executors[kind]()], initialize_logging=False))

@parsl.python_app
def square(number):
    return number * number

@parsl.bash_app
def nothing():
    return "true"

for app in (lambda: square(3), nothing):
    for future in [app() for _ in range(20)]:
        future.result()
    began = time.perf_counter()
    for future in [app() for _ in range(calls)]:
        future.result()
    print((time.perf_counter() - began) / calls * 1e3)
parsl.dfk().cleanup()
"""
SCATTER = """
cwlVersion: v1.2
class: Workflow
requirements: {ScatterFeatureRequirement: {}}
inputs: {parts: "int[]"}
outputs: []
steps:
  nothing:
    run: {class: CommandLineTool, baseCommand: "true", inputs: {part: int}, outputs: []}
    scatter: part
    in: {part: parts}
    out: []
"""


def parsl_ms(kind: str, calls: int) -> list[float]:
    """Return the time of a call in ms: of a Python app, and of a bash app."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        words = [sys.executable, "-c", PROGRAM, kind, str(calls), str(len_of_machine())]
        done = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()[-2:]]


def cwl_s(jobs: int, *how: str) -> float:
    """Return the time of a scatter of trivial jobs in seconds."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
        (Path(directory) / "scatter.cwl").write_text(SCATTER)
        (Path(directory) / "parts.json").write_text(json.dumps({"parts": list(range(jobs))}))
        words = [sys.executable, "-m", "headway", "cwl", *how, "scatter.cwl", "parts.json"]
        began = time.perf_counter()
        subprocess.run(words, cwd=directory, check=True, capture_output=True)
        return time.perf_counter() - began


def main(calls: int = 1000, jobs: int = 200) -> None:
    """Print the comparison."""
    apps: dict[str, list[list[float]]] = {"htex": [], "headway": []}
    runs: dict[str, list[float]] = {"cwltool --parallel": [], "headway cwl": []}
    for _ in range(ROUNDS):
        for kind, found in apps.items():
            found.append(parsl_ms(kind, calls))
        runs["cwltool --parallel"].append(cwl_s(jobs, "--off", "--", "--parallel"))
        runs["headway cwl"].append(cwl_s(jobs, "--fresh", "--"))
    table = Table(title=f"on {len_of_machine()} cores, best of {ROUNDS} rounds")
    for heading in ("", "its own", "on Headway", "ratio"):
        table.add_column(heading, justify="left" if not heading else "right")
    for at, name in enumerate((f"Parsl, {calls:,} python apps", f"Parsl, {calls:,} bash apps")):
        own, ours = (min(times[at] for times in apps[kind]) for kind in ("htex", "headway"))
        table.add_row(name, f"{own:.2f} ms (HTEX)", f"{ours:.2f} ms", f"{ours / own:.2f}")
    own, ours = (min(times) for times in runs.values())
    table.add_row(f"CWL, {jobs:,} jobs `true`", f"{own:.1f} s (--parallel)", f"{ours:.1f} s", f"{ours / own:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
