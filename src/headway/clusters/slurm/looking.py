"""How often the queue is looked at for the jobs of a run: seldom, unless the answer decides something."""

from __future__ import annotations

from typing import NamedTuple

from headway.clusters.slurm.options import SELDOM
from headway.model.job import JobPhase


class Jobs(NamedTuple):
    """What is known of the jobs that are not over."""

    states: frozenset[tuple[str, JobPhase, str]]  # by tag, with the batch system's words
    runs: bool  # whether one of them runs
    decides: bool  # whether something waits for the queue's answer: a lost submission, a missing job, a cause of an end
    unseen_since: float | None = None  # when the first job was submitted of those that wait and no look has shown yet


class Looking:
    """The interval after which the queue is looked at again.

    Jobs themselves report starts and ends through their marks, so that the queue is only asked for what marks cannot
    tell: why a job waits, and that it was cancelled or lost its node. The interval is short while something depends on
    the answer and after a change of why a job waits, usual while a job runs, and doubles up to five times the usual one
    while all jobs wait and nothing changes. A job that was submitted since the last look, and waits, is looked for
    after the short interval.
    """

    def __init__(self, usual_s: float, urgent_s: float) -> None:
        self._usual_s = usual_s
        self._urgent_s = urgent_s
        self._jobs = Jobs(frozenset(), runs=False, decides=False)
        self._look_at: float | None = None
        self._unchanged = 0  # looks in a row that brought nothing new

    def note(self, look_at: float | None, jobs: Jobs) -> None:
        """Take note of what is known after the look at the queue at that time, or after later news from marks."""
        reasons = {state for state in jobs.states if state[1] is JobPhase.PENDING and state[2]}
        if reasons - self._jobs.states:
            self._unchanged = 0
        elif look_at != self._look_at:
            self._unchanged += 1
        self._jobs, self._look_at = jobs, look_at

    def interval_s(self) -> float:
        """Seconds from one look to the next."""
        if self._jobs.decides or not self._unchanged:
            return self._urgent_s
        interval_s = self._usual_s * (1.0 if self._jobs.runs else min(2.0 ** (self._unchanged - 1), SELDOM))
        if self._jobs.unseen_since is None or self._look_at is None:
            return interval_s
        return min(interval_s, max(0.0, self._jobs.unseen_since - self._look_at) + self._urgent_s)
