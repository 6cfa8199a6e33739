"""Our own plan, on queues that are simple enough to be worked out by hand."""

from __future__ import annotations

import pytest
from msgspec import structs

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.job import JobPhase
from headway.model.outcome import Ending
from headway.model.records import QueueRead, SeenWait
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS, strips
from headway.planning.gaps import longest_gap
from headway.planning.headway import Headway
from tests.planning.test_staged import of, stages
from tests.planning.views import fan, job, view

CONSERVATIVE = Scheduling("conservative")


def passed(queue: BatchQueue, *run_s: float, width: int = 2, plan: str = "headway") -> SimulatedRun:
    run = run_through(stages(*run_s, width=width), Through(PLANS[plan]))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


def roles(run: SimulatedRun) -> list[tuple[str, int]]:
    return [(submit.role, submit.request.per_node.nodes) for submit in of(run, records.Submit)]


def test_on_an_empty_machine_there_is_only_the_anchor() -> None:
    run = passed(BatchQueue(8, CONSERVATIVE), 100.0, 50.0)
    assert roles(run) == [("anchor", 2)]
    assert run.ended_at() == 150.0


def test_a_run_of_years_is_looked_at_a_few_thousand_times() -> None:
    run = passed(BatchQueue(4, CONSERVATIVE), 3e8, 3e8)
    assert len(of(run, records.AskQueue)) < 3000  # every 15 minutes it would be 700,000 times


def test_fillers_use_the_gap_while_the_anchor_waits() -> None:
    # 4 nodes: 2 are taken until 1,500, the others free until then, and from then on all are wanted until 6,500. A job
    # for both stages, four tasks of 600 s each, starts after that; two of one node and 1,440 s do the first stage now.
    background = {"submit": [0, 0], "nodes": [2, 4], "req": [1_500, 5_000], "run": [1_500, 5_000]}
    one = passed(BatchQueue(4, CONSERVATIVE, **background), 600.0, 600.0, width=4, plan="one-job")
    ours = passed(BatchQueue(4, CONSERVATIVE, **background), 600.0, 600.0, width=4)
    kinds = [role for role, _ in roles(ours)]
    assert kinds[0] == "anchor"
    assert "small-filler" in kinds
    assert (ours.ended_at(), one.ended_at()) == (6_500 + 600, 6_500 + 1_200)


def test_no_task_starts_that_would_not_end_in_its_job() -> None:
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


def test_jobs_that_are_no_longer_needed_are_released() -> None:
    background = {"submit": [0], "nodes": [6], "req": [20_000], "run": [20_000]}
    run = passed(BatchQueue(8, CONSERVATIVE, **background), 1000.0, 10.0, width=8)
    given_back = {release.tag for release in of(run, records.Release)}
    over = {state.tag for state in of(run, records.JobState) if state.phase == "ended"}
    assert given_back | over == {submit.tag for submit in of(run, records.Submit)}


def test_the_longest_gap_that_is_open_now() -> None:
    # 4 nodes are free until 100, 2 until 300, 1 for ever.
    queue = QueueRead(0.0, [0.0, 100.0, 300.0, 900.0], [4.0, 2.0, 1.0, 8.0])
    assert longest_gap(queue, 50.0, 16) == (1, float("inf"))
    busy = QueueRead(0.0, [0.0, 100.0, 300.0, 900.0], [4.0, 2.0, 0.0, 8.0])
    assert longest_gap(busy, 50.0, 16) == (2, 300.0)
    assert longest_gap(busy, 50.0, 1) == (1, 300.0)
    assert longest_gap(busy, 301.0, 16) is None
    assert longest_gap(QueueRead(0.0, [0.0, 10.0], [0.0, 8.0]), 1.0, 16) is None


RESERVED = Scheduling("conservative", dependency="reserved")


def narrowing(*widths: int, run_s: float = 600.0) -> Instance:
    """Levels of so many tasks, each of which waits for all of the level before."""
    tasks: list[Task] = []
    above: tuple[str, ...] = ()
    for level, width in enumerate(widths):
        names = tuple(f"l{level}t{number}" for number in range(width))
        tasks += [Task(name, f"l{level}", "-", parents=above) for name in names]
        above = names
    return Instance(Workflow("narrowing", tasks), {task.id: Recorded(run_s=run_s) for task in tasks})


def held_node_s(run: SimulatedRun) -> float:
    """What its jobs held from their start to their end."""
    began = {it.tag: it.at for it in of(run, records.JobState) if it.phase is JobPhase.RUNNING}
    ended = {it.tag: it.at for it in of(run, records.JobState) if it.phase is JobPhase.ENDED}
    ended |= {it.tag: it.at for it in of(run, records.Release)}
    return sum(run.engine.jobs[tag].request.per_node.nodes * (ended[tag] - at) for tag, at in began.items())


def through(queue: BatchQueue, instance: Instance, plan: str = "headway") -> SimulatedRun:
    run = run_through(instance, Through(PLANS[plan]))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


