"""Futures made of the past: they know nothing of what came, and begin where the queue is."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model.batch_log import BatchJobs
from headway.simulation.batch import queue_of, seen_waits
from headway.simulation.futures import DAY_S, imagined_future
from headway.simulation.lublin import lublin

CONSERVATIVE = Scheduling("conservative")


def jobs() -> BatchJobs:
    return lublin(machine=64, jobs=3000, load=0.8, seed=3)


def at(jobs: BatchJobs, share: float = 0.5) -> BatchQueue:
    queue = queue_of(jobs, CONSERVATIVE)
    queue.advance(float(round(jobs.submit_s[-1] * share)))
    return queue


def test_the_future_does_not_depend_on_what_really_came() -> None:
    known = jobs()
    queue = at(known)
    cut = int(np.searchsorted(known.submit_s, queue.now, side="right"))
    other = structs.replace(known, run_s=known.run_s.copy(), req_s=known.req_s.copy())
    other.req_s[cut:] *= 3.0
    other.run_s[cut:] *= 3.0
    shapes = [1, 8, 64], [3600.0, 3600.0, 7200.0]
    futures = [imagined_future(at(log), log, seed=5) for log in (known, other)]
    for later in (0.0, DAY_S, 3 * DAY_S):
        for future in futures:
            future.advance(queue.now + later)
        assert futures[0].waits(*shapes).tolist() == futures[1].waits(*shapes).tolist()


def test_it_begins_with_the_plan_as_it_is_and_leaves_the_queue_alone() -> None:
    known = jobs()
    queue, untouched = at(known), at(known)
    future = imagined_future(queue, known, seed=1)
    assert future.plan().tolist() == queue.plan().tolist()
    future.advance(queue.now + 5 * DAY_S)
    queue.run()
    untouched.run()
    assert queue.starts.tolist() == untouched.starts.tolist()


def test_those_who_ask_for_long_use_what_such_jobs_used() -> None:
    """Short jobs that use a tenth of their request say nothing of long ones, which use all of it."""
    number = 1000
    asked_s = np.tile([600.0, 36_000.0], number // 2)
    submit_s = np.arange(number) * 36_000.0
    log = BatchJobs("log", 1, submit_s, np.ones(number, np.int64), asked_s, np.where(asked_s > 600.0, asked_s, 60.0))
    queue = queue_of(log, CONSERVATIVE)
    queue.advance(float(submit_s[501]) + 1.0)  # a long job has just begun
    for seed in range(10):
        future = imagined_future(queue, log, seed)
        job = future.submit(1, 60.0, 30.0)
        future.advance(queue.now + 35_990.0)
        assert future.job(job).state == "pending"


def test_other_seeds_other_futures_and_jobs_keep_coming() -> None:
    known = jobs()
    queue = at(known)
    waits = set()
    for seed in range(4):
        future = imagined_future(queue, known, seed)
        future.advance(queue.now + 2 * DAY_S)
        waits.add(tuple(future.waits([1, 16, 32, 64], [7200.0] * 4).tolist()))
        assert future.running + future.waiting > 0
    assert len(waits) > 1


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 1000), share=st.floats(0.0, 0.95))
def test_any_time_has_a_future(seed: int, share: float) -> None:
    known = lublin(machine=16, jobs=200, load=0.9, seed=seed % 7)
    queue = at(known, share)
    future = imagined_future(queue, known, seed)
    job = future.submit(16, 60.0, 30.0)
    while future.job(job).state != "ended":
        assert future.advance(future.now + 400 * DAY_S) == [job]


def test_jobs_from_outside_have_no_other_future() -> None:
    queue = BatchQueue(4, CONSERVATIVE)
    queue.submit(1, 10.0)
    with pytest.raises(ValueError, match="foreign jobs"):
        queue.with_future(np.empty((4, 0)), lambda req, elapsed: req)


def test_seen_waits_hold_started_jobs_and_their_planned_waits() -> None:
    known = jobs()
    queue = at(known)
    seen = seen_waits(queue, known, most=50)
    assert len(seen) == 50
    for wait in seen:
        assert wait.waited_s >= 0
        assert wait.estimate_s is not None
        assert wait.waited_s <= wait.estimate_s  # under conservative backfilling a promise is kept
