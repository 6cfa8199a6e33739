"""The runs that are in a directory already: their state, and the results that a new run need not compute again."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing, suppress

from msgspec import structs

from headway.clusters.local import live_supervisors
from headway.drivers.assemble import assemble, bystander
from headway.drivers.digests import Digests
from headway.drivers.inputs import InputReader
from headway.drivers.manager_jobs import live_manager_jobs
from headway.drivers.recovery import settle
from headway.drivers.run_history import RECORDED, RunHistory, Warn
from headway.drivers.run_settings import LOCAL, RunSettings
from headway.drivers.strays import MadeHere, find_strays
from headway.drivers.targets import target_of
from headway.engine.engine import Engine
from headway.garbage import collecting_later
from headway.journal.base import Journal
from headway.journal.folder import Project, RunFolder
from headway.journal.results import RESULTS_IN, TASKS_IN, Earlier, earlier_in, orphans_among
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.damage import DamagedError
from headway.model.errors import BusyError, HeadwayError
from headway.model.task import Task
from headway.model.workflow import Workflow, folders_above
from headway.workers.attempt import AttemptFolder

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


def earlier_results(project: Project, options: RunSettings, warn: Warn, *, read_only: bool = False) -> Earlier:
    """Return the results and files of the newest run here that can be read, after its attempts are settled.

    Runs whose journals are damaged are passed over with a warning. If there are no others, that is an error, unless
    the user wants everything to run again: then results do not count, but it does which files earlier runs made.
    `read_only` leaves attempts as they are.
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
            first = first or (error if isinstance(error, DamagedError) else None)
    if first is not None and not options.again:
        raise first
    return Earlier()


def _results(folder: RunFolder, options: RunSettings, warn: Warn, *, read_only: bool) -> Earlier:
    journal = SqliteJournal(folder.journal, read_only=read_only)
    with closing(journal), journal.careful():
        if _goes_on(journal) and not read_only:
            _end(folder, journal, options, warn)
        return earlier_in(journal.replay(kinds=RESULTS_IN, brief=True))


def made_here(project: Project, own: str) -> MadeHere:
    """Return what says of a path whether an earlier run here made it, for a workflow that is about to be read."""

    def read() -> Earlier:
        newest = _newest(project)
        return Earlier() if newest is None else earlier_in(newest)

    return MadeHere(read, own, project.directory)


def orphans(project: Project) -> list[str]:
    """Return the files and directories here that runs made and that belong to no task of any workflow now.

    What the newest run of another workflow file here names in full is none of them, nor is a workflow file that was
    run, nor what was no orphan when the newest run began: a sheet, for example.
    """
    found = _newest(project)
    if found is None or not isinstance(started := found[0], records.RunStarted):
        return []
    tasks = [task for record in found if isinstance(record, records.TasksAdded) for task in record.tasks]
    of_run = Workflow(started.name, [structs.replace(task, parents=()) for task in tasks])
    digests = Digests(project.path / "digests.db")
    strays = find_strays(earlier_in(found), of_run, started.owner, project.directory, digests)
    named = _named_by_others(project, started.owner)
    lost = [path for path, owner in strays.items() if not owner and path not in named]
    lost = [path for path in lost if any(each in started.strays for each in (path, *folders_above(path)))]
    return orphans_among(lost, found, lambda path: (project.directory / path).is_dir())


def _named_by_others(project: Project, own: str) -> set[str]:
    """Return the inputs that the newest runs of other workflow files here name, and these files."""
    owners, named = {own}, set[str]()
    for folder in reversed(project.runs()):
        with suppress(HeadwayError):
            owner = settings_in(folder).owner
            if owner in owners:
                continue
            owners.add(owner)
            journal = SqliteJournal(folder.journal, read_only=True)
            with closing(journal), journal.careful():
                for record in journal.replay(kinds=("tasks-added",), brief=True):
                    if isinstance(record, records.TasksAdded):
                        named.update(path for task in record.tasks for path in task.inputs)
    return named | owners


def _newest(project: Project) -> list[records.Event | records.Decision] | None:
    """Return the records about results and tasks of the newest run here that can be read."""
    for folder in reversed(project.runs()):
        try:
            journal = SqliteJournal(folder.journal, read_only=True)
            with closing(journal), journal.careful():
                return list(journal.replay(kinds={*RESULTS_IN, *TASKS_IN}, brief=True))
        except DamagedError:
            continue
    return None


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
    if cluster.find(live) and not _is_done_here(engine, folder):
        raise BusyError(
            f"run {folder.run} lost its manager and its tasks are still running",
            where=str(folder.directory),
            todo=f"`headway resume {folder.run}` goes on with it, `headway cancel {folder.run}` ends it",
        )
    cluster.cancel(list(engine.jobs))  # processes that a dead supervisor may have left
    settle_all(engine, journal, folder, warn)


def _is_done_here(engine: Engine, folder: RunFolder) -> bool:
    """Whether supervisors on this machine only wait for a manager: every attempt has its result.

    They do so for some time, for example after outputs could not be put in place.
    """
    if engine.settings.cluster != LOCAL:
        return False  # jobs are kept: they may have waited long
    attempts = ((state.task.id, state.attempts) for state in engine.running())
    return all(AttemptFolder(folder.attempt(*each)).result() is not None for each in attempts)


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
    """Journal the ends of attempts that no manager saw, and record what the run taught.

    A result stays where it is if its outputs cannot be put in place now: a resumed run tries it again.
    """
    inputs = InputReader(folder.directory, Digests())
    ended: list[records.TaskEnded] = []
    for state in engine.running():
        try:
            ended += settle([state], folder, time.time())
        except (OSError, HeadwayError) as error:
            warn(f"outputs of task {state.task.id} of run {folder.run} could not be put in place: {error}")
    ended = [inputs.with_moves(event, engine.tasks[event.outcome.task].inputs) for event in ended]
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
