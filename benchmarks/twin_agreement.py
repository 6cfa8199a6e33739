"""When waiting jobs start, by Slurm's plan and by ours: `python -m benchmarks.twin_agreement`.

Three Slurms of emulated nodes with fast clocks get jobs of several shapes, of which more than a hundred have to wait on
each: whole nodes with fair shares and QOS, nodes that jobs share in partitions that overlap, and reservations with
other settings of the backfill scheduler. At several times every waiting job's start is read from Slurm
(`squeue --start`) and computed from the same reading in two ways: by Slurm's own rule (`backfill.slurm_starts`) and by
the queue twin that plans use (`queue_reading.twin_of`). The first is compared with Slurm's start; the twin's and
Slurm's are compared with the real one. Every job runs until its limit, as all of them assume. It takes some minutes on
any machine with Slurm's packages (tests/packages.sh). All times are by that Slurm's clock.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import statistics
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tests.slurm.configuration import Configuration, Partition, our_name
from tests.slurm.fast import FastSlurmLab

from headway.clusters.slurm.backfill import Backfill, backfill_of, slurm_starts
from headway.clusters.slurm.commands import Commands
from headway.clusters.slurm.job_details import read_details
from headway.clusters.slurm.options import SlurmOptions
from headway.clusters.slurm.queue_reading import Reading, twin_of
from headway.clusters.slurm.site import SlurmSite
from headway.clusters.slurm.site_reading import Node, partition_of, read_reservations
from headway.clusters.slurm.squeue import SeenJob
from headway.waiting.twin import QueueTwin

SPEED = 40
CPUS, MEMORY_MB = 16, 32_000
PLANNING_S = 4.0  # of real time, for Slurm to plan
BETWEEN_S = 1.5  # of real time, a minute by Slurm's clock
# What jobs ask for, and how often: few cores, much memory, several nodes, whole nodes.
SHARES = {
    "1 core": (["-n1", "--mem=1G"], 6),
    "4 cores": (["-n1", "-c4", "--mem=4G"], 4),
    "much memory": (["-n1", "--mem=12G"], 2),
    "12 cores": (["-n1", "-c12", "--mem=6G"], 2),
    "20 tasks": (["-n20", "--mem-per-cpu=500M"], 1),
    "array of 4": (["--array=1-4", "-n1", "-c2", "--mem=1G"], 1),
    "2 nodes": (["-N2", "-n2", "-c6", "--mem=4G"], 1),
    "whole node": (["-N1", "--exclusive"], 1),
}
WHOLE = {f"{nodes} whole nodes": ([f"-N{nodes}"], often) for nodes, often in ((1, 8), (2, 4), (4, 1))}
ACCOUNTS = {"red": 10, "green": 30, "blue": 60}  # with their shares
QOS = ("normal", "normal", "high")


@dataclass(frozen=True)
class Machine:
    """A Slurm, what jobs ask for there, and what is prepared before they come."""

    partitions: tuple[Partition, ...]
    shapes: Mapping[str, tuple[list[str], int]] = field(default_factory=lambda: SHARES)
    limits_min: tuple[int, ...] = (10, 20, 40, 60)
    fat_nodes: int = 0
    settings: tuple[str, ...] = ()
    fair: bool = False  # whether jobs have accounts and QOS
    reserved: bool = False

    def configuration(self) -> Configuration:
        return Configuration(
            nodes=8,
            cpus=CPUS,
            memory_mb=MEMORY_MB,
            fat_nodes=self.fat_nodes,
            priority="multifactor" if self.fair else "basic",
            accounting=self.fair,
            enforce="associations,qos",
            min_job_age_s=600_000,
            partitions=self.partitions,
            more=self.settings,
        )

    def prepare(self, lab: FastSlurmLab) -> None:
        """Add accounts and a QOS, or reservations: of two nodes soon, and of all nodes later."""
        if self.fair:
            for account, shares in ACCOUNTS.items():
                lab.run("sacctmgr", "-i", "add", "account", account, f"fairshare={shares}")
                lab.run("sacctmgr", "-i", "add", "user", our_name(), f"account={account}")
            lab.run("sacctmgr", "-i", "add", "qos", "high", "priority=100")
            lab.run("sacctmgr", "-i", "modify", "user", our_name(), "set", "qos+=high")
        if self.reserved:
            ours = f"Users={our_name()}"
            for name, nodes, begin_min, length_min, *flags in RESERVATIONS:
                times = (f"StartTime=now+{begin_min}minutes", f"Duration={length_min}")
                what = (f"ReservationName={name}", *times, f"Nodes={nodes}", *flags, ours)
                lab.run("scontrol", "create", "reservation", *what)

    def options(self, draw: random.Random) -> list[str]:
        """Draw what a job has besides a shape and a limit."""
        names = [partition.name for partition in self.partitions]
        options = [f"--partition={draw.choices(names, [4, *[1] * (len(names) - 1)])[0]}"]
        if self.fair:
            options += [
                f"--account={draw.choice(list(ACCOUNTS))}",
                f"--qos={draw.choice(['normal', 'normal', 'high'])}",
            ]
        return options + (["--reservation=course"] if self.reserved and draw.random() < 0.1 else [])


RESERVATIONS = (
    ("course", "n[1-2]", 5, 180),
    ("disks", "n[7-8]", 60, 120, "Flags=MAINT"),
    ("power", "n[1-8]", 400, 60, "Flags=MAINT"),
)
ONE = (Partition("main", max_time_min=1440),)
MACHINES = {
    "8 whole nodes; priority by age, size, fair share and QOS": Machine(
        (Partition("main", max_time_min=1440, more="OverSubscribe=EXCLUSIVE"),),
        WHOLE,
        (5, 10, 20, 30),
        settings=(
            "PriorityWeightFairshare=10000",
            "PriorityWeightQOS=5000",
            "PriorityWeightAge=2000",
            "PriorityMaxAge=0-06:00:00",
            "PriorityDecayHalfLife=0-02:00:00",
            "PriorityCalcPeriod=1",
        ),
        fair=True,
    ),
    "8 shared nodes, 2 of them with more memory, three partitions that overlap": Machine(
        (*ONE, Partition("soon", 4, 1440, priority_tier=10), Partition("fat", first=7, max_time_min=1440)), fat_nodes=2
    ),
    "8 shared nodes, three reservations, other settings of the backfill scheduler": Machine(
        ONE,
        settings=(
            "SchedulerParameters=bf_interval=60,bf_resolution=300,bf_window=600,bf_max_job_test=90,bf_window_linear=120,"
            f"sched_interval={2 * SPEED},sched_min_interval=0,batch_sched_delay=0,bf_continue",
        ),
        reserved=True,
    ),
    "8 equal shared nodes, one partition": Machine(ONE),
}


@dataclass(frozen=True)
class Start:
    """When a waiting job starts, in minutes from the moment of the reading; None: it has no planned start."""

    job: int
    shape: str
    slurm: float | None
    by_rule: float | None  # what Slurm's rule gives
    ours: float | None
    real: float | None
    interval_min: float  # between two plans of Slurm
    lately: int  # jobs that have started since the last plan but one: Slurm's starts may not know that yet

    @property
    def same(self) -> bool:
        """Whether the rule gives Slurm's start."""
        if self.slurm is None or self.by_rule is None:
            return False
        return abs(self.by_rule - self.slurm) <= self.interval_min


