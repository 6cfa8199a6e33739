"""One job for everything: how wide, how long, and when to ask again."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from headway.model.job import JobPhase
from headway.model.records import AskQueue, QueueRead, Release, Submit
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning import PLANS
from headway.planning.base import Estimate, Planner, View
from headway.planning.requested_time import requested_s
from tests.planning.views import NODE, fan, job, view

IDLE = QueueRead(0.0, [0.0], [8.0])


def hundred(task: Task) -> float:
    return 100.0


def planner(estimate: Estimate = hundred) -> Planner:
    return PLANS["one-job"](estimate)


def only_submit(seen: View, estimate: Estimate = hundred) -> Submit:
    (decision,) = planner(estimate).plan(seen, 5.0)
    assert isinstance(decision, Submit)
    return decision


def test_it_asks_the_queue_before_it_chooses() -> None:
    assert planner().plan(view(fan(4)), 5.0) == [AskQueue(5.0)]


def test_an_idle_machine_gives_as_many_nodes_as_can_be_used() -> None:
    submit = only_submit(view(fan(4), queue=IDLE))
    assert submit.request.per_node == NODE.replace(nodes=4, walltime_s=280.0)  # 200 s, a tenth more, a minute
    assert (submit.tag, submit.expected_s) == ("headway-u-1", 200.0)
    assert set(submit.tasks) == {"w0", "w1", "w2", "w3", "last"}
    assert submit.why.policy == "one-job"


def test_of_equals_the_fewest_nodes() -> None:
    # Five tasks of 100 s take 200 s on 3 nodes as on 4.
    assert only_submit(view(fan(5), queue=IDLE, nodes=4)).request.per_node.nodes == 3


@pytest.mark.parametrize(
    ("free_at", "nodes", "total_s"),
    [
        (1000.0, 1, 500.0),  # one node now: 5 x 100 s; wider ones would wait for longer than that
        (301.0, 1, 500.0),  # 4 nodes: 301 + 200
        (300.0, 1, 500.0),  # 4 nodes: 300 + 200, as long, and wider
        (299.0, 4, 499.0),
        (50.0, 4, 250.0),
    ],
)
def test_wait_and_run_time_together(free_at: float, nodes: int, total_s: float) -> None:
    queue = QueueRead(0.0, [0.0, free_at], [1.0, 4.0])
    submit = only_submit(view(fan(4), queue=queue, nodes=4))
    assert submit.request.per_node.nodes == nodes
    wait_s = submit.why.figures["wait_s"]
    assert isinstance(wait_s, float)
    assert submit.expected_s is not None
    assert submit.expected_s + wait_s == total_s


def test_a_gap_must_hold_all_that_is_asked_for() -> None:
    # One node until 560: 5 x 100 s would fit into it, the 610 s that are asked for do not.
    queue = QueueRead(0.0, [0.0, 560.0, 600.0], [1.0, 0.0, 4.0])
    submit = only_submit(view(fan(4), queue=queue, nodes=4))
    assert (submit.request.per_node.nodes, submit.why.figures["wait_s"]) == (4, 600.0)


def test_no_wider_than_the_machine_or_the_workflow() -> None:
    assert only_submit(view(fan(30), queue=IDLE, nodes=8)).request.per_node.nodes <= 8
    chain = Workflow("chain", [Task("a", "c", "-"), Task("b", "c", "-", parents=("a",))])
    assert only_submit(view(chain, queue=IDLE)).request.per_node.nodes == 1


def test_one_at_a_time() -> None:
    for phase in (JobPhase.PENDING, JobPhase.RUNNING, JobPhase.UNKNOWN):
        assert planner().plan(view(fan(1), jobs=[job(1, phase, ["w0", "last"])], queue=IDLE), 5.0) == []


@pytest.mark.parametrize("plan", ["one-job", "one-job-per-task"])
def test_while_a_job_is_suspended_another_is_asked_for(plan: str) -> None:
    """For the tasks that neither stand still in it nor come after one that does."""
    standing = job(1, JobPhase.RUNNING, ["w0", "w1", "last"], walltime_s=1000.0)
    standing.started_at = 0.0
    seen = view(fan(2), jobs=[standing], queue=IDLE, placeable=["w1"])
    seen = structs.replace(seen, is_running=lambda task_id: task_id == "w0")
    assert PLANS[plan](hundred).plan(seen, 5.0) == []
    standing.suspended = True
    (submit,) = PLANS[plan](hundred).plan(seen, 5.0)
    assert isinstance(submit, Submit)
    assert submit.tasks == ("w1",)


def test_what_is_left_after_a_job_that_was_too_short() -> None:
    ended = [job(number, JobPhase.ENDED, ["w0", "w1", "w2", "w3", "last"]) for number in (1, 2)]
    submit = only_submit(view(fan(4), jobs=ended, queue=IDLE, over=["w0", "w1", "w2"]))
    assert submit.tag == "headway-u-3"
    assert set(submit.tasks) == {"w3", "last"}
    assert submit.request.per_node.walltime_s == 200 * 1.5 + 60
    assert submit.why.figures["expired"] == 2


def test_nothing_left_gives_the_nodes_back() -> None:
    tasks = ["w0", "last"]
    jobs = [
        job(1, JobPhase.ENDED, tasks),
        job(2, JobPhase.RUNNING, tasks),
        job(3, JobPhase.RUNNING, tasks, released=True),
    ]
    released = planner().plan(view(fan(1), jobs=jobs, over=["w0", "last"]), 5.0)
    assert [(type(it), it.tag) for it in released if isinstance(it, Release)] == [(Release, "headway-u-2")]
    assert len(released) == 1


@given(st.lists(st.integers(1, 900), min_size=1, max_size=7), st.lists(st.integers(0, 9), min_size=8, max_size=8))
def test_no_other_width_is_expected_to_be_through_sooner(run_s: list[int], more_s: list[int]) -> None:
    """Independent tasks, the shortest first; ever more nodes become free. Each width by hand."""
    run_s.sort()
    tasks = [Task(f"t{number}", "c", "-") for number in range(len(run_s))]
    times = [0.0]
    for more in more_s[1:]:
        times.append(times[-1] + 100.0 * more + 1)
    queue = QueueRead(0.0, times, [float(free) for free in range(1, 9)])
    estimates = dict(zip((task.id for task in tasks), run_s, strict=True))
    submit = only_submit(view(Workflow("any", tasks), queue=queue), lambda task: float(estimates[task.id]))

    def span(nodes: int) -> int:
        busy_until = [0] * nodes
        for seconds in run_s:
            first = min(range(nodes), key=busy_until.__getitem__)
            busy_until[first] += seconds
        return max(busy_until)

    totals = {nodes: times[nodes - 1] + span(nodes) for nodes, _ in zip(count(1), run_s, strict=False)}
    best = min(totals, key=lambda nodes: (totals[nodes], nodes))
    assert submit.request.per_node.nodes == best
    assert submit.request.per_node.walltime_s == requested_s(span(best))
