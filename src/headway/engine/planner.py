"""Which allocation to ask for next, and when to give one back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection

from msgspec import Struct

from headway.engine.state import JobStatus
from headway.model.job import JobRequest
from headway.model.records import Decision, Release, Submit, Why
from headway.model.resources import Resources


class View(Struct, frozen=True):
    """What a planner sees of the run."""

    uid: str
    unfinished: int  # tasks that may still have to run
    wanting: int  # tasks that need a node now
    jobs: Collection[JobStatus]
    limits: Resources


class Planner(ABC):
    """Asks for allocations and gives them back. Called whenever something happened."""

    name: str

    @abstractmethod
    def plan(self, view: View, now: float) -> list[Decision]:
        """The submissions and releases that are due now."""


class OneAllocation(Planner):
    """Holds one allocation of everything that may be used, as long as there is work: the local machine."""

    name = "one-allocation"

    def plan(self, view: View, now: float) -> list[Decision]:
        live = [job for job in view.jobs if job.live]
        if view.wanting and not live:
            tag = f"headway-{view.uid}-{len(view.jobs) + 1}"
            why = Why(self.name, "work-and-no-nodes", {"tasks": view.wanting, "jobs": len(view.jobs)})
            return [Submit(now, tag, JobRequest(view.limits), why)]
        if not view.unfinished:
            why = Why(self.name, "no-more-work")
            return [Release(now, job.tag, why) for job in live]
        return []
