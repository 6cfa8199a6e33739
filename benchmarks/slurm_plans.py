"""Makespan, wait and cost of each plan on a real Slurm with background load: `python -m benchmarks.slurm_plans`.

A workflow of wide and narrow stages, as in Souza et al. 2020, runs on a Slurm of eight emulated nodes with a fast
clock, once for every plan and start. Each plan has a Slurm of its own, with the same background jobs at the same times.
A plan keeps its history from one start to the next (Souza et al. 2020, section 4.3). Tasks sleep, so this runs on any
machine with Slurm's packages (tests/packages.sh). All times are by that Slurm's clock.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path

from tests.slurm.background import BackgroundLoad
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.fast import FastSlurmLab
from tests.slurm.fast_flow import FastFlow

from headway.model import records
from headway.model.outcome import Outcome

PLANS = ("headway", "asa", "asa-naive", "glume", "per-stage", "one-job-per-task", "big-job")
AHEAD = ("headway", "asa")  # plans that submit the next job before it is needed; the claims are about them
SPEED = 15
CPUS = 8
MACHINE = Configuration(
    nodes=8, cpus=CPUS, partitions=(Partition("main", max_time_min=1440),), priority="basic", min_job_age_s=60_000
)
STAGES = (("split", 1, 4), ("model", 4, 6), ("merge", 1, 4), ("explain", 4, 6), ("report", 1, 3))  # tasks, minutes
SAID = 1.5  # the time that the user states for a task over the time that it takes
LOAD = 1.0  # background load as a share of the machine
TYPICAL_S, BACKLOG_S = 300.0, 600.0  # of background jobs: their run time, and the work that waits at the start
QUIET_S = 3.0  # of real time, for the backlog to be submitted
PATIENCE_S = 900.0


@dataclass(frozen=True)
class Passage:
    """One run, by Slurm's clock."""

    makespan_s: float
    perceived_s: float
    core_hours: float
    jobs: int
    retries: int


@dataclass(frozen=True)
class Row:
    """A plan's means over all starts."""

    plan: str
    makespan_min: float
    perceived_min: float
    core_hours: float
    jobs: float
    retries: int


def workflow(lab: FastSlurmLab, stages: Sequence[tuple[str, int, int]]) -> str:
    """Write a workflow of consecutive stages in which every task needs a whole node."""
    lines = ["name: stages", "tasks:"]
    before: str | None = None
    for name, tasks, minutes in stages:
        numbers = ", ".join(map(str, range(1, tasks + 1)))
        lines += [
            f"  {name}:",
            f"    each: {{n: [{numbers}]}}",
            f"    run: sleep {lab.real_s(60 * minutes):.2f}; echo > {name}-{{n}}",
            f'    outputs: ["{name}-{{n}}"]',
            f"    resources: {{cores: {CPUS}, time: {round(SAID * 60 * minutes)}s}}",
        ]
        lines += [f'    inputs: ["{before}-*"]'] if before else []
        before = name
    return "\n".join(lines) + "\n"


def passage(plan: str, seed: int, kept: Path) -> Passage:
    """Run the workflow once under a plan, with background jobs."""
    with (
        tempfile.TemporaryDirectory(prefix="headway-plans-") as folder,
        FastSlurmLab(SPEED, MACHINE) as lab,
        BackgroundLoad(lab, LOAD, seed, typical_run_s=TYPICAL_S, backlog_s=BACKLOG_S),
    ):
        time.sleep(QUIET_S)
        flow = FastFlow(lab, Path(folder), workflow(lab, STAGES))
        finish(flow, flow.begin_plan(plan, history=str(kept / f"{plan}.db"), site="lab", seed=seed))
        return folded(flow, jobs_of(lab))


def warm_up() -> None:
    """Run a short workflow on an idle cluster, so that all kernels are compiled."""
    with tempfile.TemporaryDirectory(prefix="headway-plans-") as folder, FastSlurmLab(SPEED, MACHINE) as lab:
        flow = FastFlow(lab, Path(folder), workflow(lab, STAGES[:1]))
        finish(flow, flow.begin_plan("headway"))


def finish(flow: FastFlow, run: subprocess.Popen[bytes]) -> None:
    """Wait for the end of a run. Exits if the run fails."""
    try:
        code = run.wait(PATIENCE_S)
    finally:
        run.kill()
        run.wait()
    if code:
        raise SystemExit(f"a run ended with {code}:\n{flow.output()}")


def jobs_of(lab: FastSlurmLab) -> dict[str, tuple[int, float, float]]:
    """Return nodes at the end, start and end of each of our jobs that started, from Slurm's own records."""
    found = {}
    for line in lab.run("squeue", "-h", "-a", "-t", "all", "-o", "%j|%D|%S|%e").stdout.splitlines():
        name, nodes, start, end = line.split("|")
        if name.startswith("headway-") and "N/A" not in (start, end):
            times = [datetime.fromisoformat(moment).timestamp() for moment in (start, end)]
            found[name] = int(nodes), times[0], times[1]
    return found


