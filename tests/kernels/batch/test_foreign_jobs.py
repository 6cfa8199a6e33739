"""Foreign jobs: submission, withdrawal and dependencies."""

from __future__ import annotations

import math
from collections.abc import Callable

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from headway.kernels.batch.queue import BatchQueue, QueueFullError, Scheduling
from headway.simulation.batch import queue_of
from headway.simulation.lublin import lublin
from tests.kernels.batch.workloads import (
    BACKFILLS,
    RULES,
    SELECTIONS,
    SPANS,
    Workload,
    n_running,
    n_waiting,
    schedulings,
    workloads,
)

ALL = [
    Scheduling(backfill, nodes, rules, depth, dependency)  # type: ignore[arg-type]
    for backfill in BACKFILLS
    for nodes in SELECTIONS
    for rules in RULES
    for depth in ((1, 3) if backfill == "easy" else (1,))
    for dependency in ("slurm", "reserved")
]
portions = st.tuples(st.floats(0, 1), st.sampled_from(SPANS))
ASKED = np.array([1.0, 2.0, 5.0]), np.array([3.0, 1.0, 8.0])


def every(test: Callable[[Scheduling], None]) -> Callable[[], None]:
    """Run a test under every scheduling, as one item of pytest; the failure names the schedulings that failed."""

    def under_all() -> None:
        failed = {}
        for scheduling in ALL:
            try:
                test(scheduling)
            except Exception as error:
                failed["-".join(map(str, scheduling))] = error
        if failed:
            raise AssertionError(f"under {', '.join(failed)}") from next(iter(failed.values()))

    under_all.__name__, under_all.__doc__ = test.__name__, test.__doc__
    return under_all


def answers(queue: BatchQueue) -> tuple[object, ...]:
    return queue.now, n_waiting(queue), n_running(queue), queue.plan().tolist(), queue.waits(*ASKED).tolist()


def to_the_end(queue: BatchQueue) -> None:
    while queue.advance(math.inf):
        pass


@settings(deadline=None, max_examples=500)
@given(workloads(20), schedulings(), st.integers(0, 30), st.lists(portions, min_size=1, max_size=5))
def test_immediate_withdrawal_restores_the_state(
    workload: Workload, scheduling: Scheduling, when: int, wanted: list[tuple[float, int]]
) -> None:
    queue, undisturbed = workload.queue(scheduling), workload.queue(scheduling)
    queue.advance(when * workload.scale)
    undisturbed.advance(when * workload.scale)
    before = answers(queue)
    came = [queue.submit(math.ceil(share * workload.machine) or 1, req) for share, req in wanted]
    for job in reversed(came):
        queue.withdraw(job)
    assert answers(queue) == before
    assert set(queue.advance(queue.now)) == set(came)  # it tells that they are gone
    queue.run()
    undisturbed.run()
    assert queue.starts.tolist() == undisturbed.starts.tolist()


@settings(deadline=None, max_examples=100)
@given(workloads(), schedulings(), st.integers(0, 30), portions, st.floats(0, 1))
def test_withdrawal_after_time_without_events(
    workload: Workload, scheduling: Scheduling, when: int, wanted: tuple[float, int], part: float
) -> None:
    """As long as there are no other events."""
    queue, undisturbed = workload.queue(scheduling), workload.queue(scheduling)
    for one in (queue, undisturbed):
        one.advance(when * workload.scale)
    job = queue.submit(math.ceil(wanted[0] * workload.machine) or 1, 1000.0)
    ends = [start + run for start, (_, _, _, run) in zip(queue.starts, workload.jobs, strict=True)]
    comes = [submit for submit, _, _, _ in workload.jobs]
    quiet = min((date for date in (*ends, *comes) if date > queue.now), default=queue.now + 5)
    until = queue.now + part * 0.99 * (quiet - queue.now)
    state = queue.job(job).state
    queue.advance(queue.now)
    if queue.job(job).state != state:  # its own start is something that happens
        return
    for one in (queue, undisturbed):
        while one.advance(until):
            pass
    if queue.job(job).state != state:
        return
    queue.withdraw(job)
    assert answers(queue) == answers(undisturbed)
    queue.run()
    undisturbed.run()
    assert queue.starts.tolist() == undisturbed.starts.tolist()


@settings(deadline=None, max_examples=100)
@given(workloads(), schedulings(), st.integers(0, 30), st.lists(portions, min_size=1, max_size=4))
def test_a_discarded_clone_has_no_effect(
    workload: Workload, scheduling: Scheduling, when: int, wanted: list[tuple[float, int]]
) -> None:
    queue, undisturbed = workload.queue(scheduling), workload.queue(scheduling)
    queue.advance(when * workload.scale)
    undisturbed.advance(when * workload.scale)
    before, clone = answers(queue), queue.clone()
    assert answers(clone) == before
    for share, req in wanted:
        clone.submit(math.ceil(share * workload.machine) or 1, req)
        clone.advance(clone.now + req)
    to_the_end(clone)
    assert clone.starts.tolist() == []  # it keeps no account of the trace
    assert answers(queue) == before
    queue.run()
    undisturbed.run()
    assert queue.starts.tolist() == undisturbed.starts.tolist()


