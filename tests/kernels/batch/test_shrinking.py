"""Foreign jobs that give back nodes while they run."""

from __future__ import annotations

import math
from itertools import pairwise

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from headway.kernels.batch.queue import BatchQueue, Scheduling
from tests.kernels.batch.test_foreign_jobs import answers, every, to_the_end
from tests.kernels.batch.workloads import SPANS, Workload, n_running, n_waiting, schedulings, workloads

LATER = 10_000.0  # when every job is over
shares = st.floats(0, 1, exclude_min=True)


def part(share: float, of: int) -> int:
    """At least one of so many nodes."""
    return max(1, math.ceil(share * of))


def started(queue: BatchQueue, nodes: int, req: float) -> int:
    """Submit a job and let it start, if it can: under some rules it does so with the next event."""
    job = queue.submit(nodes, req)
    queue.advance(queue.now)
    return job


def free(queue: BatchQueue) -> list[tuple[float, float]]:
    """The plan: from when on how many nodes are free."""
    return [tuple(row) for row in queue.plan().T.tolist()]


@pytest.mark.parametrize("nodes", ["counts", "ids"])
@settings(deadline=None, max_examples=40)
@given(workloads(20), st.data(), st.integers(0, 30), shares, shares, st.sampled_from(SPANS))
def test_a_job_that_shrinks_at_once_is_as_one_that_asked_for_less(
    nodes: str, workload: Workload, data: st.DataObject, when: int, wide: float, left: float, req: int
) -> None:
    scheduling = data.draw(schedulings(nodes=nodes))
    shrunk, narrow = workload.queue(scheduling), workload.queue(scheduling)
    for queue in (shrunk, narrow):
        queue.advance(when * workload.scale)
    width = part(wide, workload.machine)
    job = started(shrunk, width, req)
    if shrunk.job(job).state != "running":
        return
    shrunk.shrink(job, part(left, width))
    started(narrow, part(left, width), req)
    assert answers(shrunk) == answers(narrow)
    shrunk.run()
    narrow.run()
    assert shrunk.starts.tolist() == narrow.starts.tolist()


@settings(deadline=None, max_examples=60)
@given(workloads(20), schedulings(), st.integers(0, 30), shares, st.lists(shares, max_size=3), st.floats(0, 1))
def test_nothing_is_freed_twice(
    workload: Workload, scheduling: Scheduling, when: int, wide: float, lefts: list[float], elapsed: float
) -> None:
    queue, machine, width, req = workload.queue(scheduling), workload.machine, part(wide, workload.machine), 16.0
    queue.advance(when * workload.scale)
    job = started(queue, width, req)
    for left in lefts:
        before, waits = free(queue), n_waiting(queue)
        if queue.job(job).state == "running":
            width, given = part(left, width), width - part(left, width)
            queue.shrink(job, width)
            if not waits:  # else others may have started
                assert now_free(queue) == before[0][1] + given
                assert free(queue)[-1] == before[-1] or not given
        queue.advance(queue.now + elapsed * req / 3)
        assert all(0 <= nodes <= machine for _, nodes in free(queue))
    queue.withdraw(job)
    assert all(0 <= nodes <= machine for _, nodes in free(queue))
    assert all(first < then for (first, _), (then, _) in pairwise(free(queue)))
    while queue.advance(LATER):
        pass
    assert n_running(queue) == n_waiting(queue) == 0
    assert now_free(queue) == machine
    everything = started(queue, machine, 1.0)  # also by their ids all nodes are there, and each is there once
    assert queue.job(everything).state == "running"
    assert now_free(queue) == 0


def now_free(queue: BatchQueue) -> float:
    return free(queue)[0][1]


@every
def test_nodes_that_are_given_back_let_the_next_job_start(scheduling: Scheduling) -> None:
    queue = BatchQueue(8, scheduling)
    wide, waiting = started(queue, 8, 100.0), started(queue, 5, 10.0)
    queue.advance(20.0)
    queue.shrink(wide, 4)
    assert queue.job(waiting).state == "pending"
    queue.shrink(wide, 3)
    queue.advance(queue.now)
    assert queue.job(waiting).start == queue.now
    assert now_free(queue) == 0
    queue.shrink(waiting, 5)  # all that it has: nothing happens
    to_the_end(queue)
    assert (queue.job(wide).end, queue.job(waiting).end, now_free(queue)) == (100.0, queue.job(waiting).start + 10, 8)
    queue.shrink(wide, 1)  # it is over
    assert now_free(queue) == 8


def test_a_job_cannot_be_left_with_more_nodes_than_it_has_or_none() -> None:
    queue = BatchQueue(8, Scheduling())
    job = queue.submit(4, 100.0)
    for nodes in (0, 5, -1):
        with pytest.raises(ValueError, match=f"a job that has 4 nodes cannot be left with {nodes}"):
            queue.shrink(job, nodes)
    assert now_free(queue) == 4
