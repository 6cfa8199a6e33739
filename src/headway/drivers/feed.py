"""`Feed`: events for a growing run, from other threads of the manager's process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headway.journal.folder import RunFolder
from headway.model.records import Event


class Feed:
    """Passes events to a run's driver: keeps them until the driver is ready, drops them when the run is over.

    `may_start` is asked before each start message: a task that was withdrawn at the last moment must not start.
    """

    def __init__(self, may_start: Callable[[str], bool] = lambda task_id: True) -> None:
        self.may_start = may_start
        self.folder: RunFolder | None = None  # the run's, as soon as it exists
        self.attached = threading.Event()
        self._lock = threading.Lock()
        self._held_back: list[Event] = []
        self._sink: Callable[[Event], object] | None = self._held_back.append  # None: the run is over

    def tell(self, event: Event) -> bool:
        """Pass an event to the run; return False if the run is over."""
        with self._lock:
            if self._sink is not None:
                self._sink(event)
            return self._sink is not None

    def attach(self, sink: Callable[[Event], object]) -> None:
        """Pass events to `sink` from now on, first those that were kept."""
        with self._lock:
            self._sink = sink
            for event in self._held_back:
                sink(event)
            self._held_back.clear()
        self.attached.set()

    def detach(self) -> None:
        """Drop events from now on: the run is over."""
        with self._lock:
            self._sink = None
