"""Recorders: each collects one kind of lesson from a run's records, and writes it to the history."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable
from typing import Any

from headway.history.base import KeptWait
from headway.history.sql import History
from headway.journal.story.jobs import Jobs
from headway.model.observation import Observation
from headway.model.outcome import Ending, Outcome
from headway.model.records import (
    Decision,
    Event,
    HistoryKey,
    JobState,
    Launch,
    SeenWait,
    Submit,
    TaskEnded,
    TaskReported,
)
from headway.model.task import Task
from headway.sizing.observing import run_s


class Recorder(ABC):
    """Notes a run's records one by one; `RunHistory` decides when pending items are written, and handles all errors."""

    most_pending = 500  # if so many items are pending, they are written at once
    longest_s = 5.0  # otherwise after this time

    def __init__(self, key: HistoryKey) -> None:
        self.key = key
        self.pending: list[Any] = []
        self._launches: dict[str, Launch] = {}  # of the attempts that are running, by task

    @abstractmethod
    def note(self, record: Event | Decision) -> None:
        """Collect what the record teaches."""

    @abstractmethod
    def write(self, history: History) -> None:
        """Write all pending items in one transaction; those that the history has already stay as they are."""

    def written(self) -> None:
        """Forget the pending items, which are in the history now."""
        self.pending.clear()

    def ended(self, record: Event | Decision) -> tuple[Launch, Outcome] | None:
        """Follow the attempts; return the one that this record ends, unless it was given up as lost before."""
        if isinstance(record, Launch):
            self._launches[record.task] = record
        if not isinstance(record, TaskEnded):
            return None
        launch = self._launches.get(record.outcome.task)
        if launch is None or launch.attempt != record.outcome.attempt:
            return None
        return self._launches.pop(launch.task), record.outcome


class AttemptRecorder(Recorder):
    """Records the attempts that ended through the task itself, not through a lost node or a cancelled run."""

    def __init__(self, key: HistoryKey, run: str, task: Callable[[str], Task | None]) -> None:
        """`run` is the run's uid, `task` finds a task by its id, unless that is forgotten."""
        super().__init__(key)
        self._run = run
        self._task = task
        self._saved_s: defaultdict[str, float] = defaultdict(float)  # by task: as in `TaskState`

    def note(self, record: Event | Decision) -> None:
        if isinstance(record, TaskReported):
            self.pending.append(record.observation)
        ended = self.ended(record)
        if ended is not None and ended[1].ending is Ending.SAVED:
            self._saved_s[ended[0].task] += run_s(ended[1])
        elif ended is not None and not ended[1].ending.blameless:
            launch, outcome = ended[0], ended[1].after(self._saved_s[ended[0].task])
            task = self._task(launch.task)
            if task is None:
                return
            self.pending.append(
                Observation(
                    task.category,
                    self._run,
                    outcome.task,
                    outcome.attempt,
                    outcome.ending,
                    outcome.started_at,
                    outcome.ended_at,
                    launch.resources,
                    outcome.usage,
                    task.input_bytes,
                    task.hints,
                )
            )

    def write(self, history: History) -> None:
        history.add(self.key.site, self.key.workflow, self.pending, self.key.origin)


class WaitRecorder(Recorder):
    """Records how long jobs waited in the queue: from their submission, or from their predecessor's end if later."""

    longest_s = 0.0  # runs beside this one should know at once

    def __init__(self, key: HistoryKey, run: str) -> None:
        super().__init__(key)
        self._run = run
        self._jobs = Jobs()

    def note(self, record: Event | Decision) -> None:
        before = self._jobs.known.get(record.tag) if isinstance(record, JobState) else None
        self._jobs.apply(record)
        if before is not None and before.started_at is None:
            job = self._jobs.known[before.submit.tag]
            # A job that was admitted had a rank before: its wait is not that of a job that is submitted.
            if job.waited_s is not None and job.admitted_at is None:
                self._waited(job.submit, job.waited_s)

    def _waited(self, job: Submit, waited_s: float) -> None:
        size = job.request.per_node
        # The queue's own plan was read at submission; it says nothing about a wait that began later.
        estimate_s = job.wait_estimate_s if job.after is None else None
        wait = SeenWait(size.nodes, size.walltime_s or 0.0, estimate_s, waited_s)
        self.pending.append(KeptWait(self._run, job.tag, "", job.at, wait))

    def write(self, history: History) -> None:
        history.add_waits(self.key.site, self.pending)
