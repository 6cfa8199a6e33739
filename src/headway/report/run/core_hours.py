"""The core-hours that a run's jobs held, and those in which its tasks ran."""

from __future__ import annotations

from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Outcome
from headway.model.records import JobState, Submit
from headway.model.resources import Resources
from headway.report.words import share


class CoreHours:
    """Told of jobs and attempts as they begin and end, in seconds since the epoch."""

    def __init__(self) -> None:
        self.used = 0.0  # by attempts, also failed ones
        self._held_s = 0.0  # by jobs that have ended
        self._asked: dict[str, JobRequest] = {}
        self._since: dict[str, float] = {}  # when jobs that run began

    def submit(self, record: Submit) -> None:
        """Note the cores that a job asks for."""
        self._asked[record.tag] = record.request

    def job_state(self, record: JobState) -> None:
        """Note when a job began or ended."""
        at = record.at if record.since is None else record.since
        if record.phase is JobPhase.RUNNING:
            self._since.setdefault(record.tag, at)
        elif record.phase is JobPhase.ENDED:
            self.end(record.tag, at)

    def end(self, tag: str, at: float) -> None:
        """Count a job that ends."""
        began = self._since.pop(tag, at)
        self._held_s += self._cores(tag) * max(0.0, at - began)

    def attempt(self, given: Resources, outcome: Outcome) -> None:
        """Count an attempt."""
        self.used += given.cores * given.nodes * (outcome.ended_at - outcome.started_at) / 3600

    def held(self, now: float) -> float:
        """What all jobs have held until now."""
        running_s = sum(self._cores(tag) * max(0.0, now - began) for tag, began in self._since.items())
        return (self._held_s + running_s) / 3600

    def _cores(self, tag: str) -> float:
        asked = self._asked[tag].per_node
        return asked.cores * asked.nodes

    def sentence(self, now: float) -> str:
        """One sentence; empty if no job has run."""
        held = self.held(now)
        if not held:
            return ""
        return f"jobs held {held:.3g} core-hours; tasks ran in {share(min(1.0, self.used / held))} of them"
