"""`RunHistory`: everything that one run reads from the history and writes to it, through one connection."""

from __future__ import annotations

import logging
import socket
import threading
import time
import warnings
from collections.abc import Callable, Collection, Iterable
from typing import TypeVar

from headway.drivers.history_recorders import AttemptRecorder, Recorder, WaitRecorder
from headway.drivers.learned_state import StateRecorder, has_agents, learned_state, state_name
from headway.history.base import HistoryBusyError, KeptWait, State
from headway.history.location import find_history, history_location, open_history
from headway.history.sql import History
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.origin import NO_ORIGIN, Origin
from headway.model.records import Decision, Event, HistoryKey, HistoryRead, RunStarted, SeenWait, StateRead, WaitsRead
from headway.model.task import Task

_log = logging.getLogger(__name__)

# Old observations say little about today's tasks, and all that is read is copied to the run's journal.
MOST_OF_A_CATEGORY = 500
MOST_IN_ALL = 10_000
MOST_WAITS = 2000  # read when a run starts
MOST_OTHERS_WAITS = 200  # and with every reading of the queue
# The kinds of records that a history is made from.
RECORDED = ("launch", "task-ended", "task-reported", "submit", "job-state")
_OBSERVATIONS_PER_RECORD = 1000
_CATEGORIES_AT_A_TIME = 5000
_PAUSE_S = 60.0  # after another run held the history for so long that waiting would have delayed this one
_LAST_TRIES = 5  # to write when the run ends

Warn = Callable[[str], None]
Answer = TypeVar("Answer")


