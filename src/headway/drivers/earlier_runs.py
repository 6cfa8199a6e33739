"""The runs that are in a directory already: their state, and the results that a new run need not compute again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing

from headway.clusters.local import live_supervisors
from headway.drivers.assemble import assemble, bystander
from headway.drivers.manager_jobs import live_manager_jobs
from headway.drivers.recovery import settle
from headway.drivers.run_history import RECORDED, RunHistory, Warn
from headway.drivers.run_settings import RunSettings
from headway.drivers.targets import target_of
from headway.engine.engine import Engine
from headway.garbage import collecting_later
from headway.journal.base import Journal
from headway.journal.folder import Project, RunFolder
from headway.journal.results import RESULTS_IN, known_results
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.damage import DamagedError
from headway.model.errors import BusyError, HeadwayError
from headway.model.records import Known
from headway.model.task import Task

_NO_START = "a journal begins with its run's start"


def rebuild(journal: SqliteJournal) -> Engine:
    """Return the engine with all records of a journal applied, ready to go on with the run."""
    return _applied(journal, assemble)


def followed(journal: SqliteJournal) -> Engine:
    """Return the state of a run that is not to go on. It needs no policies of the run, which may be uninstalled."""
    return _applied(journal, bystander)


def _applied(journal: SqliteJournal, make: Callable[[records.RunStarted], Engine]) -> Engine:
    with journal.careful(), collecting_later():
        stream = journal.replay(brief=True)
        first = next(stream, None)
        if not isinstance(first, records.RunStarted):
            raise TypeError(_NO_START)
        engine = make(first)
        engine.apply(first)
        for record in stream:
            engine.apply(record)
    return engine


def settings_in(folder: RunFolder) -> records.RunStarted:
    """Return the settings of a run."""
    journal = SqliteJournal(folder.journal, read_only=True)
    with closing(journal), journal.careful():
        first = next(journal.replay(kinds=("run-started",)), None)
        if not isinstance(first, records.RunStarted):
            raise TypeError(_NO_START)
        return first


def earlier_results(project: Project, options: RunSettings, warn: Warn, *, read_only: bool = False) -> dict[str, Known]:
    """Return the results of the newest run here that can be read, after its unfinished attempts are settled.

    Runs whose journals are damaged are passed over with a warning. If there are no others, that is an error, unless
    the user wants everything to run again. `read_only` leaves attempts as they are.
    """
    first: DamagedError | None = None
    for folder in reversed(project.runs()):
        try:
            return _results(folder, options, warn, read_only=read_only)
        except BusyError:
            raise
        except HeadwayError as error:
            if not options.again and not isinstance(error, DamagedError):
                raise
            _check_nothing_runs(folder)
            warn(f"run {folder.run} is passed over: {error.where}: {error.what}")
            if options.again:
                return {}  # results are not wanted
            first = first or (error if isinstance(error, DamagedError) else None)
    if first is not None:
        raise first
    return {}


def _results(folder: RunFolder, options: RunSettings, warn: Warn, *, read_only: bool) -> dict[str, Known]:
    journal = SqliteJournal(folder.journal, read_only=read_only)
    with closing(journal), journal.careful():
        if _goes_on(journal) and not read_only:
            _end(folder, journal, options, warn)
        return known_results(journal.replay(kinds=RESULTS_IN, brief=True))


def _goes_on(journal: Journal) -> bool:
    """Whether the run has no end yet, by its journal."""
    found = list(journal.replay(kinds=("run-started", "resumed", "finish")))
    if not found or not isinstance(found[0], records.RunStarted):
        raise TypeError(_NO_START)
    return not isinstance(found[-1], records.Finish)


def _end(folder: RunFolder, journal: SqliteJournal, options: RunSettings, warn: Warn) -> None:
    """Make sure that nothing of an unfinished run is at work any more, and settle its attempts."""
    engine = followed(journal)
    check_not_managed(folder, engine.settings)
    cluster = target_of(engine.settings, folder, options).cluster
    live = [job.tag for job in engine.jobs.values() if job.live]
    if cluster.find(live):
        raise BusyError(
            f"run {folder.run} lost its manager and its tasks are still running",
            where=str(folder.directory),
            todo=f"`headway resume {folder.run}` goes on with it, `headway cancel {folder.run}` ends it",
        )
    cluster.cancel(list(engine.jobs))  # processes that a dead supervisor may have left
    settle_all(engine, journal, folder, warn)


def _check_nothing_runs(folder: RunFolder) -> None:
    """Raise an error if tasks of a run that cannot be read still run, here or in jobs: they may write anywhere."""
    from headway.clusters.slurm.leftovers import live_jobs  # most directories have no such run

    if ids := live_jobs(folder.jobs):
        end = f"scancel {' '.join(map(str, ids))}"
    elif pids := live_supervisors(folder.jobs):
        end = f"kill {' '.join(map(str, pids))}"
    else:
        return
    raise BusyError(
        f"the journal of run {folder.run} is damaged, and its tasks are still running",
        where=str(folder.directory),
        todo=f"wait for them, or end them with `{end}`",
    )


def check_not_managed(folder: RunFolder, settings: records.RunStarted) -> None:
    """Raise an error if a job manages the run, or will: not every file system shows locks of other machines."""
    for job in live_manager_jobs(folder, settings):
        where = f"runs on {job.node}" if job.state == "runs" else "waits in the queue"
        raise BusyError(
            f"run {folder.run} is managed in {job}, which {where}",
            where=str(folder.directory),
            todo=f"`headway attach {folder.run}` follows it, `headway cancel {folder.run}` stops it",
        )


def settle_all(engine: Engine, journal: SqliteJournal, folder: RunFolder, warn: Warn) -> None:
    """Journal the ends of attempts that no manager saw, and record what the run taught."""
    ended = settle(engine.running(), folder, time.time())
    if ended:
        journal.append(ended)
    history = RunHistory(engine.settings.history, warn)
    record_lessons(history, engine, journal)
    history.close()


def record_lessons(history: RunHistory, engine: Engine, journal: SqliteJournal) -> None:
    """Record what the run teaches, beginning with the journal: a killed manager may not have written all of it."""

    def find(task_id: str) -> Task | None:
        state = engine.tasks.get(task_id)  # None: a pool's, over long ago, and in the history since
        return state.task if state is not None else None

    history.record(engine.settings, find)
    history(journal.replay(kinds=RECORDED))
