"""A job for each task that could run: no more than the site allows, none twice, longer where one was too short."""

from __future__ import annotations

import pytest

from headway.model.job import JobPhase
from headway.model.records import Decision, Release, Submit
from headway.model.task import Task
from headway.planning.without_queue import OneJobPerTask
from tests.planning.views import NODE, fan, job, view


def estimate(task: Task) -> float:
    return 10.0 if task.id == "last" else 100.0


PLANNER = OneJobPerTask(estimate)


def submits(decisions: list[Decision]) -> dict[str, tuple[str, ...]]:
    return {it.tag: it.tasks for it in decisions if isinstance(it, Submit)}


def releases(decisions: list[Decision]) -> list[str]:
    return [it.tag for it in decisions if isinstance(it, Release)]


def test_each_task_that_could_run_gets_a_node() -> None:
    decided = PLANNER.plan(view(fan(3)), 5.0)
    assert submits(decided) == {f"headway-u-{number + 1}": (f"w{number}",) for number in range(3)}
    first = decided[0]
    assert isinstance(first, Submit)
    assert first.request.per_node == NODE.replace(nodes=1, walltime_s=170.0)  # 100 s, a tenth more, a minute
    assert (first.at, first.why.figures) == (5.0, {"expected_s": 100.0, "expired": 0})


def test_a_task_with_a_job_gets_no_other() -> None:
    jobs = [job(1, JobPhase.PENDING, ["w0"]), job(2, JobPhase.RUNNING, ["w1"])]
    assert submits(PLANNER.plan(view(fan(3), jobs=jobs), 5.0)) == {"headway-u-3": ("w2",)}


@pytest.mark.parametrize(("most", "live", "asked"), [(None, 2, 8), (2, 0, 2), (5, 2, 3), (2, 2, 0), (1, 2, 0)])
def test_no_more_than_the_site_allows(most: int | None, live: int, asked: int) -> None:
    jobs = [job(number + 1, JobPhase.RUNNING, [f"w{number}"]) for number in range(live)]
    assert len(submits(PLANNER.plan(view(fan(8 + live), jobs=jobs, most_jobs=most), 5.0))) == asked


def test_tasks_that_were_ready_first_go_first() -> None:
    seen = view(fan(4), placeable=["w2", "w0", "w3", "w1"], most_jobs=2)
    assert list(submits(PLANNER.plan(seen, 5.0)).values()) == [("w2",), ("w0",)]


def test_a_job_whose_task_is_over_is_released() -> None:
    jobs = [job(1, JobPhase.RUNNING, ["w0"]), job(2, JobPhase.RUNNING, ["w1"]), job(3, JobPhase.ENDED, ["w2"])]
    decided = PLANNER.plan(view(fan(3), jobs=jobs, over=["w0", "w2"], placeable=[]), 5.0)
    assert releases(decided) == ["headway-u-1"]
    assert submits(decided) == {}


@pytest.mark.parametrize(("expired", "walltime_s"), [(0, 170.0), (1, 180.0), (2, 210.0), (3, 360.0), (4, 660.0)])
def test_a_task_whose_jobs_were_too_short_gets_longer_ones(expired: int, walltime_s: float) -> None:
    jobs = [job(number + 1, JobPhase.ENDED, ["w0"]) for number in range(expired)]
    jobs.append(job(9, JobPhase.ENDED, ["w1"]))
    decided = PLANNER.plan(view(fan(1), jobs=jobs), 5.0)
    assert [it.request.per_node.walltime_s for it in decided if isinstance(it, Submit)] == [walltime_s]
