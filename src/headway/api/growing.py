"""Runs that begin without tasks and get them while they go on: of `headway.Executor`, a service, a pool."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import structs

from headway.api.finding import reading
from headway.api.resume import CatchUp
from headway.api.settings import RunSettings, checked
from headway.drivers import runs
from headway.drivers.feed import Feed
from headway.drivers.real import Observer
from headway.drivers.run_history import Warn
from headway.journal.folder import Project, RunFolder
from headway.model.damage import DamagedError
from headway.model.records import Finish, RunStarted
from headway.model.workflow import Workflow
from headway.report.run.progress import Progress
from headway.serving.feed_server import FeedServer


def interrupted(directory: Path, name: str) -> RunFolder | None:
    """Return the last run here if it is a growing one of that name that was killed or stopped."""
    last = next(reversed(Project(directory).runs()), None)
    if last is None:
        return None
    try:
        with reading(last) as journal:
            found = list(journal.replay(kinds=["run-started", "finish", "resumed"]))
            first, end = found[0], found[-1]
    except DamagedError:  # the new run says so
        return None
    is_ours = isinstance(first, RunStarted) and first.growing and first.name == name
    return last if is_ours and not (isinstance(end, Finish) and end.status != "stopped") else None


def start_or_go_on(
    name: str,
    directory: Path,
    settings: RunSettings,
    server: FeedServer,
    progress: Progress,
    observers: Sequence[Observer],
    warn: Warn,
) -> str:
    """Start a run to which a server adds tasks, or go on with the last one here; return how it ended."""
    earlier = interrupted(directory, name)
    if earlier is not None:
        warn(f"going on with run {earlier.run}, with its settings")
        watching: list[Observer] = [server.observe, *observers, CatchUp(progress, earlier)]
        return runs.resume(earlier, settings, watching, warn, server)
    own = structs.replace(checked(settings, directory), keep_going=True, again=True)
    watching = [server.observe, *observers, progress]
    return runs.start(Workflow(name), directory, own, observers=watching, feed=server, warn=warn)[1]


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
