"""Tiny calls of a Python function: `headway.Executor` against ProcessPoolExecutor, joblib and dask, in one run.

Each contender runs in a program of its own with as many workers as the machine has cores. Its first calls, which start
the workers, are not timed. Then calls are made one after the other (the time from submitting to the value) and all at
once. The rounds take turns, so that a busy moment of the machine does not hit one contender alone; the best counts.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.throughput import len_of_machine

GOAL_MS = 3.0
ROUNDS = 3
OURS = "headway, isolation=shared"

FRAME = """
import math, sys, time

def measure(submit, calls):
    for future in [submit(number) for number in range(20)]:
        future.result()
    began = time.perf_counter()
    for number in range(max(calls // 5, 1)):
        submit(number).result()
    apart_s = (time.perf_counter() - began) / max(calls // 5, 1)
    began = time.perf_counter()
    for future in [submit(number) for number in range(calls)]:
        future.result()
    print(apart_s * 1e3, (time.perf_counter() - began) / calls * 1e3)

if __name__ == "__main__":
    calls, workers = int(sys.argv[1]), int(sys.argv[2])
"""

CONTENDERS = {
    "ProcessPoolExecutor": """
    from concurrent.futures import ProcessPoolExecutor
    with ProcessPoolExecutor(workers) as executor:
        measure(lambda number: executor.submit(math.sqrt, number), calls)
""",
    OURS: """
    import headway
    with headway.Executor(isolation="shared", cores=workers) as executor:
        measure(lambda number: executor.submit(math.sqrt, number), calls)
""",
    "joblib (loky)": """
    from joblib.externals.loky import get_reusable_executor
    executor = get_reusable_executor(workers)
    measure(lambda number: executor.submit(math.sqrt, number), calls)
    executor.shutdown()
""",
    "dask.distributed": """
    from distributed import Client, LocalCluster
    with LocalCluster(workers, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        measure(lambda number: client.submit(math.sqrt, number, pure=False), calls)
""",
    "headway, isolation=process": """
    import headway
    with headway.Executor(cores=workers) as executor:
        measure(lambda number: executor.submit(math.sqrt, number), calls)
""",
}
AT_MOST = {"dask.distributed": 500, "headway, isolation=process": 100}


def each_ms(name: str, calls: int, directory: Path) -> tuple[float, float]:
    """Return the time of a call in ms: made one after the other, and all at once."""
    program = directory / "program.py"
    program.write_text(FRAME + CONTENDERS[name])
    words = [sys.executable, str(program), str(min(calls, AT_MOST.get(name, calls))), str(len_of_machine())]
    done = subprocess.run(words, cwd=directory, check=True, capture_output=True, text=True)
    apart, together = map(float, done.stdout.split()[-2:])
    return apart, together


def main(calls: int = 2000) -> None:
    """Print the comparison."""
    console = Console()
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in CONTENDERS}
    for _ in range(ROUNDS):
        for name, times in found.items():
            with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
                times.append(each_ms(name, calls, Path(directory)))
    best = {name: (min(a for a, _ in times), min(t for _, t in times)) for name, times in found.items()}
    table = Table(title=f"{calls:,} tiny calls on {len_of_machine()} cores, best of {ROUNDS} rounds, ms a call")
    for heading in ("", "one after the other", "against headway", "all at once", "against headway"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, (apart, together) in best.items():
        ours_apart, ours_together = best[OURS]
        table.add_row(
            name, f"{apart:.2f}", f"{apart / ours_apart:.2f}", f"{together:.2f}", f"{together / ours_together:.2f}"
        )
    console.print(table)
    verdict = "reached" if max(best[OURS]) <= GOAL_MS else "missed"
    console.print(f"The goal, at most {GOAL_MS:g} ms a tiny call with isolation=shared, is {verdict}.")
