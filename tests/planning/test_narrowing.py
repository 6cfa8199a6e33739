"""What is given back as a workflow gets narrower."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pytest
from msgspec import structs

from headway.model.job import JobPhase, JobRequest
from headway.model.records import JobRole, LimitsRead, Release, Shrink, Submit, Why
from headway.model.resources import Resources
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.planning.base import JobStatus, View
from headway.planning.narrowing import needless
from tests.planning.views import view

SITE = Resources(cores=1, memory_bytes=10**9, disk_bytes=10**9, nodes=16)
RUN_S = 50.0


def job(
    tag: str, nodes: int, until: float = 10_000.0, role: JobRole = "filler", tasks: tuple[str, ...] = ()
) -> JobStatus:
    """One that runs since 0."""
    request = JobRequest(SITE.replace(nodes=nodes, walltime_s=until))
    status = JobStatus(Submit(0.0, tag, request, Why("p", "r"), role=role, tasks=tasks))
    status.phase, status.started_at = JobPhase.RUNNING, 0.0
    return status


def seen(
    tasks: Sequence[Task],
    jobs: Sequence[JobStatus],
    running: Mapping[str, float] | None = None,
    *,
    shrinks: bool = True,
) -> View:
    """Tasks `running` have run so long. In jobs named `busy…` the first node works, in others none."""
    ran_s = running or {}
    return structs.replace(
        view(Workflow("w", tasks), jobs=jobs, placeable=()),
        limits=LimitsRead(0.0, SITE, shrinks=shrinks),
        is_running=lambda task_id: task_id in ran_s,
        ran_s=lambda task_id: ran_s.get(task_id, 0.0),
        is_busy=lambda tag: tag.startswith("busy"),
        idle_nodes=lambda tag: [f"{tag}.{n}" for job in jobs if job.tag == tag for n in range(2, job.width + 1)],
    )


def given_back(seen: View, again_s: float = math.inf) -> dict[str, int | str]:
    """By job: how many nodes it gives back, or `all`; to ask for them again costs `again_s` node-seconds."""
    found: dict[str, int | str] = {}
    for decision in needless(seen, "p", lambda task: RUN_S, lambda *about: again_s, 0.0):
        assert isinstance(decision, (Release, Shrink))
        found[decision.tag] = "all" if isinstance(decision, Release) else len(decision.nodes)
    return found


def line(length: int) -> list[Task]:
    return [Task(f"t{n}", "c", "-", parents=(f"t{n - 1}",) if n else ()) for n in range(length)]


def fan(width: int, hints: Mapping[str, float] | None = None) -> list[Task]:
    return [Task(f"t{n}", "c", "-", hints=dict(hints or {})) for n in range(width)]


@pytest.mark.parametrize(
    ("tasks", "jobs", "expected"),
    [
        (line(4), [job("busy", 1), job("idle", 4)], {"idle": "all"}),  # one after the other: one node is enough
        (line(4), [job("busy", 5)], {"busy": 4}),
        (fan(4), [job("busy", 2), job("idle", 2)], {}),  # four at a time: all are needed
        (
            fan(4),
            [job("busy", 2), job("a", 2, 9_000.0), job("b", 3, 9_500.0)],
            {"a": "all", "b": 1},
        ),  # what lasts is kept
        (line(4), [job("busy", 1, 150.0), job("idle", 1)], {}),  # what is busy ends too early: 4 x 50 s
        (fan(2, {"nodes": 2}), [job("busy", 1), job("idle", 4)], {}),  # one by one on two nodes, or both at a time
        (line(1), [job("busy", 4, role="anchor"), job("idle", 1)], {"busy": 3, "idle": "all"}),
        (line(1), [job("idle", 4, role="anchor")], {"idle": 3}),  # the anchor stays
    ],
    ids=["line", "nodes", "fan", "two", "ends", "spans", "anchor", "idle-anchor"],
)
def test_what_is_not_needed_is_given_back(
    tasks: list[Task], jobs: list[JobStatus], expected: dict[str, int | str]
) -> None:
    assert given_back(seen(tasks, jobs)) == expected


@pytest.mark.parametrize(
    ("elsewhere", "placeable", "expected"),
    [
        ((), (), {}),  # four at a time: all are needed
        (("t1", "t2"), (), {"busy": 2}),  # two of them run in another job
        (("t1", "t2"), ("t3",), {}),  # one of its own could start at once
        (("t1", "t2"), ("other",), {"busy": 2}),  # it may not run here
    ],
)
def test_a_job_for_certain_tasks_gives_back_what_these_do_not_need(
    elsewhere: tuple[str, ...], placeable: tuple[str, ...], expected: dict[str, int | str]
) -> None:
    tasks = [*fan(4), Task("other", "c", "-")]
    bound = job("busy", 4, role="anchor", tasks=("t0", "t1", "t2", "t3"))
    now = structs.replace(
        seen(tasks, [bound], {"t0": 10.0}),
        runs_in=lambda task_id: "busy-filler" if task_id in elsewhere else None,
        placeable=placeable,
    )
    assert given_back(now) == expected


def test_where_jobs_cannot_shrink_whole_jobs_are_given_back() -> None:
    assert given_back(seen(line(4), [job("busy", 5), job("idle", 2)], shrinks=False)) == {"idle": "all"}


def test_what_a_wider_stage_will_need_is_kept() -> None:
    wide = [Task(f"w{n}", "c", "-", parents=("t3",)) for n in range(3)]
    assert given_back(seen([*line(4), *wide], [job("busy", 5)])) == {"busy": 2}


@pytest.mark.parametrize(
    ("again_s", "expected"),
    [
        (900.0, {"busy": 2}),  # two are never needed; the other two are idle for four times 50 s
        (199.0, {"busy": 4}),
        (201.0, {"busy": 2}),
    ],
)
def test_what_is_needed_again_is_given_back_if_that_is_cheaper(again_s: float, expected: dict[str, int | str]) -> None:
    wide = [Task(f"w{n}", "c", "-", parents=("t3",)) for n in range(3)]
    assert given_back(seen([*line(4), *wide], [job("busy", 5)]), again_s) == expected


def test_a_job_that_was_asked_for_ahead_waits_for_its_tasks() -> None:
    ahead = job("idle", 1, role="ahead")
    ahead.expected_wait_s = 60.0
    assert given_back(seen(line(4), [job("busy", 1), ahead])) == {}
    ahead.expected_wait_s = 0.0
    assert given_back(seen(line(4), [job("busy", 1), ahead])) == {"idle": "all"}


def test_a_task_counts_for_the_time_that_it_still_needs() -> None:
    """The task that runs ends before the job that the other one could use, so that both run on one node."""
    tasks = [Task("a", "c", "-"), Task("b", "c", "-"), Task("c", "c", "-", parents=("b",))]
    jobs = [job("busy", 1, 200.0), job("busy-too", 1), job("idle", 1)]
    assert given_back(seen(tasks, jobs, {"a": 49.0, "b": 49.0})) == {"idle": "all"}


def test_nothing_is_given_back_while_tasks_wait_for_room() -> None:
    waiting = structs.replace(seen(line(4), [job("busy", 5)]), placeable=("t0",))
    assert given_back(waiting) == {}


@pytest.mark.parametrize(
    ("tasks", "jobs", "expected"),
    [
        (fan(4), [job("busy", 3, 40.0), job("idle", 2, 40.0)], {"busy": 2, "idle": "all"}),  # none ends within 40 s
        (fan(4), [job("busy", 3, 40.0), job("idle", 2, 60.0)], {"busy": 2}),  # here one would; memory may be missing
        (fan(4), [job("idle", 2, 40.0, role="anchor")], {"idle": "all"}),  # the next anchor is asked for at once
    ],
    ids=["too-short", "long-enough", "anchor"],
)
def test_nodes_are_given_back_when_no_task_would_end_before_their_job(
    tasks: list[Task], jobs: list[JobStatus], expected: dict[str, int | str]
) -> None:
    waiting = structs.replace(seen(tasks, jobs), placeable=tuple(task.id for task in tasks))
    assert given_back(waiting) == expected


def test_nodes_are_kept_for_tasks_that_will_be_ready_in_time() -> None:
    """A task of 800 s waits for another job. The first of those that it leaves behind is followed by two at a time."""
    tasks = [Task("long", "c", "-"), *line(2), *(Task(f"w{n}", "c", "-", parents=("t1",)) for n in range(2))]
    now = structs.replace(
        seen(tasks, [job("busy", 5, 300.0)], {"t0": 10.0}),
        placeable=("long",),
        cut_off=lambda task_id: 4 if task_id == "long" else 0,
    )
    assert given_back(now) == {"busy": 2}


def test_an_anchor_is_given_back_when_all_its_tasks_run_elsewhere() -> None:
    assert given_back(seen(fan(1), [job("busy", 1), job("idle", 2, role="anchor")], {"t0": 10.0})) == {"idle": "all"}


def test_a_task_that_is_overdue_still_holds_its_node() -> None:
    assert given_back(seen(fan(2), [job("busy", 2)], {"t0": 500.0, "t1": 500.0})) == {}
