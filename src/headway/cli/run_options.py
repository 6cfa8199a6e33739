"""The options of `headway run` and `resume` that are settings of a run; the function gets them as `settings`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headway.api.choices import CLUSTERS, DEFAULT_PLAN, METHODS
from headway.cli.completion import complete_sizer
from headway.cli.options import CORES, SIZE, SPAN, Function
from headway.log_setup import LEVEL_VARIABLE, LEVELS, set_up_logging

if TYPE_CHECKING:
    from headway.api.settings import RunSettings

Option = Callable[[Function], Function]
_BATCH = ("partition", "account", "qos", "constraint", "lines")

# Parameters are named for the fields of `RunSettings`. The defaults are only shown: only options that were given count,
# and `headway.api.settings` adds the environment and the settings files.
_POLICIES: Sequence[Option[Any]] = (
    click.option("--cores", type=CORES, help="Use at most this many cores of this machine."),
    click.option("--memory", "memory_bytes", type=SIZE, help="Use at most this much memory, such as 8GB."),
    click.option("--disk", "disk_bytes", type=SIZE, help="Use at most this much disk, such as 200GB."),
    click.option(
        "--sizer", metavar="NAME", shell_complete=complete_sizer, help="How tasks are sized; see `headway policies`."
    ),
    click.option("--order", metavar="NAME", help="Which ready task is started first."),
    click.option("--seed", type=int, default=0, show_default=True, help="Seed of policies that draw at random."),
    click.option(
        "-k/-K", "--keep-going/--no-keep-going", help="After a failure, go on with all tasks that do not depend on it."
    ),
    click.option("--again", is_flag=True, help="Run all tasks, also those that have not changed."),
    click.option("--fresh", is_flag=True, help="Size tasks as if nothing had ever been run."),
    click.option(
        "--history",
        metavar="LOCATION",
        help="Where the history is kept: a file, or postgresql://user@host/database; `none` keeps no history.",
    ),
    click.option(
        "--on",
        "cluster",
        type=click.Choice(CLUSTERS),
        default="local",
        show_default=True,
        help="Where tasks run: on this machine, or in jobs of a Slurm cluster.",
    ),
    click.option(
        "--plan",
        metavar="NAME",
        help=f"Which jobs are submitted, and when; by default {DEFAULT_PLAN}. See `headway policies`.",
    ),
    click.option("--partition", metavar="NAME", help="Partition of jobs; by default where they start soonest."),
    click.option("--account", metavar="NAME", help="Account that jobs are charged to."),
    click.option("--qos", metavar="NAME", help="Quality of service of jobs."),
    click.option("--constraint", metavar="FEATURES", help="Features that nodes must have."),
    click.option("--sbatch", "flags", metavar="FLAG", multiple=True, help="A further flag, as --sbatch=--nice=5."),
    click.option(
        "--lines",
        type=click.Choice(["files", "dask"]),
        help="How nodes are reached: through the shared file system, or by encrypted connections.",
    ),
)
_SUPERVISION: Sequence[Option[Any]] = (
    click.option(
        "--measure",
        type=click.Choice(METHODS),
        default="auto",
        show_default=True,
        help="How tasks are measured; `headway doctor` says what works here.",
    ),
    click.option(
        "--grace",
        "grace_s",
        type=SPAN,
        default="5s",
        show_default=True,
        help="Time between SIGTERM and SIGKILL for a task that must end.",
    ),
    click.option("--log-level", type=click.Choice(LEVELS), help="Log to standard error, or in the run's manager.log."),
    click.option("-q", "--quiet", is_flag=True, help="Show no progress and no table: only errors and the exit code."),
)


def run_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add all settings of a run; the function must have an argument `workflow`, beside which `headway.toml` lies."""
    return _with_settings(function, (*_POLICIES, *_SUPERVISION), lambda values: values["workflow"].parent)


def supervision_options(function: Callable[..., int]) -> Callable[..., int]:
    """Add the settings that count also when a run is resumed; the function must have an option `directory`."""
    return _with_settings(function, _SUPERVISION, lambda values: values["directory"])


def _with_settings(
    function: Callable[..., int], options: Sequence[Option[Any]], directory: Callable[[dict[str, Any]], Path]
) -> Callable[..., int]:
    @wraps(function)
    def call(**values: Any) -> int:
        from headway.api.settings import settings_for

        source, typed = click.get_current_context().get_parameter_source, click.core.ParameterSource.COMMANDLINE
        chosen = {name: values.pop(name) for name in added}
        given = {name: value for name, value in chosen.items() if source(name) is typed}
        flags = {"flags": " ".join(given.pop("flags"))} if "flags" in given else {}
        batch = {name: given.pop(name) for name in _BATCH if name in given} | flags
        return function(settings=settings_for(directory(values), given | ({"batch": batch} if batch else {})), **values)

    for option in reversed(options):
        call = option(call)
    added = [str(parameter.name) for parameter in call.__click_params__[-len(options) :]]  # type: ignore[attr-defined]
    return call


def log_as_set(settings: RunSettings) -> None:
    """Log to standard error if the user chose a level, and pass the level on to the supervisors of the run."""
    if settings.log_level:
        os.environ[LEVEL_VARIABLE] = settings.log_level
        set_up_logging(settings.log_level)
