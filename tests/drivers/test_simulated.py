"""A workflow through a simulated batch queue: by hand, to the byte, and as a real run would decide."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from headway.clusters.simulated import SimulatedCluster
from headway.drivers.assemble import assemble
from headway.drivers.simulated import SimulatedRun, simulate
from headway.drivers.through_queue import Through, check_node, node_of, run_through
from headway.kernels.batch.queue import BatchQueue, Scheduling
from headway.model import records
from headway.model.codec import encode
from headway.model.errors import InputError
from headway.model.instance import Instance, Recorded
from headway.model.job import Asks, JobRequest
from headway.model.outcome import Ending, Outcome
from headway.model.records import Decision, Event
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS
from tests.end_to_end.project import Flow

CONSERVATIVE = Scheduling("conservative")


def chain(*run_s: float) -> Instance:
    """Tasks one after the other."""
    tasks = [
        Task(f"t{number}", "c", "-", parents=(f"t{number - 1}",) if number else (), outputs=(f"o{number}",))
        for number in range(len(run_s))
    ]
    return Instance(Workflow("chain", tasks), {f"t{n}": Recorded(run_s=seconds) for n, seconds in enumerate(run_s)})


def fan(width: int, run_s: float) -> Instance:
    """Tasks side by side, and one that waits for all of them."""
    wide = [Task(f"w{number}", "wide", "-", outputs=(f"o{number}",)) for number in range(width)]
    last = Task("last", "last", "-", parents=tuple(task.id for task in wide), outputs=("end",))
    recorded = {task.id: Recorded(run_s=run_s) for task in (*wide, last)}
    return Instance(Workflow("fan", [*wide, last]), recorded)


def through(queue: BatchQueue, instance: Instance, plan: str, start_s: float = 0.0) -> SimulatedRun:
    run = run_through(instance, Through(PLANS[plan], start_s))
    simulate(queue, [run])
    return run


def launches(run: SimulatedRun) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for record in run.journal:
        if isinstance(record, records.Launch):
            found.setdefault(record.task, []).append(record.at)
    return found


def submits(run: SimulatedRun) -> list[records.Submit]:
    return [record for record in run.journal if isinstance(record, records.Submit)]


def test_one_job_takes_the_width_that_finishes_first() -> None:
    # 4 nodes; 3 are taken until 1000. On 1 node the fan takes 4 x 100 + 100 = 500 s at once; on more it would wait.
    queue = BatchQueue(4, CONSERVATIVE, submit=[0], nodes=[3], req=[1000], run=[1000])
    run = through(queue, fan(4, 100.0), "one-job", start_s=10.0)
    assert [submit.request.per_node.nodes for submit in submits(run)] == [1]
    assert run.engine.finished == "succeeded"
    assert run.ended_at() == 510.0


def test_one_job_is_wide_in_an_empty_queue() -> None:
    run = through(BatchQueue(4, CONSERVATIVE), fan(4, 100.0), "one-job")
    assert [submit.request.per_node.nodes for submit in submits(run)] == [4]
    assert submits(run)[0].request.per_node.walltime_s == 280.0  # 200 s, a tenth more, a minute
    assert run.ended_at() == 200.0


def test_one_job_per_task_waits_for_each() -> None:
    # 1 node, free from 50 on for 120 s, and from 1000 on: the first task of 50 s asks for 115 s, the next has to wait.
    queue = BatchQueue(1, CONSERVATIVE, submit=[0, 0], nodes=[1, 1], req=[50, 800], run=[50, 800])
    run = through(queue, chain(50.0, 50.0), "one-job-per-task")
    assert launches(run) == {"t0": [850.0], "t1": [900.0]}
    assert [submit.tasks for submit in submits(run)] == [("t0",), ("t1",)]


def test_no_more_jobs_at_a_time_than_the_site_allows() -> None:
    queue = BatchQueue(100, CONSERVATIVE, most_jobs=3)
    run = through(queue, fan(10, 100.0), "one-job-per-task")
    live = 0
    for record in run.journal:
        live += isinstance(record, records.Submit) - isinstance(record, records.Release)
        assert live <= 3
    assert run.ended_at() == 500.0  # ten in fours of a hundred seconds, and the last


def test_a_job_that_was_too_short_is_asked_for_again_and_what_is_done_stays_done() -> None:
    instance = chain(100.0, 100.0, 100.0)
    run = run_through(instance, Through(lambda estimate: PLANS["one-job"](lambda task: 40.0)))
    simulate(BatchQueue(2, CONSERVATIVE), [run])
    # 3 x 40 s are expected: 192 s are asked for, one task ends in them. Then 2 x 40: 156 s. Then 40: 120 s.
    assert [submit.request.per_node.walltime_s for submit in submits(run)] == [192.0, 156.0, 120.0]
    assert launches(run) == {"t0": [0.0], "t1": [100.0, 192.0], "t2": [292.0, 348.0]}
    assert run.engine.finished == "succeeded"
    assert all(state.losses == 0 for state in run.engine.tasks.values())


def test_a_task_that_has_too_little_memory_gets_more() -> None:
    instance = chain(100.0)
    instance.recorded["t0"] = Recorded(run_s=100.0, memory_bytes=3 * 10**9)
    tasks = [structs.replace(task, hints={"memory_bytes": 2e9}) for task in instance.workflow]
    instance = Instance(Workflow("chain", tasks), instance.recorded)
    run = through(BatchQueue(1, CONSERVATIVE), instance, "one-job-per-task")
    assert run.engine.finished == "succeeded"
    given = [record.resources.memory_bytes for record in run.journal if isinstance(record, records.Launch)]
    ends = [record.outcome.ending for record in run.journal if isinstance(record, records.TaskEnded)]
    assert ends == [Ending.MEMORY, Ending.SUCCESS]
    assert given[0] == 2e9
    assert given[-1] >= 3e9


@pytest.mark.parametrize("plan", list(PLANS))
def test_the_same_seed_gives_the_same_journal_to_the_byte(plan: str) -> None:
    def journal() -> bytes:
        queue = BatchQueue(8, CONSERVATIVE, submit=[0, 5, 90], nodes=[7, 3, 8], req=[300, 500, 60], run=[200, 450, 60])
        return b"\n".join(map(encode, through(queue, fan(20, 33.3), plan, 7.5).journal))

    assert journal() == journal()


def test_several_workflows_share_a_queue_and_each_has_its_own_cap() -> None:
    queue = BatchQueue(4, CONSERVATIVE, most_jobs=2)
    runs = [
        run_through(fan(6, 100.0), Through(PLANS["one-job-per-task"], start_s), number)
        for number, start_s in ((1, 0.0), (2, 50.0), (3, 50.0))
    ]
    simulate(queue, runs)
    assert [run.engine.finished for run in runs] == ["succeeded"] * 3
    busy: list[tuple[float, int]] = []
    for run in runs:
        for record in run.journal:
            if isinstance(record, records.TaskEnded):
                busy += [(record.outcome.started_at, 1), (record.outcome.ended_at, -1)]
    at_once = peak = 0
    for _, change in sorted(busy):
        at_once += change
        peak = max(peak, at_once)
    assert peak == 4  # three users with two jobs each want six


@settings(max_examples=30, deadline=None)
@given(
    run_s=st.lists(st.floats(1, 500), min_size=1, max_size=12),
    wrong=st.floats(0.3, 2.0),
    machine=st.integers(1, 6),
    plan=st.sampled_from(["one-job", "one-job-per-task"]),
    seen=st.data(),
)
def test_tasks_run_in_their_jobs_once_their_parents_are_done(
    run_s: list[float], wrong: float, machine: int, plan: str, seen: st.DataObject
) -> None:
    parents = [tuple(f"t{p}" for p in range(n) if seen.draw(st.booleans())) for n in range(len(run_s))]
    tasks = [Task(f"t{n}", "c", "-", parents=above, outputs=(f"o{n}",)) for n, above in enumerate(parents)]
    instance = Instance(Workflow("any", tasks), {f"t{n}": Recorded(run_s=s) for n, s in enumerate(run_s)})
    queue = BatchQueue(machine, CONSERVATIVE, submit=[0], nodes=[machine], req=[100], run=[60])
    run = run_through(instance, Through(lambda estimate: PLANS[plan](lambda task: estimate(task) * wrong), 1.0))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    up: dict[str, float] = {}
    ended: dict[str, float] = {}
    for record in run.journal:
        match record:
            case records.NodeUp():
                up[record.node] = record.at
            case records.NodeLost():
                del up[record.node]
            case records.Launch():
                assert record.node in up
                assert all(ended[parent] <= record.at for parent in instance.workflow.tasks[record.task].parents)
            case records.TaskEnded():
                ended[record.outcome.task] = record.at
    assert ended.keys() == instance.workflow.tasks.keys()


# --- one engine under two drivers ---

FLOW = """
name: two-drivers
tasks:
  make:
    each: {n: [1, 2, 3]}
    run: head -c {n}000000 /dev/zero > part_{n}
    outputs: "part_{n}"
  hungry:
    run: python3 -c "x = bytearray(150_000_000); open('fed', 'w').write(str(len(x)))"
    inputs: part_1
    outputs: fed
    resources: {memory: 100 MB, cores: 0.25}
  join:
    run: cat part_* fed > all
    inputs: [part_1, part_2, part_3, fed]
    outputs: all