def submit_all(lab: FastSlurmLab, machine: Machine, jobs: int, draw: random.Random) -> dict[int, str]:
    """Submit jobs that run until their limits; return their shapes by job id."""
    names, weights = list(machine.shapes), [weight for _, weight in machine.shapes.values()]
    found = {}
    for _ in range(jobs):
        shape = draw.choices(names, weights)[0]
        options = [*machine.shapes[shape][0], f"--time={draw.choice(machine.limits_min)}", *machine.options(draw)]
        with contextlib.suppress(RuntimeError):  # sbatch may fail on a busy machine
            found[lab.submit("sleep 36000", *options)] = shape
    return found


@dataclass(frozen=True)
class Look:
    """One reading of the queue, with the starts that the two plans give."""

    reading: Reading
    settings: Backfill
    by_rule: dict[int, float]
    ours: dict[int, float]


def look(lab: FastSlurmLab) -> Look:
    """Read the queue as Headway does, and plan it."""
    commands = Commands(30.0)
    site = SlurmSite(commands, SlurmOptions(), lab.now)
    site.wait_for_answer()
    reservations, configuration = read_reservations(commands), site.configuration()
    assert configuration is not None
    settings, reading = backfill_of(configuration.scheduling), site.reading()
    by_rule = slurm_starts(reading, settings, reservations or (), read_details(commands))
    ours: dict[int, float] = {}
    for each in reading.partitions:
        twin = twin_of(reading, each.name, in_cores=site.shares())
        planned = twin.starts() if twin else {}
        ours |= {job.job_id: planned[job.job_id] for job in reading.jobs if _waits(job, each.name, planned)}
    return Look(reading, settings, by_rule, ours)


