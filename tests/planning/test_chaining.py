"""Chained jobs: a task that checkpoints goes on in another job, which is asked for ahead by the predicted wait."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec import structs

from headway.drivers.assemble import assemble
from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Ending
from headway.model.records import AskQueue, Decision, GiveNotice, QueueRead, Release, Submit, WakeAt, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS
from headway.planning.base import JobStatus, View
from headway.planning.headway import Headway
from tests.planning.test_staged import of
from tests.planning.views import NODE, view

NOTICE_S = 30.0
LIMIT_S = 600.0
LONG = Task("long", "long", "-", notice_s=NOTICE_S)
FREE = QueueRead(300.0, [300.0], [8.0])
TAKEN = QueueRead(300.0, [300.0, 1000.0], [0.0, 8.0])  # all nodes are taken for 700 s


def job(number: int, role: records.JobRole, started_at: float | None = None, nodes: int = 1) -> JobStatus:
    """A job of ten minutes; one for the long task, if it is a continuation."""
    request = JobRequest(NODE.replace(nodes=nodes, walltime_s=LIMIT_S))
    tasks = (LONG.id,) if role == "continuation" else ()
    status = JobStatus(Submit(0.0, f"headway-u-{number}", request, Why("test", "test"), tasks, role=role))
    if started_at is not None:
        status.phase, status.started_at, status.changed_at = JobPhase.RUNNING, started_at, started_at
        status.answering_nodes = nodes
    return status


def running(
    *jobs: JobStatus, queue: QueueRead | None = FREE, now: float = 300.0, told: bool = False, place: int = 0
) -> View:
    """The long task runs in one of these jobs, the first unless `place` says otherwise, since that started."""
    present = jobs[place]
    seen = view(Workflow("w", [LONG]), jobs=jobs, queue=queue, placeable=())
    limits = structs.replace(seen.limits, limits=seen.limits.limits.replace(walltime_s=LIMIT_S))
    return structs.replace(
        seen,
        limits=limits,
        checkpointing=[LONG.id],
        is_running=lambda task_id: True,
        runs_in=lambda task_id: present.tag,
        ran_s=lambda task_id: now - (present.started_at or 0.0),
        is_busy=lambda tag: tag == present.tag,
        attempt=lambda task_id: (1, told),
    )


def plan(seen: View, now: float = 300.0, run_s: float = 1800.0) -> list[Decision]:
    return Headway(lambda task: run_s).plan(seen, now)


def test_the_next_job_is_asked_for_when_the_queue_would_let_it_wait_until_it_is_needed() -> None:
    [submit] = plan(running(job(1, "anchor", 0.0), queue=TAKEN))
    assert isinstance(submit, Submit)
    assert (submit.role, submit.tasks, submit.after) == ("continuation", ("long",), None)
    assert submit.request.per_node.walltime_s == LIMIT_S, "the rest takes longer than a job can"
    assert (submit.expected_wait_s or 0.0) >= 600.0


def test_in_a_free_queue_it_is_asked_for_a_minute_before_it_is_needed() -> None:
    [alarm] = plan(running(job(1, "anchor", 0.0)))
    assert isinstance(alarm, WakeAt)
    assert alarm.until == LIMIT_S - NOTICE_S - 60.0
    late = structs.replace(FREE, at=520.0, times=[520.0])
    [submit] = plan(running(job(1, "anchor", 0.0), queue=late, now=520.0), now=520.0)
    assert isinstance(submit, Submit)


def test_the_last_job_asks_for_the_rest_and_the_notice_only() -> None:
    [submit] = plan(running(job(1, "anchor", 0.0), queue=TAKEN), run_s=700.0)
    assert isinstance(submit, Submit)
    assert submit.request.per_node.walltime_s == pytest.approx((400.0 + NOTICE_S) * 1.1 + 60.0)


@pytest.mark.parametrize(
    "seen",
    [
        running(job(1, "anchor", 0.0), job(2, "continuation"), queue=TAKEN),  # it has been asked for
        structs.replace(running(job(1, "anchor", 0.0), queue=TAKEN), checkpointing=()),  # the task has no notice
    ],
    ids=["asked", "no-notice"],
)
def test_no_other_job_is_asked_for(seen: View) -> None:
    assert not [decision for decision in plan(seen) if isinstance(decision, Submit)]


def test_a_task_that_ends_in_its_job_needs_no_other() -> None:
    assert not [it for it in plan(running(job(1, "anchor", 0.0), queue=TAKEN), run_s=560.0) if isinstance(it, Submit)]


def test_no_job_is_asked_for_beyond_the_limit_of_the_site() -> None:
    seen = running(job(1, "anchor", 0.0), queue=TAKEN)
    full = structs.replace(seen, limits=structs.replace(seen.limits, most_jobs=1))
    assert not [decision for decision in plan(full) if isinstance(decision, Submit)]


def test_an_old_reading_of_the_queue_is_read_again_before_a_job_is_asked_for() -> None:
    planner = Headway(lambda task: 1800.0)
    planner.plan(
        running(job(1, "anchor", 0.0), queue=structs.replace(TAKEN, at=0.0, times=[0.0, 1000.0]), now=0.0), 0.0
    )
    assert planner.plan(running(job(1, "anchor", 0.0), queue=None), 300.0) == [AskQueue(300.0)]


def test_the_task_is_told_when_all_nodes_of_its_next_job_are_up() -> None:
    following = job(2, "continuation", 310.0, nodes=2)
    [notice] = plan(running(job(1, "anchor", 0.0), following), now=320.0)
    assert isinstance(notice, GiveNotice)
    assert (notice.task, notice.attempt) == ("long", 1)
    again = plan(running(job(1, "anchor", 0.0), following, told=True), now=320.0)
    assert not [it for it in again if isinstance(it, GiveNotice)], "once is enough"
    following.answering_nodes = 1
    assert not [it for it in plan(running(job(1, "anchor", 0.0), following), now=320.0) if isinstance(it, GiveNotice)]


def test_a_task_stays_for_a_quarter_of_the_time_that_its_job_has_for_it() -> None:
    seen = running(job(1, "anchor", 0.0), job(2, "continuation", 20.0), now=100.0)
    [alarm] = plan(seen, now=100.0)
    assert isinstance(alarm, WakeAt)
    assert alarm.until == (LIMIT_S - NOTICE_S) / 4


def test_a_task_is_told_when_its_job_was_cut() -> None:
    cut = job(1, "anchor", 0.0)
    cut.request = structs.replace(cut.request, per_node=cut.request.per_node.replace(walltime_s=320.0))
    [notice] = plan(running(cut, job(2, "continuation")))
    assert isinstance(notice, GiveNotice)
    assert notice.why.rule == "end-of-job"


def test_jobs_that_the_task_has_left_or_need_not_go_on_in_are_released() -> None:
    before, present, following = (
        job(1, "continuation", 0.0),
        job(2, "continuation", 250.0),
        job(3, "continuation", 290.0),
    )
    [left] = plan(running(before, present, place=1))
    assert isinstance(left, Release)
    assert left.tag == before.tag
    [needless] = plan(running(present, following), run_s=100.0)
    assert isinstance(needless, Release)
    assert needless.tag == following.tag


# --- whole runs, in simulation ---


def busy(jobs: int = 400) -> BatchQueue:
    """Four nodes that others want, so that each job waits for some minutes."""
    numbers = range(jobs)
    return BatchQueue(
        4,
        Scheduling("conservative"),
        submit=[150.0 * number for number in numbers],
        nodes=[1 + number % 3 for number in numbers],
        req=[900.0] * jobs,
        run=[250.0 + 37 * number % 400 for number in numbers],
    )


def through(queue: BatchQueue, *, ahead: bool, run_s: float = 1800.0, **about: object) -> SimulatedRun:
    task = structs.replace(LONG, **about)
    instance = Instance(Workflow("w", [task]), {task.id: Recorded(run_s=run_s)})
    node = Resources(cores=1, memory_bytes=1 << 50, disk_bytes=1 << 50, walltime_s=LIMIT_S)
    run = run_through(instance, Through(partial(Headway, chains=ahead), node=node))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


def gaps_s(run: SimulatedRun) -> list[float]:
    launches, ends = of(run, records.Launch), of(run, records.TaskEnded)
    return [launch.at - end.at for end, launch in zip(ends, launches[1:], strict=False)]


def test_gaps_are_shorter_if_jobs_are_submitted_ahead() -> None:
    ahead, at_end = through(busy(), ahead=True), through(busy(), ahead=False)
    assert sum(gaps_s(ahead)) < 0.6 * sum(gaps_s(at_end))
    assert ahead.ended_at() < at_end.ended_at()


@pytest.mark.parametrize("ahead", [True, False])
def test_a_task_does_all_of_its_work_once_and_leaves_no_job(ahead: bool) -> None:
    run = through(busy(), ahead=ahead)
    ends = [end.outcome for end in of(run, records.TaskEnded)]
    assert [outcome.ending for outcome in ends] == [*[Ending.SAVED] * (len(ends) - 1), Ending.SUCCESS]
    assert sum(outcome.ended_at - outcome.started_at for outcome in ends) == pytest.approx(1800.0)
    assert all(gap_s >= 0.0 for gap_s in gaps_s(run)), "two attempts at a time"
    assert not [job for job in run.engine.jobs.values() if job.live]
    assert run.engine.tasks["long"].expiries == 0


def test_each_next_job_is_submitted_before_the_task_has_left_the_last() -> None:
    run = through(busy(), ahead=True)
    asked = [submit.at for submit in of(run, Submit) if submit.role == "continuation"]
    saved = [end.at for end in of(run, records.TaskEnded) if end.outcome.ending is Ending.SAVED]
    assert len(asked) >= len(saved) >= 3
    assert all(before < after for before, after in zip(asked, saved, strict=False))


def test_in_an_empty_queue_there_are_no_gaps() -> None:
    assert set(gaps_s(through(BatchQueue(4, Scheduling("conservative")), ahead=True))) == {0.0}


def test_a_task_that_says_that_it_takes_longer_than_a_job_may_is_not_refused() -> None:
    run = through(BatchQueue(4, Scheduling("conservative")), ahead=True, hints={"walltime_s": 1800.0})
    assert len(of(run, records.Launch)) >= 4


def test_a_replayed_journal_leads_to_the_same_decisions() -> None:
    run = through(busy(), ahead=True)
    again = assemble(run.engine.settings, Headway(lambda task: 1800.0))
    for record in run.journal:
        again.apply(record)
        if isinstance(record, GiveNotice):
            attempt = again.tasks["long"].running
            assert attempt is not None
            assert attempt.noticed
    assert again.tasks["long"].saved_s == run.engine.tasks["long"].saved_s > 0.0


@pytest.mark.parametrize("name", ["one-job", "one-job-per-task", "per-stage"])
def test_with_other_plans_a_task_does_not_start_again_in_a_job_that_it_would_have_to_leave_at_once(name: str) -> None:
    instance = Instance(Workflow("w", [LONG]), {LONG.id: Recorded(run_s=1800.0)})
    node = Resources(cores=1, memory_bytes=1 << 50, disk_bytes=1 << 50, walltime_s=LIMIT_S)
    run = run_through(instance, Through(PLANS[name], node=node))
    simulate(BatchQueue(4, Scheduling("conservative")), [run])
    assert run.engine.finished == "succeeded"
    assert len({launch.tag for launch in of(run, records.Launch)}) == len(of(run, records.Launch)) == 4


def test_what_others_of_its_category_take_is_no_limit_for_a_task_that_checkpoints() -> None:
    short = [Task(f"short{number}", "long", "-") for number in range(8)]
    long = structs.replace(LONG, parents=tuple(task.id for task in short))
    recorded = {task.id: Recorded(run_s=5.0) for task in short} | {long.id: Recorded(run_s=1800.0)}
    node = Resources(cores=1, memory_bytes=1 << 50, disk_bytes=1 << 50, walltime_s=LIMIT_S)
    run = run_through(Instance(Workflow("w", [*short, long]), recorded), Through(PLANS["headway"], node=node))
    run.engine = assemble(structs.replace(run.engine.settings, sizer="ladder"), Headway(lambda task: 1800.0))
    simulate(BatchQueue(4, Scheduling("conservative")), [run])
    limits = [launch.resources.walltime_s for launch in of(run, records.Launch) if launch.task == long.id]
    assert limits == [LIMIT_S] * len(limits)
    assert len(limits) <= 6
