"""What a run has asked of its cluster: jobs, limits, queue snapshots and alarms."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence

from msgspec import structs

from headway.model import records
from headway.model.job import JobPhase, Wish
from headway.model.records import Decision
from headway.model.resources import Resources
from headway.planning.base import JobStatus
from headway.planning.requested_time import MARGIN_S

_PLANS_EVERY_S = 15.0  # while tasks are added one after the other and there are jobs for them

Asked = records.Submit | records.AskQueue | records.QueueRead | records.WakeAt | records.Tick
OfJobs = records.Release | records.Admit | records.Shrink | records.Shrunk | records.JobState | records.JobSeen
OfAllocations = Asked | OfJobs | records.Resumed


class Allocations:
    """The jobs by tag, the site's limits, the last queue snapshot and the alarm: what a planner sees besides tasks."""

    def __init__(self) -> None:
        self.jobs: dict[str, JobStatus] = {}
        self._live: dict[str, JobStatus] = {}  # the jobs that wait or run
        self.ended: Counter[str] = Counter()  # by task: jobs that were submitted for it and have ended
        self._by_share: dict[str, list[JobStatus]] = {}  # of a pool
        self.given: dict[str, list[str]] = {}  # by job, nodes that it was to give back
        self.giving: dict[str, list[str]] = {}  # those of which nothing tells yet that it did
        # By the wish of tasks. None stands for all tasks whose wish has no limits of its own.
        self.sites: dict[Wish | None, records.LimitsRead] = {None: records.LimitsRead(0.0, Resources())}
        self.queues: dict[Wish | None, records.QueueRead] = {}  # the last snapshots; a submission makes them stale
        self.alarms: dict[Wish | None, records.WakeAt] = {}
        self._asking: set[Wish | None] = set()  # where a snapshot of the queue is on its way
        self.opening_s = 0  # how much longer than `MARGIN_S` the first node of a job has taken to answer, at most
        self._resumed_at = 0.0

    @property
    def live(self) -> list[JobStatus]:
        """The jobs that wait or run."""
        return list(self._live.values())

    def jobs_with(self, wish: Wish | None) -> tuple[Mapping[str, JobStatus], Sequence[JobStatus], records.LimitsRead]:
        """The jobs for tasks with a wish, those that wait or run, and what the site allows beside jobs for others."""
        site = self.sites[wish]
        if len(self.sites) == 1:
            return self.jobs, self.live, site
        live = [job for job in self._live.values() if job.request.wish == wish]
        if site.most_jobs is not None:
            site = structs.replace(site, most_jobs=max(0, site.most_jobs - len(self._live) + len(live)))
        return {tag: job for tag, job in self.jobs.items() if job.request.wish == wish}, live, site

    def apply(self, record: OfAllocations) -> None:
        """Update jobs, snapshot and alarm by a record."""
        match record:
            case records.Submit():
                before = None if record.after is None else self.jobs.get(record.after)
                self.jobs[record.tag] = self._live[record.tag] = JobStatus(record, before)
                for share in record.shares:
                    self._by_share.setdefault(share, []).append(self.jobs[record.tag])
                self.queues = {}  # the snapshots do not show this job
            case records.Release():
                self._release(self.jobs[record.tag], record.at)
            case records.Admit():
                self.jobs[record.tag].admitted_at = record.at
                self.queues = {}  # the snapshots show this job as one that is held back
            case records.Shrink():
                self._shrink(self.jobs[record.tag], record)
            case records.Shrunk():
                self._shrunk(record)
            case records.JobState():
                self._update(self.jobs[record.tag], record)
            case records.JobSeen():
                self._see(self.jobs[record.tag], record)
            case records.AskQueue():
                self._asking.add(record.wish)
            case records.QueueRead():
                self._asking.discard(record.wish)
                self.queues[record.wish] = record
            case records.WakeAt() | records.Tick() | records.Resumed():
                self._set_alarms(record)

    def _set_alarms(self, record: records.WakeAt | records.Tick | records.Resumed) -> None:
        match record:
            case records.WakeAt():
                self.alarms[record.wish] = record
            case records.Tick():
                self.alarms = {wish: alarm for wish, alarm in self.alarms.items() if record.at < alarm.until}
            case records.Resumed():  # pending snapshots and alarms went with the last manager
                self._asking = set()
                self.alarms = {}
                self._resumed_at = record.at

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
            self._opened(job, record.at - at)
        elif record.phase is JobPhase.ENDED:
            if record.expired and job.started_at is None:
                self._opened(job, job.request.per_node.walltime_s or 0.0)
            if job.phase is not record.phase:
                self.ended.update(job.tasks.keys())
            job.ended_at, job.changed_at = at, record.at
            job.excused, job.suspended = record.excused, False
            self._over(record.tag)
        job.phase = record.phase

    def _opened(self, job: JobStatus, took_s: float) -> None:
        """The first node of a job answered after so long, or none did although the job lasted so long.

        The next jobs last longer by that: jobs for short tasks would otherwise end before a slow node can start one,
        each like the one before. What lies before a resume does not count: nodes may have waited for a manager.
        """
        if job.submitted_at >= self._resumed_at:
            self.opening_s = max(self.opening_s, math.ceil(took_s - MARGIN_S))

    def _release(self, job: JobStatus, at: float) -> None:
        job.released = True
        if job.ended_at is None:
            job.ended_at = at
        self._over(job.tag)

    def _shrink(self, job: JobStatus, record: records.Shrink) -> None:
        nodes = record.nodes
        job.core_s_before, job.shrunk_at = job.core_s(record.at), record.at
        job.asked, job.request = job.asked.without(len(nodes)), job.request.without(len(nodes))
        job.answering_nodes -= len(nodes)
        self.given.setdefault(job.tag, []).extend(nodes)
        self.giving.setdefault(job.tag, []).extend(nodes)

    def _shrunk(self, record: records.Shrunk) -> None:
        self.giving[record.tag] = [node for node in self.giving.get(record.tag, []) if node not in record.nodes]
        self.queues = {}  # the snapshots do not show the free nodes
        if record.refused:
            self.giving = {}
            self.sites = {wish: structs.replace(site, shrinks=False) for wish, site in self.sites.items()}

    def _over(self, tag: str) -> None:
        """A job waits and runs no more; where there is a limit on jobs, there is room for one with another wish."""
        self._live.pop(tag, None)
        if len(self.sites) > 1:
            self.alarms = {}

    def core_hours(self, now: float) -> float:
        """The core-hours that all jobs have held until now."""
        return sum(job.core_s(now) for job in self.jobs.values()) / 3600

    def node_s(self, share: str, now: float) -> tuple[float, float]:
        """The node-seconds of the jobs for a share of a pool that have started: asked for, and held until now."""
        asked_s = held_s = 0.0
        for job in self._by_share.get(share, ()):
            if job.started_at is not None:
                each = job.submitted.per_node
                cores = self.sites[job.request.wish if job.request.wish in self.sites else None].limits.cores or 1.0
                asked_s += each.nodes * each.cores / cores * (each.walltime_s or 0.0) / len(job.shares)
                held_s += job.core_s(now) / cores / len(job.shares)
        return asked_s, held_s

    def held_until(self, core_hours: float, now: float) -> float:
        """When all jobs will have held so many core-hours, if none starts, ends or shrinks before that."""
        running = [job.request.per_node for job in self._live.values() if job.started_at is not None]
        cores = sum(each.cores * each.nodes for each in running)
        return now + 3600 * (core_hours - self.core_hours(now)) / cores if cores else math.inf

    def is_under_way(self, decision: Decision) -> bool:
        """Whether the decision is pointless: a snapshot is on its way, or the alarm is set for then or earlier."""
        if isinstance(decision, records.WakeAt):
            return decision.wish in self.alarms and self.alarms[decision.wish].until <= decision.until
        return isinstance(decision, records.AskQueue) and decision.wish in self._asking

    @property
    def wakes_at(self) -> float | None:
        """When the next alarm is due, if one is set."""
        return min((alarm.until for alarm in self.alarms.values()), default=None)

    def plan_soon(self, wish: Wish | None, now: float) -> None:
        """Bring an alarm forward: a task was added. Without a job the planner is called at once, otherwise soon."""
        alarm = self.alarms.get(wish)
        if alarm is None:
            return
        due = alarm.at + _PLANS_EVERY_S if self._live else now
        if due <= now:
            del self.alarms[wish]
        elif due < alarm.until:
            self.alarms[wish] = structs.replace(alarm, until=due)

    def plan_again(self, wish: Wish | None) -> None:
        """Let the planner be called for tasks with a wish before its alarm: tasks were made ready by others."""
        self.alarms.pop(wish, None)