def _waits(job: SeenJob, partition: str, planned: Mapping[int, float]) -> bool:
    return job.state == "PENDING" and job.partition == partition and job.job_id in planned


def real_starts(lab: FastSlurmLab, patience_s: float) -> dict[int, float]:
    """Wait until all jobs have started; return when, and of an array when the last member has."""
    deadline, lines = time.monotonic() + patience_s, []
    while time.monotonic() < deadline:
        time.sleep(2.0)
        answer = lab.run("squeue", "-h", "-a", "-t", "all", "-o", "%A|%S|%T", check=False)
        lines = [line.split("|") for line in answer.stdout.splitlines()]
        if not answer.returncode and lines and all(state != "PENDING" for *_, state in lines):
            break
    return {int(job): datetime.fromisoformat(moment).timestamp() for job, moment, state in lines if state != "PENDING"}


def measured(machine: Machine, jobs: int, looks: int, seed: int, patience_s: float) -> list[list[Start]]:
    """Fill one machine, and compare the planned starts of waiting jobs with the real ones, once for each look."""
    with FastSlurmLab(SPEED, machine.configuration()) as lab:
        os.environ.update(lab.environment())
        machine.prepare(lab)
        shapes = submit_all(lab, machine, jobs, random.Random(seed))
        time.sleep(PLANNING_S)
        seen = []
        for _ in range(looks):
            seen.append(look(lab))
            time.sleep(BETWEEN_S)
        real = real_starts(lab, patience_s)
    return [_starts(each, shapes, real) for each in seen]


def _starts(seen: Look, shapes: Mapping[int, str], real: Mapping[int, float]) -> list[Start]:
    def minutes(at: float | None) -> float | None:
        return None if at is None else max(0.0, at - seen.reading.at) / 60

    since = seen.reading.at - 2 * seen.settings.interval_s
    lately = sum(job.state == "RUNNING" and (job.started_at or 0.0) > since for job in seen.reading.jobs)
    return [
        Start(
            job.job_id,
            shapes[job.job_id],
            minutes(job.started_at),
            minutes(seen.by_rule.get(job.job_id)),
            minutes(seen.ours.get(job.job_id)),
            minutes(real.get(job.job_id)),
            seen.settings.interval_s / 60,
            lately,
        )
        for job in seen.reading.jobs
        if job.state == "PENDING" and job.job_id in shapes
    ]


