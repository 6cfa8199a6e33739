"""What allocators that choose cores learned, from run to run: read when a run begins, written back as it goes on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from headway.drivers.assemble import allocator_of, allocators
from headway.drivers.learning import Warn
from headway.history.base import History, HistoryBusyError
from headway.history.location import find_history, open_history
from headway.model.errors import SiteError
from headway.model.outcome import Outcome
from headway.model.records import Decision, Event, Figure, HistoryKey, Launch, RunStarted, StateRead, TaskEnded
from headway.model.task import Task
from headway.sizing import DEFAULT_SIZER

VERSION = 1
_LONGEST_WAIT_S = 30.0  # until what was learned is written
_LAST_TRIES = 5
_RUNS_REMEMBERED = 50

Lesson = tuple[Task, dict[str, Figure], Outcome]


def state_name(sizer: str, workflow: str) -> str:
    """What the state is called in the history."""
    return f"sizer/{sizer}/{workflow}"


def read_state(key: HistoryKey | None, sizer: str, warn: Warn, now: float) -> list[StateRead]:
    """What earlier runs' agents had learned, if the sizer has any, and there is something that can be read."""
    if key is None or sizer not in allocators():
        return []
    name = state_name(sizer, key.workflow)
    try:
        history = find_history(key.place)
        if history is None:
            return []
        try:
            kept = history.state(key.site, name)
        finally:
            history.close()
    except SiteError as error:
        if sizer != DEFAULT_SIZER:  # few of its runs have agents, and all have said that they cannot read the history
            warn(f"what earlier runs' agents had learned is not known: {error}")
        return []
    learned = _learned(kept, sizer)
    return [] if learned is None else [StateRead(now, name, learned)]


def state_keeper(settings: RunStarted, task: Callable[[str], Task], warn: Warn) -> StateKeeper | None:
    """An observer that writes back what the run's agents learn; None where there is nothing to keep, or no place."""
    if settings.history is None or settings.sizer not in allocators():
        return None
    return StateKeeper(settings, settings.history, task, warn)


class StateKeeper:
    """Observer of a run: lets the agents that are kept in the history learn what the run's own learned.

    Runs at the same time take turns, and all are learned from: each adds its outcomes to what is there. An outcome that
    was added before a crash is not added again: how many of each run were is kept beside. The history is opened when
    there is something to keep: of the default's runs, most have no agents.
    """

    def __init__(self, settings: RunStarted, key: HistoryKey, task: Callable[[str], Task], warn: Warn) -> None:
        self._history: History | None = None
        self._given_up = False
        self._chooses_for = allocators()[settings.sizer](settings.seed).chooses_for
        self._settings = settings
        self._key = key
        self._task = task
        self._warn = warn
        self._running: dict[str, tuple[int, dict[str, Figure]]] = {}
        self._lessons: list[Lesson] = []
        self._numbered_from = 0  # the run's outcomes before the first of these
        self._due_at = time.monotonic() + _LONGEST_WAIT_S

    def __call__(self, batch: Iterable[Event | Decision]) -> None:
        for record in batch:
            if isinstance(record, Launch):
                self._running[record.task] = (record.attempt, record.ticket)
            elif isinstance(record, TaskEnded):
                attempt, ticket = self._running.get(record.outcome.task, (0, {}))
                if attempt == record.outcome.attempt:  # not late news of an attempt that was given up for lost
                    del self._running[record.outcome.task]
                    task = self._task(record.outcome.task)
                    if self._chooses_for(task):
                        self._lessons.append((task, ticket, record.outcome))
        if self._lessons and time.monotonic() >= self._due_at:
            self._write()

    def close(self) -> None:
        """Write what is left."""
        for _ in range(_LAST_TRIES):
            if self._lessons:
                self._write()
        if self._lessons:
            self._give_up(f"{self._key.place}: others are writing this history all the time")
        if self._history is not None:
            self._history.close()

    def _write(self) -> None:
        self._due_at = time.monotonic() + _LONGEST_WAIT_S
        if self._given_up:
            self._lessons.clear()
            return
        try:
            if self._history is None:
                self._history = open_history(self._key.place)
            name = state_name(self._settings.sizer, self._key.workflow)
            self._history.update_state(self._key.site, name, self._with_lessons)
        except HistoryBusyError:
            return
        except SiteError as error:
            self._give_up(str(error))
        self._numbered_from += len(self._lessons)
        self._lessons.clear()

    def _with_lessons(self, kept: Mapping[str, Any] | None) -> dict[str, Any]:
        allocator = allocators()[self._settings.sizer](self._settings.seed)
        learned = _learned(kept, self._settings.sizer)
        runs = {} if learned is None or kept is None else dict(kept["runs"])
        if learned is not None:
            allocator.restore(learned)
        known = max(0, runs.pop(self._settings.uid, 0) - self._numbered_from)
        for task, ticket, outcome in self._lessons[known:]:
            allocator.observe(task, ticket, outcome)
        runs[self._settings.uid] = self._numbered_from + max(known, len(self._lessons))
        newest = dict(list(runs.items())[-_RUNS_REMEMBERED:])
        return {"version": VERSION, "learned": allocator.kept(), "runs": newest}

    def _give_up(self, what: str) -> None:
        self._warn(f"what this run's agents learn is not kept: {what}")
        if self._history is not None:
            self._history.close()
        self._history = None
        self._given_up = True
        self._lessons.clear()


def _learned(kept: Mapping[str, Any] | None, sizer: str) -> dict[str, Any] | None:
    """The allocator's state; None if there is none, or none that this version can read: then it begins anew."""
    if kept is None or kept.get("version") != VERSION:
        return None
    try:
        learned = dict(kept["learned"])
        dict(kept["runs"])
        allocator_of(sizer, 0).restore(learned)
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return learned
