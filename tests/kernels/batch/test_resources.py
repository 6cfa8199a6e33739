"""Resources besides nodes: memory, and the nodes of partitions, which may overlap."""

from __future__ import annotations

import math
import random

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.kernels.batch.state import with_more_slots
from tests.kernels.batch.oracle import Oracle
from tests.kernels.batch.test_against_oracle import Action, actions, assert_same
from tests.kernels.batch.test_laws import most_busy
from tests.kernels.batch.workloads import BACKFILLS, RULES, SPANS, Workload, schedulings, workloads

NAMES = ("memory", "partition 1", "partition 2")


@st.composite
def amounts(draw: st.DrawFn, workload: Workload) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """One to three further resources, often scarce, and what each job needs of them: often nothing or everything."""
    die = random.Random(draw(st.integers(0, 2**32)))
    further = tuple(die.choice((1, 3, 10, workload.machine)) for _ in range(die.choice((1, 1, 2, 3))))
    needs = [tuple(die.choice((0, 1, most, die.randint(0, most))) for most in further) for _ in workload.jobs]
    return further, needs


def queue_of(
    workload: Workload, scheduling: Scheduling, further: tuple[int, ...], needs: list[tuple[int, ...]]
) -> BatchQueue:
    submit, nodes, req, run = list(zip(*workload.jobs, strict=True)) or [(), (), (), ()]
    rows = list(zip(*needs, strict=True)) or [()] * len(further)
    return BatchQueue(
        workload.machine,
        scheduling,
        submit=submit,
        nodes=nodes,
        req=req,
        run=run,
        further=dict(zip(NAMES, further, strict=False)),
        needs=dict(zip(NAMES, rows, strict=False)),
    )


@pytest.mark.parametrize("backfill", ["fcfs", "easy", "easy with depth", "conservative"])
@settings(deadline=None, max_examples=60)
@given(data=st.data(), workload=workloads(18))
def test_every_start_matches_the_oracle(backfill: str, data: st.DataObject, workload: Workload) -> None:
    """And no resource is ever used beyond what the machine has."""
    depth = data.draw(st.integers(2, 4)) if backfill == "easy with depth" else 1
    scheduling = data.draw(schedulings(backfill=backfill.split(maxsplit=1)[0], nodes="counts", depth=depth))
    further, needs = data.draw(amounts(workload))
    queue = queue_of(workload, scheduling, further, needs)
    queue.run()
    starts = queue.starts.tolist()
    assert starts == Oracle(workload.machine, scheduling, workload.jobs, further, needs).run()
    end = [start + run for start, (_, _, _, run) in zip(starts, workload.jobs, strict=True)]
    for which, most in enumerate(further):
        assert most_busy([need[which] for need in needs], starts, end) <= most


@settings(deadline=None, max_examples=60)
@given(data=st.data(), workload=workloads(8), scheduling=schedulings(nodes="counts"), todo=actions())
def test_foreign_jobs_match_the_oracle(
    data: st.DataObject, workload: Workload, scheduling: Scheduling, todo: list[Action]
) -> None:
    """Submissions, dependencies and withdrawals; a question is answered with the wait that the job then has."""
    further, needs = data.draw(amounts(workload))
    queue = queue_of(workload, scheduling, further, needs)
    oracle = Oracle(workload.machine, scheduling, workload.jobs, further, needs)
    for what, first, second, third, fourth in todo:
        if what == "advance":
            until = oracle.now + (0, 0, 1, 2, 5, 20)[first % 6] * workload.scale
            assert queue.advance(until) == oracle.advance(until)
        elif what == "submit":
            nodes, req = 1 + first % workload.machine, SPANS[second % len(SPANS)] * workload.scale
            need = tuple(third % (most + 1) for most in further)
            named = dict(zip(NAMES, need, strict=False))
            after = fourth % len(oracle.foreign) if oracle.foreign and fourth % 2 else None
            wait = float(queue.waits(nodes, req, named)[0])
            number = oracle.submit(nodes, req, after=after, needs=need)
            assert queue.clone().submit(nodes, req, after=after, needs=named) == number
            assert queue.submit(nodes, req, after=after, needs=named) == number
            if scheduling.backfill == "conservative" and after is None:
                assert queue.job(number).promise == pytest.approx(queue.now + wait)
        elif oracle.foreign:
            job = first % len(oracle.foreign)
            queue.withdraw(job)
            oracle.withdraw(job)
        assert_same(queue, oracle)
    while news := queue.advance(math.inf):
        assert news == oracle.advance(math.inf)
    assert oracle.advance(math.inf) == []
    assert queue.starts.tolist() == [job.start for job in oracle.trace]


