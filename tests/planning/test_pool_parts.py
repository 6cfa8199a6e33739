"""The plan `headway` in a pool: each workflow is planned by itself, and runs on what others hold."""

from __future__ import annotations

from msgspec import structs

from headway.drivers.pooled import Arrival, run_pooled
from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.records import QueueRead
from headway.model.task import Task, Terms
from headway.model.workflow import Workflow
from headway.planning import PLANS
from headway.planning.anchors import parts_of
from headway.planning.base import View
from headway.planning.headway import Headway
from tests.planning.test_staged import of
from tests.planning.views import job, view

CONSERVATIVE = Scheduling("conservative")


def wide(name: str, width: int, run_s: float, at_s: float) -> Arrival:
    tasks = [Task(f"t{number}", name, "-") for number in range(width)]
    return Arrival(name, Instance(Workflow(name, tasks), {task.id: Recorded(run_s=run_s) for task in tasks}), at_s)


def pooled(queue: BatchQueue, *arrivals: Arrival) -> tuple[SimulatedRun, dict[str, float]]:
    """The run of a pool, and when the last task of each workflow ended."""
    run = run_pooled(arrivals, Through(PLANS["headway"]), "headway", queue.most_jobs)
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run, {it.outcome.task.partition("/")[0]: it.at for it in of(run, records.TaskEnded)}


def test_a_workflow_that_comes_runs_on_what_another_holds() -> None:
    """All nodes are held for the first; the second has them for its minute at the first chance."""
    first, second = wide("first", 8, 3_600.0, 0.0), wide("second", 2, 60.0, 1_000.0)
    run, ended = pooled(BatchQueue(4, CONSERVATIVE), first, second)
    assert ended == {"second": 3_661.0, "first": 7_261.0}  # a pool waits a second for more tasks
    assert {submit.shares for submit in of(run, records.Submit)} == {("first",), ("second",)}


def test_a_workflow_lends_no_more_than_a_tenth_to_long_tasks() -> None:
    first, second = wide("first", 40, 360.0, 0.0), wide("second", 40, 3_600.0, 100.0)
    _, alone = pooled(BatchQueue(4, CONSERVATIVE), first)
    _, ended = pooled(BatchQueue(4, CONSERVATIVE), first, second)
    assert ended["first"] <= 1.1 * alone["first"]


def two() -> Workflow:
    return Workflow("pool", [Task(f"{share}{n}", "c", "-", terms=Terms(share=share)) for share in "ab" for n in "12"])


def seen(most_jobs: int | None = None) -> View:
    """Both workflows have an anchor in the queue; that of `a` should have started by now."""
    jobs = []
    for number, share in enumerate("ab", start=1):
        anchor = job(number, nodes=2, walltime_s=1_000.0)
        anchor.role, anchor.shares = "anchor", (share,)
        anchor.expected_wait_s = -1.0 if share == "a" else 9_000.0
        jobs.append(anchor)
    queue = QueueRead(0.0, [0.0, 750.0, 9_000.0], [1.0, 0.0, 8.0])
    return view(two(), jobs=jobs, queue=queue, most_jobs=most_jobs)


def test_an_anchor_that_is_late_holds_up_no_other_workflow() -> None:
    decisions = Headway(lambda task: 600.0).plan(seen(), 0.0)
    submits = [it for it in decisions if isinstance(it, records.Submit)]
    assert {submit.shares for submit in submits} == {("b",)}
    assert {submit.role for submit in submits} == {"small-filler"}


def test_workflows_divide_the_jobs_that_a_pool_may_have() -> None:
    of_all = seen(most_jobs=16)
    for each, most in ((None, 8), (5, 5), (20, 15)):  # of 16 jobs, one is the other's
        limits = structs.replace(of_all.limits, most_jobs_each=each)
        parts = parts_of(structs.replace(of_all, limits=limits), of_all.remaining(), of_all.live)
        assert [(part.shares, part.limits.most_jobs) for part in parts] == [(("a",), most), (("b",), most)]
        assert [[task.id for task in part.remaining()] for part in parts] == [["a1", "a2"], ["b1", "b2"]]
