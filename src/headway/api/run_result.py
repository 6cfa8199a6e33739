"""How far a run is, or how it ended: what `start`, `resume`, `follow` and `status` return."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from msgspec import Struct

from headway.journal.folder import Manager, RunFolder
from headway.report.run.document import document
from headway.report.run.figures import Figures
from headway.report.run.progress import Progress
from headway.report.run.summary import Failure, RunSummary


class RunResult(Struct, frozen=True):
    """A run. `state` is `succeeded`, `failed`, `stopped` (it can be resumed), `running` or `interrupted`.

    `summary` holds all figures: by category, running attempts, failures. `at` is the moment that it describes.
    """

    folder: RunFolder
    summary: RunSummary
    state: str
    at: float

    @property
    def run(self) -> str:
        """The run's number in its directory."""
        return self.folder.run

    @property
    def name(self) -> str:
        """The workflow's name."""
        return self.summary.settings.name if self.summary.settings else ""

    @property
    def directory(self) -> Path:
        """The workflow's directory."""
        return self.folder.directory

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was said about the workflow when the run started, such as files that may change unnoticed."""
        return self.summary.settings.warnings if self.summary.settings else ()

    @property
    def tasks(self) -> Figures:
        """Counts and usage of all tasks together: `total`, `succeeded`, `reused`, `running`, `failed`, …"""
        return self.summary.whole()

    @property
    def failures(self) -> dict[str, Failure]:
        """The tasks that failed for good, and why."""
        return self.summary.failures

    def document(self) -> dict[str, Any]:
        """Return what `--json` prints."""
        return document(self.summary, self.folder, self.state, self.at)


class RunStatus(RunResult, frozen=True):
    """A run as it is now, with the process that manages it, if there is one."""

    manager: Manager | None = None

    def document(self) -> dict[str, Any]:
        """Return what `headway status --json` prints."""
        # `super()` without arguments does not work in a msgspec struct.
        return RunResult.document(self) | {"manager_pid": self.manager.pid if self.manager else None}


def ended(folder: RunFolder, progress: Progress) -> RunResult:
    """Return the result of a run that `progress` has watched to its end."""
    return RunResult(folder, progress.summary, progress.summary.finished or "interrupted", time.time())
