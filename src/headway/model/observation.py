"""`Observation`: one attempt as later runs remember it."""

from __future__ import annotations

from msgspec import Struct

from headway.model.outcome import Ending, Outcome, Usage
from headway.model.resources import Resources
from headway.model.task import Task


class Observation(Struct, frozen=True, array_like=True, gc=False):
    """What an attempt was given, what it used and how it ended: enough for any sizer to learn from.

    `run` is the uid of the run that made it; run, task and attempt together name one observation for ever.
    """

    category: str
    run: str
    task: str
    attempt: int
    ending: Ending
    started_at: float
    ended_at: float
    given: Resources
    usage: Usage = Usage()
    input_bytes: int | None = None
    hints: dict[str, float] = {}

    def as_task(self) -> Task:
        """The task, as far as anybody learns from it."""
        return Task(self.task, self.category, "", hints=self.hints, input_bytes=self.input_bytes)

    def as_outcome(self) -> Outcome:
        """How it ended."""
        return Outcome(self.task, self.attempt, self.ending, self.started_at, self.ended_at, self.usage)
