"""Our own plan asks the queue for no more than the work that remains."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.instance import Instance, Recorded
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS
from headway.planning.gaps import bundled
from tests.planning.test_staged import of

CORES = 8
NODE = Resources(cores=CORES, memory_bytes=16 * 10**9, disk_bytes=10**12)
MARGIN, MARGIN_S = 1.1, 60.0  # of every walltime


def levels_of(*levels: tuple[int, float]) -> Instance:
    """Levels of tasks of one core, (how many, run time), each of which waits for all of the level before."""
    tasks: list[Task] = []
    run_s: dict[str, Recorded] = {}
    above: tuple[str, ...] = ()
    for level, (width, each_s) in enumerate(levels):
        names = tuple(f"l{level}t{number}" for number in range(width))
        tasks += [Task(name, f"l{level}", "-", parents=above, hints={"cores": 1.0}) for name in names]
        run_s |= dict.fromkeys(names, Recorded(run_s=each_s))
        above = names
    return Instance(Workflow("levels", tasks), run_s)


def passed(instance: Instance, queue: BatchQueue, start_s: float = 0.0) -> SimulatedRun:
    run = run_through(instance, Through(PLANS["headway"], start_s, node=NODE))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


def asked_beside_anchor(run: SimulatedRun, instance: Instance) -> list[tuple[float, float]]:
    """For each submission: the node-seconds that fillers in the queue ask for, and those that they may ask for."""
    left = {task.id: instance.recorded[task.id].run_s or 0.0 for task in run.tasks}
    waiting: dict[str, records.Submit] = {}
    found: list[tuple[float, float]] = []
    for record in run.journal:
        match record:
            case records.TaskEnded():
                left.pop(record.outcome.task, None)
            case records.JobState() | records.Release():
                waiting.pop(record.tag, None)
            case records.Submit() if record.role != "anchor":
                waiting[record.tag] = record
                asked = [job.request.per_node for job in waiting.values()]
                work_s = sum(sorted(left.values(), reverse=True)[::CORES])
                most_s = MARGIN * work_s + (MARGIN_S + 1.0) * sum(job.nodes for job in asked)  # in whole seconds
                found.append((sum(job.nodes * (job.walltime_s or 0.0) for job in asked), most_s))
    return found


def test_a_running_anchor_has_no_fillers_behind_it() -> None:
    """A thousand ready tasks on an idle machine: 8 hours of one node, which the anchor holds."""
    run = passed(levels_of((1000, 230.0)), BatchQueue(8, Scheduling("conservative")))
    assert [submit.role for submit in of(run, records.Submit)] == ["anchor"]


@pytest.mark.parametrize("most_jobs", [None, 16])
def test_fillers_of_a_busy_queue_ask_for_the_remaining_work_at_most(most_jobs: int | None) -> None:
    others = {"submit": [0, 0], "nodes": [6, 8], "req": [5_000, 20_000], "run": [5_000, 20_000]}
    instance = levels_of((1000, 230.0), (10, 60.0), (200, 30.0))
    run = passed(instance, BatchQueue(8, Scheduling("conservative"), most_jobs=most_jobs, **others))
    submits = of(run, records.Submit)
    assert len(submits) < 20
    assert "filler" in {submit.role for submit in submits}
    assert all(asked_s <= most_s for asked_s, most_s in asked_beside_anchor(run, instance))


@settings(max_examples=12, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from([1, 3, 20, 90, 300]), st.sampled_from([1.0, 45.0, 600.0])), min_size=1, max_size=3
    ),
    st.lists(
        st.tuples(st.integers(0, 5_000), st.integers(1, 8), st.integers(100, 9_000), st.floats(0.1, 1.0)), max_size=12
    ),
)
def test_in_any_queue_fillers_ask_for_the_remaining_work_at_most(
    levels: list[tuple[int, float]], others: list[tuple[int, int, int, float]]
) -> None:
    rows = sorted(others)
    background = {
        "submit": [at for at, *_ in rows],
        "nodes": [nodes for _, nodes, *_ in rows],
        "req": [asked_s for *_, asked_s, _ in rows],
        "run": [max(1, int(asked_s * used)) for *_, asked_s, used in rows],
    }
    instance = levels_of(*levels)
    run = passed(instance, BatchQueue(8, Scheduling("conservative"), **background), start_s=1_000.0)
    assert all(asked_s <= most_s for asked_s, most_s in asked_beside_anchor(run, instance))


def test_short_tasks_share_a_job() -> None:
    assert bundled([1.0] * 1000, side_by_side=8, at_least_s=120.0) == [120.0, 5.0]
    assert bundled([200.0, 150.0, 100.0, 90.0], side_by_side=1, at_least_s=120.0) == [200.0, 150.0, 190.0]
    assert bundled([], side_by_side=4, at_least_s=120.0) == []
