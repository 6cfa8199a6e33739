"""The directory in which a workflow is checked: beside its results, with links to the files that no task makes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headway import locks
from headway.drivers.runs import cancel
from headway.journal.folder import Project
from headway.journal.ownership import check_ours
from headway.model.errors import BusyError, HeadwayError, SiteError
from headway.model.workflow import Workflow, folders_above
from headway.workers.attempt import remove_tree


class CheckDirectory:
    """A directory in `.headway` that looks like the workflow's before its first run. `keep` it if a task failed."""

    def __init__(self, home: Project) -> None:
        self._home = home
        self.path = home.path / "check"
        self.keep = False

    @contextmanager
    def prepared(self, workflow: Workflow) -> Iterator[CheckDirectory]:
        """Make the directory; that of an earlier check is deleted. Raise BusyError if another check is at work."""
        check_ours(self._home.path)
        with _in_words(self._home.path):
            self._home.path.mkdir(mode=0o700, exist_ok=True)
            lock = locks.take(self._home.path / "check.lock", f"process {os.getpid()}")
        if lock is None:
            where = str(self._home.directory)
            raise BusyError("another check of inputs is at work here", where=where, todo="wait for it")
        try:
            with _in_words(self._home.path):
                self._delete()
                self._make(workflow)
            yield self
        finally:
            if not self.keep:
                self._delete()
            os.close(lock)

    def _make(self, workflow: Workflow) -> None:
        self.path.mkdir(mode=0o700)
        self._link_sources(workflow)
        own = Project(self.path).path
        own.mkdir(mode=0o700)
        (self._home.path / "envs").mkdir(mode=0o700, exist_ok=True)
        (own / "envs").symlink_to(self._home.path / "envs")

    def _link_sources(self, workflow: Workflow) -> None:
        """Link what no task makes: a directory as a whole, unless tasks make something in it."""
        made = workflow.producer
        opened = {folder for path in made for folder in folders_above(path)}
        folders = [""]
        while folders:
            folder = folders.pop()
            for name in os.listdir(self._home.directory / folder):
                path = os.path.join(folder, name)
                if path in opened and (self._home.directory / path).is_dir():
                    (self.path / path).mkdir()
                    folders.append(path)
                elif path not in made and path != self._home.path.name:
                    (self.path / path).symlink_to(self._home.directory / path)

    def _delete(self) -> None:
        """Delete the directory, after what is left of an interrupted check has been stopped."""
        if self.path.is_dir():
            with suppress(HeadwayError):  # a journal is damaged, or was never begun
                for run in Project(self.path).runs():
                    cancel(run)
            remove_tree(self.path)


@contextmanager
def _in_words(folder: Path) -> Iterator[None]:
    """Turn an OSError into a sentence."""
    try:
        yield
    except OSError as error:
        raise SiteError(f"cannot write here: {error.strerror}", where=str(error.filename or folder)) from error
