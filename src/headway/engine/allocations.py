"""What a run has asked of its cluster: jobs, limits, queue snapshots and alarms."""

from __future__ import annotations

from msgspec import structs

from headway.model import records
from headway.model.job import JobPhase
from headway.model.records import Decision
from headway.model.resources import Resources
from headway.planning.base import JobStatus

Asked = records.Submit | records.AskQueue | records.QueueRead | records.WakeAt | records.Tick
OfAllocations = Asked | records.Release | records.JobState | records.JobSeen | records.Resumed


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

    def apply(self, record: OfAllocations) -> None:
        """Update jobs, snapshot and alarm by a record."""
        match record:
            case records.Submit():
                self.jobs[record.tag] = self._live[record.tag] = JobStatus(record)
                self.queue = None  # the snapshot does not show this job
            case records.Release():
                self.jobs[record.tag].released = True
                self._live.pop(record.tag, None)
            case records.JobState():
                self._update(self.jobs[record.tag], record)
            case records.JobSeen():
                self._see(self.jobs[record.tag], record)
            case records.AskQueue():
                self._asking = True
            case records.QueueRead():
                self._asking, self.queue = False, record
            case records.WakeAt():
                self.wakes_at, self.alarm_set_at = record.until, record.at
            case records.Tick():
                if self.wakes_at is not None and record.at >= self.wakes_at:
                    self.wakes_at = None
            case records.Resumed():  # pending snapshots and alarms went with the last manager
                self._asking = False
                self.wakes_at = self.alarm_set_at = None

    def _see(self, job: JobStatus, record: records.JobSeen) -> None:
        job.granted = record.phase is JobPhase.RUNNING
        job.request = job.asked
        if record.walltime_s is not None:
            job.request = structs.replace(job.asked, per_node=job.asked.per_node.replace(walltime_s=record.walltime_s))
        if job.suspended is not record.suspended:
            job.suspended, job.changed_at = record.suspended, record.at

    def _update(self, job: JobStatus, record: records.JobState) -> None:
        at = record.at if record.since is None else record.since
        if record.phase is JobPhase.RUNNING and job.started_at is None:
            job.started_at, job.changed_at = at, record.at
        elif record.phase is JobPhase.ENDED:
            job.ended_at, job.changed_at = at, record.at
            job.excused, job.suspended = record.excused, False
            self._live.pop(record.tag, None)
        job.phase = record.phase

    def is_under_way(self, decision: Decision) -> bool:
        """Whether the decision is pointless: a snapshot is on its way, or the alarm is set for then or earlier."""
        if isinstance(decision, records.WakeAt):
            return self.wakes_at is not None and self.wakes_at <= decision.until
        return self._asking and isinstance(decision, records.AskQueue)
