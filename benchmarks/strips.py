"""What an anchor in strips brings on real logs: `python -m benchmarks.strips`.

The workflow of `benchmarks.slurm_plans`, with longer tasks, starts at random moments of each log and runs with the plan
`headway`, whose anchor may be in strips or not. The logs are in the folder pwa-swf of HEADWAY_DATA.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from unittest import mock

import numpy as np

from benchmarks.busy_plans import workflow
from headway.api.queues import QueueSettings, jobs_from
from headway.drivers.assemble import plans
from headway.drivers.simulated import simulate
from headway.drivers.through_queue import Through, run_through
from headway.planning import strips
from headway.report.queue.through_queue import Passage, passage_of
from headway.simulation.batch import queue_of, seen_waits

LOGS = ("KTH-SP2-1996-2.1-cln", "SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln")
TIMES = (5.0, 20.0)
DAY_S = 86_400.0


def passages(log: str, starts: int, seed: int) -> list[tuple[Passage, Passage]]:
    """The runs from each of some moments of a log: in strips, and in one job."""
    settings = QueueSettings(skip_bad=True)
    jobs = jobs_from(str(next(Path(os.environ["HEADWAY_DATA"]).glob(f"pwa-swf/{log}*"))), settings).jobs
    draw = np.random.default_rng([seed, len(jobs)])
    queue = queue_of(jobs, settings.scheduling())
    found = []
    for start_s in sorted(draw.uniform(30 * DAY_S, float(jobs.submit_s.max()) - 30 * DAY_S, starts).tolist()):
        queue.advance(start_s)
        through = Through(plans()["headway"], start_s, seed=seed, seen_waits=seen_waits(queue, jobs))
        for times in TIMES:
            pair = []
            for most_tasks in (strips.MOST_TASKS, 0):
                run = run_through(workflow(times), through)
                with mock.patch.object(strips, "MOST_TASKS", most_tasks):
                    simulate(queue.clone(), [run])
                pair.append(passage_of("headway", run.journal))
            found.append((pair[0], pair[1]))
    return found


def main() -> None:
    """Print time and node-hours in strips, as shares of those in one job."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--starts", type=int, default=32, help="moments in each log")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    with ProcessPoolExecutor() as at_once:
        by_log = list(at_once.map(partial(passages, starts=options.starts, seed=options.seed), LOGS))
    print("| log | runs | time | node-hours | makespans that differ |\n|---|--:|--:|--:|---|")
    for name, found in [*zip(LOGS, by_log, strict=True), ("all", [pair for pairs in by_log for pair in pairs])]:
        ratios = [ours.makespan_s / one.makespan_s for ours, one in found]
        time = math.exp(statistics.fmean(map(math.log, ratios)))
        cost = sum(ours.node_hours for ours, _ in found) / sum(one.node_hours for _, one in found)
        other = sorted(ratio for ratio in ratios if ratio != 1.0)
        differ = f"{len(other)}, from {other[0]:.2f} to {other[-1]:.2f}" if other else "0"
        print(f"| {name.rsplit('-', 2)[0]} | {len(found)} | {time:.3f} | {cost:.3f} | {differ} |")


if __name__ == "__main__":
    main()
