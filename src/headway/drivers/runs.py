"""Start, resume and cancel runs."""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.assemble import assemble
from headway.drivers.digests import Digests
from headway.drivers.feed import Feed
from headway.drivers.inputs import InputReader, check_sources
from headway.drivers.kept_waits import OthersWaits, WaitKeeper, read_waits, wait_keeper
from headway.drivers.learned_state import StateKeeper, read_state, state_keeper
from headway.drivers.learning import Learning, Warn, history_key, warn_program
from headway.drivers.places import Place, Supervision, place_of
from headway.drivers.real import Driver, Observer
from headway.drivers.recovery import settle
from headway.drivers.run_settings import RunSettings, run_started
from headway.engine.engine import Engine
from headway.history.location import history_place
from headway.history.recorder import Recorder
from headway.journal.folder import Project, RunFolder
from headway.journal.results import known_results
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.errors import BusyError, InputError, SiteError, WorkflowError
from headway.model.records import Decision, Event, HistoryKey, Known
from headway.model.task import Task
from headway.model.workflow import Workflow
from headway.version import __version__

_TASKS_A_RECORD = 1000
_TEACHING = ("launch", "task-ended", "submit", "job-state")


def start(
    workflow: Workflow,
    directory: Path,
    options: RunSettings,
    *,
    source: str = "",
    observers: Sequence[Observer] = (),
    feed: Feed | None = None,
    warn: Warn = warn_program,
) -> tuple[RunFolder, str]:
    """Run a workflow in `directory`; return the run's folder and how the run ended.

    With a `feed` the run may get more tasks. `warn` is called with sentences about trouble that does not stop the run.
    """
    if not len(workflow) and feed is None:
        raise InputError("the workflow has no tasks", where=source)
    _check_commands(workflow, source)
    history_place(options.history)  # raises an error before anything of the run exists
    project = Project(directory)
    check_sources(workflow, project.directory)
    project.lock()
    try:
        earlier = _earlier_results(project, options, warn)
        folder = project.new_run()
        project.works_on(folder.run)
        crash_point("run-created")
        if feed is not None:
            feed.folder = folder
        begun = prepare(workflow, folder, options, earlier, source=source, warn=warn, growing=feed is not None)
        engine, place, learning, first = begun
        journal = SqliteJournal.create(folder.journal, first)
        return folder, _drive(
            engine, journal, place, project, folder, options, learning, observers, first, feed, warn=warn
        )
    finally:
        project.unlock()


class Prepared(NamedTuple):
    """A run that has not begun: its engine, its target, the history, and the first records, which are not applied."""

    engine: Engine
    place: Place
    learning: Learning
    first: list[Event | Decision]


def prepare(
    workflow: Workflow,
    folder: RunFolder,
    options: RunSettings,
    earlier: dict[str, Known],
    *,
    source: str = "",
    warn: Warn = warn_program,
    growing: bool = False,
    read_only: bool = False,
) -> Prepared:
    """Put a run's parts together, without writing anything of the run: also what a dry run begins with.

    `read_only` leaves the history as it is.
    """
    started = run_started(
        options,
        name=workflow.name,
        at=time.time(),
        run=folder.run,
        uid=secrets.token_hex(6),
        directory=str(folder.directory),
        source=source,
        growing=growing,
    )
    place = place_of(started, folder, options.supervision)
    limits = records.LimitsRead(started.at, place.cluster.limits(), place.cluster.most_jobs())
    history = _history_of(workflow, options, place.cluster)
    started = structs.replace(started, history=history)
    engine = assemble(started)
    learning = Learning(history, warn, read_only=read_only)
    categories = None if growing else dict.fromkeys(task.category for task in workflow)
    first = [
        started,
        limits,
        *([] if options.fresh else learning.read(categories, started.at)),
        *([] if options.fresh else read_state(history, options.sizer, warn, started.at)),
        *([] if options.fresh or not options.plan else read_waits(history, warn, started.at)),
        *_tasks_added(workflow, earlier, started.at),
    ]
    return Prepared(engine, place, learning, first)


def resume(
    folder: RunFolder, options: RunSettings, observers: Sequence[Observer] = (), warn: Warn = warn_program
) -> str:
    """Go on with a run that was interrupted; return how it ended."""
    project = Project(folder.directory)
    project.lock(folder.run)
    try:
        journal = SqliteJournal(folder.journal)
        engine = rebuild(journal)
        if engine.finished in ("succeeded", "failed"):
            raise InputError(
                f"run {folder.run} is over ({engine.finished})",
                todo="`headway run` starts a new one that keeps what succeeded",
            )
        place = place_of(engine.settings, folder, options.supervision, lenient=True)
        now = time.time()
        live = place.cluster.find(job.tag for job in engine.jobs.values() if job.live)
        limits = engine.limits if live else place.cluster.limits()  # a live allocation keeps its size
        site = records.LimitsRead(now, limits, place.cluster.most_jobs())
        again: list[Event | Decision] = [records.Resumed(now, __version__), site]
        journal.append(again)
        learning = Learning(engine.settings.history, warn)
        return _drive(engine, journal, place, project, folder, options, learning, observers, again, warn=warn)
    finally:
        project.unlock()


