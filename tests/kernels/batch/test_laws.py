"""Properties of every schedule under any policy."""

from __future__ import annotations

import math

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.kernels.batch.state import with_more_slots
from headway.model.batch_log import BatchJobs
from headway.simulation.batch import queue_of
from headway.simulation.lublin import lublin
from tests.kernels.batch.workloads import (
    BACKFILLS,
    RULES,
    SELECTIONS,
    Workload,
    n_running,
    n_waiting,
    schedulings,
    workloads,
)


def starts(workload: Workload, scheduling: Scheduling) -> list[float]:
    queue = workload.queue(scheduling)
    queue.run()
    result: list[float] = queue.starts.tolist()
    return result


def most_busy(nodes: list[int], begin: list[float], end: list[float]) -> int:
    """The largest number of nodes in use at once; ends come before starts at equal times."""
    ends = [(date, 0, -wide) for wide, date in zip(nodes, end, strict=True)]
    changes = sorted(ends + [(date, 1, wide) for wide, date in zip(nodes, begin, strict=True)])
    busy = most = 0
    for _, _, change in changes:
        busy += change
        most = max(most, busy)
    return most


@settings(deadline=None, max_examples=300)
@given(workloads(24), schedulings())
def test_jobs_start_after_submission_and_never_share_nodes(workload: Workload, scheduling: Scheduling) -> None:
    begin = starts(workload, scheduling)
    assert all(start >= submit for start, (submit, _, _, _) in zip(begin, workload.jobs, strict=True))  # none is NaN
    end = [start + run for start, (_, _, _, run) in zip(begin, workload.jobs, strict=True)]
    assert most_busy([nodes for _, nodes, _, _ in workload.jobs], begin, end) <= workload.machine


@settings(deadline=None, max_examples=100)
@given(workloads(24), schedulings(backfill="fcfs"))
def test_first_come_first_served(workload: Workload, scheduling: Scheduling) -> None:
    begin = starts(workload, scheduling)
    assert begin == sorted(begin)


@settings(deadline=None, max_examples=200)
@given(workloads(24), schedulings(backfill="conservative"))
def test_conservative_backfilling_keeps_its_promises(workload: Workload, scheduling: Scheduling) -> None:
    queue = workload.queue(scheduling)
    queue.run()
    assert (queue.starts <= queue.promises).all()


@settings(deadline=None, max_examples=200)
@given(workloads(24), schedulings(backfill="conservative"))
def test_promises_are_exact_if_requests_are_exact(workload: Workload, scheduling: Scheduling) -> None:
    queue = workload.accurate().queue(scheduling)
    queue.run()
    assert queue.starts.tolist() == queue.promises.tolist()


@settings(deadline=None, max_examples=300)
@given(workloads(16), schedulings(backfill="easy"), st.integers(0, 40))
def test_the_first_waiting_job_is_not_delayed(workload: Workload, scheduling: Scheduling, when: int) -> None:
    """The first waiting job starts no later than when running jobs, by their requests, leave enough nodes."""
    queue = workload.queue(scheduling)
    queue.advance(when * workload.scale)
    line = [job for job, start in enumerate(queue.starts) if math.isnan(start) and workload.jobs[job][0] <= queue.now]
    running = [
        (start + req, nodes)  # when it ends at the latest
        for start, (_, nodes, req, run) in zip(queue.starts.tolist(), workload.jobs, strict=True)
        if start <= queue.now < start + run
    ]
    assert len(running) == n_running(queue)
    assert len(line) == n_waiting(queue)
    if line:
        latest = room_at(workload.machine, running, workload.jobs[line[0]][1], scheduling)
        queue.run()
        assert queue.starts[line[0]] <= latest


def room_at(machine: int, running: list[tuple[float, int]], nodes: int, scheduling: Scheduling) -> float:
    """When enough nodes are free; if they must be contiguous, when all nodes are."""
    free = machine - sum(busy for _, busy in running)
    for end, busy in sorted(running):
        free += busy
        if free >= (machine if scheduling.nodes == "contiguous" else nodes):
            return end
    raise AssertionError("it waits on an empty machine")


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("nodes", SELECTIONS)
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_a_long_log_on_a_crowded_machine(backfill: str, nodes: str, rules: str) -> None:
    """Far more than 64 jobs in the system, so that arrays grow; two runs are equal."""
    jobs = lublin(70, 900, 3.0, seed=3)
    scheduling = Scheduling(backfill, nodes, rules)  # type: ignore[arg-type]
    begin, most = with_line(jobs, scheduling)
    assert most > 128  # the first arrays have room for 64
    assert (begin >= jobs.submit_s).all()
    assert most_busy(jobs.nodes.tolist(), begin.tolist(), (begin + jobs.run_s).tolist()) <= jobs.machine
    again = queue_of(jobs, scheduling)
    again.run()
    np.testing.assert_array_equal(begin, again.starts)


def with_line(jobs: BatchJobs, scheduling: Scheduling) -> tuple[np.ndarray, int]:
    queue, most = queue_of(jobs, scheduling), 0
    for submit_s in jobs.submit_s[::20].tolist():
        queue.advance(submit_s)
        most = max(most, n_waiting(queue) + n_running(queue))
    queue.run()
    return queue.starts, most


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("nodes", SELECTIONS)
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_initial_capacity_makes_no_difference(backfill: str, nodes: str, rules: str) -> None:
    """More than twice the initial capacity; the result equals that with enough capacity."""
    jobs = lublin(70, 200, 1.0, seed=4)
    jobs.submit_s = np.zeros(200)
    scheduling = Scheduling(backfill, nodes, rules)  # type: ignore[arg-type]
    queue, roomy = queue_of(jobs, scheduling), queue_of(jobs, scheduling)
    for _ in range(3):
        roomy._state = with_more_slots(roomy._state)
    queue.run()
    roomy.run()
    np.testing.assert_array_equal(queue.starts, roomy.starts)
    end_s = queue.starts + jobs.run_s
    assert most_busy(jobs.nodes.tolist(), queue.starts.tolist(), end_s.tolist()) <= jobs.machine


def test_a_job_is_stopped_when_its_request_is_used_up() -> None:
    queue = BatchQueue(4, submit=[0, 1], nodes=[4, 4], req=[10, 10], run=[50, 50])
    queue.run()
    assert queue.starts.tolist() == [0, 10]


def test_progress_reports_arrived_jobs() -> None:
    heard: list[int] = []
    queue = BatchQueue(4, submit=range(200), nodes=[4] * 200, req=[9] * 200, run=[9] * 200)
    queue.run(heard.append)
    assert heard == sorted(heard)
    assert all(0 < jobs <= 200 for jobs in heard)
    assert heard  # the line grew out of its first array


def test_a_machine_without_jobs() -> None:
    queue = BatchQueue(3)
    assert queue.advance(7.5) == []
    assert queue.now == 7.5
    assert queue.plan().tolist() == [[7.5], [3]]
    queue.run()
    assert queue.starts.tolist() == []
