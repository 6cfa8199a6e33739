"""Small workloads with difficult cases: ties, bursts, equal ends, jobs that fill the machine."""

from __future__ import annotations

import random
from typing import NamedTuple

import hypothesis.strategies as st

from headway.kernels.batch import state as at
from headway.kernels.batch.queue import BatchQueue, Scheduling
from tests.kernels.batch.oracle import Oracle

MACHINES = (1, 2, 3, 5, 8, 10, 63, 64, 65, 70)
BACKFILLS = ("fcfs", "easy", "conservative")
SELECTIONS = ("counts", "ids", "contiguous")
RULES = ("pyss", "batsched")
SPANS = (1, 2, 3, 4, 5, 7, 10, 16)
GAPS = ((0, 0, 0, 1, 1, 2, 4, 9), (0, 1), (0, 0, 0, 0, 7), (1, 2, 3))
WEIGHTS = ((1, 1, 1, 1), (2, 6, 2, 1), (3, 3, 1, 0))  # of narrow jobs, any, half of the machine, all of it
SCALES = (1.0, 1.0, 0.1, 1 / 3)  # of time: fractions too


class Workload(NamedTuple):
    machine: int
    jobs: list[tuple[float, int, float, float]]  # submit, nodes, req, run
    scale: float

    def queue(self, scheduling: Scheduling, most_jobs: int | None = None) -> BatchQueue:
        columns = list(zip(*self.jobs, strict=True)) or [(), (), (), ()]
        submit, nodes, req, run = columns
        return BatchQueue(self.machine, scheduling, submit=submit, nodes=nodes, req=req, run=run, most_jobs=most_jobs)

    def oracle(self, scheduling: Scheduling) -> Oracle:
        return Oracle(self.machine, scheduling, self.jobs)

    def accurate(self) -> Workload:
        return self._replace(jobs=[(submit, nodes, req, req) for submit, nodes, req, _ in self.jobs])


def schedulings(**fixed: object) -> st.SearchStrategy[Scheduling]:
    """Any scheduling with the given fields fixed."""
    choices: dict[str, st.SearchStrategy[object]] = {
        "backfill": st.sampled_from(BACKFILLS),
        "nodes": st.sampled_from(SELECTIONS),
        "rules": st.sampled_from(RULES),
        "depth": st.integers(1, 4),
        "dependency": st.sampled_from(("slurm", "reserved")),
    }
    choices.update({name: st.just(value) for name, value in fixed.items()})
    return st.builds(Scheduling, **choices)


@st.composite
def workloads(draw: st.DrawFn, most: int = 14) -> Workload:
    """Drawn by our own random generator: single draws give too few and too similar jobs."""
    die = random.Random(draw(st.integers(0, 2**32)))
    machine, scale, many = die.choice(MACHINES), die.choice(SCALES), draw(st.integers(0, most))
    gaps, spans = die.choice(GAPS), die.sample(SPANS, die.choice((2, 4, len(SPANS))))
    widest = die.choice((machine, max(1, machine // 3)))  # of those that may be anything
    jobs, clock = [], 0
    for _ in range(many):
        clock += die.choice(gaps)
        widths = die.randint(1, min(3, machine)), die.randint(1, widest), max(1, machine // 2), machine
        nodes = die.choices(widths, die.choice(WEIGHTS))[0]
        req = die.choice(spans)
        run = die.choice((req, req, (req + 1) // 2, 1))
        jobs.append((clock * scale, nodes, req * scale, run * scale))
    return Workload(machine, jobs, scale)


def n_waiting(queue: BatchQueue) -> int:
    """Return how many jobs wait."""
    return int(queue._state.counts[at.N_WAITING])


def n_running(queue: BatchQueue) -> int:
    """Return how many jobs run."""
    return int(queue._state.counts[at.N_RUNNING])
