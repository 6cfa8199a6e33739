"""A run that begins without tasks and gets them while it goes on: what `headway.Executor` is made of."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from headway.api.settings import RunSettings, checked
from headway.drivers import runs
from headway.drivers.feed import Feed
from headway.drivers.real import Observer
from headway.model.records import Event
from headway.model.workflow import Workflow


class GrowingRun:
    """A run in `directory` that one thread drives, with `drive`, while others tell it about new tasks.

    `may_start` is asked before each attempt: a task that was called off at the last moment must not begin.
    """

    def __init__(self, directory: Path, settings: RunSettings, may_start: Callable[[str], bool]) -> None:
        self._directory = directory
        self._settings = checked(settings, directory)
        self._feed = Feed(may_start)

    @property
    def attached(self) -> threading.Event:
        """Set when the run has begun, or when it cannot begin."""
        return self._feed.attached

    @property
    def path(self) -> Path | None:
        """The run's folder, if the run has begun."""
        return self._feed.folder.path if self._feed.folder is not None else None

    def logs_of(self, task: str, attempt: int) -> tuple[Path, Path] | None:
        """Return the files with the standard output and the standard error of an attempt."""
        if self._feed.folder is None:
            return None
        folder = self._feed.folder.attempt(task, attempt)
        return folder / "stdout", folder / "stderr"

    def tell(self, event: Event) -> bool:
        """Pass an event to the run, such as `TasksAdded`; False if the run is over."""
        return self._feed.tell(event)

    def drive(self, observer: Observer) -> None:
        """Drive the run to its end, in this thread."""
        runs.start(Workflow("calls"), self._directory, self._settings, observers=[observer], feed=self._feed)

    def close(self) -> None:
        """Take no more events, and wake a thread that waits for the beginning."""
        self._feed.detach()
        self._feed.attached.set()
