"""Gaps between the jobs of a long task that checkpoints. `python -m benchmarks.chains`

A task of eight nodes starts at random moments of real logs and runs through jobs with a time limit, with the plan
`headway`: the next job is submitted ahead by the predicted wait, or when the task has left its job. A gap is the time
between two attempts. The planner knows how long the task runs. The logs are in the folder pwa-swf of HEADWAY_DATA.
"""

from __future__ import annotations

import argparse
import os
from functools import partial
from pathlib import Path

import numpy as np
from msgspec import Struct

from headway.api.queues import QueueSettings, jobs_from
from headway.clusters.simulated import PLENTY_BYTES
from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue
from headway.model.instance import Instance, Recorded
from headway.model.job import JobPhase
from headway.model.records import JobState, Launch, Release, SeenWait, Submit, TaskEnded
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.headway import Headway
from headway.simulation.batch import queue_of, seen_waits

LOGS = ("KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln")
DAY_S = 86_400.0
NODES = 8.0  # a job of one node seldom waits


class Long(Struct, frozen=True):
    """A task that checkpoints: how long it runs, its jobs at most, and its notice."""

    name: str
    run_s: float
    limit_s: float
    notice_s: float


TASKS = (
    Long("a week through 24 h", 7 * DAY_S, DAY_S, 300.0),
    Long("30 min through 10 min", 1800.0, 600.0, 30.0),
)


class Passage(Struct, frozen=True):
    """How a task came through: the seconds between its attempts, its jobs, and the node-seconds that these held."""

    gaps_s: float
    jobs: int
    held_s: float


def passed(long: Long, queue: BatchQueue, start_s: float, seen: tuple[SeenWait, ...], *, ahead: bool) -> Passage:
    """Run the task through a queue from now on."""
    task = Task("long", "long", "-", notice_s=long.notice_s, hints={"nodes": NODES})
    instance = Instance(Workflow("long", [task]), {task.id: Recorded(run_s=long.run_s)})
    node = Resources(cores=1, memory_bytes=PLENTY_BYTES, disk_bytes=PLENTY_BYTES, walltime_s=long.limit_s)
    run = run_through(instance, Through(partial(Headway, chains=ahead), start_s, node=node, seen_waits=seen))
    simulate(queue, [run])
    return passage_of(run)


def passage_of(run: SimulatedRun) -> Passage:
    """Read a passage from the journal of a run with one task."""
    began = [record.at for record in run.journal if isinstance(record, Launch)]
    ended = [record.at for record in run.journal if isinstance(record, TaskEnded)]
    started: dict[str, float] = {}
    held_s = 0.0
    for record in run.journal:
        if isinstance(record, JobState) and record.phase is JobPhase.RUNNING:
            started[record.tag] = record.at
        elif isinstance(record, Release | JobState) and record.tag in started:
            held_s += NODES * (record.at - started.pop(record.tag))
    gaps_s = sum(start - end for end, start in zip(ended, began[1:], strict=False))
    return Passage(gaps_s, len([record for record in run.journal if isinstance(record, Submit)]), held_s)


def passages(log: Path, long: Long, starts: int, seed: int) -> list[tuple[Passage, Passage]]:
    """The passages of a task, ahead and at the end, from each of some moments of a log."""
    settings = QueueSettings(skip_bad=True)
    found = jobs_from(str(log), settings)
    draw = np.random.default_rng([seed, len(found.jobs.submit_s)])
    last_s = float(found.jobs.submit_s.max())
    queue = queue_of(found.jobs, settings.scheduling(), None)
    pairs = []
    for start_s in sorted(draw.uniform(30 * DAY_S, last_s - 60 * DAY_S, starts).tolist()):
        queue.advance(start_s)
        seen = seen_waits(queue, found.jobs, unit=1)
        ahead, at_end = (passed(long, queue.clone(), start_s, seen, ahead=ahead) for ahead in (True, False))
        print(f"{log.name} {start_s:.0f} {long.name}: {ahead.gaps_s:.0f} s ahead, {at_end.gaps_s:.0f} s", flush=True)
        pairs.append((ahead, at_end))
    return pairs


def main() -> None:
    """Print, for each task and log, the mean gaps, jobs and node-hours, ahead and at the end."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=25, help="moments in each log")
    parser.add_argument("--logs", nargs="+", choices=LOGS, default=LOGS, metavar="LOG", help=", ".join(LOGS))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    data = Path(os.environ["HEADWAY_DATA"])
    rows = []
    for long in TASKS:
        for name in options.logs:
            pairs = passages(next(data.glob(f"pwa-swf/{name}*")), long, options.starts, options.seed)
            cells = [
                f"{np.mean([getattr(pair[way], field) for pair in pairs]) / unit:,.{digits}f}"
                for field, unit, digits in (("gaps_s", 60, 0), ("jobs", 1, 1), ("held_s", 3600, 1))
                for way in (0, 1)
            ]
            better = sum(ahead.gaps_s < at_end.gaps_s for ahead, at_end in pairs)
            worse = sum(ahead.gaps_s > at_end.gaps_s for ahead, at_end in pairs)
            rows.append(f"| {long.name} | {name.rsplit('-', 2)[0]} | {' | '.join(cells)} | {better}/{worse} |")
    print("\n| task | log | gaps: ahead | at the end | jobs: ahead | at the end | node-hours: ahead | at the end | |")
    print("|---|---|--:|--:|--:|--:|--:|--:|--:|")
    print("\n".join(rows))


if __name__ == "__main__":
    main()