@every
def test_arrays_grow(scheduling: Scheduling) -> None:
    """More than 64 jobs in the system and more than 16 foreign jobs: the arrays grow."""
    trace = lublin(70, 120, 3.0, seed=5)
    queue = queue_of(trace, scheduling)
    queue.advance(float(trace.submit_s[60]))
    jobs = [queue.submit(1 + number % 70, 3600.0 + number) for number in range(90)]
    children = [queue.submit(2, 60.0, after=job) for job in jobs[:40]]
    clone = queue.clone()
    to_the_end(queue)
    to_the_end(clone)
    for job in jobs + children:
        assert queue.job(job).state == "ended"
        assert queue.job(job)[:3] == clone.job(job)[:3]
    for job, child in zip(jobs, children, strict=False):
        assert queue.job(child).start >= queue.job(job).end
    assert not np.isnan(queue.starts).any()
    assert (n_waiting(queue), n_running(queue), queue.plan()[1].tolist()) == (0, 0, [70])


@every
def test_a_chain_of_three_dependent_jobs(scheduling: Scheduling) -> None:
    """Each job starts when its predecessor ends, early or not."""
    queue = BatchQueue(4, scheduling)
    first = queue.submit(4, 10, 4)
    second = queue.submit(2, 10, after=first)
    third = queue.submit(4, 10, 10, after=second)
    assert [queue.job(job).state for job in (second, third)] == ["pending"] * 2
    seen = []
    while news := queue.advance(9):
        seen += [(queue.now, job, queue.job(job).state) for job in news]
    assert seen == [(0, first, "running"), (4, first, "ended"), (4, second, "running")]
    queue.withdraw(second)  # it has done its work
    to_the_end(queue)
    assert queue.job(second)[:3] == ("ended", 4, 9)
    assert queue.job(third)[:3] == ("ended", 9, 19)


@every
def test_withdrawal_releases_dependent_jobs(scheduling: Scheduling) -> None:
    queue = BatchQueue(4, scheduling, submit=[0], nodes=[3], req=[100], run=[100])
    queue.advance(1)
    parent = queue.submit(2, 50)  # has no room
    child = queue.submit(1, 10, 10, after=parent)
    queue.advance(5)
    assert queue.job(child).state == "pending"
    queue.withdraw(parent)
    assert set(queue.advance(5)) >= {parent, child}
    assert queue.job(parent).state == "withdrawn"
    assert math.isnan(queue.job(parent).start)
    assert queue.job(child)[:2] == ("running", 5)


@every
def test_dependency_on_an_ended_job(scheduling: Scheduling) -> None:
    queue = BatchQueue(4, scheduling)
    parent = queue.submit(1, 5, 5)
    to_the_end(queue)
    child = queue.submit(1, 5, after=parent)
    queue.advance(queue.now)
    assert queue.job(child)[:2] == ("running", 5)


@settings(deadline=None, max_examples=150)
@given(
    workloads(),
    schedulings(dependency="slurm"),
    st.integers(0, 30),
    portions,
    st.lists(portions, min_size=1, max_size=3),
)
def test_under_slurm_rules_dependent_jobs_have_no_effect(
    workload: Workload, scheduling: Scheduling, when: int, first: tuple[float, int], wanted: list[tuple[float, int]]
) -> None:
    """Until the parent has ended, which here happens after the last job of the trace."""
    with_children, without = workload.queue(scheduling), workload.queue(scheduling)
    for queue in (with_children, without):
        queue.advance(when * workload.scale)
        queue.submit(math.ceil(first[0] * workload.machine / 2) or 1, 1e6)
    children = [with_children.submit(math.ceil(share * workload.machine) or 1, req, after=0) for share, req in wanted]
    for queue in (with_children, without):
        while queue.advance(500.0):
            pass
    assert all(with_children.job(child).state == "pending" for child in children)
    assert with_children.starts.tolist() == pytest.approx(without.starts.tolist(), nan_ok=True, abs=0)
    assert with_children.waits(*ASKED).tolist() == without.waits(*ASKED).tolist()
    assert with_children.plan().tolist() == without.plan().tolist()


@settings(deadline=None, max_examples=150)
@given(workloads(), schedulings(backfill="conservative", dependency="reserved"), st.integers(0, 30), portions, portions)
def test_the_reservation_of_a_dependent_job_is_kept(
    workload: Workload, scheduling: Scheduling, when: int, first: tuple[float, int], second: tuple[float, int]
) -> None:
    queue = workload.queue(scheduling)
    queue.advance(when * workload.scale)
    parent = queue.submit(math.ceil(first[0] * workload.machine) or 1, first[1] * workload.scale)
    child = queue.submit(math.ceil(second[0] * workload.machine) or 1, second[1] * workload.scale, after=parent)
    promise = queue.job(child).promise
    assert promise >= queue.job(parent).promise + first[1] * workload.scale
    to_the_end(queue)
    assert queue.job(parent).end == queue.job(parent).start + first[1] * workload.scale
    assert queue.job(parent).end <= queue.job(child).start <= promise


