"""What a run has asked of its cluster: allocations, limits, looks at the queue, and alarms."""

from __future__ import annotations

from headway.model import records
from headway.model.job import JobPhase
from headway.model.records import Decision
from headway.model.resources import Resources
from headway.planning.base import JobStatus


class Allocations:
    """The jobs by tag, and all else that a planner decides by which is not about tasks."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobStatus] = {}
        self._live: dict[str, JobStatus] = {}  # those of them that wait or run
        self.site = records.LimitsRead(0.0, Resources())
        self.queue: records.QueueRead | None = None  # the last look, as long as it tells of our jobs as they are
        self.wakes_at: float | None = None
        self.alarm_set_at: float | None = None
        self._asking = False  # for a look at the queue

    @property
    def live(self) -> list[JobStatus]:
        """Those that wait or run."""
        return list(self._live.values())

    def submit(self, record: records.Submit) -> None:
        """A job was asked for."""
        self.jobs[record.tag] = self._live[record.tag] = JobStatus(record)
        self.queue = None  # it is longer now

    def release(self, tag: str) -> None:
        """A job was given back."""
        self.jobs[tag].released = True
        self._live.pop(tag, None)

    def state(self, record: records.JobState) -> JobStatus:
        """A job started or ended, or more is known of it."""
        job = self.jobs[record.tag]
        at = record.at if record.since is None else record.since
        if record.phase is JobPhase.RUNNING and job.started_at is None:
            job.started_at, job.changed_at = at, record.at
        elif record.phase is JobPhase.ENDED:
            job.ended_at, job.changed_at = at, record.at
            self._live.pop(record.tag, None)
        job.phase = record.phase
        return job

    def asked(self) -> None:
        """Somebody is looking at the queue."""
        self._asking = True

    def read(self, queue: records.QueueRead) -> None:
        """Somebody has looked."""
        self._asking = False
        self.queue = queue

    def wake(self, record: records.WakeAt) -> None:
        """An alarm was set."""
        self.wakes_at, self.alarm_set_at = record.until, record.at

    def tick(self, at: float) -> None:
        """An alarm goes off, if it is time."""
        if self.wakes_at is not None and at >= self.wakes_at:
            self.wakes_at = None

    def resumed(self) -> None:
        """Whoever was to look, and to wake us, is gone."""
        self._asking = False
        self.wakes_at = self.alarm_set_at = None

    def is_under_way(self, decision: Decision) -> bool:
        """Whether somebody is looking at the queue already, or the alarm is set for then or earlier."""
        if isinstance(decision, records.WakeAt):
            return self.wakes_at is not None and self.wakes_at <= decision.until
        return self._asking and isinstance(decision, records.AskQueue)
