"""The options of `headway.run`: those of the command, by the same names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypedDict

from headway.api.nearest import nearest
from headway.api.reading import config_values
from headway.api.settings import SETTINGS, RunSettings, settings_for
from headway.integrations.amounts import stated_amounts
from headway.model.errors import InputError

_AMOUNTS = ("cores", "memory", "disk")
_TASKS = ("tasks", "only", "until", "force")
_BATCH = {
    "partition": "partition",
    "account": "account",
    "qos": "qos",
    "constraint": "constraint",
    "reservation": "reservation",
    "clusters": "clusters",
    "preemptible": "preemptible",
    "nodes": "nodes",
    "requeue": "requeue",
    "sbatch": "flags",
    "lines": "lines",
}


class RunOptions(TypedDict, total=False):
    """The settings of a run; what is not given comes from the environment and from settings files."""

    set: Mapping[str, Any] | None  # replaces values of `config` in the workflow file
    cores: float | None  # use at most this much of this machine
    memory: float | str | None
    disk: float | str | None
    sizer: str | None  # how tasks are sized
    order: str | None  # which ready task is started first
    failures: float | str | None  # how many attempts may run out of a resource: "3%", 0 or "any"
    prefer: str | float | None  # "time", "balanced", "cost", or the core-hours that an hour sooner is worth
    budget: float | None  # start nothing more once jobs have held so many core-hours
    deadline: float | str | None  # on Slurm: be as cheap as ending within this time most likely allows
    seed: int | None
    keep_going: bool | None  # after a failure, go on with all tasks that do not depend on it
    sandbox: str | None  # "strict": tasks see their inputs and nothing else of the workflow's directory
    again: bool | None  # run all tasks, also those that have not changed
    tasks: str | Sequence[str] | None  # only these (categories, tasks, output files, patterns) and what they need
    only: str | Sequence[str] | None  # only tasks with these values in their columns: "sample=s1,s2"
    until: str | Sequence[str] | None  # nothing that comes after these
    force: str | Sequence[str] | None  # run these although nothing changed
    fresh: bool | None  # size tasks as if nothing had ever been run
    project: str | None  # share what is learned with other directories that name this project
    history: str | None
    on: str | None  # "local" or "slurm"
    pool: str | None  # run tasks in the pool of this name, beside other workflows
    plan: str | None  # which jobs are submitted, and when
    partition: str | None
    account: str | None
    qos: str | None
    constraint: str | None
    reservation: str | None
    clusters: str | None
    preemptible: str | Sequence[str] | None  # partitions whose jobs others may preempt
    nodes: str | None  # "whole" or "shared"
    requeue: bool | None  # whether the batch system may restart a job that lost its nodes
    sbatch: str | Sequence[str] | None  # further flags
    lines: str | None  # how nodes are reached: "files" or "dask"
    measure: str | None
    grace: float | str | None  # between SIGTERM and SIGKILL
    linger: float | str | None  # how long a job without a manager and without tasks waits
    report: bool | None  # write a page about the run at its end
    notify: str | Sequence[str] | None  # whom to tell how the run goes: webhooks, "mail:ADDRESS", "command:LINE"
    stuck_after: float | str | None  # and that nothing has run for so long
    log_level: str | None


def settings_of(directory: Path, options: Mapping[str, Any]) -> RunSettings:
    """Return the settings of a run in `directory`."""
    for name in options:
        if name not in RunOptions.__annotations__:
            hint = nearest(name, RunOptions.__annotations__, otherwise="the options are")
            raise TypeError(f"run() got an unexpected keyword argument {name!r}; {hint}")
    given = {name: value for name, value in options.items() if value is not None}
    fields = stated_amounts(*(given.pop(name, None) for name in _AMOUNTS))
    batch = {_BATCH[name]: _told(name, given.pop(name)) for name in _BATCH if name in given}
    if batch:
        fields["batch"] = batch
    if "set" in given:
        fields["config"] = config_values(given.pop("set"))
    if "again" in given:
        fields["again"] = bool(given.pop("again"))
    if "pool" in given:
        fields["pool"] = str(given.pop("pool"))
    for name in _TASKS:
        if name in given:
            fields[name] = (value,) if isinstance(value := given.pop(name), str) else tuple(value)
    for name, one in given.items():
        value = list(one) if isinstance(one, tuple) else one
        setting = SETTINGS[name.replace("_", "-")]
        is_seconds = name in ("grace", "stuck_after") and not isinstance(value, str)
        fields[setting.field] = _checked(name, float if is_seconds else setting.from_file or setting.from_text, value)
    return settings_for(directory, fields, by="program")


def _told(name: str, value: Any) -> str:
    """Return a value as the batch system is told it."""
    setting = SETTINGS.get(name)
    if setting is not None and setting.from_file is not None:
        return str(_checked(name, setting.from_file, list(value) if isinstance(value, tuple) else value))
    return value if isinstance(value, str) else " ".join(value)


def _checked(name: str, read: Callable[[Any], Any], value: Any) -> Any:
    try:
        return read(value)
    except InputError as error:
        raise InputError(error.what, where=name, todo=error.todo) from None
