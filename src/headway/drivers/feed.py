"""What a growing run is told from outside, by other threads of the manager's process."""

from __future__ import annotations

import threading
from collections.abc import Callable

from headway.journal.folder import RunFolder
from headway.model.records import Event


class Feed:
    """Carries events to a run's driver: held back until it listens, dropped when it is over.

    `may_start` is asked before each attempt: a task that was called off at the last moment must not begin.
    """

    def __init__(self, may_start: Callable[[str], bool] = lambda task_id: True) -> None:
        self.may_start = may_start
        self.folder: RunFolder | None = None  # the run's, as soon as there is one
        self.attached = threading.Event()
        self._lock = threading.Lock()
        self._held_back: list[Event] = []
        self._sink: Callable[[Event], object] | None = None
        self._over = False

    def tell(self, event: Event) -> bool:
        """Tell the run something; False if it is over."""
        with self._lock:
            if self._over:
                return False
            if self._sink is None:
                self._held_back.append(event)
            else:
                self._sink(event)
            return True

    def attach(self, sink: Callable[[Event], object]) -> None:
        """Begin to pass events on."""
        with self._lock:
            self._sink = sink
            for event in self._held_back:
                sink(event)
            self._held_back.clear()
        self.attached.set()

    def detach(self) -> None:
        """The run is over."""
        with self._lock:
            self._over = True
