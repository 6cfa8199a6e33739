"""Queues with known figures, and generated ones."""

from __future__ import annotations

import gzip
import heapq
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from headway.model.batch_log import BatchJobs, Seconds


def jobs_of(rows: list[tuple[float, int, float]], machine: int, started_at: float | None = None) -> BatchJobs:
    """Jobs from (submission, nodes, run time)."""
    submit_s, nodes, run_s = (np.array(column) for column in zip(*rows, strict=True))
    runs = run_s.astype(float)
    return BatchJobs("made up", machine, submit_s.astype(float), nodes.astype(np.int64), runs, runs, started_at)


# Four nodes, first come first served: job 2 waits for the whole machine, and all others behind it.
FIVE = jobs_of([(0, 2, 100), (10, 4, 50), (20, 2, 30), (30, 1, 5), (40, 3, 60)], 4)
FIVE_START_S = np.array([0.0, 100.0, 150.0, 150.0, 180.0])


def first_come(jobs: BatchJobs) -> Seconds:
    """Start times under first come first served, by a simple reference implementation."""
    free, now = jobs.machine, 0.0
    ends: list[tuple[float, int]] = []
    start_s = np.zeros(len(jobs))
    for job, nodes in enumerate(jobs.nodes.tolist()):
        now = max(now, float(jobs.submit_s[job]))
        while ends and (ends[0][0] <= now or free < nodes):
            end, given_back = heapq.heappop(ends)
            now, free = max(now, end), free + given_back
        start_s[job] = now
        free -= nodes
        heapq.heappush(ends, (now + float(jobs.run_s[job]), nodes))
    return start_s


@st.composite
def queues(draw: st.DrawFn) -> tuple[BatchJobs, Seconds]:
    """Jobs and their schedule under first come first served."""
    machine = draw(st.integers(1, 12))
    gap, nodes, run = st.integers(0, 40), st.integers(1, machine), st.integers(1, 90)
    drawn = draw(st.lists(st.tuples(gap, nodes, run), min_size=1, max_size=40))
    submit = np.cumsum([0, *(gap for gap, _, _ in drawn[1:])])
    rows = [(float(at), nodes, float(run)) for at, (_, nodes, run) in zip(submit, drawn, strict=True)]
    jobs = jobs_of(rows, machine, draw(st.one_of(st.none(), st.integers(0, 2**31).map(float))))
    return jobs, first_come(jobs)


def reference(path: Path) -> tuple[BatchJobs, Seconds]:
    """Another simulator's schedule of the log KTH-SP2."""
    with gzip.open(path, "rt") as file:
        columns = np.loadtxt(file, delimiter=",", skiprows=1, unpack=True)
    _, submit_s, nodes, req_s, run_s, start_s = columns
    return BatchJobs("KTH-SP2", 100, submit_s, nodes.astype(np.int64), req_s, run_s), start_s
