"""The command line with one more plan: one job of four nodes, which gives back every node on which nothing runs.

Usage: `python -m tests.slurm.narrowing WORDS`, as of `headway`. With FORGETFUL in the environment Slurm is never told.
"""

from __future__ import annotations

import asyncio
import os

from headway.cli.main import main
from headway.drivers.shrinking import Shrinking
from headway.model.job import JobRequest
from headway.model.records import Decision, Release, Shrink, Submit, Why
from headway.planning import PLANS, Plan
from headway.planning.base import Estimate, Planner, View

NODES = 4


class Narrowing(Planner):
    """Gives back nodes when all have answered and no task waits for one."""

    name = "narrowing"

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def plan(self, view: View, now: float) -> list[Decision]:
        why = Why(self.name, "test")
        if not view.unfinished:
            return [Release(now, job.tag, why) for job in view.live]
        if not view.jobs:
            share = view.limits.limits.replace(nodes=NODES, cores=1, memory_bytes=10**9, walltime_s=600.0)
            request = JobRequest(share, places=NODES) if view.limits.shares else view.request(NODES, 600.0)
            return [Submit(now, view.next_tag(), request, why)]
        (job,) = view.jobs.values()
        idle = view.idle_nodes(job.tag)
        if not view.limits.shrinks or view.placeable or not idle or job.answering_nodes < job.request.per_node.nodes:
            return []
        return [Shrink(now, job.tag, tuple(idle), why)]


async def never(*_: object) -> None:
    await asyncio.sleep(10**6)


if __name__ == "__main__":
    PLANS[Narrowing.name] = Plan(Narrowing.name, "", Narrowing)
    if os.environ.get("FORGETFUL"):
        Shrinking._tell = never  # type: ignore[method-assign]
    main()