def warn_program(text: str) -> None:
    """Report trouble that does not stop a run to the calling program, as a Python warning."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def history_key(stated: str, workflow: str, site: str = "", origin: Origin = NO_ORIGIN) -> HistoryKey | None:
    """Where a run's observations belong; None if no history is kept.

    What another machine saw is kept apart, since that machine may be faster or have more cores.
    """
    location = history_location(stated)
    return HistoryKey(location, site or socket.gethostname(), workflow, origin) if location else None


def _state_name(sizer: str, key: HistoryKey) -> str:
    return state_name(sizer, key.workflow, key.origin.project)


class RunHistory:
    """The history as one run uses it; also an observer of the run, which records what the run teaches.

    The history never stops or delays a run. Records are collected and written in batches; while another run is writing,
    they wait. At the first real error `warn` is called once, the connection is closed, and the run does without.
    All methods but `others_waits` belong to the driver's thread.
    """

    def __init__(self, key: HistoryKey | None, warn: Warn, *, read_only: bool = False) -> None:
        """Open the history, and create it if there is none, unless it is only read."""
        self._key = key
        self._warn = warn
        self._history: History | None = None
        self._lock = threading.Lock()  # one thread at a time uses the connection
        self._recorders: list[Recorder] = []
        self._due_at: dict[Recorder, float] = {}
        self._not_before = 0.0
        self._run = ""
        self._told: set[tuple[str, str]] = set()  # run and job of other runs' waits that this run knows
        if key is None:
            return
        try:
            self._history = find_history(key.place) if read_only else open_history(key.place)
        except SiteError as error:
            self._give_up(f"nothing is learned from earlier runs, nor kept for later ones: {error}")

    # --- reading ---

    def observations(self, categories: Collection[str] | None) -> list[Observation]:
        """Read the newest observations of these categories, oldest first; None: of all categories of the workflow.

        Of very many categories those that were observed last count, as many as a run remembers.
        """

        def newest(history: History, key: HistoryKey) -> list[Observation]:
            names = list(history.categories(key.site, key.workflow) if categories is None else categories)
            most = min(MOST_OF_A_CATEGORY, MOST_IN_ALL // max(1, len(names)) or 1)
            found: list[Observation] = []
            for begin in range(0, len(names), _CATEGORIES_AT_A_TIME):
                some = names[begin : begin + _CATEGORIES_AT_A_TIME]
                found += history.newest(key.site, key.workflow, some, most, key.origin)
                found.sort(key=lambda observation: (observation.ended_at, observation.run, observation.task))
                del found[:-MOST_IN_ALL]
            return found

        return self._read(newest, [])

    def state(self, sizer: str) -> State | None:
        """Read what the agents of a sizer had learned in earlier runs; None if nothing, or the sizer has no agents."""
        if not has_agents(sizer):
            return None
        kept = self._read(lambda history, key: history.state(key.site, _state_name(sizer, key)), None)
        return learned_state(kept, sizer)

    def adopt(self) -> None:
        """Make what this workflow taught before projects were known a part of this project."""
        self._read(lambda history, key: history.adopt(key.site, key.workflow, key.origin.project), None)

    def waits(self) -> list[SeenWait]:
        """Read how long jobs at this site have waited lately."""
        nothing: list[KeptWait] = []
        newest = self._read(lambda history, key: history.newest_waits(key.site, MOST_WAITS), nothing)
        return [kept.wait for kept in newest]

    def first_records(
        self, categories: Collection[str] | None, sizer: str, plan: str, now: float
    ) -> list[HistoryRead | StateRead | WaitsRead]:
        """Read everything that a run knows when it starts, as records of moderate size for its journal."""
        found = self.observations(categories)
        chunks = range(0, len(found), _OBSERVATIONS_PER_RECORD)
        observations = [HistoryRead(now, found[begin : begin + _OBSERVATIONS_PER_RECORD]) for begin in chunks]
        state = self.state(sizer)
        waits = self.waits() if plan else []
        return [
            *observations,
            *([StateRead(now, _state_name(sizer, self._key), state)] if self._key and state else []),
            *([WaitsRead(now, waits)] if waits else []),
        ]

    def others_waits(self, now: float) -> list[WaitsRead]:
        """Read how long other runs' jobs have waited since the last call, or since `record`. Any thread may call this.

        A history that does not answer now is asked again next time.
        """
        with self._lock:
            if self._history is None or self._key is None or not self._run:
                return []
            try:
                kept = self._history.newest_waits(self._key.site, MOST_OTHERS_WAITS)
            except SiteError as error:
                _log.info("other runs' waits cannot be read now: %s", error)
                return []
        new = [other for other in kept if other.run != self._run and (other.run, other.job) not in self._told]
        self._told.update((other.run, other.job) for other in new)
        return [WaitsRead(now, [other.wait for other in new])] if new else []

    def _read(self, question: Callable[[History, HistoryKey], Answer], nothing: Answer) -> Answer:
        if self._history is None or self._key is None:
            return nothing
        try:
            with self._lock:
                return question(self._history, self._key)
        except SiteError as error:
            self._give_up(f"nothing is learned from earlier runs, nor kept for later ones: {error}")
            return nothing

    # --- recording ---

    def record(self, settings: RunStarted, task: Callable[[str], Task | None]) -> None:
        """Record what this run teaches from now on; `task` finds a task by its id, unless that is forgotten.

        Records may be told again, as after a resume: what the history already has is not added twice.
        """
        if self._history is None or self._key is None:
            return
        self._recorders = [AttemptRecorder(self._key, settings.uid, task)]
        if has_agents(settings.sizer):
            self._recorders.append(StateRecorder(self._key, settings, task))
        if settings.plan:
            self._recorders.append(WaitRecorder(self._key, settings.uid))
            self._run = settings.uid
            self.others_waits(0.0)  # those that are there now are in the run's first records
        now = time.monotonic()
        self._due_at = {recorder: now + recorder.longest_s for recorder in self._recorders}

    def __call__(self, batch: Iterable[Event | Decision]) -> None:
        recorders = list(self._recorders)
        if not recorders:
            return
        for record in batch:
            for recorder in recorders:
                recorder.note(record)
        for recorder in recorders:
            now = time.monotonic()
            many = len(recorder.pending) >= recorder.most_pending
            if recorder.pending and now >= self._not_before and (many or now >= self._due_at[recorder]):
                self._write(recorder)

    def _write(self, recorder: Recorder, *, at_once: bool = True) -> None:
        """Write a recorder's items, unless the connection is in use and this has to be done `at_once`."""
        if not self._lock.acquire(blocking=not at_once):
            return
        try:
            if self._history is None:
                return
            recorder.write(self._history)
            recorder.written()
            self._due_at[recorder] = time.monotonic() + recorder.longest_s
        except HistoryBusyError:
            self._not_before = time.monotonic() + _PAUSE_S
        except SiteError as error:
            self._give_up(f"what this run teaches is not kept: {error}")
        finally:
            self._lock.release()

    def _give_up(self, warning: str) -> None:
        self._warn(warning)
        self._recorders = []
        if self._history is not None:
            self._history.close()
        self._history = None

    def close(self) -> None:
        """Write what is left, and disconnect."""
        for _ in range(_LAST_TRIES):
            for recorder in list(self._recorders):
                if recorder.pending:
                    self._write(recorder, at_once=False)
        with self._lock:
            if any(recorder.pending for recorder in self._recorders) and self._key is not None:
                place = self._key.place
                self._give_up(f"what this run teaches is not kept: {place}: other runs are writing to it all the time")
            if self._history is not None:
                self._history.close()
            self._history = None
