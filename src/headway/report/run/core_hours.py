"""The core-hours that a run's jobs held, those in which its tasks ran, and the billing units that jobs were charged."""

from __future__ import annotations

from msgspec import Struct, field

from headway.model.job import JobPhase, JobRequest
from headway.model.outcome import Outcome
from headway.model.records import JobSeen, JobState, NodeUp, Shrunk, Submit
from headway.model.resources import Resources
from headway.report.words import share


class CoreHours(Struct):
    """Told of jobs and attempts as they begin and end, in seconds since the epoch."""

    used: float = 0.0  # by attempts, also failed ones
    _held_s: float = 0.0  # by jobs that have ended
    _charged_s: float = 0.0  # the same in billing units
    _billing: dict[str, float] = field(default_factory=dict)  # that jobs hold, where the site has prices
    _more: dict[str, float] = field(default_factory=dict)  # cores of whole nodes beyond what jobs asked for
    _asked: dict[str, JobRequest] = field(default_factory=dict)
    _left: dict[str, float] = field(default_factory=dict)  # the share of their nodes that jobs still have
    _since: dict[str, float] = field(default_factory=dict)  # when jobs that run began

    def submit(self, record: Submit) -> None:
        """Note the cores that a job asks for."""
        self._asked[record.tag] = record.request

    def job_state(self, record: JobState) -> None:
        """Note when a job began or ended."""
        at = record.at if record.since is None else record.since
        if record.phase is JobPhase.RUNNING and record.tag in self._asked:
            self._since.setdefault(record.tag, at)
        elif record.phase is JobPhase.ENDED:
            self.end(record.tag, at)

    def job_seen(self, record: JobSeen) -> None:
        """Note what a job is charged."""
        if record.billing is not None:
            self._billing[record.tag] = record.billing

    def node_up(self, record: NodeUp) -> None:
        """Note the cores that a job has on a node."""
        if record.tag in self._asked:
            more = max(0.0, record.capacity.cores - self._asked[record.tag].per_node.cores)
            self._more[record.tag] = self._more.get(record.tag, 0.0) + more

    def end(self, tag: str, at: float) -> None:
        """Count a job that ends."""
        began = self._since.pop(tag, at)
        self._held_s += self._cores(tag) * max(0.0, at - began)
        self._charged_s += self._price(tag) * max(0.0, at - began)

    def shrunk(self, record: Shrunk) -> None:
        """Count the nodes that a running job has given back."""
        if record.tag in self._since:
            self.end(record.tag, record.at)  # and goes on with the rest
            self._since[record.tag] = record.at
            given = len(record.nodes) / self._asked[record.tag].per_node.nodes
            self._left[record.tag] = self._left.get(record.tag, 1.0) - given

    def attempt(self, given: Resources, outcome: Outcome) -> None:
        """Count an attempt."""
        self.used += given.cores * given.nodes * (outcome.ended_at - outcome.started_at) / 3600

    def held(self, now: float) -> float:
        """What all jobs have held until now."""
        running_s = sum(self._cores(tag) * max(0.0, now - began) for tag, began in self._since.items())
        return (self._held_s + running_s) / 3600

    def charged(self, now: float) -> float | None:
        """The billing-hours (units that jobs held, times hours) until now; None if the site has no prices."""
        if not self._billing:
            return None
        running_s = sum(self._price(tag) * max(0.0, now - began) for tag, began in self._since.items())
        return (self._charged_s + running_s) / 3600

    def _cores(self, tag: str) -> float:
        asked = self._asked[tag].per_node
        return (asked.cores * asked.nodes + self._more.get(tag, 0.0)) * self._left.get(tag, 1.0)

    def _price(self, tag: str) -> float:
        return self._billing.get(tag, 0.0) * self._left.get(tag, 1.0)

    def sentence(self, now: float) -> str:
        """One sentence; empty if no job has run."""
        held = self.held(now)
        if not held:
            return ""
        charged = self.charged(now)
        price = "" if charged is None else f"; they are charged about {charged:.3g} billing-hours"
        return f"jobs held {held:.3g} core-hours; tasks ran in {share(min(1.0, self.used / held))} of them{price}"
