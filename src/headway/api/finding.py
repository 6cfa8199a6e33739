"""Find runs and tasks by the names that users give them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from headway.api.matching import matching, named
from headway.api.reading import read_instance_file
from headway.drivers.manager_jobs import ManagerJob, live_manager_jobs, manager_jobs
from headway.journal.folder import Manager, Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import HeadwayError, InputError
from headway.model.task import Task
from headway.report.run.story import entry_of, settings_of, tasks_of
from headway.report.run.summary import RunSummary


def find_run(directory: Path, run: str | None) -> RunFolder:
    """Return the run with that number in `directory`, or the newest one."""
    if not directory.is_dir():
        raise InputError("there is no such directory", where=str(directory))
    try:
        return Project(directory).run(run)
    except PermissionError as error:
        raise InputError("this directory cannot be read", where=str(error.filename or directory)) from error


def find_run_of(task: str, directory: Path, run: str | None) -> RunFolder:
    """Return the run as `find_run` does; if that is a run of other tasks only, the newest one before it with `task`."""
    asked = find_run(directory, run)
    for folder in [asked] if run else Project(directory).runs()[::-1]:
        with reading(folder) as journal:
            if matching(task, tasks_of(journal)):
                return folder
            if not settings_of(journal).partial:
                break
    return asked


@contextmanager
def reading(folder: RunFolder) -> Iterator[SqliteJournal]:
    """Open a run's journal to read it, which is safe while its manager writes."""
    journal = SqliteJournal(folder.journal, read_only=True)
    with closing(journal), journal.careful():
        yield journal


def manager_of(folder: RunFolder, summary: RunSummary) -> Manager | None:
    """Return the process that manages this run now, if there is one, or will manage it in a job that waits."""
    return managers_of(folder, summary)[0]


def managers_of(folder: RunFolder, summary: RunSummary) -> tuple[Manager | None, list[ManagerJob]]:
    """Return the manager as `manager_of` does, and the jobs in which it and the next manager are."""
    if summary.finished:
        return None, []
    manager = Project(folder.directory).manager()
    jobs = [job for job in manager_jobs(folder) if job.state != "over"]
    if manager is not None and manager.run == folder.run:
        return manager, jobs
    # Not every file system shows the locks of other machines, and a manager that waits holds none: Slurm knows.
    live = live_manager_jobs(folder, summary.settings) if jobs and summary.settings is not None else []
    return (Manager(0, live[0].node, folder.run) if live else None), live


def state_of(summary: RunSummary, manager: Manager | None) -> str:
    """Return the run's state: how it ended, `running` while it has a manager, or `interrupted`."""
    return summary.finished or ("running" if manager else "interrupted")


def state_in(folder: RunFolder, journal: SqliteJournal) -> str:
    """Return the run's state as `state_of` does, from the few records that tell it."""
    summary = RunSummary()
    for record in journal.replay(kinds=["run-started", "resumed", "finish"]):
        summary.apply(record)
    return state_of(summary, manager_of(folder, summary))


def find_tasks(name: str, journal: SqliteJournal, run: str) -> list[Task]:
    """Return the task of that name, all tasks of the category of that name, or those that fit the pattern."""
    tasks = tasks_of(journal)
    if not matching(name, tasks) and (entry := entry_of(journal, name.partition("[")[0])) is not None:
        block, is_expanded = entry
        if is_expanded:
            what = f"{block.name!r} has no tasks in run {run}: there was nothing to make them of"
            raise InputError(what, todo=f"`headway why {block.of[0]}` explains the task that should make it")
        raise InputError(f"the tasks of {block.name!r} are not known yet: {block.coming}")
    return [tasks[id] for id in named(name, tasks, f"run {run} has no task")]


def run_numbers(directory: Path) -> list[str]:
    """Return the numbers of the runs in `directory`, newest first."""
    return [folder.run for folder in reversed(Project(directory).runs())]


def known_tasks(directory: Path, run: str | None = None, workflow: Path | None = None) -> dict[str, Task]:
    """Return the tasks of a workflow file or, without one that can be read, of a run: for the shell's completion."""
    if workflow is not None:
        with suppress(HeadwayError):
            return read_instance_file(workflow).workflow.tasks
        directory = workflow.absolute().parent
    with reading(find_run(directory, run)) as journal:
        return tasks_of(journal)