"""


def decisions(journal: Sequence[Event | Decision]) -> list[Decision]:
    """What was decided, without when, on which node, and what that node lends."""
    decided = [structs.replace(record, at=0.0) for record in journal if isinstance(record, Decision)]
    return [structs.replace(it, node="", ceiling=None) if isinstance(it, records.Launch) else it for it in decided]


def test_both_drivers_lead_the_engine_to_the_same_decisions(tmp_path: Path) -> None:
    flow = Flow(tmp_path, FLOW)
    flow.headway("run", "--cores", "1", "--memory", "400MB", HEADWAY_HISTORY="none")
    real = flow.records()
    started = next(record for record in real if isinstance(record, records.RunStarted))
    limits = next(record.limits for record in real if isinstance(record, records.LimitsRead))
    tasks = [task for record in real if isinstance(record, records.TasksAdded) for task in record.tasks]
    ends = {(r.outcome.task, r.outcome.attempt): r.outcome for r in real if isinstance(r, records.TaskEnded)}
    sizes = {record.task: record.input_bytes for record in real if isinstance(record, records.InputsRead)}

    run = SimulatedRun(assemble(started), tasks, _as_recorded(ends), limits, lambda task: sizes[task.id])
    simulate(BatchQueue(1), [run])
    assert run.engine.finished == "succeeded"
    assert len(ends) > len(tasks), "one attempt was meant to run out of memory"
    assert decisions(run.journal) == decisions(real)


def _as_recorded(ends: dict[tuple[str, int], Outcome]) -> Callable[[records.Launch, float], Outcome]:
    def outcome_of(launch: records.Launch, at: float) -> Outcome:
        seen = ends[launch.task, launch.attempt]
        return structs.replace(seen, started_at=at, ended_at=at + seen.ended_at - seen.started_at)

    return outcome_of


def test_the_snapshot_is_the_scheduler_s_plan() -> None:
    queue = BatchQueue(4, CONSERVATIVE, submit=[0], nodes=[3], req=[100], run=[10])
    cluster = SimulatedCluster(queue, Resources(cores=1))
    cluster.queue.advance(5.0)
    seen = cluster.snapshot()
    assert (seen.at, seen.times, seen.free) == (5.0, [5.0, 100.0], [1.0, 4.0])


# --- a queue that counts cores ---

NODE = node_of(4, 8 * 10**9)


def in_cores(queue: BatchQueue, instance: Instance, asks: Asks, plan: str = "one-job") -> SimulatedRun:
    run = run_through(instance, Through(PLANS[plan], 10.0, node=NODE, asks=asks))
    simulate(queue, [run])
    assert run.engine.finished == "succeeded"
    return run


@pytest.mark.parametrize("plan", PLANS)
def test_a_share_starts_where_no_whole_node_is_free(plan: str) -> None:
    # Three nodes of four cores; two cores are free until 1000: for one task, with memory for a second attempt.
    jobs = {"submit": [0], "nodes": [10], "req": [1000], "run": [1000]}
    shares = in_cores(BatchQueue(12, CONSERVATIVE, **jobs), fan(2, 100.0), "shared", plan)
    whole = in_cores(BatchQueue(12, CONSERVATIVE, **jobs), fan(2, 100.0), "whole", plan)
    assert all(submit.request.per_node.cores < NODE.cores for submit in submits(shares))
    assert {submit.request.per_node.cores for submit in submits(whole)} == {NODE.cores}
    assert min(launches(whole)["w0"]) >= 1000
    if plan in ("headway", "one-job-per-task"):
        assert min(launches(shares)["w0"]) < 1000


def test_the_queue_counts_the_cores_and_the_memory_of_shares() -> None:
    cluster = SimulatedCluster(BatchQueue(12), NODE, asks="shared")
    assert cluster.limits().nodes == 3
    taken = []
    for tag, asked in {
        "one core": NODE.replace(cores=1, memory_bytes=10**9),
        "half the memory": NODE.replace(cores=1, memory_bytes=4 * 10**9),
        "two nodes": NODE.replace(cores=2, nodes=2, memory_bytes=10**9),
    }.items():
        before = cluster.snapshot().free[0]
        cluster.submit(JobRequest(asked.replace(walltime_s=60.0), places=1), tag)
        cluster.queue.advance(0.0)
        taken.append(before - cluster.snapshot().free[0])
    assert taken == [1, 2, 4]
    assert cluster.snapshot().counts == "cores"


def test_a_task_has_no_more_than_the_share_of_its_job() -> None:
    instance = fan(6, 100.0)
    run = in_cores(BatchQueue(12, CONSERVATIVE), instance, "shared")
    (submit,) = submits(run)
    asked = submit.request.per_node
    room = {record.node: record.capacity for record in run.journal if isinstance(record, records.NodeUp)}
    assert len(room) == asked.nodes
    assert {capacity.cores for capacity in room.values()} == {asked.cores}
    assert asked.cores * asked.nodes == 6


def test_a_node_that_does_not_exist_or_is_too_small() -> None:
    with pytest.raises(InputError, match="the machine has 3 cores: fewer than a node"):
        check_node(NODE, 3, fan(1, 1.0))
    large = Instance(Workflow("w", [Task("t", "t", "-", hints={"cores": 8.0})]), {"t": Recorded(run_s=1.0)})
    with pytest.raises(InputError, match="'t' asks for 8 cores, and a node has 4 cores"):
        check_node(NODE, 12, large)
