"""When waiting jobs really start, by our plan, and by Slurm's own: `python -m benchmarks.twin_agreement`.

A Slurm of emulated nodes that jobs share, with a fast clock, gets jobs of several shapes, of which more than a hundred
have to wait. The queue twin's start of each waiting job and the one that Slurm plans (`squeue --start`) are compared
with each other and with the real start; every job runs until its limit, as both plans assume. It takes some minutes on
any machine with Slurm's packages (tests/packages.sh). All times are by that Slurm's clock.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tests.slurm.configuration import Configuration, Partition
from tests.slurm.fast import FastSlurmLab

from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.site_reading import Node, partition_of
from headway.clusters.slurm.squeue import SeenJob
from headway.waiting.twin import QueueTwin

SPEED = 40
CPUS, MEMORY_MB = 16, 32_000
STEP_MIN = 1.0  # of Slurm's plan (bf_resolution here), which is longer than its interval
PLANNING_S = 4.0  # of real time, for Slurm to plan
PATIENCE_S = 1800.0  # of real time
# What jobs ask for, and how often: few cores, much memory, several nodes, whole nodes.
SHAPES = {
    "1 core": (["-n1", "--mem=1G"], 6),
    "4 cores": (["-n1", "-c4", "--mem=4G"], 4),
    "much memory": (["-n1", "--mem=12G"], 2),
    "12 cores": (["-n1", "-c12", "--mem=6G"], 2),
    "2 nodes": (["-N2", "-n2", "-c6", "--mem=4G"], 1),
    "whole node": (["-N1", "--exclusive"], 1),
}
LIMITS_MIN = (10, 20, 40, 60)
MACHINES = {
    "8 equal nodes, one partition": Configuration(
        nodes=8,
        cpus=CPUS,
        memory_mb=MEMORY_MB,
        priority="basic",
        min_job_age_s=600_000,
        partitions=(Partition("main", max_time_min=1440),),
    ),
    "8 nodes, 2 of them with more memory, three partitions that overlap": Configuration(
        nodes=8,
        cpus=CPUS,
        memory_mb=MEMORY_MB,
        fat_nodes=2,
        priority="basic",
        min_job_age_s=600_000,
        partitions=(
            Partition("main", max_time_min=1440),
            Partition("soon", nodes=4, max_time_min=1440, priority_tier=10),
            Partition("fat", first=7, max_time_min=1440),
        ),
    ),
}


@dataclass(frozen=True)
class Start:
    """A waiting job's planned starts and its real one, in minutes from the moment of planning."""

    shape: str
    ours: float
    slurm: float | None  # None: it has no plan for the job
    real: float


def submit_all(lab: FastSlurmLab, jobs: int, draw: random.Random) -> dict[int, str]:
    """Submit jobs that run until their limits; return their shapes by job id."""
    names, weights = list(SHAPES), [weight for _, weight in SHAPES.values()]
    partitions = [partition.name for partition in lab.configuration.partitions]
    found = {}
    for _ in range(jobs):
        shape = draw.choices(names, weights)[0]
        partition = draw.choices(partitions, [4, *[1] * (len(partitions) - 1)])[0]
        options = [*SHAPES[shape][0], f"--time={draw.choice(LIMITS_MIN)}", f"--partition={partition}"]
        with contextlib.suppress(RuntimeError):  # sbatch may fail on a busy machine
            found[lab.submit("sleep 36000", *options)] = shape
    return found


def read(lab: FastSlurmLab) -> Reading:
    """Read the queue as Headway does, when Slurm has planned the jobs."""
    time.sleep(PLANNING_S)
    site = SlurmSite(Commands(30.0), SlurmOptions(), lab.now)
    site.wait_for_answer()
    return site.reading()


