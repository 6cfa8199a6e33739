"""Groups and timings together: what is submitted when, worked out by hand on an otherwise empty or scripted queue."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.grouping.base import Group, Grouper, Levels, Waits
from headway.grouping.simple import OneJob, PerStage
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.job import JobPhase, JobRequest
from headway.model.records import Figure, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS
from headway.planning.base import Estimate, Planner
from headway.planning.staged import StagedPlanner
from headway.timing.base import Timing
from headway.timing.timings import AfterEnd, Ahead, OnStart
from headway.waiting.asa import Asa
from headway.waiting.base import Draw, Shape, Wait, WaitModel

CONSERVATIVE = Scheduling("conservative")


def stages(*run_s: float, width: int = 2) -> Instance:
    """Levels of equal tasks, each of which waits for all of the level before."""
    tasks: list[Task] = []
    above: tuple[str, ...] = ()
    for level in range(len(run_s)):
        names = tuple(f"l{level}t{number}" for number in range(width))
        tasks += [Task(name, f"l{level}", "-", parents=above, outputs=(name,)) for name in names]
        above = names
    recorded = {task.id: Recorded(run_s=run_s[int(task.category[1:])]) for task in tasks}
    return Instance(Workflow("stages", tasks), recorded)


def planned(grouper: Grouper, timing: Timing) -> Callable[[Estimate], Planner]:
    return lambda estimate: StagedPlanner("planned", grouper, timing, estimate)


def passed(
    queue: BatchQueue, instance: Instance, plan: Callable[[Estimate], Planner], start_s: float = 0.0
) -> SimulatedRun:
    run = run_through(instance, Through(plan, start_s))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


def of(run: SimulatedRun, kind: type) -> list:  # type: ignore[type-arg]
    return [record for record in run.journal if isinstance(record, kind)]


def test_after_end_submits_one_job_after_the_other() -> None:
    run = passed(BatchQueue(4, CONSERVATIVE), stages(100.0, 50.0), planned(PerStage(), AfterEnd()))
    assert [submit.at for submit in of(run, records.Submit)] == [0.0, 100.0]
    assert [submit.request.per_node.nodes for submit in of(run, records.Submit)] == [2, 2]
    assert run.ended_at() == 150.0


def test_on_start_submits_the_next_while_the_first_runs() -> None:
    # The first job runs from 0 to 1000. The second, submitted at 0, waits for the background until 900 and then has
    # 115 s, of which it idles for 100: it expires. Its tasks run in a third job, submitted then.
    queue = BatchQueue(4, CONSERVATIVE, submit=[0], nodes=[2], req=[900], run=[900])
    run = passed(queue, stages(1000.0, 50.0), planned(PerStage(), OnStart()))
    assert [submit.at for submit in of(run, records.Submit)] == [0.0, 0.0, 1015.0]
    assert run.ended_at() == 1065.0


class WithLeeway(Grouper):
    """A level at a time, held open for as long as nothing can be done."""

    name = "with-leeway"

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        run_s = levels.run_s(0, 0)
        return Group(0, 0, len(run_s), float(run_s[-1]), leeway_s=delay_s)


def test_a_job_with_leeway_does_not_expire_before_its_tasks_can_run() -> None:
    run = passed(BatchQueue(4, CONSERVATIVE), stages(1000.0, 50.0), planned(WithLeeway(), OnStart()))
    _, second = of(run, records.Submit)
    assert second.request.per_node.walltime_s == 1.1 * (50.0 + 1160.0) + 60.0  # the first asks for 1160 s
    assert run.ended_at() == 1050.0


def test_the_successor_of_an_expired_job_is_cancelled_and_finished_tasks_stay_finished() -> None:
    instance = stages(100.0, 100.0, 100.0, width=1)
    optimist = lambda estimate: StagedPlanner("p", WithLeeway(), OnStart(), lambda task: 30.0)  # noqa: E731
    run = passed(BatchQueue(2, CONSERVATIVE), instance, optimist)
    rules = [release.why.rule for release in of(run, records.Release)]
    assert "its-predecessor-expired" in rules
    succeeded = [record.outcome.task for record in of(run, records.TaskEnded)]
    assert succeeded == ["l0t0", "l1t0", "l2t0"]


class Pessimist(PerStage):
    """Expects every job to wait for 400 s."""

    def next_group(self, levels: Levels, waits: Waits, delay_s: float) -> Group:
        group = super().next_group(levels, waits, delay_s)
        return Group(group.first, group.last, group.nodes, group.run_s, wait_s=400.0)


@pytest.mark.parametrize("rule", ["slurm", "reserved"])
def test_ahead_submits_a_predicted_wait_before_the_end_and_the_scheduler_holds_it(
    rule: Literal["slurm", "reserved"],
) -> None:
    queue = BatchQueue(4, Scheduling("conservative", dependency=rule))
    run = passed(queue, stages(1000.0, 50.0), planned(Pessimist(), Ahead(as_printed=True)))
    first, second = of(run, records.Submit)
    assert second.at == 600.0
    assert second.after == first.tag
    assert run.ended_at() == 1050.0  # nodes were free all the time, but it was not let in


@pytest.mark.parametrize("plan", ["asa", "asa-printed"])
def test_on_an_empty_machine_the_learned_wait_is_0(plan: str) -> None:
    """The jobs that a dependency holds back have waited for their predecessors only: 0 s from these' ends."""
    seen: list[float] = []

    class Noting(Asa):
        def observe(self, shape: Shape, ticket: dict[str, Figure], waited_s: float, *, censored: bool = False) -> None:
            seen.append(waited_s)
            super().observe(shape, ticket, waited_s, censored=censored)

    model = Noting("tuned" if plan == "asa" else "default")
    timing = Ahead(as_printed=plan == "asa-printed")
    run = passed(
        BatchQueue(4, Scheduling("conservative", dependency="slurm")),
        stages(300.0, 400.0, 50.0),
        lambda estimate: StagedPlanner(plan, PerStage(), timing, estimate, model),
    )
    assert [submit.after is None for submit in of(run, records.Submit)] == [True, False, False]
    assert seen == [0.0, 0.0, 0.0]
    assert run.ended_at() == 750.0


