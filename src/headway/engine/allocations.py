"""What a run has asked of its cluster: jobs, limits, queue snapshots and alarms."""

from __future__ import annotations

from headway.model import records
from headway.model.job import JobPhase
from headway.model.records import Decision
from headway.model.resources import Resources
from headway.planning.base import JobStatus


class Allocations:
    """The jobs by tag, the site's limits, the last queue snapshot and the alarm: what a planner sees besides tasks."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobStatus] = {}
        self._live: dict[str, JobStatus] = {}  # the jobs that wait or run
        self.site = records.LimitsRead(0.0, Resources())
        self.queue: records.QueueRead | None = None  # the last snapshot; None after a submission, which makes it stale
        self.wakes_at: float | None = None
        self.alarm_set_at: float | None = None
        self._asking = False  # whether a snapshot of the queue is on its way

    @property
    def live(self) -> list[JobStatus]:
        """The jobs that wait or run."""
        return list(self._live.values())

    def submit(self, record: records.Submit) -> None:
        """Add a job."""
        self.jobs[record.tag] = self._live[record.tag] = JobStatus(record)
        self.queue = None  # the snapshot does not show this job

    def release(self, tag: str) -> None:
        """Mark a job as released."""
        self.jobs[tag].released = True
        self._live.pop(tag, None)

    def state(self, record: records.JobState) -> JobStatus:
        """Update a job by its reported state, and return it."""
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
        """Note that a snapshot of the queue is on its way."""
        self._asking = True

    def read(self, queue: records.QueueRead) -> None:
        """Take a snapshot of the queue."""
        self._asking = False
        self.queue = queue

    def wake(self, record: records.WakeAt) -> None:
        """Set the alarm."""
        self.wakes_at, self.alarm_set_at = record.until, record.at

    def tick(self, at: float) -> None:
        """Clear the alarm, if its time has come."""
        if self.wakes_at is not None and at >= self.wakes_at:
            self.wakes_at = None

    def resumed(self) -> None:
        """Forget pending snapshots and alarms: they went with the last manager."""
        self._asking = False
        self.wakes_at = self.alarm_set_at = None

    def is_under_way(self, decision: Decision) -> bool:
        """Whether the decision is pointless: a snapshot is on its way, or the alarm is set for then or earlier."""
        if isinstance(decision, records.WakeAt):
            return self.wakes_at is not None and self.wakes_at <= decision.until
        return self._asking and isinstance(decision, records.AskQueue)
