"""Begin or resume a run whose manager lives in a job: what `detach` does with `manager="job"`."""

from __future__ import annotations

from pathlib import Path

from msgspec import structs

from headway.api.finding import find_run, reading
from headway.api.runnable import Runnable
from headway.api.settings import RunSettings, checked_manager
from headway.drivers import runs
from headway.drivers.manager_jobs import ManagerJob, ManagerJobs, manager_request
from headway.drivers.run_history import Warn
from headway.journal.folder import Project, RunFolder
from headway.model.records import RunStarted
from headway.report.run.story import settings_of, tasks_of


def start_in_job(what: Runnable, warn: Warn) -> tuple[RunFolder, ManagerJob]:
    """Begin a run and submit the job for its manager."""
    settings = what.settings
    if Project(what.directory).manager() is None:  # otherwise `start` says who is at work here
        manager_request(settings.batch, settings, what.directory, len(what.workflow))
    what.make_files()
    entrusted = _Entrusted(settings, len(what.workflow))
    folder, _ = runs.start(
        what.workflow,
        what.directory,
        settings,
        source=what.source,
        warn=warn,
        entrust=entrusted.entrust,
        explain=what.explain,
    )
    return folder, entrusted.jobs[0]


def resume_in_job(run: str | None, directory: Path, settings: RunSettings, warn: Warn) -> tuple[RunFolder, ManagerJob]:
    """Submit a job for a manager of a run that was stopped or killed."""
    folder = find_run(directory, run)
    with reading(folder) as journal:
        started, tasks = settings_of(journal), len(tasks_of(journal))
    checked_manager(structs.replace(settings, cluster=started.cluster))
    entrusted = _Entrusted(settings, tasks)
    runs.resume(folder, settings, warn=warn, entrust=entrusted.entrust)
    return folder, entrusted.jobs[0]


class _Entrusted:
    """Submits the job for a manager when the run is in the journal, and knows that job."""

    def __init__(self, settings: RunSettings, tasks: int) -> None:
        self._settings = settings
        self._tasks = tasks
        self.jobs: list[ManagerJob] = []

    def entrust(self, folder: RunFolder, started: RunStarted) -> None:
        request = manager_request(started.batch, self._settings, folder.directory, self._tasks)
        self.jobs.append(ManagerJobs(folder, started, self._settings).submit_first(request))