def real_starts(lab: FastSlurmLab) -> dict[int, float]:
    """Wait until all jobs have started; return when."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        time.sleep(2.0)
        answer = lab.run("squeue", "-h", "-a", "-t", "all", "-o", "%i|%S|%T", check=False)
        lines = [line.split("|") for line in answer.stdout.splitlines()]
        if not answer.returncode and lines and all(state != "PENDING" for *_, state in lines):
            return {int(job): datetime.fromisoformat(moment).timestamp() for job, moment, _ in lines}
    raise SystemExit("not all jobs have started")


def measured(configuration: Configuration, jobs: int, seed: int) -> list[Start]:
    """Fill one machine, and compare the planned starts of waiting jobs with the real ones."""
    with FastSlurmLab(SPEED, configuration) as lab:
        os.environ.update(lab.environment())
        shapes = submit_all(lab, jobs, random.Random(seed))
        reading = read(lab)
        real = real_starts(lab)
    planned: dict[str, dict[int, float]] = {}
    for partition in reading.partitions:
        twin = twin_of(reading, partition.name, in_cores=True)
        planned[partition.name] = twin.starts() if twin else {}

    def minutes(at: float) -> float:
        return max(0.0, at - reading.at) / 60

    return [
        Start(
            shapes[job.job_id],
            minutes(planned[job.partition][job.job_id]),
            None if job.started_at is None else minutes(job.started_at),
            minutes(real[job.job_id]),
        )
        for job in reading.jobs
        if job.state == "PENDING" and job.job_id in shapes
    ]


def row(name: str, starts: Sequence[Start]) -> str:
    """One line of the table."""
    both = [(it.ours, it.slurm, it.real) for it in starts if it.slurm is not None]
    same = sum(abs(ours - slurm) <= STEP_MIN for ours, slurm, _ in both) / len(both)
    ours_off = [abs(ours - real) for ours, _, real in both]
    slurm_off = [abs(slurm - real) for _, slurm, real in both]
    return (
        f"| {name} | {len(starts)} | {statistics.mean(it.real for it in starts):.0f} min "
        f"| {statistics.median(ours_off):.0f} min, {nine_tenths(ours_off):.0f} min "
        f"| {statistics.median(slurm_off):.0f} min, {nine_tenths(slurm_off):.0f} min | {same:.0%} |"
    )


def nine_tenths(values: Sequence[float]) -> float:
    """What nine tenths of the values do not exceed."""
    return sorted(values)[round(0.9 * (len(values) - 1))]


def build_ms(jobs: int = 20_000) -> tuple[float, float]:
    """The CPU milliseconds that a twin of so many jobs takes, and the microseconds that a question takes."""
    draw, now = random.Random(1), 1e6
    nodes = [Node(f"n{number}", True, 64, 256 * 10**9, 0, ()) for number in range(1000)]
    line = "PartitionName=main Default=YES MaxTime=1-00:00:00 State=UP PriorityTier=1"
    seen = [
        SeenJob(
            job_id=number,
            state="RUNNING" if number < 0.4 * jobs else "PENDING",
            started_at=now - draw.randrange(600) if number < 0.4 * jobs else None,
            submitted_at=now - number,
            limit_s=draw.choice([900.0, 3600.0, 7200.0, 86_400.0]),
            cpus=draw.choice([1, 4, 8]),
            node_names=(f"n{draw.randrange(1000)}",) if number < 0.4 * jobs else (),
            priority=draw.randrange(100),
            partition="main",
            memory_bytes=draw.randrange(1, 16) * 10**9,
        )
        for number in range(jobs)
    ]
    reading = Reading(now, seen, [partition_of(line, {"main": nodes})])
    builds, questions = [], []
    for _ in range(5):  # the first may compile
        began = time.process_time()
        twin = twin_of(reading, "main", in_cores=True)
        assert twin is not None
        asked = QueueTwin(twin.snapshot())
        builds.append(time.process_time() - began)
        began = time.process_time()
        asked.waits_s(range(1, 301), np.full(300, 3600.0))
        questions.append((time.process_time() - began) / 300)
    return 1e3 * min(builds), 1e6 * min(questions)


def main() -> None:
    """Measure all machines, each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=150, help="submitted on each machine; some of them start at once")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    chosen = parser.parse_args()
    millis, micros = build_ms()
    print(f"a twin of 20,000 jobs on 1,000 nodes: {millis:.0f} ms of CPU to build, {micros:.0f} us a question")
    lines = [
        "| machine | waiting jobs | mean wait | our plan: off by | Slurm's plan: off by | same start in both |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    with ProcessPoolExecutor(len(MACHINES), mp_context=get_context("spawn")) as processes:
        run = partial(measured, jobs=chosen.jobs, seed=chosen.seed)
        for name, starts in zip(MACHINES, processes.map(run, MACHINES.values()), strict=True):
            lines.append(row(name, starts))
            print(f"{name}:")
            for shape in SHAPES:
                print("   ", row(shape, [it for it in starts if it.shape == shape]), flush=True)
    print("\n".join(lines))
    if chosen.markdown:
        chosen.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
