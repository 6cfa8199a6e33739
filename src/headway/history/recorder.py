"""`Recorder`: what a run teaches, written to the history as it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from headway.history.base import History, HistoryBusyError
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.records import Decision, Event, HistoryKey, Launch, TaskEnded
from headway.model.resources import Resources
from headway.model.task import Task

_MOST_WAITING = 500  # observations that wait to be written,
_LONGEST_WAIT_S = 5.0  # and how long
_PAUSE_S = 60.0  # after others were writing for so long that the run would have been held up
_LAST_TRIES = 5


class Recorder:
    """Observer of a run: keeps every attempt that had a part in its own end, a batch at a time.

    The history is a convenience and never stops a run: where it cannot be written to, `warn` is told once. What a
    killed manager had not written is in the run's journal; recording the journal's records again adds just that.
    """

    def __init__(
        self,
        history: History,
        key: HistoryKey,
        run: str,
        task: Callable[[str], Task],
        warn: Callable[[str], None],
    ) -> None:
        """`run` is the run's uid, `task` finds a task by its id."""
        self._history: History | None = history
        self._key = key
        self._run = run
        self._task = task
        self._warn = warn
        self._running: dict[str, tuple[int, Resources]] = {}  # attempt, and what it was given
        self._waiting: list[Observation] = []
        self._due_at = time.monotonic() + _LONGEST_WAIT_S
        self._busy = False

    def __call__(self, batch: Iterable[Event | Decision]) -> None:
        for record in batch:
            if isinstance(record, Launch):
                self._running[record.task] = (record.attempt, record.resources)
            elif isinstance(record, TaskEnded):
                self._ended(record)
        many = len(self._waiting) >= _MOST_WAITING and not self._busy
        if self._waiting and (many or time.monotonic() >= self._due_at):
            self._write()

    def close(self) -> None:
        """Write what is left."""
        for _ in range(_LAST_TRIES):
            if self._waiting:
                self._write()
        if self._waiting:
            self._give_up(f"{self._key.place}: others are writing this history all the time")
        if self._history is not None:
            self._history.close()

    def _ended(self, record: TaskEnded) -> None:
        outcome = record.outcome
        attempt, given = self._running.get(outcome.task, (0, Resources()))
        if attempt != outcome.attempt:
            return  # late news of an attempt that was given up for lost
        del self._running[outcome.task]
        if outcome.ending.blameless or self._history is None:
            return
        task = self._task(outcome.task)
        self._waiting.append(
            Observation(
                task.category,
                self._run,
                outcome.task,
                outcome.attempt,
                outcome.ending,
                outcome.started_at,
                outcome.ended_at,
                given,
                outcome.usage,
                task.input_bytes,
                task.hints,
            )
        )

    def _write(self) -> None:
        if self._history is None:
            return
        try:
            self._history.add(self._key.site, self._key.workflow, self._waiting)
        except HistoryBusyError:
            self._busy = True
            self._due_at = time.monotonic() + _PAUSE_S
            return
        except SiteError as error:
            self._give_up(str(error))
        self._waiting.clear()
        self._busy = False
        self._due_at = time.monotonic() + _LONGEST_WAIT_S

    def _give_up(self, what: str) -> None:
        self._warn(f"what this run teaches is not kept: {what}")
        if self._history is not None:
            self._history.close()
        self._history = None
        self._waiting.clear()
