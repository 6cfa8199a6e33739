"""Ten thousand tasks that do nothing, run by Headway and by other tools with the same concurrency."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timed, timed

COMMAND = "/bin/sh -e -c true"

SPAWN_LOOP = """
import os, sys
tasks, concurrency = int(sys.argv[1]), int(sys.argv[2])
flying = 0
for _ in range(tasks):
    if flying == concurrency:
        os.wait()
        flying -= 1
    os.posix_spawn("/bin/sh", ["sh", "-e", "-c", "true"], os.environ)
    flying += 1
while flying:
    os.wait()
    flying -= 1
"""

PARSL = """
import sys
import parsl
from parsl.config import Config
from parsl.executors import HighThroughputExecutor
from parsl.providers import LocalProvider

tasks, concurrency = int(sys.argv[1]), int(sys.argv[2])
executor = HighThroughputExecutor(
    label="htex",
    address="127.0.0.1",
    max_workers_per_node=concurrency,
    provider=LocalProvider(init_blocks=1, max_blocks=1),
)
parsl.load(Config(executors=[executor], initialize_logging=False))

@parsl.bash_app
def nothing():
    return "true"

for future in [nothing() for _ in range(tasks)]:
    future.result()
parsl.dfk().cleanup()
"""


def spawn_loop(directory: Path, tasks: int, concurrency: int) -> Timed:
    """Only start commands and wait for them: the lower bound."""
    return timed([sys.executable, "-c", SPAWN_LOOP, str(tasks), str(concurrency)], directory)


def gnu_make(directory: Path, tasks: int, concurrency: int) -> Timed:
    names = " ".join(f"t{n}" for n in range(tasks))
    (directory / "Makefile").write_text(f"all: {names}\n.PHONY: all {names}\n{names}:\n\t@{COMMAND}\n")
    return timed(["make", f"-j{concurrency}"], directory)


def lay_out(directory: Path, tasks: int, concurrency: int) -> None:
    """Write a workflow of tasks that do nothing, of which so many fit on this machine at a time."""
    cores = len_of_machine() / concurrency
    numbers = ", ".join(map(str, range(tasks)))
    (directory / "workflow.yaml").write_text(
        f"name: nothing\ntasks:\n  t:\n    each: {{n: [{numbers}]}}\n    run: 'true'\n"
        f"    resources: {{cores: {cores}, memory: 50 MB}}\n"
    )


def headway(directory: Path, tasks: int, concurrency: int, *options: str) -> Timed:
    lay_out(directory, tasks, concurrency)
    return timed([sys.executable, "-m", "headway", "run", *options], directory)


def headway_user(directory: Path, tasks: int, concurrency: int) -> Timed:
    return headway(directory, tasks, concurrency, "--sizer", "user")


def headway_polling(directory: Path, tasks: int, concurrency: int) -> Timed:
    return headway(directory, tasks, concurrency, "--sizer", "user", "--measure", "polling")


def parsl_htex(directory: Path, tasks: int, concurrency: int) -> Timed:
    return timed([sys.executable, "-c", PARSL, str(tasks), str(concurrency)], directory)


def snakemake(directory: Path, tasks: int, concurrency: int) -> Timed:
    (directory / "Snakefile").write_text(
        f"rule all:\n    input: expand('done/{{n}}', n=range({tasks}))\n"
        "rule t:\n    output: touch('done/{n}')\n    shell: 'true'\n"
    )
    command = [sys.executable, "-m", "snakemake", "--cores", str(concurrency), "--quiet", "all"]
    return timed(command, directory, XDG_CACHE_HOME=str(directory / "cache"))


def len_of_machine() -> int:
    import os

    return len(os.sched_getaffinity(0))


CONTENDERS: dict[str, Callable[[Path, int, int], Timed]] = {
    "posix_spawn loop": spawn_loop,
    "GNU make -j": gnu_make,
    "headway run": headway,
    "headway run --sizer user": headway_user,
    "headway run --sizer user --measure polling": headway_polling,
    "Parsl (HTEX)": parsl_htex,
    "Snakemake": snakemake,
}

# Snakemake's time for each task grows with the workflow: of 10,000 tasks it had run 2,000 after five minutes on two
# cores. A smaller number of tasks favours it.
AT_MOST = {"Snakemake": 1_000}


def main(tasks: int, concurrency: int) -> None:
    """Print the comparison."""
    console = Console()
    results: dict[str, Timed] = {}
    counts = {name: min(tasks, AT_MOST.get(name, tasks)) for name in CONTENDERS}
    for name, contender in CONTENDERS.items():
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
            results[name] = contender(Path(directory), counts[name], concurrency)
            console.print(f"  {name}: {results[name].wall_s:.1f} s", style="dim")
    ours_ms = results["headway run"].wall_s / tasks * 1e3
    table = Table(title=f"{tasks:,} tasks `true`, {concurrency} at a time, on {len_of_machine()} cores")
    for heading in (
        "",
        "wall",
        "ms a task",
        "tasks/s",
        "a task, against headway run",
        "CPU of the managing process, ms a task",
    ):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, result in results.items():
        each_ms = result.wall_s / counts[name] * 1e3
        table.add_row(
            name if counts[name] == tasks else f"{name} ({counts[name]:,} tasks)",
            f"{result.wall_s:.1f} s",
            f"{each_ms:.2f}",
            f"{1e3 / each_ms:.0f}",
            f"{each_ms / ours_ms:.2f}",
            f"{result.cpu_s / tasks * 1e3:.2f}" if name.startswith("headway") else "",
        )
    console.print(table)
