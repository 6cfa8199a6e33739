"""`Feed`: events for a growing run, from other threads of the manager's process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headway.drivers.inbox import SignalTask
from headway.journal.folder import RunFolder
from headway.model.job import Wish
from headway.model.records import Event, LimitsRead


class Feed:
    """Passes events to a run's driver: keeps them until the driver is ready, drops them when the run is over.

    `may_start` is asked before each start message: a task that was withdrawn at the last moment must not start.
    """

    def __init__(self, may_start: Callable[[str], bool] = lambda task_id: True) -> None:
        self.may_start = may_start
        self.folder: RunFolder | None = None  # the run's, as soon as it exists
        # What the run's cluster allows jobs with a wish; None if wishes have no effect, an error if it cannot grant it.
        self.site: Callable[[Wish], LimitsRead | None] = lambda wish: None
        self.attached = threading.Event()
        self._lock = threading.Lock()
        self._held_back: list[Event | SignalTask] = []
        self._sink: Callable[[Event | SignalTask], object] | None = self._held_back.append  # None: the run is over

    def tell(self, event: Event | SignalTask) -> bool:
        """Pass an event or a signal to the run; return False if the run is over."""
        with self._lock:
            if self._sink is not None:
                self._sink(event)
            return self._sink is not None

    def attach(self, sink: Callable[[Event | SignalTask], object]) -> None:
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
