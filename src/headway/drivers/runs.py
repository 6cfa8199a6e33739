"""Runs as users know them: start one, resume one, stop one."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import time
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct, field, structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.assemble import assemble
from headway.drivers.digests import Digests
from headway.drivers.feed import Feed
from headway.drivers.inputs import InputReader, check_sources
from headway.drivers.real import Driver, Observer
from headway.drivers.recovery import settle
from headway.drivers.run_history import RECORDED, RunHistory, Warn, history_key, warn_program
from headway.drivers.targets import LOCAL, Supervision, Target, target_of
from headway.engine.engine import Engine
from headway.history.location import history_location
from headway.journal.folder import Project, RunFolder
from headway.journal.results import known_results
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.errors import BusyError, InputError, SiteError, WorkflowError
from headway.model.records import Decision, Event, HistoryKey, Known
from headway.model.workflow import Workflow
from headway.ordering import DEFAULT_ORDER
from headway.sizing import DEFAULT_SIZER
from headway.version import __version__

_log = logging.getLogger(__name__)

_TASKS_A_RECORD = 1000


class Options(Struct, frozen=True):
    """How to run: what the command line offers.

    `history` is the place where the user wants it, `site` this machine's name there (by default the host's), and
    `known_as` the workflow's, where its own would mix what does not belong together.
    """

    sizer: str = DEFAULT_SIZER
    order: str = DEFAULT_ORDER
    seed: int = 0
    keep_going: bool = False
    again: bool = False
    stated: dict[str, float] = field(default_factory=dict)
    linger_s: float = 600.0
    grace_s: float = 5.0
    measure: str = "auto"
    fresh: bool = False
    history: str = ""
    site: str = ""
    known_as: str = ""
    cluster: str = LOCAL
    plan: str = ""
    batch: dict[str, str] = field(default_factory=dict)

    @property
    def supervision(self) -> Supervision:
        """What supervisors have to know."""
        return Supervision(self.linger_s, self.grace_s, self.measure)


def start(
    workflow: Workflow,
    directory: Path,
    options: Options,
    *,
    source: str = "",
    observers: Sequence[Observer] = (),
    feed: Feed | None = None,
    warn: Warn = warn_program,
) -> tuple[RunFolder, str]:
    """Run a workflow in `directory`; returns the run's folder and how it ended. With a `feed` it may grow meanwhile.

    `warn` is told of trouble that does not stop the run.
    """
    if not len(workflow) and feed is None:
        raise InputError("the workflow has no tasks", where=source)
    _check_commands(workflow, source)
    history_location(options.history)  # a mistake in it is said before there is anything of the run
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
        started = _run_started(workflow, folder, options, source, growing=feed is not None)
        target = target_of(started, folder, options.supervision)
        limits = records.LimitsRead(started.at, target.cluster.limits(), target.cluster.most_jobs())
        history = _history_of(workflow, options, target.cluster)
        started = structs.replace(started, history=history)
        engine = assemble(started)
        learning = RunHistory(started.history, warn)
        categories = None if feed is not None else dict.fromkeys(task.category for task in workflow)
        first = [
            started,
            limits,
            *([] if options.fresh else learning.first_records(categories, options.sizer, options.plan, started.at)),
            *_tasks_added(workflow, earlier, started.at),
        ]
        journal = SqliteJournal.create(folder.journal, first)
        return folder, _drive(engine, journal, target, project, folder, options, learning, observers, first, feed)
    finally:
        project.unlock()


def resume(folder: RunFolder, options: Options, observers: Sequence[Observer] = (), warn: Warn = warn_program) -> str:
    """Take up a run that was interrupted; returns how it ended."""
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
        target = target_of(engine.settings, folder, options.supervision, lenient=True)
        now = time.time()
        live = target.cluster.find(job.tag for job in engine.jobs.values() if job.live)
        limits = engine.limits if live else target.cluster.limits()  # an allocation stays as it was granted
        site = records.LimitsRead(now, limits, target.cluster.most_jobs())
        again: list[Event | Decision] = [records.Resumed(now, __version__), site]
        journal.append(again)
        learning = RunHistory(engine.settings.history, warn)
        return _drive(engine, journal, target, project, folder, options, learning, observers, again)
    finally:
        project.unlock()


def cancel(folder: RunFolder, warn: Warn = warn_program) -> str:
    """Stop a run at once, whoever is or is not managing it; returns what was done, in words."""
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
        target_of(engine.settings, folder, Supervision()).cluster.cancel(list(engine.jobs))
        _settle_all(engine, journal, folder, warn)
        journal.append([records.UserCancel(time.time(), "now"), records.Finish(time.time(), "stopped")])
    finally:
        project.unlock()
    return f"run {folder.run} is stopped; `headway resume {folder.run}` would go on with it"


def _is_growing(folder: RunFolder) -> bool:
    """Whether the run is part of another program, which lets it grow."""
    journal = SqliteJournal(folder.journal, read_only=True)
    first = next(journal.replay(kinds=("run-started",)))
    journal.close()
    return isinstance(first, records.RunStarted) and first.growing


def rebuild(journal: SqliteJournal) -> Engine:
    """The state that a journal tells of."""
    stream = journal.replay()
    first = next(stream)
    if not isinstance(first, records.RunStarted):
        raise TypeError("a journal begins with its run's start")
    engine = assemble(first)
    engine.apply(first)
    for record in stream:
        engine.apply(record)
    return engine


def _earlier_results(project: Project, options: Options, warn: Warn) -> dict[str, Known]:
    """What the last run here left, after its loose ends are tied up."""
    runs = project.runs()
    if not runs:
        return {}
    folder = runs[-1]
    journal = SqliteJournal(folder.journal)
    try:
        engine = rebuild(journal)
    except SiteError:
        if options.again:
            return {}  # nothing that it knows is wanted
        raise
    if not engine.finished:
        cluster = target_of(engine.settings, folder, options.supervision).cluster
        live = [job.tag for job in engine.jobs.values() if job.live]
        if cluster.find(live):
            raise BusyError(
                f"run {folder.run} lost its manager and its tasks are still running",
                where=str(project.directory),
                todo=f"`headway resume {folder.run}` goes on with it, `headway cancel {folder.run}` ends it",
            )
        cluster.cancel(list(engine.jobs))  # what a dead supervisor may have left running
        _settle_all(engine, journal, folder, warn)
    known = known_results(journal.replay())
    journal.close()
    return known


def _settle_all(engine: Engine, journal: SqliteJournal, folder: RunFolder, warn: Warn) -> None:
    """Journal the ends of attempts that no manager saw, and record what the run taught."""
    ended = settle(engine.running(), folder, time.time())
    if ended:
        journal.append(ended)
    history = RunHistory(engine.settings.history, warn)
    _record(history, engine, journal)
    history.close()


def _record(history: RunHistory, engine: Engine, journal: SqliteJournal) -> None:
    """Record what the run teaches, beginning with the journal: a killed manager may not have written all of it."""
    history.record(engine.settings, lambda task_id: engine.tasks[task_id].task)
    history(journal.replay(kinds=RECORDED))


def _run_started(
    workflow: Workflow, folder: RunFolder, options: Options, source: str, *, growing: bool
) -> records.RunStarted:
    return records.RunStarted(
        at=time.time(),
        run=folder.run,
        uid=secrets.token_hex(6),
        name=workflow.name,
        directory=str(folder.directory),
        source=source,
        version=__version__,
        sizer=options.sizer,
        order=options.order,
        seed=options.seed,
        keep_going=options.keep_going,
        again=options.again,
        stated=options.stated,
        growing=growing,
        fresh=options.fresh,
        cluster=options.cluster,
        plan=options.plan,
        batch=options.batch,
    )


def _history_of(workflow: Workflow, options: Options, cluster: Cluster) -> HistoryKey | None:
    return history_key(options.history, options.known_as or workflow.name, options.site or cluster.called())


def _check_commands(workflow: Workflow, source: str) -> None:
    """A task without a command can be simulated, not run."""
    for task in workflow:
        if not task.command.strip():
            raise WorkflowError(
                f"task {task.id!r} has no command",
                tasks=[task.id],
                where=source,
                todo="`headway run --synthetic` runs stand-ins that take what was recorded",
            )


def _tasks_added(workflow: Workflow, earlier: dict[str, Known], now: float) -> list[Event | Decision]:
    """The tasks and what is known of them, in records of a digestible size, parents before children."""
    tasks = [workflow.tasks[task_id] for task_id in workflow.topological()]
    chunks = [tasks[begin : begin + _TASKS_A_RECORD] for begin in range(0, len(tasks), _TASKS_A_RECORD)]
    known = [records.ResultsKnown(now, list(earlier.values()))] if earlier else []
    return [*known, *(records.TasksAdded(now, chunk) for chunk in chunks)]


def _drive(
    engine: Engine,
    journal: SqliteJournal,
    target: Target,
    project: Project,
    folder: RunFolder,
    options: Options,
    history: RunHistory,
    observers: Sequence[Observer],
    first: Sequence[Event | Decision],
    feed: Feed | None = None,
) -> str:
    """Apply and show the records that are already in the journal, then drive the run to its end."""
    for record in first:
        engine.apply(record)
        if isinstance(record, records.Resumed):
            _log.info("run %s is resumed", folder.run)
    for observer in observers:
        observer(first)
    _record(history, engine, journal)
    digests = Digests(project.path / "digests.db")
    inputs = InputReader(project.directory, digests)
    try:
        target.prepare()
        driver = Driver(
            engine,
            journal,
            target.cluster,
            target.connections,
            folder,
            inputs,
            [*observers, history],
            feed=feed,
            grace_s=options.grace_s,
            others_waits=history.others_waits,
        )
        return asyncio.run(driver.run())
    finally:
        history.close()
        digests.save()
        journal.close()
