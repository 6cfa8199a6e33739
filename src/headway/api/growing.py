"""A run that begins without tasks and gets them while it goes on: what `headway.Executor` is made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from headway.api.settings import RunSettings, checked
from headway.drivers import runs
from headway.drivers.feed import Feed
from headway.drivers.real import Observer
from headway.model.workflow import Workflow


class GrowingRun(Feed):
    """A run in `directory` that one thread drives, with `drive`, while others tell it about new tasks.

    `may_start` is asked before each attempt: a task that was called off at the last moment must not begin. The event
    `attached` is set when the run has begun, or when it cannot begin.
    """

    def __init__(self, directory: Path, settings: RunSettings, may_start: Callable[[str], bool]) -> None:
        super().__init__(may_start)
        self._directory = directory
        self._settings = checked(settings, directory)

    @property
    def path(self) -> Path | None:
        """The run's folder, if the run has begun."""
        return self.folder.path if self.folder is not None else None

    def logs_of(self, task: str, attempt: int) -> tuple[Path, Path] | None:
        """Return the files with the standard output and the standard error of an attempt."""
        if self.folder is None:
            return None
        folder = self.folder.attempt(task, attempt)
        return folder / "stdout", folder / "stderr"

    def drive(self, observer: Observer) -> None:
        """Drive the run to its end, in this thread."""
        runs.start(Workflow("calls"), self._directory, self._settings, observers=[observer], feed=self)

    def close(self) -> None:
        """Take no more events, and wake a thread that waits for the beginning."""
        self.detach()
        self.attached.set()
