"""`Jobs`: the jobs of a run, since when each waits, and what they held, from the run's records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from msgspec import Struct, field, structs

from headway.model.job import JobPhase, eligible_at
from headway.model.outcome import Outcome
from headway.model.records import Admit, Decision, Event, JobSeen, JobState, NodeUp, Release, Shrunk, Submit
from headway.model.resources import Resources

JobNews = Admit | JobSeen | JobState | NodeUp | Release | Shrunk
KINDS = tuple(str(each.__struct_config__.tag) for each in (Submit, Admit, JobSeen, JobState, NodeUp, Release, Shrunk))


class Job(Struct, frozen=True):
    """A job that was submitted, and what happened to it since; times are in seconds since the epoch."""

    submit: Submit  # once the job has ended, without the tasks that it was for
    seen: JobSeen | None = None  # what the batch system last said of it
    after_ended_at: float | None = None  # when the job that it follows ended
    admitted_at: float | None = None
    started_at: float | None = None
    ended_at: float | None = None  # or when it was given back
    is_given_back: bool = False
    given: int = 0  # nodes that it has given back
    given_at: float = 0.0  # when it last gave back nodes
    given_node_s: float = 0.0  # node-seconds that it had held by then
    more_cores: float = 0.0  # of whole nodes, beyond what it asked for
    billing: float | None = None  # billing units that it holds with all its nodes; None: the site has no prices

    @property
    def eligible_at(self) -> float | None:
        """Since when it waits for nodes; None: the job that it follows has not ended."""
        return eligible_at(self.submit.at, self.submit.after, self.after_ended_at, self.admitted_at)

    @property
    def waited_s(self) -> float | None:
        """Its queue wait; None if it has not started, or since when it waited is not known."""
        if self.started_at is None or self.eligible_at is None:
            return None
        return max(0.0, self.started_at - self.eligible_at)

    @property
    def expected_at(self) -> float | None:
        """When it is expected to start: by the batch system, else by our plan; None while it is held."""
        if self.seen is not None and self.seen.held:
            return None
        if self.seen is not None and self.seen.planned_at is not None:
            return self.seen.planned_at
        wait_s = self.submit.expected_wait_s
        return None if wait_s is None else self.submit.at + wait_s

    def held_node_s(self, now: float) -> float:
        """The node-seconds that it has held until now."""
        if self.started_at is None:
            return 0.0
        until = now if self.ended_at is None else self.ended_at
        nodes = self.submit.request.per_node.nodes - self.given
        return self.given_node_s + nodes * max(0.0, until - max(self.started_at, self.given_at))

    def held_core_s(self, now: float) -> float:
        """The core-seconds that it has held until now."""
        asked = self.submit.request.per_node
        return (asked.cores * asked.nodes + self.more_cores) * self._whole_s(now)

    def charged_s(self, now: float) -> float:
        """The billing units that it has held until now, times seconds."""
        return (self.billing or 0.0) * self._whole_s(now)

    def _whole_s(self, now: float) -> float:
        """For how long it would have held all its nodes, had it held as much; a damaged journal may say 0 nodes."""
        return self.held_node_s(now) / max(1, self.submit.request.per_node.nodes)


class Jobs(Struct):
    """Give it a run's records in order with `apply`."""

    known: dict[str, Job] = field(default_factory=dict)  # by tag, in the order of submission
    used_core_hours: float = 0.0  # by attempts, also failed ones
    _followers: dict[str, list[str]] = field(default_factory=dict)  # by the tag of a job that has not ended

    @classmethod
    def of(cls, records: Iterable[Event | Decision]) -> Self:
        """The jobs by some records, at least those of the `KINDS`."""
        jobs = cls()
        for record in records:
            jobs.apply(record)
        return jobs

    def apply(self, record: Event | Decision) -> None:
        """Take note of a record; one that is not about a known job changes nothing."""
        if isinstance(record, Submit):
            before = None if record.after is None else self.known.get(record.after)
            self.known[record.tag] = Job(record, after_ended_at=None if before is None else before.ended_at)
            if record.after is not None:
                self._followers.setdefault(record.after, []).append(record.tag)
        elif isinstance(record, JobNews) and record.tag in self.known:
            job = self.known[record.tag] = _after(self.known[record.tag], record)
            for tag in self._followers.pop(record.tag, ()) if job.ended_at is not None else ():
                self.known[tag] = structs.replace(self.known[tag], after_ended_at=job.ended_at)

    def used(self, given: Resources, outcome: Outcome) -> None:
        """Count an attempt that has ended."""
        self.used_core_hours += given.cores * given.nodes * (outcome.ended_at - outcome.started_at) / 3600

    def live(self) -> dict[str, Job]:
        """The jobs that wait or run, by tag."""
        return {tag: job for tag, job in self.known.items() if job.ended_at is None}

    def is_live(self, tag: str) -> bool:
        """Whether that job is known, and waits or runs."""
        return tag in self.known and self.known[tag].ended_at is None

    def waits_s(self) -> list[float]:
        """The known queue waits of all jobs that have started, in the order of their starts."""
        started = sorted(self.known.values(), key=lambda job: job.started_at or 0.0)
        return [job.waited_s for job in started if job.waited_s is not None]

    def held_core_hours(self, now: float) -> float:
        """The core-hours that all jobs have held until now."""
        return sum(job.held_core_s(now) for job in self.known.values()) / 3600

    def billing_hours(self, now: float) -> float | None:
        """The billing-hours (units that jobs held, times hours) until now; None if the site has no prices."""
        if all(job.billing is None for job in self.known.values()):
            return None
        return sum(job.charged_s(now) for job in self.known.values()) / 3600


def _after(job: Job, record: JobNews) -> Job:
    """The job after some news of it. Once it has ended, nodes that come up or go are not its own."""
    match record:
        case JobSeen():
            billing = job.billing if record.billing is None else record.billing
            return structs.replace(job, seen=record, billing=billing)
        case Release():
            return structs.replace(_ended(job, record.at), is_given_back=True)
        case JobState(phase=JobPhase.ENDED):
            return _ended(job, _since(record))
    return job if job.ended_at is not None else _while_live(job, record)


def _while_live(job: Job, record: JobNews) -> Job:
    match record:
        case Admit():
            return structs.replace(job, admitted_at=record.at)
        case NodeUp():
            more = max(0.0, record.capacity.cores - job.submit.request.per_node.cores)
            return structs.replace(job, more_cores=job.more_cores + more)
        case JobState(phase=JobPhase.RUNNING) if job.started_at is None:
            return structs.replace(job, started_at=_since(record))
        case Shrunk() if job.started_at is not None:
            held_s, given = job.held_node_s(record.at), job.given + len(record.nodes)
            return structs.replace(job, given=given, given_at=record.at, given_node_s=held_s)
    return job


def _ended(job: Job, at: float) -> Job:
    if job.ended_at is not None:
        return job
    return structs.replace(job, ended_at=at, submit=structs.replace(job.submit, tasks=(), meant_for=()))


def _since(record: JobState) -> float:
    return record.at if record.since is None else record.since