def folded(flow: FastFlow, jobs: Mapping[str, tuple[int, float, float]]) -> Passage:
    """Return the figures of a run from its first submission on, from its journal and Slurm's records of its jobs.

    The time before that is left out: Python starts in seconds of real time, which are minutes of this Slurm's time.
    """
    told = flow.records()
    began = next(record.at for record in told if isinstance(record, records.Submit))
    tags = {(record.task, record.attempt): record.tag for record in told if isinstance(record, records.Launch)}
    outcomes = [record.outcome for record in told if isinstance(record, records.TaskEnded)]
    ended = max(outcome.ended_at for outcome in outcomes)
    charged_s = sum(nodes * (end - start) for nodes, start, end in jobs.values())
    gave_back = [record for record in told if isinstance(record, records.Shrunk)]
    charged_s += sum(len(record.nodes) * (record.at - jobs[record.tag][1]) for record in gave_back)
    work_s = sum(outcome.ended_at - outcome.started_at for outcome in outcomes)  # each has a node for itself
    assert charged_s > work_s, f"{charged_s} node-seconds were charged for {work_s}: something was not counted"
    return Passage(
        makespan_s=ended - began,
        perceived_s=perceived_s(outcomes, {attempt: jobs[tag][1] for attempt, tag in tags.items()}, began),
        core_hours=CPUS * charged_s / 3600,
        jobs=len(jobs),
        retries=len(tags) - sum(tasks for _, tasks, _ in STAGES),
    )


def perceived_s(outcomes: Sequence[Outcome], starts: Mapping[tuple[str, int], float], began: float) -> float:
    """Return the perceived wait: the total time that stages were ready without an allocation.

    A stage is ready when the one before it has ended. If its tasks are in several jobs, the mean over its tasks counts
    (Souza et al. 2020, section 4.1).
    """
    total_s, ready = 0.0, began
    for name, tasks, _ in STAGES:
        of_stage = [outcome for outcome in outcomes if outcome.task.partition("[")[0] == name]
        waits_s = [max(0.0, starts[outcome.task, outcome.attempt] - ready) for outcome in of_stage]
        total_s += sum(waits_s) / tasks
        ready = max(outcome.ended_at for outcome in of_stage)
    return total_s


def row_of(plan: str, passages: Sequence[Passage]) -> Row:
    """Return the means over all starts."""
    return Row(
        plan,
        statistics.mean(each.makespan_s for each in passages) / 60,
        statistics.mean(each.perceived_s for each in passages) / 60,
        statistics.mean(each.core_hours for each in passages),
        statistics.mean(each.jobs for each in passages),
        sum(each.retries for each in passages),
    )


def table(rows: Sequence[Row]) -> str:
    """As Markdown."""
    lines = [
        "| plan | makespan | perceived wait | core-hours | jobs | attempts run again |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    lines += [
        f"| `{row.plan}` | {row.makespan_min:.0f} min | {row.perceived_min:.0f} min | {row.core_hours:.1f} "
        f"| {row.jobs:.1f} | {row.retries} |"
        for row in sorted(rows, key=lambda row: row.makespan_min)
    ]
    return "\n".join(lines)


def claims(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """Check plans that submit ahead: less perceived wait than per-stage, and fewer core-hours than big-job."""
    by_plan = {row.plan: row for row in rows}
    if not {"per-stage", "big-job"} <= by_plan.keys():
        return []
    found = []
    for plan in AHEAD:
        if plan in by_plan:
            row, stages, big = by_plan[plan], by_plan["per-stage"], by_plan["big-job"]
            waits = f"perceived wait: {plan} {row.perceived_min:.1f} min, per-stage {stages.perceived_min:.1f} min"
            costs = f"core-hours: {plan} {row.core_hours:.1f}, big-job {big.core_hours:.1f}"
            found += [(waits, row.perceived_min < stages.perceived_min), (costs, row.core_hours < big.core_hours)]
    return found


def main() -> int:
    """Run all plans, print the table, and return 0 if the claims hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1, help="seed of the first start's background jobs")
    parser.add_argument(
        "--starts", type=int, default=2, help="how often each plan is run, each time with the next seed"
    )
    parser.add_argument("--plans", nargs="+", choices=PLANS, default=PLANS, metavar="PLAN", help=", ".join(PLANS))
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    chosen = parser.parse_args()
    warm_up()
    passages: dict[str, list[Passage]] = {plan: [] for plan in chosen.plans}
    with tempfile.TemporaryDirectory(prefix="headway-kept-") as kept, ThreadPoolExecutor(len(passages)) as at_once:
        for seed in range(chosen.seed, chosen.seed + chosen.starts):
            run = partial(passage, seed=seed, kept=Path(kept))
            for plan, one in zip(passages, at_once.map(run, passages), strict=True):
                passages[plan].append(one)
                print(f"seed {seed}, {plan}: {one}", flush=True)
    rows = [row_of(plan, found) for plan, found in passages.items()]
    print(table(rows))
    if chosen.markdown:
        chosen.markdown.write_text(table(rows) + "\n")
    results = claims(rows)
    for words, holds in results:
        print(f"{'PASS' if holds else 'FAIL'}: {words}")
    return 0 if all(holds for _, holds in results) else 1


if __name__ == "__main__":
    sys.exit(main())
