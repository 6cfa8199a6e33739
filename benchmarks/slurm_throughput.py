"""Five thousand short commands in jobs of a real Slurm, compared with dask.distributed and one Slurm job per command.

`headway run --on slurm` asks for eight emulated nodes and sends the commands to their supervisors, through files and
through Dask. Each command is an attempt of its own, measured, limited and recorded in the journal. dask.distributed,
with the same number of workers and concurrency, starts the same command with `subprocess` and measures nothing. The
last contender submits each command as a job. The start of the nodes is not timed. All processes run on this machine.

Run it without other load on the machine. With other load, a kernel that shares CPU time by session (sched_autogroup)
gives the many sessions of Slurm's jobs a larger share than Dask's single session, which favours Headway.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table
from tests.slurm.configuration import Configuration
from tests.slurm.lab import SlurmLab, missing_commands

from benchmarks.measure import timed
from benchmarks.pool_messages import GOAL, peer_s
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import Launch, TaskEnded

JOBS = 200  # of one command each
PEER = "dask.distributed, subprocess"
JOB_A_COMMAND = "one Slurm job per command"


def headway_s(lab: SlurmLab, lines: str, tasks: int, directory: Path) -> float:
    """Return the time from the first launch to the last end of a task in the journal."""
    numbers = ", ".join(map(str, range(tasks)))
    (directory / "workflow.yaml").write_text(
        f"name: nothing\ntasks:\n  t:\n    each: {{n: [{numbers}]}}\n    run: 'true'\n"
        "    resources: {cores: 1, memory: 50 MB}\n"
    )
    words = ["run", "--on", "slurm", "--plan", "big-job", "--sizer", "user", "--lines", lines]
    timed([sys.executable, "-m", "headway", *words], directory, **lab.environment())
    records = list(SqliteJournal(Project(directory).run().journal, read_only=True).replay())
    began = min(record.at for record in records if isinstance(record, Launch))
    return max(record.at for record in records if isinstance(record, TaskEnded)) - began


def jobs_s(lab: SlurmLab, jobs: int) -> float:
    """Return the time from the first submission to an empty queue."""
    began = time.perf_counter()
    for _ in range(jobs):
        lab.submit("true", "--ntasks=1", "--mem=50M", "--time=1")
    while lab.run("squeue", "-h", "-a", "-o", "%A").stdout:
        time.sleep(0.1)
    return time.perf_counter() - began


def main(tasks: int = 5_000, nodes: int = 8, at_a_time: int = 4, rounds: int = 1) -> None:
    """Print the comparison. Contenders take turns in each round; the table shows medians."""
    console = Console()
    if missing := missing_commands():
        console.print(f"the benchmark of Slurm jobs needs {', '.join(missing)}: run tests/packages.sh as root")
        return
    counts = {PEER: tasks, "headway, lines: files": tasks, "headway, lines: dask": tasks, JOB_A_COMMAND: JOBS}
    each_s: dict[str, list[float]] = {name: [] for name in counts}
    with SlurmLab(Configuration(nodes=nodes, cpus=at_a_time, memory_mb=4_000)) as lab:
        for _ in range(rounds):
            for name, taken in each_s.items():
                lab.tidy()
                with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
                    taken.append(_take_s(lab, name, counts[name], nodes, at_a_time, Path(directory)) / counts[name])
                    console.print(f"  {name}: {taken[-1] * counts[name]:.1f} s", style="dim")
    _print(console, {name: statistics.median(taken) for name, taken in each_s.items()}, counts, nodes, at_a_time)


def _take_s(lab: SlurmLab, name: str, count: int, nodes: int, at_a_time: int, directory: Path) -> float:
    if name == PEER:
        return peer_s(count, nodes, at_a_time, directory)
    if name == JOB_A_COMMAND:
        return jobs_s(lab, count)
    return headway_s(lab, name.rpartition(" ")[2], count, directory)


def _print(console: Console, each_s: dict[str, float], counts: dict[str, int], nodes: int, at_a_time: int) -> None:
    table = Table(
        title=f"{counts[PEER]:,} commands `true` on {nodes} nodes of Slurm, {at_a_time} at a time on each",
        caption=f"goal: {GOAL:.0%} of Dask's rate",
    )
    for heading in ("", "wall", "ms a command", "commands/s", "share of Dask's rate"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, taken_s in each_s.items():
        table.add_row(
            name if counts[name] == counts[PEER] else f"{name} ({counts[name]} of them)",
            f"{taken_s * counts[name]:.1f} s",
            f"{taken_s * 1e3:.2f}",
            f"{1 / taken_s:.0f}",
            f"{each_s[PEER] / taken_s:.0%}",
        )
    console.print(table)
    reached = [
        name for name, taken_s in each_s.items() if name.startswith("headway") and each_s[PEER] / taken_s >= GOAL
    ]
    console.print(f"goal reached by: {'; '.join(reached) or 'none'}")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
