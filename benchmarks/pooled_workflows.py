"""What a pool's manager spends on a task: of one large workflow, and of many small ones that come at once.

CPU time of the pool's own process, threads included; what the managers of the workflows spend is a column of its own. A
run without a pool has one manager for both.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.measure import peak_bytes
from benchmarks.throughput import len_of_machine

TASKS = 20_000
WORKFLOWS = 20
MOST_RATIO = 1.2
AT_ONCE = 4 * len_of_machine()
_HEADWAY = (sys.executable, "-m", "headway")
_TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")


class Spent(NamedTuple):
    """CPU time and peak memory of a pool's manager, and what the managers of the workflows spent together."""

    wall_s: float
    pool_s: float
    pool_peak_bytes: int
    workflows_s: float


def directory_of(parent: Path, number: int, tasks: int) -> Path:
    """Make a directory with a workflow of tasks that do nothing."""
    directory = parent / f"flow-{number}"
    directory.mkdir()
    names = ", ".join(map(str, range(tasks)))
    (directory / "workflow.yaml").write_text(
        f"name: nothing\ntasks:\n  t:\n    each: {{n: [{names}]}}\n    run: 'true'\n"
        f"    resources: {{cores: {len_of_machine() / AT_ONCE}, memory: 50 MB}}\n"
    )
    return directory


def started(words: list[str], directory: Path) -> subprocess.Popen[bytes]:
    """Start `headway`, which writes to a file in its directory."""
    environment = os.environ | {"HEADWAY_HISTORY": "none"}
    with (directory / "output").open("wb") as output:
        return subprocess.Popen([*_HEADWAY, *words], cwd=directory, env=environment, stdout=output, stderr=output)


def cpu_of_ended(processes: list[subprocess.Popen[bytes]]) -> float:
    """Wait for processes and return their CPU time. Exits if one fails."""
    total = 0.0
    for process in processes:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and its figures can still be read
        total += cpu_so_far(process.pid)
        if process.wait():
            raise SystemExit(f"{process.args} ended with {process.returncode}")
    return total


def cpu_so_far(pid: int) -> float:
    """The CPU time of a process until now, without that of its children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS_A_SECOND


def in_pool(workflows: int, tasks: int) -> Spent:
    """Run that many workflows at once, each of that many tasks, in a pool of their own."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        parent = Path(folder)
        place = parent / "pool"
        pool = started(["pool", "start", str(place), "-q", "--sizer", "user"], parent)
        while not (place / ".headway" / "pool").exists():
            if pool.poll() is not None:
                raise SystemExit((parent / "output").read_text())
            time.sleep(0.05)
        before_s, began = cpu_so_far(pool.pid), time.perf_counter()
        words = ["run", "-q", "--sizer", "user", "--pool", str(place)]
        runs = [started(words, directory_of(parent, number, tasks)) for number in range(workflows)]
        workflows_s = cpu_of_ended(runs)
        wall_s = time.perf_counter() - began
        spent = Spent(wall_s, cpu_so_far(pool.pid) - before_s, peak_bytes(pool.pid), workflows_s)
        subprocess.run([*_HEADWAY, "pool", "stop", str(place)], check=True, stdout=subprocess.DEVNULL)
        pool.wait()
    return spent


def apart(tasks: int) -> Spent:
    """Run one workflow without a pool."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory, began = directory_of(Path(folder), 0, tasks), time.perf_counter()
        run_s = cpu_of_ended([started(["run", "-q", "--sizer", "user"], directory)])
        return Spent(time.perf_counter() - began, 0.0, 0, run_s)


def main(tasks: int = TASKS, workflows: int = WORKFLOWS) -> None:
    """Print the comparison, and the ratio that counts."""
    console = Console()
    each = tasks // workflows
    table = Table(title=f"{tasks:,} tasks `true`, at most {AT_ONCE} at a time, on {len_of_machine()} cores")
    for heading in (
        "",
        "wall",
        "pool's manager, ms CPU a task",
        "its peak memory",
        "workflows' managers, ms CPU a task",
    ):
        table.add_column(heading, justify="left" if not heading else "right")
    pooled: list[float] = []
    for name, run in {
        "1 workflow without a pool": lambda: apart(tasks),
        "1 workflow in a pool": lambda: in_pool(1, tasks),
        f"{workflows} workflows of {each:,} in a pool": lambda: in_pool(workflows, each),
    }.items():
        spent = run()
        console.print(f"  {name}: {spent.wall_s:.1f} s", style="dim")
        pool = (
            [f"{spent.pool_s / tasks * 1e3:.2f}", f"{spent.pool_peak_bytes / 1e6:.0f} MB"] if spent.pool_s else ["", ""]
        )
        table.add_row(name, f"{spent.wall_s:.0f} s", *pool, f"{spent.workflows_s / tasks * 1e3:.2f}")
        pooled.append(spent.pool_s)
    console.print(table)
    ratio = pooled[-1] / pooled[-2]
    console.print(f"many workflows to one, by the pool's manager: {ratio:.2f}; goal: at most {MOST_RATIO:g}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
