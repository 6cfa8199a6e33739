"""How long a run's jobs waited, kept for the runs that come after it and those beside it."""

from __future__ import annotations

from collections.abc import Iterable

from headway.drivers.learning import Warn
from headway.history.base import History, HistoryBusyError, KeptWait
from headway.history.location import find_history, open_history
from headway.model.errors import SiteError
from headway.model.job import JobPhase
from headway.model.records import Decision, Event, HistoryKey, JobState, RunStarted, SeenWait, Submit, WaitsRead

MOST = 2000  # waits that a run is told of when it begins
MOST_NEWS = 200  # and whenever it looks at the queue


def read_waits(key: HistoryKey | None, warn: Warn, now: float) -> list[WaitsRead]:
    """What jobs at this site have waited lately, if anybody knows."""
    try:
        waits = [kept.wait for kept in _newest(key, MOST)]
    except SiteError as error:
        warn(f"how long jobs waited in earlier runs is not known: {error}")
        return []
    return [WaitsRead(now, waits)] if waits else []


class OthersWaits:
    """What jobs of other runs have waited since this one began, or was taken up again: those of one user learn from
    each other while they run."""

    def __init__(self, settings: RunStarted) -> None:
        self._key = settings.history if settings.plan else None
        self._run = settings.uid
        self._told: set[tuple[str, str]] = set()
        self.news(0.0)

    def news(self, now: float) -> list[WaitsRead]:
        """What was not told yet. A history that does not answer has nothing to tell."""
        try:
            kept = _newest(self._key, MOST_NEWS)
        except SiteError:
            return []
        new = [other for other in kept if other.run != self._run and (other.run, other.job) not in self._told]
        self._told.update((other.run, other.job) for other in new)
        return [WaitsRead(now, [other.wait for other in new])] if new else []


def _newest(key: HistoryKey | None, most: int) -> list[KeptWait]:
    history = None if key is None else find_history(key.place)
    if key is None or history is None:
        return []
    try:
        return history.newest_waits(key.site, most)
    finally:
        history.close()


def wait_keeper(settings: RunStarted, warn: Warn) -> WaitKeeper | None:
    """An observer that keeps the waits of a run's jobs; None where no job waits, or there is no place to keep them."""
    if settings.history is None or not settings.plan:
        return None
    try:
        return WaitKeeper(open_history(settings.history.place), settings.history, settings.uid, warn)
    except SiteError as error:
        warn(f"how long this run's jobs wait is not kept: {error}")
        return None


class WaitKeeper:
    """Observer of a run. A wait that is there already is not added again, so a journal may be told of twice.

    Of a job that waits for another's end nobody can say how long it waited for its turn: it is left out.
    """

    def __init__(self, history: History, key: HistoryKey, run: str, warn: Warn) -> None:
        self._history: History | None = history
        self._key = key
        self._run = run
        self._warn = warn
        self._asked: dict[str, Submit] = {}
        self._waits: list[KeptWait] = []

    def __call__(self, batch: Iterable[Event | Decision]) -> None:
        for record in batch:
            if isinstance(record, Submit) and record.after is None:
                self._asked[record.tag] = record
            elif isinstance(record, JobState) and record.phase is JobPhase.RUNNING:
                asked = self._asked.pop(record.tag, None)
                if asked is not None:
                    self._waits.append(self._kept(asked, record.at if record.since is None else record.since))
        if self._waits:
            self._write()

    def _kept(self, asked: Submit, started_at: float) -> KeptWait:
        wait = SeenWait(
            nodes=asked.request.per_node.nodes,
            asked_s=asked.request.per_node.walltime_s or 0.0,
            estimate_s=asked.wait_estimate_s,
            waited_s=max(0.0, started_at - asked.at),
        )
        return KeptWait(self._run, asked.tag, "", asked.at, wait)

    def _write(self) -> None:
        if self._history is None:
            return
        try:
            self._history.add_waits(self._key.site, self._waits)
        except HistoryBusyError:
            return  # with the next one
        except SiteError as error:
            self._warn(f"how long this run's jobs wait is not kept: {error}")
            self._history.close()
            self._history = None
        self._waits = []

    def close(self) -> None:
        """Write what is left."""
        if self._waits:
            self._write()
        if self._history is not None:
            self._history.close()
