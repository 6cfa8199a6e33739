"""Gaps that are open in the queue's plan now, and the ready tasks and the work that no waiting job is for."""

from __future__ import annotations

from collections.abc import Sequence

from headway.model.records import QueueRead
from headway.planning.base import JobStatus
from headway.planning.packing import Packing
from headway.planning.requested_time import MARGIN_S


def longest_gap(queue: QueueRead, at_least_s: float, most_nodes: int) -> tuple[int, float] | None:
    """Nodes and seconds of the longest gap that starts now and lasts at least `at_least_s`; None if there is none."""
    free = int(queue.free[0])
    best: tuple[int, float] | None = None
    for begin, now_free in zip([*queue.times[1:], float("inf")], [*queue.free[1:], 0.0], strict=True):
        length_s = begin - queue.at
        if now_free < free or begin == float("inf"):  # `free` nodes stay free until `begin`
            if free >= 1 and length_s >= at_least_s:
                best = (min(free, most_nodes), length_s)
            free = min(free, int(now_free))
        if free < 1:
            break
    return best


def matched(ready: Sequence[float], pending: Sequence[JobStatus]) -> tuple[list[float], list[JobStatus]]:
    """Assign ready tasks to pending jobs; return the walltimes of tasks without a job, and the jobs without a task.

    `ready` has the walltime that each task needs, longest first. Each node of a job takes one task; a task goes to the
    shortest job that is long enough.
    """
    jobs = sorted(pending, key=lambda job: job.request.per_node.walltime_s or 0.0)
    room = [job.width for job in jobs]
    uncovered: list[float] = []
    for asked_s in ready:
        fitting = (
            index
            for index, job in enumerate(jobs)
            if room[index] and (job.request.per_node.walltime_s or 0.0) >= asked_s
        )
        index = next(fitting, None)
        if index is None:
            uncovered.append(asked_s)
        else:
            room[index] -= 1
    return uncovered, [job for job, left in zip(jobs, room, strict=True) if left == job.width]


def bundled(run_s: Sequence[float], side_by_side: int, at_least_s: float) -> list[float]:
    """Run times of jobs of one unit for tasks with these run times, longest first.

    `side_by_side` tasks share a unit. A job that would end before `at_least_s` gets the next tasks as well.

    >>> bundled([300.0, 80.0, 30.0, 10.0, 5.0], side_by_side=1, at_least_s=100.0)
    [300.0, 110.0, 15.0]
    """
    jobs: list[float] = []
    for longest_s in run_s[::side_by_side]:
        if jobs and jobs[-1] < at_least_s:
            jobs[-1] += longest_s
        else:
            jobs.append(longest_s)
    return jobs


def asked_unit_s(fillers: Sequence[JobStatus], held: float, work_s: float, packing: Packing, now: float) -> float:
    """The unit-seconds of the remaining work that jobs ask for from now on, without the margins in their walltimes.

    A job that runs does its share of the work with all others, which hold so many units together.
    """
    asked_s = 0.0
    for job in fillers:
        units, left_s = packing.units_of(job.request), (job.request.per_node.walltime_s or 0.0) - MARGIN_S
        if job.started_at is not None:
            left_s = min(left_s - (now - job.started_at), work_s / max(held, units))
        asked_s += units * max(0.0, left_s)
    return asked_s