@every
def test_the_job_limit_of_an_owner(scheduling: Scheduling) -> None:
    queue = BatchQueue(4, scheduling, submit=[0, 2], nodes=[4, 4], req=[9, 9], run=[9, 9], most_jobs=2)
    queue.advance(1)
    first, second = queue.submit(1, 5), queue.submit(4, 5)
    before = answers(queue), queue.in_system()
    with pytest.raises(QueueFullError):
        queue.submit(1, 5)
    assert (answers(queue), queue.in_system()) == before
    other = queue.submit(1, 5, owner=1)  # another has room
    assert (queue.in_system(0), queue.in_system(1)) == (2, 1)
    queue.withdraw(other)
    queue.withdraw(second)
    assert queue.submit(2, 5) > other > second > first
    to_the_end(queue)
    assert queue.in_system() == 0


@every
def test_a_job_that_ends_early_frees_its_nodes_at_once(scheduling: Scheduling) -> None:
    queue = BatchQueue(4, scheduling)
    first = queue.submit(4, 100)
    second = queue.submit(3, 100, 1000)
    assert queue.advance(0) == [first]
    assert queue.advance(30) == []
    queue.withdraw(first)
    assert set(queue.advance(30)) == {first, second}
    assert queue.job(first)[:3] == ("ended", 0, 30)
    assert queue.job(second)[:2] == ("running", 30)
    assert queue.advance(1e6) == [second]
    assert queue.job(second)[:3] == ("ended", 30, 130)  # it asked for no more
    queue.withdraw(second)  # it is over: nothing
    assert queue.advance(1e6) == []
    assert queue.now == 1e6


@pytest.mark.parametrize(("nodes", "req"), [(0, 1), (5, 1), (1, 0), (1, -1), (1, math.nan), (-1, 1)])
def test_invalid_jobs_are_refused(nodes: int, req: float) -> None:
    queue = BatchQueue(4)
    with pytest.raises(ValueError, match="invalid job: "):
        queue.submit(nodes, req)
    assert (n_waiting(queue), n_running(queue)) == (0, 0)


@pytest.mark.parametrize("job", [1, 5, 40, -1])
def test_unknown_job_numbers_are_refused(job: int) -> None:
    queue = BatchQueue(4)
    queue.submit(1, 10)
    with pytest.raises((ValueError, LookupError)):
        queue.job(job)
    with pytest.raises((ValueError, LookupError)):
        queue.submit(1, 10, after=job)
    assert (n_waiting(queue), n_running(queue)) == (0, 1)


def test_time_does_not_go_back() -> None:
    queue = BatchQueue(4)
    with pytest.raises(ValueError, match="run time -5 s"):
        queue.submit(1, 10, run=-5)
    with pytest.raises(ValueError, match="order"):
        BatchQueue(4, submit=[5, 3], nodes=[1, 1], req=[1, 1], run=[1, 1])
    with pytest.raises(ValueError, match="must not be negative"):
        BatchQueue(4, submit=[-1], nodes=[1], req=[1], run=[1])


@pytest.mark.parametrize(("nodes", "req", "run"), [(5, 1, 1), (0, 1, 1), (1, 0, 0), (1, 1, -1), (1, math.nan, 1)])
def test_invalid_traces_are_refused(nodes: int, req: float, run: float) -> None:
    with pytest.raises(ValueError, match="must "):
        BatchQueue(4, submit=[0], nodes=[nodes], req=[req], run=[run])


@every
def test_an_admitted_job_starts_before_its_predecessor_ends_and_keeps_its_rank_where_nothing_is_promised(
    scheduling: Scheduling,
) -> None:
    queue = BatchQueue(4, scheduling, submit=[0], nodes=[2], req=[100], run=[100])
    queue.advance(1)
    parent = queue.submit(2, 500, 500)
    child = queue.submit(2, 20, 20, after=parent)
    other = queue.submit(2, 20, 20)  # it was submitted later, and there is room for one of them
    queue.advance(2)
    assert [queue.job(job).state for job in (parent, child, other)] == ["running", "pending", "pending"]
    queue.advance(50)
    queue.admit(child)
    # With conservative backfilling the other one has been promised these nodes.
    first, second = (other, child) if scheduling.backfill == "conservative" else (child, other)
    queue.advance(100)
    assert queue.job(first)[:2] == ("running", 100)
    assert queue.job(second).state == "pending"
    queue.admit(child)  # no effect on a job that runs
    to_the_end(queue)
    assert (queue.job(first).end, queue.job(second).start) == (120, 120)
