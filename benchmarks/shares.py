"""Core-hours that jobs hold and tasks use on a real Slurm, with whole and shared nodes: `python -m benchmarks.shares`.

Sixty tasks of one core in three stages, whose memory differs from stage to stage, run on a Slurm of emulated nodes:
with whole nodes, with shares of nodes, and in a partition where every job has its nodes to itself. What jobs held is
taken from Slurm's own records. Tasks hold memory and sleep, so this runs on any machine with Slurm's packages
(tests/packages.sh) and about 10 GB of memory.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from tests.slurm.configuration import Configuration, Partition
from tests.slurm.flows import SlurmFlow
from tests.slurm.lab import SlurmLab

from headway.model.outcome import Ending
from headway.model.records import Decision, Event, Finish, Launch, Shrunk, Submit, TaskEnded

WIDTH = 20  # tasks in each stage
STAGES = {"light": 50, "middling": 150, "heavy": 400}  # MB that each task fills; some fill up to twice as much
ASKED = {
    "whole nodes (`--nodes whole`)": ("--nodes", "whole"),
    "shares (the default here)": ("--nodes", "shared"),
    "a partition with `OverSubscribe=EXCLUSIVE`": ("--partition", "alone"),
}


@dataclass(frozen=True)
class Row:
    """One run."""

    name: str
    makespan_s: float
    jobs: int
    held_core_s: float  # by jobs, as Slurm says
    used_core_s: float  # by attempts
    killed: int  # attempts that ran out of memory


def workflow(seconds: float) -> str:
    """Write the workflow; each stage needs all files of the one before."""
    lines, before = ["name: stages", "tasks:"], ""
    for name, megabytes in STAGES.items():
        lines += [
            f"  {name}:",
            f"    each: {{n: 1..{WIDTH}}}",
            f"    run: python3 -c \"x = b'x' * ({megabytes}_000_000 * (1 + {{n}} % 3 // 2));"
            f' import time; time.sleep({seconds})"; touch {name}-{{n}}',
            f'    outputs: ["{name}-{{n}}"]',
            "    resources: {cores: 1, memory: 1 GB}",
        ]
        lines += [f'    inputs: ["{before}-*"]'] if before else []
        before = name
    return "\n".join(lines) + "\n"


def measured(lab: SlurmLab, name: str, words: Sequence[str], seconds: float) -> Row:
    """Run the workflow once."""
    with tempfile.TemporaryDirectory(prefix="headway-shares-") as folder:
        flow = SlurmFlow(lab, Path(folder), workflow(seconds))
        flow.await_end(flow.start("run", "workflow.yaml", "--on", "slurm", *words))
        told = flow.records()
    given = {(record.task, record.attempt): record.resources.cores for record in told if isinstance(record, Launch)}
    outcomes = [record.outcome for record in told if isinstance(record, TaskEnded)]
    held = held_core_s(lab, told)
    return Row(
        name,
        next(record.at for record in told if isinstance(record, Finish)) - told[0].at,
        len(held),
        sum(held),
        sum(given[it.task, it.attempt] * (it.ended_at - it.started_at) for it in outcomes),
        sum(it.ending is Ending.MEMORY for it in outcomes),
    )


def held_core_s(lab: SlurmLab, told: Sequence[Event | Decision]) -> list[float]:
    """The core-seconds of each job of a run that started, also of the nodes that it gave back before its end."""
    names = {record.tag for record in told if isinstance(record, Submit)}
    found = []
    for line in lab.run("squeue", "-h", "-a", "-t", "all", "-o", "%j|%C|%D|%S|%e").stdout.splitlines():
        name, cores, nodes, start, end = line.split("|")
        if name in names and "N/A" not in (start, end):
            begun, ended = (datetime.fromisoformat(moment).timestamp() for moment in (start, end))
            gave_back = [record for record in told if isinstance(record, Shrunk) and record.tag == name]
            node_s = int(nodes) * (ended - begun) + sum(len(each.nodes) * (each.at - begun) for each in gave_back)
            found.append(int(cores) / int(nodes) * node_s)
    return found


def table(rows: Sequence[Row]) -> str:
    """As Markdown."""
    lines = [
        "| jobs ask for | makespan | jobs | core-hours held | core-hours used | held / used | out of memory |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| {row.name} | {row.makespan_s:.0f} s | {row.jobs} | {row.held_core_s / 3600:.2f} "
        f"| {row.used_core_s / 3600:.2f} | {row.held_core_s / row.used_core_s:.2f} | {row.killed} |"
        for row in rows
    ]
    return "\n".join(lines)


def main() -> None:
    """Measure all three and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=30.0, help="that each task takes")
    parser.add_argument("--cpus", type=int, default=32, help="of each of two nodes")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    chosen = parser.parse_args()
    partitions = (Partition("main"), Partition("alone", more="OverSubscribe=EXCLUSIVE"))
    site = Configuration(
        nodes=2, cpus=chosen.cpus, memory_mb=1000 * chosen.cpus, partitions=partitions, min_job_age_s=36_000
    )
    rows = []
    with SlurmLab(site) as lab:
        for name, words in ASKED.items():
            rows.append(measured(lab, name, words, chosen.seconds))
            print(rows[-1], flush=True)
    print(table(rows))
    if chosen.markdown:
        chosen.markdown.write_text(table(rows) + "\n")


if __name__ == "__main__":
    main()
