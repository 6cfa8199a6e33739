"""One job for everything, of the width that is expected to be through first."""

from __future__ import annotations

from headway.grouping.list_schedule import makespans
from headway.model.job import JobPhase, JobRequest
from headway.model.records import AskQueue, Decision, Figure, QueueRead, Release, Submit, Why
from headway.planning.base import Estimate, Planner, View
from headway.planning.requested_time import requested_s
from headway.waiting.scheduler_estimate import waits_s


class OneJob(Planner):
    """Submits all that remains as one job, of all numbers of nodes the one with the least wait and run time (002 §5.2).

    The run time is that of a list schedule, the wait what the queue's current plan says. Of equals, the fewest nodes.
    """

    name = "one-job"

    def __init__(self, estimate: Estimate) -> None:
        self._estimate = estimate

    def plan(self, view: View, now: float) -> list[Decision]:
        live = view.live
        if not view.unfinished:
            return [Release(now, job.tag, Why(self.name, "no-more-work")) for job in live]
        if live or not view.wanting:
            return []
        if view.queue is None:
            return [AskQueue(now)]
        return [self._submit(view, view.queue, now)]

    def _submit(self, view: View, queue: QueueRead, now: float) -> Submit:
        remaining = view.remaining()
        expired = sum(job.phase is JobPhase.ENDED for job in view.jobs.values())
        widths = range(1, min(max(view.workflow.widths(), default=1), view.limits.limits.nodes) + 1)
        spans_s = makespans(remaining, self._estimate, widths)
        asked_s = [requested_s(span_s, expired) for span_s in spans_s]
        waited_s = waits_s(queue, widths, asked_s)
        totals_s = [wait_s + span_s for wait_s, span_s in zip(waited_s, spans_s, strict=True)]
        best = min(range(len(totals_s)), key=lambda index: (totals_s[index], index))
        request = JobRequest(view.limits.limits.replace(nodes=widths[best], walltime_s=asked_s[best]))
        figures: dict[str, Figure] = {
            "expected_s": spans_s[best],
            "wait_s": waited_s[best],
            "widths": len(widths),
            "expired": expired,
        }
        return Submit(now, view.next_tag(), request, Why(self.name, "soonest-through", figures))