def test_a_dependent_job_has_waited_since_its_predecessors_end() -> None:
    """The second job, submitted at 0, may start at 1000, when another's job has one of its two nodes until 1600."""
    last = [Task(f"last{at}", "wide", "-", parents=("first",)) for at in (1, 2)]
    workflow = Workflow("narrow, wide", [Task("first", "narrow", "-"), *last])
    recorded = {"first": Recorded(run_s=1000.0), **{task.id: Recorded(run_s=50.0) for task in last}}
    queue = BatchQueue(2, Scheduling("easy", dependency="slurm"), submit=[500], nodes=[1], req=[1100], run=[1100])
    run = passed(queue, Instance(workflow, recorded), PLANS["asa"])
    narrow, wide = run.engine.jobs.values()
    assert (narrow.waited_s, wide.submitted_at, wide.started_at, wide.waited_s) == (0.0, 0.0, 1600.0, 600.0)


class Sure(WaitModel):
    """Samples a wait of 400 s; its 90% quantile is 5,000 s."""

    name = "sure"

    def predict(self, shape: Shape, draw: Draw = (0, "", "", 0)) -> Wait:
        return Wait(400.0, {"action": 7.0})

    def quantiles(self, shape: Shape, shares: Sequence[float]) -> list[float]:
        return [5000.0 for _ in shares]


def test_as_printed_a_stage_is_submitted_the_sampled_wait_before_the_end_of_the_one_that_runs() -> None:
    """Another's job has all nodes until 200: the first stage runs from 200 to 1200, the second until 2000."""
    rules = Scheduling("conservative", dependency="slurm")
    found = {}
    for name, timing in (("asa", Ahead()), ("asa-printed", Ahead(as_printed=True))):
        queue = BatchQueue(2, rules, submit=[0], nodes=[2], req=[200], run=[200])
        make = lambda estimate, timing=timing: StagedPlanner("p", PerStage(), timing, estimate, Sure())  # noqa: E731
        run = passed(queue, stages(1000.0, 800.0, 50.0), make, start_s=10.0)
        found[name] = of(run, records.Submit)
        assert [submit.after for submit in found[name]] == [None, found[name][0].tag, found[name][1].tag]
        assert {submit.wait_ticket["action"] for submit in found[name]} == {7.0}
        assert run.ended_at() == 2050.0
    assert [submit.at for submit in found["asa"]] == [10.0, 10.0, 10.0], "also while the first waits"
    assert [submit.at for submit in found["asa-printed"]] == [10.0, 1200.0 - 400.0, 2000.0 - 400.0]
    assert {submit.expected_wait_s for submit in found["asa"]} == {5000.0}
    assert {submit.expected_wait_s for submit in found["asa-printed"]} == {400.0}


