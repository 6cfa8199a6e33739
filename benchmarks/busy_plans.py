"""The plans of `benchmarks.slurm_plans` on a simulated busy queue, over many seeds: `python -m benchmarks.busy_plans`.

The same workflow, machine and jobs of others as on the real Slurm, simulated with EASY backfilling. Each seed is
started twice: after a minute, as there, and after ten hours, when the queue is as long as chance has made it. Plans
know the run times, and how long the jobs of others have waited so far.
"""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from itertools import takewhile

import numpy as np
from tests.slurm.background import background_jobs

from benchmarks.slurm_plans import BACKLOG_S, CPUS, LOAD, MACHINE, STAGES, TYPICAL_S
from headway.drivers.assemble import plans
from headway.drivers.simulated import simulate
from headway.drivers.through_queue import Through, node_of, run_through
from headway.kernels.batch.queue import Scheduling
from headway.model.batch_log import BatchJobs
from headway.model.instance import Instance, Recorded
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import strips
from headway.report.queue.through_queue import Passage, passage_of
from headway.simulation.batch import queue_of, seen_waits

PLANS = ("headway", "asa", "big-job", "one-job-per-task")
STARTS_S = {"after a minute": 60.0, "after ten hours": 36_000.0}
SPAN_S = 2 * 86_400.0  # jobs of others arrive for so long
DEAREST = 1.15  # times asa's node-hours: the goal for a plan that is not slower than big-job
TOGETHER = 3  # starts on the real Slurm

Found = Mapping[str, Passage]  # by plan


def workflow(times: float = 1.0) -> Instance:
    """The stages of the real benchmark, with tasks so many times as long; each has a node for itself."""
    tasks: list[Task] = []
    recorded: dict[str, Recorded] = {}
    before: tuple[str, ...] = ()
    for name, count, minutes in STAGES:
        stage = [Task(f"{name}-{number}", name, "-", parents=before, hints={"cores": CPUS}) for number in range(count)]
        recorded |= {task.id: Recorded(run_s=60.0 * times * minutes) for task in stage}
        tasks += stage
        before = tuple(task.id for task in stage)
    return Instance(Workflow("stages", tasks), recorded)


def others(seed: int) -> BatchJobs:
    """The jobs of others, as a log."""
    nodes = MACHINE.nodes
    endless = background_jobs(nodes, LOAD, seed, typical_run_s=TYPICAL_S, backlog_s=BACKLOG_S)
    jobs = list(takewhile(lambda job: job.after_s <= SPAN_S, endless))
    return BatchJobs(
        name=f"seed {seed}",
        machine=nodes,
        submit_s=np.array([job.after_s for job in jobs]),
        nodes=np.array([job.nodes for job in jobs], dtype=np.int64),
        req_s=np.array([60.0 * job.walltime_min for job in jobs]),
        run_s=np.array([max(1.0, job.run_s) for job in jobs]),
    )


def passages(seed: int, start_s: float, names: Sequence[str]) -> dict[str, Passage]:
    """Run the workflow through the same queue under each plan."""
    jobs = others(seed)
    queue = queue_of(jobs, Scheduling(backfill="easy"))
    queue.advance(start_s)
    seen = seen_waits(queue, jobs)
    found = {}
    for name in names:
        run = run_through(workflow(), Through(plans()[name], start_s, seed=seed, node=node_of(CPUS), seen_waits=seen))
        simulate(queue.clone(), [run])
        found[name] = passage_of(name, run.journal)
    return found


def table(found: Sequence[Found], names: Sequence[str]) -> list[str]:
    """Means over all seeds, and how often a plan misses the goal in single starts, and meets it over three together.

    The goal: not slower than big-job, and no dearer than 1.15 times asa.
    """
    lines = [
        "| plan | makespan / big-job's | node-hours / asa's | slower | dearer | threes that meet both |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for name in names:
        times = [each[name].makespan_s / each["big-job"].makespan_s for each in found]
        costs = [each[name].node_hours / each["asa"].node_hours for each in found]
        threes = [found[first : first + TOGETHER] for first in range(0, len(found) - TOGETHER + 1, TOGETHER)]
        met = [_sum(three, name, "big-job", "makespan_s") <= 1.0 for three in threes]
        cheap = [_sum(three, name, "asa", "node_hours") <= DEAREST for three in threes]
        both = sum(map(min, met, cheap)) / len(threes)
        cells = [
            f"{math.exp(statistics.fmean(map(math.log, times))):.3f}",
            f"{_sum(found, name, 'asa', 'node_hours'):.2f}",
            f"{sum(ratio > 1.0 for ratio in times) / len(times):.0%}",
            f"{sum(ratio > DEAREST for ratio in costs) / len(costs):.0%}",
            f"{both:.0%}",
        ]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    return lines


def _sum(found: Sequence[Found], name: str, other: str, figure: str) -> float:
    """A figure of a plan in sum, as a share of another plan's."""
    one, two = (sum(float(getattr(each[plan], figure)) for each in found) for plan in (name, other))
    return one / two


def main() -> None:
    """Print a table for each kind of start."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=400, help="of the first start's jobs of others")
    parser.add_argument("--starts", type=int, default=60, help="seeds of each kind of start; at least three")
    parser.add_argument("--plans", nargs="+", choices=tuple(plans()), default=PLANS, metavar="PLAN")
    parser.add_argument("--one-job", action="store_true", help="`headway` with its anchor in one job")
    options = parser.parse_args()
    if options.starts < TOGETHER:
        parser.error(f"--starts: at least {TOGETHER}, which are judged together")
    if options.one_job:
        strips.MOST_TASKS = 0
    names = tuple(dict.fromkeys([*options.plans, "asa", "big-job"]))
    seeds = range(options.seed, options.seed + options.starts)
    with ProcessPoolExecutor() as at_once:
        for words, start_s in STARTS_S.items():
            found = list(at_once.map(partial(passages, start_s=start_s, names=names), seeds))
            print(f"\nStarts {words}, {len(seeds)} seeds from {seeds[0]} on:\n")
            print(*table(found, names), sep="\n", flush=True)


if __name__ == "__main__":
    main()