def test_where_the_queue_reserves_nodes_for_dependent_jobs_the_anchor_is_a_chain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # All is taken until 6,000. One job of 4 nodes would hold 3 of them for nothing while the second level runs.
    background = {"submit": [0], "nodes": [8], "req": [6_000], "run": [6_000]}
    run = through(BatchQueue(8, RESERVED, **background), narrowing(4, 1, 4))
    submits = of(run, records.Submit)
    assert roles(run) == [("anchor", 4), ("anchor", 1), ("anchor", 4)]
    assert [submit.after for submit in submits] == [None, submits[0].tag, submits[1].tag]
    assert {submit.at for submit in submits} == {0.0}
    assert run.ended_at() == 6_000 + 3 * 600
    assert held_node_s(run) == (4 + 1 + 4) * 600
    monkeypatch.setattr(strips, "MOST_TASKS", 0)  # or it would be in strips without reservations
    whole = through(BatchQueue(8, Scheduling("conservative"), **background), narrowing(4, 1, 4))
    assert roles(whole) == [("anchor", 4)]
    assert whole.ended_at() == run.ended_at()
    assert held_node_s(whole) == 3 * 4 * 600


def test_a_chain_of_which_one_job_expires_is_planned_again() -> None:
    instance = narrowing(4, 1, 4)
    run = run_through(instance, Through(lambda estimate: Headway(lambda task: 60.0)))
    simulate(BatchQueue(8, RESERVED), [run])
    assert run.engine.finished == "succeeded"
    assert "its-predecessor-expired" in {release.why.rule for release in of(run, records.Release)}
    succeeded = [it.outcome.task for it in of(run, records.TaskEnded) if it.outcome.ending is Ending.SUCCESS]
    assert sorted(succeeded) == sorted(task.id for task in instance.workflow)


def test_a_task_starts_once_though_chain_and_fillers_could_both_run_it() -> None:
    # One node is free for an hour, three from 2,000 on: fillers take what they can, the chain's first job the rest.
    background = {"submit": [0, 0, 1], "nodes": [3, 1, 4], "req": [2_000, 9_000, 60], "run": [2_000, 1, 60]}
    run = through(BatchQueue(4, RESERVED, **background), narrowing(4, 1, 4))
    assert {"small-filler", "anchor"} == {role for role, _ in roles(run)}
    assert sorted(it.task for it in of(run, records.Launch)) == sorted(task.id for task in run.tasks)


def test_a_small_filler_is_released_as_soon_as_it_is_idle() -> None:
    background = {"submit": [0], "nodes": [6], "req": [20_000], "run": [20_000]}
    run = through(BatchQueue(8, CONSERVATIVE, **background), narrowing(6, 1, 6))
    assert held_node_s(run) <= 1.2 * 13 * 600
    assert run.ended_at() < 20_000


def test_waits_of_other_users_change_the_expected_wait() -> None:
    planner = Headway(lambda task: 60.0)
    before = planner._foresight.corrected_s(4, 3600.0, 7200.0)
    planner.learn([SeenWait(4, 3600.0, 7200.0, 720.0)] * 200)
    assert planner._foresight.corrected_s(4, 3600.0, 7200.0) < before / 2
    assert planner._foresight.corrected_s(4, 3600.0, 0.0) == 0.0


def test_no_filler_is_submitted_while_nodes_of_the_anchor_are_on_their_way() -> None:
    anchor = job(1, JobPhase.RUNNING, nodes=4, walltime_s=3600.0)
    anchor.role, anchor.started_at, anchor.granted = "anchor", 90.0, True
    empty = QueueRead(100.0, [100.0], [8.0])
    seen = view(fan(4), jobs=[anchor], queue=empty, placeable=["w2", "w3"])
    planner = Headway(lambda task: 600.0)
    anchor.answering_nodes = 2
    assert [type(it) for it in planner.plan(seen, 100.0)] == [records.WakeAt]
    anchor.answering_nodes = 4  # and yet these tasks have no place
    assert {type(it) for it in planner.plan(seen, 100.0)} == {records.Submit}


def test_while_a_job_is_suspended_another_is_asked_for() -> None:
    held = job(1, JobPhase.RUNNING, walltime_s=1000.0)
    held.role, held.started_at, held.answering_nodes = "anchor", 0.0, 1
    seen = view(fan(3), jobs=[held], queue=QueueRead(10.0, [10.0], [8.0]))
    asked = [record.role for record in Headway(lambda task: 100.0).plan(seen, 10.0)]  # type: ignore[attr-defined]
    assert "anchor" not in asked
    held.suspended = True
    (submit,) = Headway(lambda task: 100.0).plan(seen, 10.0)
    assert isinstance(submit, records.Submit) and submit.role == "anchor"


def test_a_job_that_was_taken_away_was_not_too_short() -> None:
    jobs = [job(number, JobPhase.ENDED) for number in (1, 2)]
    jobs[0].excused = True
    assert view(fan(1), jobs=jobs).expired == 1


@pytest.mark.parametrize(("role", "cancelled"), [("filler", ["headway-u-2"]), ("ahead", [])])
def test_a_job_for_a_later_stage_is_not_cancelled_for_asking_for_much(
    role: records.JobRole, cancelled: list[str]
) -> None:
    """It would be asked for again at the same instant, for ever. A filler that asks for as much is cancelled."""
    anchor = job(1, JobPhase.RUNNING, walltime_s=10_000.0)
    anchor.role, anchor.started_at, anchor.answering_nodes = "anchor", 0.0, 1
    asks_much = job(2, nodes=8, walltime_s=100_000.0)
    asks_much.role = role
    queue = QueueRead(200.0, [0.0], [8.0])
    now = structs.replace(view(fan(4), jobs=[anchor, asks_much], queue=queue), is_busy=lambda tag: True)
    decisions = Headway(lambda task: 100.0).plan(now, 200.0)
    assert [each.tag for each in decisions if isinstance(each, records.Release)] == cancelled
