"""The planner of local runs: one allocation of everything."""

from __future__ import annotations

from headway.model.job import JobRequest
from headway.model.records import Decision, Release, Submit, Why
from headway.planning.base import Planner, View


class OneAllocation(Planner):
    """Holds one allocation of everything that the run may use, as long as there is work."""

    name = "one-allocation"

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        if view.wanting and not live:
            why = Why(self.name, "work-and-no-nodes", {"tasks": view.wanting, "jobs": len(view.jobs)})
            return [Submit(now, view.next_tag(), JobRequest(view.limits.limits), why, role="whole-run")]
        if not view.unfinished:
            why = Why(self.name, "no-more-work")
            return [Release(now, job.tag, why) for job in live]
        return []
