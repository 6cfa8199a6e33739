"""Start, resume and cancel runs."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import platform
import secrets
import signal
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from headway.clusters.base import Cluster
from headway.crash_points import crash_point
from headway.drivers.assemble import assemble
from headway.drivers.at_work import at_work
from headway.drivers.digests import Digests
from headway.drivers.earlier_runs import (
    check_not_managed,
    earlier_results,
    followed,
    rebuild,
    record_lessons,
    settings_in,
    settle_all,
)
from headway.drivers.feed import Feed
from headway.drivers.full_disk import naming_tasks
from headway.drivers.gpu_types import ask_for_fitting_gpus
from headway.drivers.hand_over import HandOver
from headway.drivers.inputs import InputReader, check_sources
from headway.drivers.manager_jobs import ManagerJobs, live_manager_jobs, manager_jobs
from headway.drivers.named_inputs import declare_named_inputs
from headway.drivers.origins import origin_of
from headway.drivers.real import LEFT, Driver, Observer
from headway.drivers.run_history import RunHistory, Warn, history_key, warn_program
from headway.drivers.run_settings import RunSettings, run_started
from headway.drivers.strays import Strays, adopt, check_in_place, find_strays, in_the_way, owner_of
from headway.drivers.strict_sandboxes import with_sandboxes
from headway.drivers.targets import Target, target_of
from headway.engine.engine import Engine
from headway.engine.state import Phase
from headway.history.location import history_location
from headway.journal.folder import Project, RunFolder
from headway.journal.logs import pack_logs
from headway.journal.results import Earlier
from headway.journal.sqlite import SqliteJournal
from headway.model import records
from headway.model.errors import BusyError, HeadwayError, InputError, SiteError, WorkflowError
from headway.model.job import Wish
from headway.model.records import Decision, Event, Known
from headway.model.resources import Resources
from headway.model.workflow import Workflow
from headway.version import __version__
from headway.workers.attempt import remove

_log = logging.getLogger(__name__)

_TASKS_A_RECORD = 1000

# Lets another process manage a run that is in the journal, given its folder and its settings.
Entrust = Callable[[RunFolder, records.RunStarted], None]
Explain = Callable[[dict[str, Known]], dict[str, Known]]


def start(
    workflow: Workflow,
    directory: Path,
    options: RunSettings,
    *,
    source: str = "",
    observers: Sequence[Observer] = (),
    feed: Feed | None = None,
    warn: Warn = warn_program,
    entrust: Entrust | None = None,
    explain: Explain | None = None,
) -> tuple[RunFolder, str]:
    """Run a workflow in `directory`; return the run's folder and how the run ended.

    With a `feed` the run may get more tasks. `warn` is called with sentences about trouble that does not stop the run.
    With `entrust` the run is only begun, and has no end yet: another process will manage it. `explain` adds to earlier
    results what has changed their tasks since.
    """
    if not len(workflow) and feed is None:
        raise InputError("the workflow has no tasks", where=source)
    _check_commands(workflow, source)
    history_location(options.history)  # raises an error before anything of the run exists
    project = Project(directory)
    _check_name(project.directory, source)
    check_sources(workflow, project.directory)
    with project.locked():
        earlier = earlier_results(project, options, warn)
        folder = project.new_run()
        project.works_on(folder.run)
        crash_point("run-created")
        if feed is not None:
            feed.folder = folder
        begun = prepare(
            workflow, folder, options, earlier, source=source, warn=warn, growing=feed is not None, explain=explain
        )
        journal = SqliteJournal.create(folder.journal, begun.first)
        if entrust is not None:
            return folder, _entrust(begun, journal, folder, entrust)
        return folder, _drive(begun, journal, folder, options.grace_s, observers, feed, warn)


class Prepared(NamedTuple):
    """A run that has not begun: its engine, its target, the history, and the first records, which are not applied."""

    engine: Engine
    target: Target
    history: RunHistory
    first: list[Event | Decision]


def prepare(
    workflow: Workflow,
    folder: RunFolder,
    options: RunSettings,
    earlier: Earlier,
    *,
    source: str = "",
    warn: Warn = warn_program,
    growing: bool = False,
    read_only: bool = False,
    explain: Explain | None = None,
) -> Prepared:
    """Put a run's parts together, without writing anything of the run: also what a dry run begins with.

    `read_only` leaves the history as it is. `explain` adds to earlier results what has changed their tasks since.
    """
    whole, left_out = workflow.whole, [path for path in workflow.whole.producer if path not in workflow.producer]
    kept = [path for task in workflow for path in task.temp if not set(whole.readers(path)) <= workflow.tasks.keys()]
    owner = owner_of(whole, source, folder.directory)
    earlier = adopt(earlier, whole, owner, folder.directory)
    earlier = structs.replace(earlier, known=explain(earlier.known)) if explain else earlier
    digests = Digests(Project(folder.directory).path / "digests.db")
    for path in in_the_way(earlier, whole, owner, folder.directory, digests) if not read_only else ():
        if (folder.directory / path).is_dir():
            what = "with files of earlier runs only, is deleted: a task makes a file"
        else:
            what = "which an earlier run made, is deleted: tasks make files in a directory"
        remove(folder.directory / path)
        warn(f"{path}, {what} of that name now")
    strays = find_strays(earlier, whole, owner, folder.directory, digests)
    orphans = {path for path, owner in strays.items() if not owner}
    workflow, unnoticed = declare_named_inputs(workflow, folder.directory, orphans)
    in_view = check_in_place(workflow, strays, str(folder.directory), workflow.places)
    workflow, unhidden = with_sandboxes(workflow, whole, folder.directory, options.sandbox)
    warnings = [*whole.warnings, *unnoticed, *in_view, *unhidden]
    for text in warnings:
        warn(text)
    started = run_started(
        options,
        name=workflow.name,
        at=time.time(),
        run=folder.run,
        uid=secrets.token_hex(6),
        directory=str(folder.directory),
        source=source,
        growing=growing,
        warnings=warnings,
        left_out=left_out,
        owner=owner,
        strays=strays,
        to_come={block.name: block.makes for block in whole.deferred.blocks},
        kept=kept,
        made_with={"Python": platform.python_version(), "system": platform.platform(), "host": platform.node()},
    )
    target = target_of(started, folder, options)
    cluster = target.cluster
    for text in cluster.remarks():
        warn(text)
    limits = _sites(workflow, cluster, started.at, warn)
    stated = options.project or options.known_as
    origin, older = origin_of(whole, folder.directory, stated, growing=growing, read_only=read_only)
    name = options.known_as or workflow.name
    key = history_key(options.history, name, options.site or cluster.called(), origin)
    started = structs.replace(started, history=key)
    engine = assemble(started)
    history = RunHistory(key, warn, read_only=read_only)
    if older and not read_only:
        history.adopt()
    categories = None if growing else dict.fromkeys([*(task.category for task in workflow), *workflow.deferred.names])
    learned = [] if options.fresh else history.first_records(categories, options.sizer, options.plan, started.at)
    seen = (each for record in learned if isinstance(record, records.HistoryRead) for each in record.observations)
    fitted = ask_for_fitting_gpus(workflow, cluster, seen, warn)
    if fitted is not workflow:
        workflow, limits = fitted, _sites(fitted, cluster, started.at, warn)
    first = [started, *limits, *learned, *_tasks_added(workflow, earlier, started.at)]
    return Prepared(engine, target, history, first)


def resume(
    folder: RunFolder,
    options: RunSettings,
    observers: Sequence[Observer] = (),
    warn: Warn = warn_program,
    feed: Feed | None = None,
    entrust: Entrust | None = None,
    hand_over: HandOver | None = None,
) -> str:
    """Go on with a run that was interrupted; return how it ended. With a `feed` it may get more tasks.

    With `entrust` another process will manage it. A manager with a `hand_over` is one of several: it does nothing if
    the run is over, and may leave the run before its end.
    """
    project = Project(folder.directory)
    with project.locked(folder.run):
        journal = SqliteJournal(folder.journal)
        engine = rebuild(journal)
        if hand_over is not None and engine.finished:
            return engine.finished
        if hand_over is None:
            check_not_managed(folder, engine.settings)
            folder.stop.unlink(missing_ok=True)
        if engine.finished in ("succeeded", "failed"):
            raise InputError(
                f"run {folder.run} is over ({engine.finished})",
                todo="`headway run` starts a new one that keeps what succeeded",
            )
        target = target_of(engine.settings, folder, options, lenient=True)
        now = time.time()
        live = target.cluster.find(job.tag for job in engine.jobs.values() if job.live)
        # A live allocation keeps its size.
        sites = _sites(engine.workflow, target.cluster, now, warn, engine.limits if live else None)
        again: list[Event | Decision] = [
            records.Resumed(now, __version__, growing=feed is not None, relieves=hand_over is not None),
            *sites,
        ]
        if feed is not None:
            feed.folder = folder
            again += _never_started(engine, now)
        journal.append(again)
        _log.info("run %s is resumed", folder.run)
        begun = Prepared(engine, target, RunHistory(engine.settings.history, warn), again)
        if entrust is not None:
            return _entrust(begun, journal, folder, entrust)
        return _drive(begun, journal, folder, options.grace_s, observers, feed, warn, hand_over)


def _entrust(begun: Prepared, journal: SqliteJournal, folder: RunFolder, entrust: Entrust) -> str:
    """Let another process manage a run that has begun; if that fails, a run without jobs is stopped."""
    begun.history.close()
    settings = begun.first[0]
    try:
        entrust(folder, settings if isinstance(settings, records.RunStarted) else begun.engine.settings)
    except HeadwayError:
        if not any(job.live for job in begun.engine.jobs.values()):
            journal.append([records.Finish(time.time(), "stopped")])
        raise
    finally:
        journal.close()
    return ""


def _never_started(engine: Engine, now: float) -> list[records.TaskWithdrawn]:
    """Withdraw what never started and was not to be kept: programs that still want it submit it again."""
    new = [state.task for state in engine.tasks.values() if state.phase < Phase.RUNNING and not state.attempts]
    return [records.TaskWithdrawn(now, task.id) for task in new if not task.terms.keep]


def cancel(folder: RunFolder, warn: Warn = warn_program) -> str:
    """Stop a run at once, whether or not a process manages it; return a sentence about what was done."""
    project = Project(folder.directory)
    if folder.managers.exists() and (told := _tell_jobs(folder)):
        return told
    manager = project.manager()
    if manager is not None and manager.run == folder.run:
        if not manager.is_here:
            raise BusyError(f"run {folder.run} is managed on {manager.host}", todo="cancel it there")
        if settings_in(folder).growing:
            folder.stop.touch()
        else:
            with contextlib.suppress(ProcessLookupError):  # it has just ended
                os.kill(manager.pid, signal.SIGTERM)
        return f"run {folder.run} was told to stop at once"
    with project.locked(folder.run):
        journal = SqliteJournal(folder.journal)
        engine = followed(journal)
        if engine.finished in ("succeeded", "failed"):
            return f"run {folder.run} was already over ({engine.finished})"
        target_of(engine.settings, folder, RunSettings()).cluster.cancel(list(engine.jobs))
        settle_all(engine, journal, folder, warn)
        journal.append([records.UserCancel(time.time(), "now"), records.Finish(time.time(), "stopped")])
    return f"run {folder.run} is stopped; `headway resume {folder.run}` would go on with it"


def _tell_jobs(folder: RunFolder) -> str:
    """Cancel the jobs in which managers would start, and tell the manager in a job to stop the run, on any machine.

    Return a sentence about that; nothing if no manager is at work in a job.
    """
    settings = settings_in(folder)
    if not (live := live_manager_jobs(folder, settings)):
        return ""
    folder.stop.touch()
    cancelled = ManagerJobs(folder, settings, RunSettings()).cancel_waiting()
    gone = {job.tag for job in cancelled}
    also = f"; {', '.join(map(str, cancelled))} for its next manager is cancelled" if cancelled else ""
    for job in live:
        if job.tag not in gone:
            return f"run {folder.run} was told to stop at once, by its manager in {job} on {job.node}{also}"
    return ""


def is_managed(folder: RunFolder) -> bool:
    """Whether a process manages the run, on this machine or in a job."""
    manager = Project(folder.directory).manager()
    if manager is not None and manager.run == folder.run:
        return True
    return bool(manager_jobs(folder)) and bool(live_manager_jobs(folder, settings_in(folder)))


def _check_name(directory: Path, source: str) -> None:
    """Raise an error for names that no journal can hold: they are not text."""
    for name in (str(directory), source):
        if not name.isprintable() and name.encode(errors="replace").decode() != name:
            shown = name.encode(errors="replace").decode()
            raise InputError("this name is not text in UTF-8", where=shown, todo="rename it, then start again")


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


def _tasks_added(workflow: Workflow, earlier: Earlier, now: float) -> list[Event | Decision]:
    """Return records of earlier results and of the tasks, parents before children, a limited number per record."""
    tasks = [workflow.tasks[task_id] for task_id in workflow.topological()]
    chunks = [tasks[begin : begin + _TASKS_A_RECORD] for begin in range(0, len(tasks), _TASKS_A_RECORD)]
    results, *others = structs.astuple(earlier)
    known = [records.ResultsKnown(now, list(results.values()), *others)] if any((results, *others)) else []
    deferred = [records.TasksDeferred(now, workflow.deferred)] if workflow.deferred else []
    return [*known, *(records.TasksAdded(now, chunk) for chunk in chunks), *deferred]


def _drive(
    run: Prepared,
    journal: SqliteJournal,
    folder: RunFolder,
    grace_s: float,
    observers: Sequence[Observer],
    feed: Feed | None,
    warn: Warn,
    hand_over: HandOver | None = None,
) -> str:
    """Apply and show the records that are already in the journal, then drive the run to its end."""
    engine, target, history, first = run
    for record in first:
        engine.apply(record)
    # A program that adds tasks has other ways to share a machine than those the sentence names.
    say = warn if feed is None else None
    with at_work(engine.settings, engine.limits, folder, say):
        if feed is not None:
            feed.site = partial(_site_for, target.cluster)
        for observer in observers:
            observer(first)
        record_lessons(history, engine, journal)
        digests = Digests(Project(folder.directory).path / "digests.db")
        inputs = InputReader(folder.directory, digests, Strays(engine.settings.strays, engine.workflow))
        told: list[Observer] = [*observers, history]
        try:
            target.prepare()
            to = (target.cluster, target.connections)
            waits = history.others_waits
            driver = Driver(engine, journal, *to, folder, inputs, told, feed, grace_s, waits, hand_over)
            with naming_tasks(engine.tasks.values(), folder):
                ending = asyncio.run(driver.run())
            if feed is None and ending != LEFT:  # the program of a growing run still reads what its calls printed
                attempts = ((task, state.attempts) for task, state in engine.tasks.items())
                pack_logs(folder, ((task, number) for task, last in attempts for number in range(1, last + 1)))
            return ending
        finally:
            history.close()
            digests.save()
            journal.close()


def _sites(
    workflow: Workflow, cluster: Cluster, at: float, warn: Warn, limits: Resources | None = None
) -> list[records.LimitsRead]:
    """What a cluster allows all jobs, and jobs with the wishes of tasks.

    Where every task has a wish, what other jobs may have does not matter.
    """
    try:
        of_all = _site(at, limits or cluster.limits(), cluster)
    except SiteError:
        if not workflow.tasks or any(task.wish is None for task in workflow):
            raise
        wished = _wishes(workflow, cluster, at, warn)
        if not wished:
            raise
        return [structs.replace(wished[0], wish=None), *wished]
    return [of_all, *_wishes(workflow, cluster, at, warn)]


def _site(at: float, limits: Resources, cluster: Cluster, wish: Wish | None = None) -> records.LimitsRead:
    """What a cluster allows: `limits` on its usual nodes, and the rest by its own word."""
    allowed = (cluster.most_jobs(), cluster.lends, cluster.shares, cluster.larger_nodes(), cluster.preempts)
    return records.LimitsRead(at, limits, *allowed, wish, cluster.shrinks, cluster.admits)


def _wishes(workflow: Workflow, cluster: Cluster, at: float, warn: Warn) -> list[records.LimitsRead]:
    """What a cluster allows jobs with the wishes of tasks; an error if it cannot grant one."""
    first = {block.wish: block.name for block in workflow.deferred.blocks if block.wish is not None}
    first |= {task.wish: task.id for task in reversed(workflow.tasks.values()) if task.wish is not None}
    found: list[records.LimitsRead] = []
    for wish, task_id in first.items():
        try:
            site = _site_for(cluster, wish)
        except SiteError as error:
            where = workflow.places.get(task_id.partition("[")[0], "")
            raise SiteError(f"task {task_id} asks for {wish}: {error.what}", where=where, todo=error.todo) from error
        if site is None:
            warn(f"task {task_id} asks for {wish}: that has no effect here, where tasks do not run in jobs of Slurm")
            break
        found.append(structs.replace(site, at=at))
    return found


def _site_for(cluster: Cluster, wish: Wish) -> records.LimitsRead | None:
    """What a cluster allows jobs with a wish; None if wishes have no effect there, an error if it cannot grant it."""
    wished = cluster.wishing(wish)
    return None if wished is None else _site(time.time(), wished.limits(), wished, wish)
