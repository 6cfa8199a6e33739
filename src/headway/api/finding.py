"""Find runs and tasks by the names that users give them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from headway.api.nearest import nearest
from headway.drivers.manager_jobs import ManagerJob, live_manager_jobs, manager_jobs
from headway.journal.folder import Manager, Project, RunFolder
from headway.journal.sqlite import SqliteJournal
from headway.model.errors import InputError
from headway.model.task import Task
from headway.report.run.story import settings_of, tasks_of
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
            if any(task in (each.id, each.category) for each in tasks_of(journal).values()):
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


def find_tasks(name: str, tasks: Mapping[str, Task], run: str) -> list[Task]:
    """Return the task of that name, or all tasks of the category of that name."""
    if name in tasks:
        return [tasks[name]]
    of_category = [task for task in tasks.values() if task.category == name]
    if of_category:
        return of_category
    categories = dict.fromkeys(task.category for task in tasks.values())
    category = name.partition("[")[0]
    siblings = [task.id for task in tasks.values() if task.category == category]
    advice = nearest(name, siblings or [*tasks, *categories], otherwise="there are")
    raise InputError(f"run {run} has no task {name!r}", todo=advice)


def run_numbers(directory: Path) -> list[str]:
    """Return the numbers of the runs in `directory`, newest first."""
    return [folder.run for folder in reversed(Project(directory).runs())]


def task_names(directory: Path, run: str | None = None) -> list[str]:
    """Return the categories and the tasks of a run, for the shell's completion."""
    with reading(find_run(directory, run)) as journal:
        tasks = tasks_of(journal)
    return list(dict.fromkeys([*(task.category for task in tasks.values()), *tasks]))
