"""The kernel agrees with the reference implementation, with a trace alone and with foreign jobs."""

from __future__ import annotations

import math
import random

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from headway.kernels.batch.queue import BatchQueue, Scheduling
from tests.kernels.batch.oracle import Oracle
from tests.kernels.batch.workloads import SELECTIONS, SPANS, Workload, n_running, n_waiting, schedulings, workloads

Action = tuple[str, int, int, int, int]
KINDS = ("advance", "advance", "advance", "submit", "submit", "submit", "withdraw", "withdraw")


@st.composite
def actions(draw: st.DrawFn) -> list[Action]:
    """Drawn by our own random generator, like the jobs."""
    die, many = random.Random(draw(st.integers(0, 2**32))), draw(st.integers(0, 25))
    first, second, third, fourth = ([die.randrange(10_000) for _ in range(many)] for _ in range(4))
    return list(zip(die.choices(KINDS, k=many), first, second, third, fourth, strict=True))


@pytest.mark.parametrize("nodes", SELECTIONS)
@pytest.mark.parametrize("backfill", ["fcfs", "easy", "easy with depth", "conservative"])
@settings(deadline=None, max_examples=120)
@given(data=st.data(), workload=workloads(20))
def test_every_start_matches_the_oracle(backfill: str, nodes: str, data: st.DataObject, workload: Workload) -> None:
    depth = data.draw(st.integers(2, 4)) if backfill == "easy with depth" else 1
    scheduling = data.draw(schedulings(backfill=backfill.split(maxsplit=1)[0], nodes=nodes, depth=depth))
    queue = workload.queue(scheduling)
    queue.run()
    assert queue.starts.tolist() == workload.oracle(scheduling).run()


@settings(deadline=None, max_examples=600)
@given(workloads(10), schedulings(), actions())
def test_foreign_jobs_match_the_oracle(workload: Workload, scheduling: Scheduling, todo: list[Action]) -> None:
    queue, oracle = workload.queue(scheduling), workload.oracle(scheduling)
    for action in todo:
        act(queue, oracle, workload, action)
        assert_same(queue, oracle)
    news: list[int] | None = None
    while news != []:
        news = queue.advance(math.inf)
        assert news == oracle.advance(math.inf)
        assert_same(queue, oracle)
    assert queue.starts.tolist() == [job.start for job in oracle.trace]


@settings(deadline=None, max_examples=200)
@given(workloads(10), schedulings(), actions(), actions())
def test_a_clone_is_independent(
    workload: Workload, scheduling: Scheduling, first: list[Action], second: list[Action]
) -> None:
    """A clone behaves as the original would, and does not affect it."""
    queue, oracle = workload.queue(scheduling), workload.oracle(scheduling)
    for action in first:
        act(queue, oracle, workload, action)
    clone, of_clone = queue.clone(), oracle.clone()
    assert_same(clone, of_clone)
    for action in second:
        act(clone, of_clone, workload, action)
        assert_same(clone, of_clone)
    assert_same(queue, oracle)
    for action in second:
        act(queue, oracle, workload, action)
    assert_same(queue, oracle)
    queue.run()
    oracle.run()
    assert queue.starts.tolist() == [job.start for job in oracle.trace]


def act(queue: BatchQueue, oracle: Oracle, workload: Workload, action: Action) -> None:
    """Apply the same action to both."""
    what, first, second, third, fourth = action
    if what == "advance":
        until = oracle.now + (0, 0, 1, 2, 5, 20)[first % 6] * workload.scale
        assert queue.advance(until) == oracle.advance(until)
    elif what == "submit":
        nodes = (1 + first % workload.machine, 1, workload.machine)[first % 3]
        req, other = SPANS[second % len(SPANS)] * workload.scale, SPANS[third % len(SPANS)] * workload.scale
        run = (math.inf, req, other)[third % 3]  # longer than requested too
        after = fourth % len(oracle.foreign) if oracle.foreign and fourth % 2 else None
        assert queue.submit(nodes, req, run, after=after) == oracle.submit(nodes, req, run, after=after)
    elif oracle.foreign:
        job = first % len(oracle.foreign) if second % 2 else len(oracle.foreign) - 1
        queue.withdraw(job)
        oracle.withdraw(job)


def assert_same(queue: BatchQueue, oracle: Oracle) -> None:
    """Compare everything that can be queried."""
    assert (queue.now, n_waiting(queue), n_running(queue)) == (oracle.now, len(oracle.line), len(oracle.running))
    conservative = oracle.scheduling.backfill == "conservative"
    for job in oracle.foreign:
        ours = queue.job(job.number)
        assert (ours.state, *map(str, ours[1:3])) == (job.state, str(job.start), str(job.end))  # NaN is like NaN
        assert not conservative or str(ours.promise) == str(job.promise)
    if conservative:
        dates, free = queue.plan()[:2]
        windows = [job.window() for job in oracle.running + oracle.line]
        changes = sorted({oracle.now, *(date for window in windows for date in window if oracle.now < date < math.inf)})
        assert dates[0] == oracle.now
        assert set(dates) <= set(changes)
        at = np.searchsorted(dates, changes, side="right") - 1
        assert free[at].tolist() == [oracle.free(date) for date in changes]
