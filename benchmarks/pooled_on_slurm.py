"""Workflows that arrive one after the other on a real Slurm, apart and in one pool.

`python -m benchmarks.pooled_on_slurm`: each workflow has a wide stage, a narrow one and a wide one, of tasks that
sleep. Apart, each run holds jobs of its own; in a pool the next workflow starts on what the one before leaves idle.
What jobs held is taken from Slurm's own records. The nodes are emulated: any machine with Slurm's packages will do
(tests/packages.sh).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tests.slurm.configuration import Configuration
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab
from tests.slurm.processes import wait_until

from benchmarks.shares import held_core_s
from headway.journal.folder import Project
from headway.journal.sqlite import SqliteJournal
from headway.model.records import CallsCounted, Decision, Event, Finish

WORKFLOWS = 3
WIDTH = 8
WHOLE = ("--on", "slurm", "--nodes", "whole")


class Row(NamedTuple):
    """One way of running all workflows."""

    way: str
    responses_s: list[float]
    jobs: int
    sbatch: int
    held_core_s: float


def workflow(seconds: float) -> str:
    """Write a workflow of a wide, a narrow and a wide stage."""
    lines, before = ["name: stages", "tasks:"], ""
    for name, width in (("wide", WIDTH), ("narrow", 1), ("last", WIDTH)):
        lines += [
            f"  {name}:",
            f"    each: {{n: 1..{width}}}",
            f"    run: sleep {seconds}; touch {name}-{{n}}",
            f'    outputs: ["{name}-{{n}}"]',
            "    resources: {cores: 1, memory: 100 MB}",
        ]
        lines += [f'    inputs: ["{before}-*"]'] if before else []
        before = name
    return "\n".join(lines) + "\n"


def measured(lab: SlurmLab, way: str, seconds: float, gap_s: float) -> Row:
    """Let the workflows arrive, and wait for all."""
    with tempfile.TemporaryDirectory(prefix="headway-pooled-") as folder:
        parent, place = Path(folder), Path(folder) / "pool"
        names = [str(number) for number in range(WORKFLOWS)] + ["of-pool"]
        for name in names:
            (parent / name).mkdir()
        *flows, pool = (SlurmFlow(lab, parent / name, workflow(seconds)) for name in names)
        manager = None
        if way == "pooled":
            manager = pool.start("pool", "start", str(place), "-q", *WHOLE)
            wait_until((place / ".headway" / "pool").is_symlink, "the pool's socket")
        words = ("--pool", str(place)) if manager else WHOLE
        commands = []
        for flow in flows:
            commands.append(flow.start("run", "workflow.yaml", "-q", *words))
            time.sleep(gap_s)
        for flow, command in zip(flows, commands, strict=True):
            flow.await_end(command)
        if manager is not None:
            pool.headway("pool", "stop", str(place))
            pool.await_end(manager)
        responses_s = [response_s(flow.records()) for flow in flows]
        told = [record for flow in flows for record in flow.records()] if manager is None else records_of(place)
    calls = sum(record.calls.get("sbatch", 0) for record in told if isinstance(record, CallsCounted))
    held = held_core_s(lab, told)
    return Row(way, responses_s, len(held), calls, sum(held))


def records_of(directory: Path) -> list[Event | Decision]:
    """All records of the newest run in a directory."""
    return list(SqliteJournal(Project(directory).run().journal, read_only=True).replay())


def response_s(told: Sequence[Event | Decision]) -> float:
    """The time from a run's start to its end."""
    return next(record.at for record in told if isinstance(record, Finish)) - told[0].at


def main() -> None:
    """Measure both ways and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=10.0, help="that each task takes")
    parser.add_argument("--gap", type=float, default=10.0, help="seconds from one arrival to the next")
    chosen = parser.parse_args()
    print("| way | response of each | mean | jobs | calls of sbatch | core-seconds held |")
    print("|---|--:|--:|--:|--:|--:|")
    with SlurmLab(Configuration(nodes=2, cpus=WIDTH, memory_mb=4_000, min_job_age_s=36_000)) as lab:
        for way in ("apart", "pooled"):
            row = measured(lab, way, chosen.seconds, chosen.gap)
            mean_s = sum(row.responses_s) / len(row.responses_s)
            each = ", ".join(f"{it:.0f}" for it in row.responses_s)
            print(
                f"| {way} | {each} s | {mean_s:.0f} s | {row.jobs} | {row.sbatch} | {row.held_core_s:,.0f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