def test_a_job_that_starts_too_early_is_cancelled_and_submitted_again() -> None:
    run = passed(BatchQueue(4, CONSERVATIVE), stages(1000.0, 50.0), planned(Pessimist(), Ahead(depends=False)))
    # At 600 it starts at once, with nothing to do. Such a job does not wait, so the next is asked for at 1000.
    assert [submit.at for submit in of(run, records.Submit)] == [0.0, 600.0, 1000.0]
    assert [release.too_early for release in of(run, records.Release)].count(True) == 1
    assert run.ended_at() == 1050.0


@pytest.mark.parametrize("timing", [OnStart(), Ahead(), Ahead(depends=False)], ids=lambda timing: timing.name)
def test_where_one_job_is_allowed_the_next_has_to_wait(timing: Timing) -> None:
    run = passed(BatchQueue(4, CONSERVATIVE, most_jobs=1), stages(100.0, 50.0), planned(Pessimist(), timing))
    assert [submit.at for submit in of(run, records.Submit)] == [0.0, 100.0]


def test_tasks_of_a_released_job_run_again() -> None:
    """A job behind an expired one is cancelled while it is busy; the attempt does not count against its task."""
    run = run_through(stages(100.0, width=1), Through(PLANS["one-job"]))
    run.engine.apply(run.engine.settings)
    run.engine.apply(records.LimitsRead(0.0, Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9, nodes=1)))
    run.engine.apply(records.TasksAdded(0.0, list(run.tasks)))
    for record in (
        records.ReadInputs(0.0, "l0t0"),
        records.InputsRead(0.0, "l0t0"),
        records.Submit(0.0, "j", JobRequest(Resources(cores=1, walltime_s=500.0)), Why("test", "test")),
        records.JobState(0.0, "j", JobPhase.RUNNING),
        records.NodeUp(0.0, "n", "j", Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9)),
        records.Launch(0.0, "l0t0", 1, "n", "j", Resources(cores=1), "", {}),
        records.Release(50.0, "j", Why("test", "test")),
    ):
        run.engine.apply(record)
    assert not run.engine.is_running("l0t0", 1)
    assert run.engine.tasks["l0t0"].losses == 0
    assert any(isinstance(decision, records.AskQueue) for decision in run.engine.decide(50.0))


def test_one_job_is_one_job() -> None:
    run = passed(BatchQueue(4, CONSERVATIVE), stages(100.0, 50.0, 20.0), planned(OneJob(), AfterEnd()))
    assert [submit.request.per_node.nodes for submit in of(run, records.Submit)] == [2]
    assert run.ended_at() == 170.0


@settings(max_examples=40, deadline=None)
@given(
    plan=st.sampled_from(sorted(PLANS)),
    run_s=st.lists(st.floats(1, 5000), min_size=1, max_size=4),
    width=st.integers(1, 5),
    machine=st.integers(1, 8),
    wrong=st.floats(0.4, 1.5),
    background=st.lists(
        st.tuples(st.integers(0, 5000), st.integers(1, 8), st.integers(1, 3000), st.floats(0.1, 1)), max_size=12
    ),
    most_jobs=st.sampled_from([None, 1, 2, 16]),
)
def test_every_plan_gets_every_workflow_through_within_the_cap(
    plan: str,
    run_s: list[float],
    width: int,
    machine: int,
    wrong: float,
    background: list[tuple[int, int, int, float]],
    most_jobs: int | None,
) -> None:
    jobs = sorted((submit, min(nodes, machine), req, req * share) for submit, nodes, req, share in background)
    columns = [list(column) for column in zip(*jobs, strict=True)] or [[], [], [], []]
    queue = BatchQueue(
        machine, CONSERVATIVE, submit=columns[0], nodes=columns[1], req=columns[2], run=columns[3], most_jobs=most_jobs
    )
    instance = stages(*run_s, width=width)
    run = run_through(instance, Through(lambda estimate: PLANS[plan](lambda task: estimate(task) * wrong), 10.0))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    live: set[str] = set()
    for record in run.journal:
        match record:
            case records.Submit():
                live.add(record.tag)
                assert most_jobs is None or len(live) <= most_jobs
            case records.Release():
                live.discard(record.tag)
            case records.JobState(phase="ended"):
                live.discard(record.tag)
