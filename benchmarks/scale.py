"""Real runs of 10,000 and 100,000 tasks, default settings: the manager's time and memory, what stays, and answers."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timed, timed
from benchmarks.throughput import lay_out, len_of_machine

_HEADWAY = [sys.executable, "-m", "headway"]


class Grown(NamedTuple):
    """What a run of one size took and left, and how long answers about it take."""

    run: Timed
    files: int  # and directories, below .headway
    left_bytes: int
    status: Timed
    again: Timed  # a run with nothing to do
    resume_s: float  # until a killed manager's successor goes on
    resume: Timed


def grown(directory: Path, tasks: int) -> Grown:
    """Run so many tasks, ask about them, and run them again with a manager that is killed at nine tenths."""
    lay_out(directory, tasks, 4 * len_of_machine())
    run = timed([*_HEADWAY, "run", "--quiet"], directory)
    entries = [entry.lstat() for entry in (directory / ".headway").rglob("*")]
    status = timed([*_HEADWAY, "status"], directory)
    again = timed([*_HEADWAY, "run", "--quiet"], directory)
    _run_until(directory, 9 * tasks // 10)
    began = time.time()
    resume = timed([*_HEADWAY, "resume", "--quiet"], directory)
    with closing(_journal(directory)) as journal:
        ((resumed_at,),) = journal.execute("SELECT json_extract(body, '$.at') FROM records WHERE kind = 'resumed'")
    return Grown(run, len(entries), sum(each.st_size for each in entries), status, again, resumed_at - began, resume)


def _run_until(directory: Path, ended: int) -> None:
    """Run everything again, and kill the manager when so many tasks have ended."""
    environment = os.environ | {"HEADWAY_HISTORY": "none"}
    with subprocess.Popen([*_HEADWAY, "run", "--quiet", "--again"], cwd=directory, env=environment) as manager:
        while manager.poll() is None and _ended(directory) < ended:
            time.sleep(0.5)
        manager.send_signal(signal.SIGKILL)


def _ended(directory: Path) -> int:
    """How many tasks of the newest run have ended, of which there are three."""
    if not (directory / ".headway/runs/3/journal.db").exists():
        return 0
    with closing(_journal(directory)) as journal:
        ((number,),) = journal.execute("SELECT count(*) FROM records WHERE kind = 'task-ended'")
    return int(number)


def _journal(directory: Path) -> sqlite3.Connection:
    return sqlite3.connect(f"file:{directory}/.headway/runs/3/journal.db?mode=ro", uri=True, timeout=60)


def main(sizes: tuple[int, ...] = (10_000, 100_000)) -> None:
    """Print all of that by size, and how it has grown from size to size."""
    rows: dict[str, list[str]] = {}
    for tasks in sizes:
        with tempfile.TemporaryDirectory(prefix="headway-bench-") as directory:
            found = grown(Path(directory), tasks)
        columns = {
            "wall": f"{found.run.wall_s:.0f} s",
            "manager's CPU time a task": f"{found.run.cpu_s / tasks * 1e3:.2f} ms",
            "manager's peak memory (below 500 MB)": f"{found.run.peak_bytes / 1e6:.0f} MB",
            "files and directories left a task (at most 1)": f"{found.files / tasks:.3f}",
            "bytes left a task": f"{found.left_bytes / tasks:,.0f}",
            "headway status (below 1 s), CPU time": f"{found.status.wall_s:.2f} s, {found.status.cpu_s:.2f} s",
            "a run with nothing to do (below 15 s), CPU time": f"{found.again.wall_s:.1f} s, {found.again.cpu_s:.1f} s",
            "headway resume until it goes on (below 15 s)": f"{found.resume_s:.1f} s",
            "peak memory of a resumed manager": f"{found.resume.peak_bytes / 1e6:.0f} MB",
        }
        for name, text in columns.items():
            rows.setdefault(name, []).append(text)
    table = Table(title="runs of tasks `true`, default settings")
    table.add_column("")
    for tasks in sizes:
        table.add_column(f"{tasks:,} tasks", justify="right")
    for name, texts in rows.items():
        table.add_row(name, *texts)
    Console().print(table)
