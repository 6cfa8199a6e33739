"""`Observation`: one attempt as the history keeps it for later runs."""

from __future__ import annotations

from msgspec import Struct

from headway.model.outcome import Ending, Outcome, Usage
from headway.model.resources import Resources
from headway.model.task import Task

MOST_AMOUNT = 2.0**62  # more than any machine has of anything, in bytes
LATEST_S = 1e11  # in the year 5138
_MEASURED = tuple(name for name in Usage.__struct_fields__ if name != "method")


class Observation(Struct, frozen=True, array_like=True, gc=False):
    """What an attempt was given, what it used and how it ended: all that a sizer learns from.

    `run` is the uid of the run; run, task and attempt together identify an observation.
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

    @property
    def is_possible(self) -> bool:
        """Whether its figures can be true. What stands in a damaged history, or another program reports, may not be."""
        measured = [getattr(self.usage, name) for name in _MEASURED]
        amounts = [
            *self.given.amounts().values(),
            *self.hints.values(),
            *(each.value for each in measured if each is not None),
            self.input_bytes,
        ]
        return (
            self.attempt > 0
            and abs(self.started_at) <= LATEST_S
            and abs(self.ended_at) <= LATEST_S
            and all(0 <= amount <= MOST_AMOUNT for amount in amounts if amount is not None)
        )

    def as_task(self) -> Task:
        """A task with the fields that policies learn from."""
        return Task(self.task, self.category, "", hints=self.hints, input_bytes=self.input_bytes)

    def as_outcome(self) -> Outcome:
        """The outcome of the attempt."""
        return Outcome(self.task, self.attempt, self.ending, self.started_at, self.ended_at, self.usage)
