"""How far a run is, or how it ended: what `start`, `resume`, `follow` and `status` return."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from msgspec import Struct, to_builtins

from headway.drivers.manager_jobs import ManagerJob
from headway.drivers.run_settings import RunSettings
from headway.journal.folder import Manager, RunFolder
from headway.report.run.by_column import ByColumn
from headway.report.run.document import document
from headway.report.run.figures import Figures
from headway.report.run.progress import Progress
from headway.report.run.summary import Failure, RunSummary


class RunResult(Struct, frozen=True):
    """A run. `state` is `succeeded`, `failed`, `stopped` (it can be resumed), `running` or `interrupted`.

    `summary` holds all figures: by category, running attempts, failures. `at` is the moment that it describes. `page`
    is the file with the page about it, if one was wanted.
    """

    folder: RunFolder
    summary: RunSummary
    state: str
    at: float
    page: Path | None = None

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
        page = {} if self.page is None else {"page": str(self.page)}
        return document(self.summary, self.folder, self.state, self.at) | page


class RunStatus(RunResult, frozen=True):
    """A run as it is now, with the process that manages it, if there is one.

    `jobs` are those of its manager and the next one, if they live in jobs; of an interrupted run, the last one.
    `table` has the tasks by a column of their sheet, if that was asked for.
    """

    manager: Manager | None = None
    jobs: tuple[ManagerJob, ...] = ()
    table: ByColumn | None = None

    @property
    def where(self) -> str:
        """A sentence about managers in jobs; empty if there are none."""
        return ", ".join(job.sentence(ended=self.state == "interrupted") for job in self.jobs)

    def document(self) -> dict[str, Any]:
        """Return what `headway status --json` prints."""
        # `super()` without arguments does not work in a msgspec struct.
        pid = self.manager.pid or None if self.manager else None
        table = {} if self.table is None else self.table.document()
        return RunResult.document(self) | {"manager_pid": pid, "manager_jobs": to_builtins(self.jobs)} | table


def ended(folder: RunFolder, progress: Progress, settings: RunSettings | None = None) -> RunResult:
    """Return the result of a run that `progress` has watched to its end; write its page, if that was wanted."""
    page = None
    if settings is not None and settings.report and progress.summary.finished:
        from headway.api.report import write_report

        page = Path(write_report(folder.run, folder.directory).file)
    return RunResult(folder, progress.summary, progress.summary.finished or "interrupted", time.time(), page)