@settings(deadline=None, max_examples=60)
@given(workloads(20), schedulings(nodes="counts"), st.integers(0, 1))
def test_a_resource_that_limits_no_job_makes_no_difference(
    workload: Workload, scheduling: Scheduling, need: int
) -> None:
    """Jobs need none of it, or less of it than the machine has for that many."""
    plain, other = workload.queue(scheduling), queue_of(workload, scheduling, (99,), [(need,)] * len(workload.jobs))
    plain.run()
    other.run()
    assert other.starts.tolist() == plain.starts.tolist()


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("backfill", BACKFILLS)
def test_initial_capacity_makes_no_difference(backfill: str, rules: str) -> None:
    die = random.Random(1)
    jobs = [(0.0, die.randint(1, 8), float(die.choice(SPANS)), 1.0 + index % 3) for index in range(200)]
    workload, needs = Workload(8, jobs, 1.0), [(die.randint(0, 5), die.randint(0, 2)) for _ in jobs]
    scheduling = Scheduling(backfill, "counts", rules)  # type: ignore[arg-type]
    queue, roomy = (queue_of(workload, scheduling, (6, 2), needs) for _ in range(2))
    for _ in range(3):
        roomy._state = with_more_slots(roomy._state)
    queue.run()
    roomy.run()
    assert queue.starts.tolist() == roomy.starts.tolist()


def test_a_job_that_shrinks_gives_back_what_it_no_longer_needs() -> None:
    queue = BatchQueue(8, Scheduling("conservative"), further={"memory": 10, "partition 1": 4})
    job = queue.submit(4, 100, needs={"memory": 8, "partition 1": 4})
    later = queue.submit(2, 50, needs={"memory": 5, "partition 1": 2})
    queue.advance(10)
    queue.shrink(job, 2, {"memory": 3})  # the partition's four nodes stay
    queue.advance(10)
    assert queue.job(later).state == "pending"
    queue.shrink(job, 2, {"partition 1": 2})
    queue.advance(10)
    assert queue.job(later).start == 10
    assert queue.plan().tolist() == [[10, 60, 100], [4, 6, 8], [2, 7, 10], [0, 2, 4]]


def test_under_first_come_first_served_nothing_is_free_before_the_last_waiting_job() -> None:
    queue = BatchQueue(4, Scheduling("fcfs"), further={"memory": 10})
    queue.submit(1, 100, needs={"memory": 8})
    queue.submit(1, 50, needs={"memory": 5})
    assert queue.plan().tolist() == [[0, 100, 150], [0, 3, 4], [0, 5, 10]]
    assert queue.waits([1, 1], 10, {"memory": [0, 6]}).tolist() == [100, 150]
    assert queue.waits(1, 10, {"memory": 11}).tolist() == [math.inf]


def test_wrong_amounts_are_refused_in_one_sentence() -> None:
    with pytest.raises(ValueError, match="only nodes that are counted can be planned together with further resources"):
        BatchQueue(4, Scheduling("easy", "ids"), further={"memory": 10})
    queue = BatchQueue(4, further={"memory": 10})
    for needs, words in (
        ({"disk": 1}, "the machine has no disk"),
        ({"memory": 11}, "each job must have 0 to 10 memory, a whole number"),
        ({"memory": 0.5}, "each job must have 0 to 10 memory, a whole number"),
    ):
        with pytest.raises(ValueError, match=words):
            queue.submit(1, 10, needs=needs)
    with pytest.raises(ValueError, match="the machine has no disk"):
        queue.waits(1, 10, {"disk": 1})
    job = queue.submit(2, 10, needs={"memory": 5})
    with pytest.raises(ValueError, match="cannot be left with more than it has"):
        queue.shrink(job, 1, {"memory": 6})
    with pytest.raises(ValueError, match="a snapshot of the plan has nodes only"):
        queue.plan_with_nodes()
    with pytest.raises(ValueError, match="further resources cannot be given another future"):
        BatchQueue(4, further={"memory": 10}).with_future(queue._trace, lambda req, elapsed: req)