def row(name: str, looks: Sequence[Sequence[Start]]) -> str:
    """One line of the table: agreement over all looks, errors at the first, when most jobs wait."""
    every = [start for starts in looks for start in starts]
    planned = [it for it in every if it.slurm is not None]
    jobs = len({it.job for it in planned})
    first = [it for it in looks[0] if it.slurm is not None and it.ours is not None and it.real is not None]
    ours_off = [abs((it.ours or 0.0) - (it.real or 0.0)) for it in first]
    slurm_off = [abs((it.slurm or 0.0) - (it.real or 0.0)) for it in first]
    return (
        f"| {name} | {jobs} | {len(planned)} | {sum(it.same for it in planned) / max(1, len(planned)):.1%} "
        f"| {statistics.mean(it.real or 0.0 for it in first) if first else 0:.0f} min "
        f"| {_errors(ours_off)} | {_errors(slurm_off)} |"
    )


def _errors(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.0f} min, {nine_tenths(values):.0f} min" if values else "-"


def nine_tenths(values: Sequence[float]) -> float:
    """What nine tenths of the values do not exceed."""
    return sorted(values)[round(0.9 * (len(values) - 1))]


def build_ms(jobs: int = 20_000) -> tuple[float, float, float]:
    """The CPU time of a twin of so many jobs, a question, and Slurm's rule, in ms, us and ms."""
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
    builds, questions, rules = [], [], []
    for _ in range(5):  # the first may compile
        began = time.process_time()
        twin = twin_of(reading, "main", in_cores=True)
        assert twin is not None
        asked = QueueTwin(twin.snapshot())
        builds.append(time.process_time() - began)
        began = time.process_time()
        asked.waits_s(range(1, 301), np.full(300, 3600.0))
        questions.append((time.process_time() - began) / 300)
    for _ in range(3):
        began = time.process_time()
        slurm_starts(reading, Backfill())
        rules.append(time.process_time() - began)
    return 1e3 * min(builds), 1e6 * min(questions), 1e3 * min(rules)


def main() -> None:
    """Measure all machines, each in a process of its own, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=150, help="submitted on each machine; some of them start at once")
    parser.add_argument("--looks", type=int, default=40, help="how often starts are read on each machine")
    parser.add_argument("--patience", type=float, default=1800.0, help="seconds to wait for real starts; 0: not at all")
    parser.add_argument("--markdown", type=Path, help="also write the table to this file")
    chosen = parser.parse_args()
    millis, micros, rule_ms = build_ms()
    print(f"a twin of 20,000 jobs on 1,000 nodes: {millis:.0f} ms of CPU to build, {micros:.0f} us a question")
    print(f"Slurm's rule for the same jobs: {rule_ms:.0f} ms of CPU", flush=True)
    lines = [
        "| machine | jobs | starts compared | Slurm's rule gives Slurm's start | mean wait | the twin: off by "
        "| Slurm's plan: off by |",
        "|---|--:|--:|--:|--:|--:|--:|",
    ]
    planned: list[Start] = []
    jobs = 0
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as processes:
        run = partial(measured, jobs=chosen.jobs, looks=chosen.looks, seed=chosen.seed, patience_s=chosen.patience)
        running = {processes.submit(run, machine): name for name, machine in MACHINES.items()}
        for ended in as_completed(running):
            name, looks = running[ended], ended.result()
            lines.append(row(name, looks))
            here = [start for starts in looks for start in starts if start.slurm is not None]
            planned, jobs = planned + here, jobs + len({it.job for it in here})
            print(f"{name}:")
            for shape in MACHINES[name].shapes:
                print("   ", row(shape, [[it for it in starts if it.shape == shape] for starts in looks]))
            for starts in looks:
                there = [it for it in starts if it.slurm is not None]
                more = sum(it.by_rule is not None for it in starts if it.slurm is None)
                same, none = sum(it.same for it in there), len(starts) - len(there)
                lately = starts[0].lately if starts else 0
                print(
                    f"    {same} of {len(there)} the same, {none} have none ({more} by the rule); {lately} just started"
                )
            sys.stdout.flush()
    print("\n".join(lines))
    print(f"in all {sum(it.same for it in planned)} of {len(planned)} starts of {jobs} jobs")
    if chosen.markdown:
        chosen.markdown.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
