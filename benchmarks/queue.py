"""Speed of the batch-queue kernel: real logs compared with other simulators, questions, copies, growth."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.measure import Timed, timed
from headway.formats.read_batch_log import read_batch_log
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.batch_log import BatchJobs, Seconds
from headway.simulation.batch import queue_of, schedule
from headway.simulation.batch_jobs import Choices, jobs_of
from headway.simulation.lublin import lublin

KTH = "KTH-SP2-1996-2.1-cln"
KTH_JOBS = 28_475
OTHERS = ("SDSC-SP2-1998-4.2-cln", "CTC-SP2-1996-3.1-cln", "SDSC-DS-2004-2.1-cln", "CEA-Curie-2011-2.1-cln")
# Seconds that other simulators took for KTH-SP2 on one core: pyss (2007) and batsched 1.4's algorithms.
PYSS_EASY_S = 4.3
PYSS_CONSERVATIVE_S = 7.6
BATSCHED_BASIC_S = 5.5
BATSCHED_CONTIGUOUS_S = 8.4
# Goals, in jobs a second.
TARGET_EASY = 1_000_000
TARGET_CONSERVATIVE = 300_000
TARGET_IDENTITIES = 80_000
TARGET_QUERY_US = 1.0
TARGET_CLONE_US = 50.0

EASY = Scheduling("easy")
CONSERVATIVE = Scheduling("conservative")
BASIC = Scheduling("conservative", "ids", "batsched")
ROWS: tuple[tuple[str, Scheduling, int | None, str, float | None], ...] = (
    ("FCFS, counts", Scheduling("fcfs"), None, "", None),
    ("EASY, counts", EASY, TARGET_EASY, "pyss", PYSS_EASY_S),
    ("conservative, counts", CONSERVATIVE, TARGET_CONSERVATIVE, "pyss", PYSS_CONSERVATIVE_S),
    ("EASY, identities", Scheduling("easy", "ids", "batsched"), TARGET_IDENTITIES, "", None),
    ("conservative, lowest nodes", BASIC, TARGET_IDENTITIES, "batsched", BATSCHED_BASIC_S),
    (
        "conservative, contiguous",
        Scheduling("conservative", "contiguous", "batsched"),
        TARGET_IDENTITIES,
        "batsched",
        BATSCHED_CONTIGUOUS_S,
    ),
)

ROUNDS = 7
SHORTEST_S = 2.0  # of all rounds of one figure together: short work is repeated more often
LONGEST_S = 20.0
SLOW_S = 180.0
POINTS = 300  # in the schedule that is asked
QUESTIONS = 100_000
LOADS = (0.4, 0.8, 1.2, 1.6)
MACHINES = (128, 256, 512, 1_024, 2_048)
MODEL_JOBS = 10_000
NODE_MEMORY = 1_024
SEED = 1

FIRST_USE = """
from headway.kernels import compiled
compiled.PATIENCE_S = compiled.PATIENCE_IF_KEPT_S = {patience_s}
from headway.kernels.batch.queue import BatchQueue, Scheduling
queue = BatchQueue(10, Scheduling("easy"), submit=[0], nodes=[1], req=[1], run=[1])
job = queue.submit(1, 1)
queue.waits([1], [1])
queue.withdraw(job)
queue.run()
"""


def main() -> None:
    """Print all tables."""
    console = Console()
    plain, cold, warm = first_use()
    console.print(
        f"first use: {plain.cpu_s:.1f} s in plain Python; {cold.cpu_s:.1f} s if it is compiled at once; "
        f"{warm.cpu_s:.1f} s with the machine code kept from that"
    )
    kth(console)
    resources(console)
    asked(console)
    copied(console)
    others(console)
    growth(console)


def first_use() -> tuple[Timed, ...]:
    """Time a new process that uses all functions of the queue once: plain, compiling, and with kept machine code."""
    here = str(Path(__file__).parents[1])
    with tempfile.TemporaryDirectory(prefix="headway-bench-") as folder:
        directory = Path(folder)
        return tuple(
            timed(
                [sys.executable, "-c", FIRST_USE.format(patience_s=patience_s)],
                directory,
                PYTHONPATH=here,
                NUMBA_CACHE_DIR=str(directory / "cache"),
            )
            for patience_s in (60, 0, 0)
        )


def log(name: str) -> BatchJobs | None:
    """Read a log of the Parallel Workloads Archive; None if it is missing. Jobs that never ran take a second."""
    data = os.environ.get("HEADWAY_DATA")
    path = Path(data or "", "pwa-swf", f"{name}.swf.gz")
    if not data or not path.exists():
        return None
    return jobs_of(read_batch_log(path), Choices(cancelled="one-second"))


def kth_or_model() -> BatchJobs:
    """Return KTH-SP2, or the same number of jobs of the Lublin model on the same number of nodes."""
    return log(KTH) or lublin(100, KTH_JOBS, 0.7, SEED)


def best_s(work: Callable[[], object]) -> float:
    """Return the shortest CPU time of several rounds; wall time would depend on other load on the machine."""
    spans_s: list[float] = []
    while sum(spans_s) < (LONGEST_S if len(spans_s) < ROUNDS else SHORTEST_S):
        began = time.process_time()
        work()
        spans_s.append(time.process_time() - began)
    return min(spans_s)


def schedule_s(jobs: BatchJobs, scheduling: Scheduling) -> float:
    """Return the CPU time of scheduling the whole log."""
    return best_s(lambda: queue_of(jobs, scheduling).run())


def kth(console: Console) -> None:
    """Print the comparison on KTH-SP2, for which times of other simulators are known."""
    jobs = kth_or_model()
    if not jobs.name.startswith("KTH"):
        console.print("KTH-SP2 is not in $HEADWAY_DATA: using the Lublin model instead, so the ratios mean little")
    table = Table(title=f"{jobs.name}: {len(jobs):,} jobs, {jobs.machine} nodes, one core, best of {ROUNDS} or more")
    for heading in ("policy", "CPU s", "jobs/s", "goal", "other simulator", "times as fast"):
        table.add_column(heading, justify="left" if heading == "policy" else "right", no_wrap=True)
    for name, scheduling, target, other, other_s in ROWS:
        took_s = schedule_s(jobs, scheduling)
        table.add_row(
            name,
            f"{took_s:.4f}",
            f"{len(jobs) / took_s:,.0f}",
            f"{target:,}" if target else "",
            f"{other} {other_s:.1f} s" if other_s else "",
            f"{other_s / took_s:,.0f}" if other_s else "",
        )
    console.print(table)


def resources(console: Console) -> None:
    """Print what further resources cost on KTH-SP2, whose log has none: memory and a partition are made up."""
    jobs, draw = kth_or_model(), np.random.default_rng(SEED)
    memory, partition = NODE_MEMORY * jobs.machine, jobs.machine // 2
    per_node = draw.integers(1, 2 * NODE_MEMORY, len(jobs))
    inside = (draw.random(len(jobs)) < 0.25) & (jobs.nodes <= partition)
    needs = {"memory": np.minimum(jobs.nodes * per_node, memory), "partition 1": np.where(inside, jobs.nodes, 0)}
    kinds = {
        "nodes": {},
        "+ plenty of memory": {"memory": 2 * memory},
        "+ scarce memory": {"memory": memory},
        "+ memory, partition": {"memory": memory, "partition 1": partition},
    }
    table = Table(title=f"{jobs.name}: jobs/s and (mean wait in hours) with these resources")
    table.add_column("policy", no_wrap=True)
    for heading in kinds:
        table.add_column(heading, justify="right", no_wrap=True)
    for name, scheduling in (("FCFS", Scheduling("fcfs")), ("EASY", EASY), ("conservative", CONSERVATIVE)):
        cells = []
        for further in kinds.values():
            jobs.further, jobs.needs = further, {resource: needs[resource] for resource in further}
            took_s = schedule_s(jobs, scheduling)
            wait_s = schedule(jobs, scheduling) - jobs.submit_s
            cells.append(f"{len(jobs) / took_s:,.0f} ({wait_s.mean() / 3600:,.1f})")
        table.add_row(name, *cells)
    console.print(table)


def asked(console: Console) -> None:
    """Print the time of one question: when would a job of this shape start?"""
    jobs = lublin(512, MODEL_JOBS, 1.5, SEED)
    table = Table(title=f"CPU µs a question, with {POINTS} points in the schedule of {jobs.name}")
    headings = ("policy", "points", "waiting", f"{QUESTIONS:,} at once", "widest at once", "goal", "one, from Python")
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "policy" else "right", no_wrap=True)
    chosen = np.random.default_rng(SEED).integers(0, len(jobs), QUESTIONS)
    nodes, req_s = jobs.nodes[chosen].astype(float), jobs.req_s[chosen]  # shapes of jobs of the log
    widest = np.full(QUESTIONS, float(jobs.machine))  # for all nodes, the whole schedule has to be searched
    for name, scheduling in (("conservative, counts", CONSERVATIVE), ("EASY, counts", EASY)):
        queue = busy(jobs, scheduling)
        table.add_row(
            name,
            f"{queue.plan().shape[1]}",
            f"{queue.waiting}",
            f"{question_us(queue, nodes, req_s):.3f}",
            f"{question_us(queue, widest, req_s):.3f}",
            f"{TARGET_QUERY_US:g}",
            f"{question_us(queue, nodes[:1], req_s[:1]):.1f}",
        )
    console.print(table)


def question_us(queue: BatchQueue, nodes: Seconds, req_s: Seconds) -> float:
    """Return the time of one question if this number is asked at once."""
    calls = QUESTIONS // len(nodes) // 100 or 1

    def ask() -> None:
        for _ in range(calls):
            queue.waits(nodes, req_s)

    return best_s(ask) / calls / len(nodes) * 1e6


def busy(jobs: BatchJobs, scheduling: Scheduling) -> BatchQueue:
    """Return the queue at the moment when its schedule first has POINTS points."""
    queue = queue_of(jobs, scheduling)
    for date_s in jobs.submit_s:
        queue.advance(float(date_s))
        if queue.plan().shape[1] >= POINTS:
            return queue
    raise SystemExit(f"the schedule of {jobs.name} never has {POINTS} points")


def copied(console: Console) -> None:
    """Print the time of a clone, half-way through the log."""
    jobs = kth_or_model()
    table = Table(title=f"a clone, half-way through {jobs.name}")
    for heading in ("policy", "jobs in the system", "capacity", "µs, median", "goal"):
        table.add_column(heading, justify="left" if heading == "policy" else "right", no_wrap=True)
    for name, scheduling in (("EASY, counts", EASY), ("conservative, counts", CONSERVATIVE), ("identities", BASIC)):
        queue = queue_of(jobs, scheduling)
        queue.advance(float(jobs.submit_s[len(jobs) // 2]))
        spans_s = []
        for _ in range(2_000):
            began = time.perf_counter()
            queue.clone()
            spans_s.append(time.perf_counter() - began)
        room = len(queue._state.live)
        in_system = queue.waiting + queue.running
        table.add_row(
            name, f"{in_system}", f"{room}", f"{statistics.median(spans_s) * 1e6:.1f}", f"{TARGET_CLONE_US:g}"
        )
    console.print(table)


def others(console: Console) -> None:
    """Print the times of other real logs."""
    table = Table(title="other logs, one core; jobs that never ran take a second")
    for heading in ("log", "jobs", "processors", "policy", "CPU s", "jobs/s", "mean waiting"):
        table.add_column(heading, justify="left" if heading in ("log", "policy") else "right", no_wrap=True)
    for name in OTHERS:
        jobs = log(name)
        if jobs is None:
            console.print(f"{name} is not in $HEADWAY_DATA")
            continue
        for policy, scheduling in (("EASY", EASY), ("conservative", CONSERVATIVE)):
            took_s, line = measured(jobs, scheduling)
            if took_s > SLOW_S:
                console.print(f"{name}, {policy}: {took_s:.0f} s is slow")
            jobs_s = f"{len(jobs) / took_s:,.0f}"
            table.add_row(name, f"{len(jobs):,}", f"{jobs.machine:,}", policy, f"{took_s:.3f}", jobs_s, f"{line:,.1f}")
    console.print(table)


def measured(jobs: BatchJobs, scheduling: Scheduling) -> tuple[float, float]:
    """Return the CPU time of the log, and the mean number of waiting jobs from the first submission to the last."""
    took_s = schedule_s(jobs, scheduling)
    queue = queue_of(jobs, scheduling)
    queue.run()
    last_s = float(jobs.submit_s[-1])
    waited_s = np.minimum(queue.starts, last_s) - jobs.submit_s
    return took_s, float(waited_s.sum()) / last_s


def growth(console: Console) -> None:
    """Print how the cost of a job grows with the load and with the number of nodes."""
    kinds = {"EASY": EASY, "conservative": CONSERVATIVE, "conservative, lowest nodes": BASIC}
    _growth(console, "load, 128 nodes", kinds, {f"{load:g}": lublin(128, MODEL_JOBS, load, SEED) for load in LOADS})
    _growth(
        console,
        "nodes, load 0.8",
        kinds,
        {f"{machine:,}": lublin(machine, MODEL_JOBS, 0.8, SEED) for machine in MACHINES},
    )


def _growth(console: Console, what: str, kinds: dict[str, Scheduling], sweeps: dict[str, BatchJobs]) -> None:
    table = Table(title=f"CPU µs a job and (mean waiting), {MODEL_JOBS:,} jobs of the Lublin model")
    table.add_column(what, no_wrap=True)
    for name in kinds:
        table.add_column(name, justify="right", no_wrap=True)
    for value, jobs in sweeps.items():
        cells = []
        for scheduling in kinds.values():
            took_s, line = measured(jobs, scheduling)
            cells.append(f"{took_s / len(jobs) * 1e6:,.2f} ({line:,.1f})")
        table.add_row(value, *cells)
    console.print(table)
