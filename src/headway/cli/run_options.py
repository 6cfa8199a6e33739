"""The options of `headway run` and `resume` that are settings of a run; the function gets them as `settings`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.api.choices import DEFAULT_PLAN, METHODS, SANDBOXES
from headway.cli.completion import complete_sizer, complete_task
from headway.cli.job_options import JOB_OPTIONS, batch_of
from headway.cli.manager_options import MANAGER_OPTIONS
from headway.cli.notify_options import NOTIFY_OPTIONS, keep_from_tasks
from headway.cli.options import BUDGET, CORES, PREFERENCE, SHARE, SIZE, SPAN, Function, option, set_option
from headway.cli.task_options import TASK_OPTIONS
from headway.log_setup import LEVEL_VARIABLE, LEVELS, set_up_logging

if TYPE_CHECKING:
    from headway.api.settings import RunSettings

Option = Callable[[Function], Function]
Where = Callable[[dict[str, Any]], Path]
DEFAULT_FILE = "workflow.yaml"


def _file_or_task(ctx: click.Context, _: click.Parameter, tasks: tuple[str, ...]) -> tuple[str, ...]:
    """Return the tasks: all arguments but the first, or all if the first does not name a workflow file."""
    from headway.api.reading import names_file

    if names_file(first := ctx.params["workflow"]):
        return tasks
    ctx.params["workflow"] = Path(DEFAULT_FILE)
    return (str(first), *tasks)


# Parameters are named for the fields of `RunSettings`. The defaults are only shown: only options that were given count,
# and `headway.api.settings` adds the environment and the settings files.
_WORKFLOW: Sequence[Option[Any]] = (
    set_option("config"),
    option("-k/-K --keep-going/--no-keep-going", "After a failure, go on with all tasks that do not depend on it."),
    option("--again", "Run all tasks, also those that have not changed.", is_flag=True),
    *TASK_OPTIONS,
    option("--sandbox", "strict: tasks see their inputs and nothing else of your files.", type=click.Choice(SANDBOXES)),
    option("--pool NAME", "Run tasks in this pool, beside other workflows.", is_flag=False, flag_value="default"),
    click.argument("tasks", nargs=-1, metavar="[TASK]...", callback=_file_or_task, shell_complete=complete_task),
)
_LINES = click.Choice(["files", "dask"])
_POLICIES: Sequence[Option[Any]] = (
    option("--cores", "Use at most this many cores of this machine.", type=CORES),
    option("--memory memory_bytes", "Use at most this much memory, such as 8GB.", type=SIZE),
    option("--disk disk_bytes", "Use at most this much disk, such as 200GB.", type=SIZE),
    option("--sizer NAME", "How tasks are sized; see `headway policies`.", shell_complete=complete_sizer),
    option("--order NAME", "Which ready task is started first."),
    option("--failures", "How many attempts may run out of memory or disk once similar ran.", type=SHARE, default="3%"),
    option("--seed", "Seed of policies that draw at random.", type=int, default=0),
    option("--fresh", "Size tasks as if nothing had ever been run.", is_flag=True),
    option("--project NAME", "Share what is learned with other directories that name this project."),
    option(
        "--history LOCATION",
        "Where the history is kept: a file, or postgresql://user@host/database; `none` keeps no history.",
    ),
    option("--on cluster", "Where tasks run: here (local), or in jobs (slurm).", metavar="CLUSTER", default="local"),
    option("--plan NAME", f"Which jobs are submitted, and when; by default {DEFAULT_PLAN}. See `headway policies`."),
    option("--prefer", "time, balanced, cost, or the core-hours that an hour sooner is worth.", type=PREFERENCE),
    option("--budget", "Start nothing more once the run's jobs have held so many.", type=BUDGET),
    *JOB_OPTIONS,
    option("--lines", "How nodes are reached: by shared files, or encrypted connections.", type=_LINES),
)
_SUPERVISION: Sequence[Option[Any]] = (
    option("--measure", "How tasks are measured; see `headway doctor`.", type=click.Choice(METHODS), default="auto"),
    option("--grace grace_s", "Time between SIGTERM and SIGKILL for a task that must end.", type=SPAN, default="5s"),
    option("--linger linger_s", "How long a job without a manager and without tasks waits.", type=SPAN, default="2m"),
    option("--log-level", "Log to standard error, or in the run's manager.log.", type=click.Choice(LEVELS)),
    option("--report/--no-report", "At its end, write a page about the run: report-RUN.html beside the workflow."),
    option("-q --quiet", "Show no progress and no table: only errors and the exit code.", is_flag=True),
)
_OF_RESUMED = (*MANAGER_OPTIONS, *_SUPERVISION, *NOTIFY_OPTIONS)


def run_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add all settings of a run; the function must have an argument `workflow`, beside which `headway.toml` lies."""
    return _with_settings(function, (*_WORKFLOW, *_POLICIES, *_OF_RESUMED), lambda values: values["workflow"].parent)


def service_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the settings of a run without a workflow; without an option `directory` no `headway.toml` counts."""
    nowhere = Path(os.devnull)
    return _with_settings(function, (*_POLICIES, *_SUPERVISION), lambda values: values.get("directory", nowhere))


def supervision_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the settings that count also when a run is resumed; the function must have an option `directory`."""
    return _with_settings(function, _OF_RESUMED, lambda values: values["directory"], resumes=True)


def _with_settings(
    function: Callable[..., int], options: Sequence[Option[Any]], directory: Where, *, resumes: bool = False
) -> Callable[..., int]:
    @wraps(function)
    def call(**values: Any) -> int:
        from headway.api.settings import settings_for

        source, typed = click.get_current_context().get_parameter_source, click.core.ParameterSource.COMMANDLINE
        chosen = {name: values.pop(name) for name in added}
        given = {name: value for name, value in chosen.items() if source(name) is typed or name == "tasks"}
        batch = batch_of(given) | ({"lines": given["lines"]} if "lines" in given else {})
        stated = {key: value for key, value in given.items() if key not in batch} | ({"batch": batch} if batch else {})
        values["settings"] = settings_for(directory(values), stated, resumes=resumes)
        keep_from_tasks()
        return function(**values)

    for add in reversed(options):
        call = add(call)
    added = [str(parameter.name) for parameter in call.__click_params__[-len(options) :]]  # type: ignore[attr-defined]
    return call


def log_as_set(settings: RunSettings) -> None:
    """Log to standard error if the user chose a level, and pass the level on to the supervisors of the run."""
    if settings.log_level:
        os.environ[LEVEL_VARIABLE] = settings.log_level
        set_up_logging(settings.log_level)
