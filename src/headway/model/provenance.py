"""`Provenance`: what a run did, attempt by attempt, for programs that record where results come from."""

from __future__ import annotations

from msgspec import Struct, field

from headway.model.outcome import Ending, Outcome, Stamp
from headway.model.resources import Resources
from headway.model.task import Task


class Execution(Struct):
    """An attempt at a task: where it ran, what it was given, and how it ended."""

    task: Task
    attempt: int
    run: str  # the number of the run that made the attempt: of a reused result an earlier one
    node: str
    given: Resources
    command: str  # as it was run
    started_at: float
    outcome: Outcome | None = None
    lost: str = ""  # why it has no outcome, if its node was lost

    @property
    def ended_at(self) -> float | None:
        """When it ended, if that is known."""
        return self.outcome.ended_at if self.outcome else None

    @property
    def succeeded(self) -> bool:
        """Whether it has made the task's result."""
        return self.outcome is not None and self.outcome.ending is Ending.SUCCESS


class Provenance(Struct):
    """A run with all its attempts. `state` is that of the run: `succeeded`, `failed`, `stopped`, `running`, …"""

    run: str
    uid: str
    name: str
    version: str  # of Headway
    state: str
    started_at: float
    ended_at: float  # the last that is known of it
    settings: list[str] = field(default_factory=list)  # sentences
    config: dict[str, str | list[str]] = field(default_factory=dict)  # values that the workflow file's tasks used
    tasks: dict[str, Task] = field(default_factory=dict)
    executions: dict[str, list[Execution]] = field(default_factory=dict)  # by task, in the order of their starts
    failures: dict[str, str] = field(default_factory=dict)  # by task that failed for good: why
    reused: dict[str, str] = field(default_factory=dict)  # by task: the run whose result was taken
    read: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by task: its input files
    stamps: dict[str, Stamp] = field(default_factory=dict)  # by path: size and time of a file when it was last seen

    @property
    def ended(self) -> bool:
        """Whether the run is over, or stopped."""
        return self.state in ("succeeded", "failed", "stopped")
