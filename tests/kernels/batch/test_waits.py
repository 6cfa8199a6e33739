"""Predicted waits against the waits of jobs that are then submitted."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from headway.kernels.batch.queue import BatchQueue, Scheduling
from tests.kernels.batch.workloads import SPANS, Workload, n_waiting, schedulings, workloads

spans = st.sampled_from(SPANS)


def said_and_done(workload: Workload, scheduling: Scheduling, share: float, req: float) -> tuple[float, float, int]:
    """The predicted wait, the actual wait if no job arrives and requests are exact, and the jobs waiting before."""
    queue = workload.accurate().queue(scheduling)
    queue.advance(workload.jobs[-1][0] if workload.jobs else 0.0)
    nodes, req = math.ceil(share * workload.machine) or 1, req * workload.scale
    said, line = float(queue.waits([nodes], [req])[0]), n_waiting(queue)
    job = queue.submit(nodes, req, req)
    submitted = queue.now
    while queue.advance(math.inf):
        pass
    return said, queue.job(job).start - submitted, line


@settings(deadline=None, max_examples=250)
@given(workloads(), schedulings(backfill="conservative"), st.floats(0, 1), spans)
def test_predictions_are_exact_under_conservative_backfilling(
    workload: Workload, scheduling: Scheduling, share: float, req: int
) -> None:
    said, done, _ = said_and_done(workload, scheduling, share, req)
    assert said == done


@settings(deadline=None, max_examples=250)
@given(workloads(), schedulings(backfill="fcfs"), st.floats(0, 1), spans)
def test_predictions_are_exact_under_first_come_first_served(
    workload: Workload, scheduling: Scheduling, share: float, req: int
) -> None:
    said, done, _ = said_and_done(workload, scheduling, share, req)
    assert said == done


@settings(deadline=None, max_examples=250)
@given(workloads(), schedulings(backfill="easy"), st.floats(0, 1), spans)
def test_predictions_are_exact_under_easy_with_enough_reservations(
    workload: Workload, scheduling: Scheduling, share: float, req: int
) -> None:
    said, done, line = said_and_done(workload, scheduling, share, req)
    assert line > scheduling.depth or said == done


def test_fcfs_no_job_overtakes() -> None:
    queue = BatchQueue(10, Scheduling("fcfs"), submit=[0, 1], nodes=[8, 10], req=[100, 50], run=[100, 50])
    queue.advance(2)
    assert queue.waits([2], [10]).tolist() == [148]
    assert queue.plan().tolist() == [[2, 100, 150], [0, 0, 10]]  # who would take 2 at once would overtake


def test_fcfs_skips_dependent_jobs() -> None:
    """Even if the parent's end is known: first come first served has no reservations."""
    queue = BatchQueue(10, Scheduling("fcfs", dependency="reserved"))
    queue.submit(4, 50)
    parent = queue.submit(4, 100)
    queue.submit(1, 10, after=parent)
    last = queue.submit(6, 10)
    assert queue.waits([5, 10], 1).tolist() == [60, 100]
    assert queue.plan().tolist() == [[0, 50, 60, 100], [0, 0, 6, 10]]
    while queue.advance(math.inf):
        pass
    assert queue.job(last).start == 50


@settings(deadline=None, max_examples=100)
@given(workloads(), schedulings(), st.integers(0, 30))
def test_predictions_do_not_change_the_queue(workload: Workload, scheduling: Scheduling, when: int) -> None:
    asked, unasked = workload.queue(scheduling), workload.queue(scheduling)
    nodes = np.arange(1, workload.machine + 3)
    for step in range(when):
        assert asked.advance(step * workload.scale) == unasked.advance(step * workload.scale)
        waits = asked.waits(nodes, 3 * workload.scale)
        assert np.isinf(waits[-2:]).all()  # wider than the machine
        assert (waits[:-2] >= 0).all()
        assert np.isfinite(waits[:-2]).all()
        assert (np.diff(waits[:-2]) >= 0).all() or scheduling.nodes != "counts"  # who wants more waits longer
        assert asked.waits(nodes, 3 * workload.scale).tolist() == waits.tolist()
        asked.plan()
    asked.run()
    unasked.run()
    assert asked.starts.tolist() == unasked.starts.tolist()


@pytest.mark.parametrize("nodes", ["counts", "ids", "contiguous"])
def test_shapes_are_numbers_or_columns(nodes: str) -> None:
    queue = BatchQueue(10, Scheduling("easy", nodes), submit=[0], nodes=[8], req=[0.5], run=[0.25])  # type: ignore[arg-type]
    queue.advance(0.125)
    assert queue.waits(4, [1, 2, 0.1]).tolist() == [0.375] * 3
    assert queue.waits([1, 3, 10, 11], 1).tolist() == [0, 0.375, 0.375, math.inf]
    assert queue.waits([], []).tolist() == []
