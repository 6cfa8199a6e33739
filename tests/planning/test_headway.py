"""Our own plan, on queues that are simple enough to be worked out by hand."""

from __future__ import annotations

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.records import QueueRead, SeenWait
from headway.planning import PLANS
from headway.planning.headway import ANCHOR, FILLER, Headway, _longest_gap
from tests.planning.test_staged import of, stages

CONSERVATIVE = Scheduling("conservative")


def passed(queue: BatchQueue, *run_s: float, width: int = 2, plan: str = "headway") -> SimulatedRun:
    run = run_through(stages(*run_s, width=width), Through(PLANS[plan]))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


def rules(run: SimulatedRun) -> list[tuple[str, int]]:
    return [(submit.why.rule, submit.request.per_node.nodes) for submit in of(run, records.Submit)]


def test_on_an_empty_machine_there_is_only_the_anchor() -> None:
    run = passed(BatchQueue(8, CONSERVATIVE), 100.0, 50.0)
    assert rules(run) == [(ANCHOR, 2)]
    assert run.ended_at() == 150.0


def test_fillers_use_the_gap_while_the_anchor_waits() -> None:
    # 4 nodes: 3 are taken until 10,000, the fourth is free for 5,000 s and then wanted, with all others, until 12,000.
    # Two stages of four tasks of 600 s: on one node that is 4,800 s, and no job for all of it fits before 12,000.
    background = {"submit": [0, 0, 1], "nodes": [3, 1, 4], "req": [10_000, 5_000, 2_000], "run": [10_000, 1, 2_000]}
    one = passed(BatchQueue(4, CONSERVATIVE, **background), 600.0, 600.0, width=4, plan="one-job")
    ours = passed(BatchQueue(4, CONSERVATIVE, **background), 600.0, 600.0, width=4)
    kinds = [rule for rule, _ in rules(ours)]
    assert kinds[0] == ANCHOR
    assert FILLER in kinds
    assert ours.ended_at() <= one.ended_at()


def test_no_task_is_begun_that_would_not_end_in_its_job() -> None:
    background = {"submit": [0, 1], "nodes": [3, 4], "req": [500, 4_000], "run": [500, 4_000]}
    run = passed(BatchQueue(4, CONSERVATIVE, **background), 300.0, 300.0, width=3)
    ends = {}
    for record in run.journal:
        match record:
            case records.JobState(phase="running"):
                ends[record.tag] = record.at + (run.engine.jobs[record.tag].request.per_node.walltime_s or 0.0)
            case records.Launch():
                assert record.at + 300.0 <= ends[record.tag]
    assert len(of(run, records.TaskEnded)) == 6  # none was lost with its job


def test_jobs_that_nobody_needs_any_more_are_given_back() -> None:
    background = {"submit": [0], "nodes": [6], "req": [20_000], "run": [20_000]}
    run = passed(BatchQueue(8, CONSERVATIVE, **background), 1000.0, 10.0, width=8)
    given_back = {release.tag for release in of(run, records.Release)}
    over = {state.tag for state in of(run, records.JobState) if state.phase == "ended"}
    assert given_back | over == {submit.tag for submit in of(run, records.Submit)}


def test_the_longest_gap_that_is_open_now() -> None:
    # 4 nodes are free until 100, 2 until 300, 1 for ever.
    queue = QueueRead(0.0, [0.0, 100.0, 300.0, 900.0], [4.0, 2.0, 1.0, 8.0])
    assert _longest_gap(queue, 50.0, 16) == (1, float("inf"))
    busy = QueueRead(0.0, [0.0, 100.0, 300.0, 900.0], [4.0, 2.0, 0.0, 8.0])
    assert _longest_gap(busy, 50.0, 16) == (2, 300.0)
    assert _longest_gap(busy, 50.0, 1) == (1, 300.0)
    assert _longest_gap(busy, 301.0, 16) is None
    assert _longest_gap(QueueRead(0.0, [0.0, 10.0], [0.0, 8.0]), 1.0, 16) is None


def test_waits_of_others_change_what_is_expected() -> None:
    planner = Headway(lambda task: 60.0)
    before = planner._expected_wait_s((4, 3600.0, 7200.0))
    planner.learn([SeenWait(4, 3600.0, 7200.0, 720.0)] * 200)
    assert planner._expected_wait_s((4, 3600.0, 7200.0)) < before / 2
    assert planner._expected_wait_s((4, 3600.0, 0.0)) == 0.0
