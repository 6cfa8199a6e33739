"""The time and memory that `headway replay` takes for large logs: at most 3 minutes and 1 GB for a million tasks."""

from __future__ import annotations

import json
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.measure import timed

_CATEGORIES = 40
_COLUMNS = "task_id;process;tag;name;status;cpus;memory;submit;start;complete;realtime;%cpu;peak_rss;wchar"


def trace(tasks: int, seed: int = 1) -> Iterator[str]:
    """The lines of a Nextflow trace with tasks of 40 processes, whose peaks are lognormal."""
    draw = random.Random(seed)
    yield _COLUMNS
    for task in range(tasks):
        kind = draw.randrange(_CATEGORIES)
        process, sample, start = f"NFCORE_X:X:STEP_{kind}", f"s{task // _CATEGORIES}", 1_669_573_000_000 + 50 * task
        run_ms, peak = draw.randrange(100, 600_000), int(draw.lognormvariate(19 + kind / 10, 0.5))
        name = f"{process} ({sample})"
        times = start - 100, start, start + run_ms, run_ms
        row = (task, process, sample, name, "COMPLETED", 2, 12 * 2**30, *times, 95.3, peak, 1_170)
        yield ";".join(map(str, row))


def accounting(jobs: int, seed: int = 1) -> Iterator[str]:
    """The lines of `sacct --json` for jobs of 16 kB each, as Slurm writes them."""
    draw = random.Random(seed)
    yield '{\n "meta": {"Slurm": {}},\n "jobs": ['
    for job in range(1, jobs + 1):
        peak = [{"type": "mem", "count": int(draw.lognormvariate(19, 0.5))}]
        step = {"tasks": {"count": 1}, "tres": {"requested": {"max": peak}}, "filler": list(range(1000))}
        time = {"elapsed": draw.randrange(1, 600), "start": 1_700_000_000 + job}
        entry = {"job_id": job, "name": f"step{job % _CATEGORIES}", "state": {"current": "COMPLETED"}, "time": time}
        entry |= {"required": {"CPUs": 1, "memory": 2000}, "steps": [step]}
        yield json.dumps(entry, indent=1) + ("," if job < jobs else "")
    yield "]}"


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        files = {"Nextflow trace, 1,000,000 tasks": trace(1_000_000), "sacct --json, 20,000 jobs": accounting(20_000)}
        table = Table(title="headway replay LOG --sizers ladder")
        table.add_column("")
        for heading in ("file", "wall time", "CPU time", "peak memory"):
            table.add_column(heading, justify="right")
        for name, lines in files.items():
            log = directory / "log"
            with log.open("w") as file:
                file.writelines(f"{line}\n" for line in lines)
            took = timed([sys.executable, "-m", "headway", "replay", "log", "--sizers", "ladder"], directory)
            size = log.stat().st_size
            table.add_row(
                name,
                f"{size / 1e6:.0f} MB",
                f"{took.wall_s:.0f} s",
                f"{took.cpu_s:.0f} s",
                f"{took.peak_bytes / 1e6:.0f} MB",
            )
    Console().print(table)
