"""What earlier runs taught a run, and what it teaches later ones: its dealings with the history."""

from __future__ import annotations

import socket
import warnings
from collections.abc import Callable, Collection

from headway.history.base import History
from headway.history.location import find_history, history_place, open_history
from headway.history.recorder import Recorder
from headway.model.errors import SiteError
from headway.model.observation import Observation
from headway.model.records import HistoryKey, HistoryRead
from headway.model.task import Task

# What was seen long ago says little of today; and all that is read is written to the run's journal.
MOST_OF_A_CATEGORY = 500
MOST_IN_ALL = 10_000
_OBSERVATIONS_A_RECORD = 1000

Warn = Callable[[str], None]


def warn_program(text: str) -> None:
    """Tell a program, rather than a person, of trouble that does not stop it."""
    warnings.warn(text, RuntimeWarning, stacklevel=2)


def history_key(place: str, workflow: str, site: str = "") -> HistoryKey | None:
    """Where a run's observations belong; what another machine saw is kept apart: it is faster, or has more cores."""
    found = history_place(place)
    return HistoryKey(found, site or socket.gethostname(), workflow) if found else None


class Learning:
    """The history as one run uses it. Trouble with it never stops the run: `warn` is told, and the run does without."""

    def __init__(self, key: HistoryKey | None, warn: Warn, *, read_only: bool = False) -> None:
        self._key = key
        self._warn = warn
        self._history: History | None = None
        if key is None:
            return
        try:
            self._history = find_history(key.place) if read_only else open_history(key.place)
        except SiteError as error:
            warn(f"nothing is learned from earlier runs, nor kept for later ones: {error}")

    def observations(self, categories: Collection[str] | None) -> list[Observation]:
        """The newest of what is known of these categories, oldest first; None: of all that the workflow ever had."""
        if self._history is None or self._key is None:
            return []
        site, workflow = self._key.site, self._key.workflow
        try:
            names = self._history.categories(site, workflow) if categories is None else categories
            most = min(MOST_OF_A_CATEGORY, MOST_IN_ALL // max(1, len(names)) or 1)
            return self._history.newest(site, workflow, names, most)
        except SiteError as error:
            self._warn(f"nothing is learned from earlier runs, nor kept for later ones: {error}")
            self.close()
            return []

    def read(self, categories: Collection[str] | None, now: float) -> list[HistoryRead]:
        """The same, as records of a digestible size."""
        found = self.observations(categories)
        chunks = range(0, len(found), _OBSERVATIONS_A_RECORD)
        return [HistoryRead(now, found[begin : begin + _OBSERVATIONS_A_RECORD]) for begin in chunks]

    def recorder(self, run: str, task: Callable[[str], Task]) -> Recorder | None:
        """An observer that keeps what the run teaches, if there is a place to keep it; see `Recorder`."""
        if self._history is None or self._key is None:
            return None
        return Recorder(self._history, self._key, run, task, self._warn)

    def close(self) -> None:
        """Let go of the history."""
        if self._history is not None:
            self._history.close()
        self._history = None