def cancel(folder: RunFolder, warn: Warn = warn_program) -> str:
    """Stop a run at once, whether or not a process manages it; return a sentence about what was done."""
    project = Project(folder.directory)
    manager = project.manager()
    if manager is not None and manager.run == folder.run:
        if not manager.is_here:
            raise BusyError(f"run {folder.run} is managed on {manager.host}", todo="cancel it there")
        if _is_growing(folder):
            folder.stop.touch()
            return f"run {folder.run} was told to stop at once"
        with contextlib.suppress(ProcessLookupError):  # it has just ended
            os.kill(manager.pid, signal.SIGTERM)
        return f"run {folder.run} was told to stop at once"
    project.lock(folder.run)
    try:
        journal = SqliteJournal(folder.journal)
        engine = rebuild(journal)
        if engine.finished in ("succeeded", "failed"):
            return f"run {folder.run} was already over ({engine.finished})"
        place_of(engine.settings, folder, Supervision()).cluster.cancel(list(engine.jobs))
        _settle_all(engine, journal, folder, warn)
        journal.append([records.UserCancel(time.time(), "now"), records.Finish(time.time(), "stopped")])
    finally:
        project.unlock()
    return f"run {folder.run} is stopped; `headway resume {folder.run}` would go on with it"


def _is_growing(folder: RunFolder) -> bool:
    """Whether the run belongs to a program that adds tasks to it."""
    journal = SqliteJournal(folder.journal, read_only=True)
    first = next(journal.replay(kinds=("run-started",)))
    journal.close()
    return isinstance(first, records.RunStarted) and first.growing


def rebuild(journal: SqliteJournal) -> Engine:
    """Return the engine with all records of a journal applied."""
    stream = journal.replay()
    first = next(stream)
    if not isinstance(first, records.RunStarted):
        raise TypeError("a journal begins with its run's start")
    engine = assemble(first)
    engine.apply(first)
    for record in stream:
        engine.apply(record)
    return engine


def _earlier_results(project: Project, options: RunSettings, warn: Warn) -> dict[str, Known]:
    """Return the results of the last run here, after its unfinished attempts are settled."""
    runs = project.runs()
    if not runs:
        return {}
    folder = runs[-1]
    journal = SqliteJournal(folder.journal)
    try:
        engine = rebuild(journal)
    except SiteError:
        if options.again:
            return {}  # its results are not wanted
        raise
    if not engine.finished:
        cluster = place_of(engine.settings, folder, options.supervision).cluster
        live = [job.tag for job in engine.jobs.values() if job.live]
        if cluster.find(live):
            raise BusyError(
                f"run {folder.run} lost its manager and its tasks are still running",
                where=str(project.directory),
                todo=f"`headway resume {folder.run}` goes on with it, `headway cancel {folder.run}` ends it",
            )
        cluster.cancel(list(engine.jobs))  # processes that a dead supervisor may have left
        _settle_all(engine, journal, folder, warn)
    known = known_results(journal.replay())
    journal.close()
    return known


def _settle_all(engine: Engine, journal: SqliteJournal, folder: RunFolder, warn: Warn) -> None:
    """Journal the ends of attempts that no manager saw, and add the run's outcomes to the history."""
    ended = settle(engine.running(), folder, time.time())
    if ended:
        journal.append(ended)
    for keeper in _keepers(engine, Learning(engine.settings.history, warn), warn):
        keeper(journal.replay(kinds=_TEACHING))
        keeper.close()


def _keepers(engine: Engine, learning: Learning, warn: Warn) -> list[Recorder | StateKeeper | WaitKeeper]:
    """Who keeps what the run teaches: its attempts, its agents' state, and how long its jobs waited."""

    def task(task_id: str) -> Task:
        return engine.tasks[task_id].task

    settings = engine.settings
    keepers = (
        learning.recorder(settings.uid, task),
        state_keeper(settings, task, warn),
        wait_keeper(settings, warn),
    )
    return [keeper for keeper in keepers if keeper is not None]


def _history_of(workflow: Workflow, options: RunSettings, cluster: Cluster) -> HistoryKey | None:
    return history_key(options.history, options.known_as or workflow.name, options.site or cluster.called())


def _check_commands(workflow: Workflow, source: str) -> None:
    """Raise an error for a task without a command: it can be simulated, not run."""
    for task in workflow:
        if not task.command.strip():
            raise WorkflowError(
                f"task {task.id!r} has no command",
                tasks=[task.id],
                where=source,
                todo="`headway run --synthetic` runs stand-ins that take what was recorded",
            )


def _tasks_added(workflow: Workflow, earlier: dict[str, Known], now: float) -> list[Event | Decision]:
    """Return records of earlier results and of the tasks, parents before children, a limited number per record."""
    tasks = [workflow.tasks[task_id] for task_id in workflow.topological()]
    chunks = [tasks[begin : begin + _TASKS_A_RECORD] for begin in range(0, len(tasks), _TASKS_A_RECORD)]
    known = [records.ResultsKnown(now, list(earlier.values()))] if earlier else []
    return [*known, *(records.TasksAdded(now, chunk) for chunk in chunks)]


def _drive(
    engine: Engine,
    journal: SqliteJournal,
    place: Place,
    project: Project,
    folder: RunFolder,
    options: RunSettings,
    learning: Learning,
    observers: Sequence[Observer],
    first: Sequence[Event | Decision],
    feed: Feed | None = None,
    *,
    warn: Warn,
) -> str:
    """Apply and show the records that are already in the journal, then drive the run to its end."""
    for record in first:
        engine.apply(record)
    for observer in observers:
        observer(first)
    keepers = _keepers(engine, learning, warn)
    for keeper in keepers:
        keeper(journal.replay(kinds=_TEACHING))  # after a kill: what was not written, and what still runs
    observers = [*observers, *keepers]
    digests = Digests(project.path / "digests.db")
    inputs = InputReader(project.directory, digests)
    try:
        place.prepare()
        driver = Driver(
            engine,
            journal,
            place.cluster,
            place.lines,
            folder,
            inputs,
            observers,
            feed=feed,
            grace_s=options.grace_s,
            others_waits=OthersWaits(engine.settings).news,
        )
        return asyncio.run(driver.run())
    finally:
        for keeper in keepers:
            keeper.close()
        digests.save()
        journal.close()
