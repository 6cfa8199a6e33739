"""Where the settings of a run come from: options, then the environment, then `headway.toml`, then the user's file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import structs

from headway.api.amounts import parse_budget, parse_cores, parse_gpu_memory, parse_preference, parse_share, parse_size
from headway.api.choices import DEFAULT_PLAN, MANAGERS, METHODS, SANDBOXES
from headway.api.nearest import nearest
from headway.api.settings_in_effect import BATCH, Layer, Origin, settings_in_effect, shown_file
from headway.api.variables import check_environment
from headway.drivers.run_settings import IN_JOB, LOCAL, POOL, RunSettings
from headway.file_systems import without_modes
from headway.log_setup import LEVELS
from headway.model.errors import BusyError, InputError
from headway.model.limits import MOST_SETTINGS_BYTES
from headway.model.units import format_bytes, format_duration, parse_duration

__all__ = ["SETTINGS", "RunSettings", "checked", "settings_for"]

SLURM = "slurm"
PROJECT_FILE = "headway.toml"
_OPTIONS = {"flags": "sbatch"}  # entries of `batch` that the command line calls otherwise
_TRUE, _FALSE = ("1", "true", "t", "yes", "y", "on"), ("0", "false", "f", "no", "n", "off")
_MOST_DOTS = 200  # in a line of a file: Python reads a key of many parts in quadratic time


def settings_for(
    directory: Path,
    given: Mapping[str, Any] | None = None,
    *,
    resumes: bool = False,
    by: Origin = "command line",
) -> RunSettings:
    """Return the settings of a run in `directory`, where `given` (by field of `RunSettings`) outranks all the rest.

    Where the manager is counts for a run on a batch system, and for one that `resumes`: it may be on one. `by` says
    who has given what is `given`.

    >>> settings_for(Path("/nowhere"), {"cores": 2.0, "seed": 7}).seed
    7
    """
    check_environment(map(variable_of, SETTINGS))
    layers = [
        Layer("file", read_settings(user_file()), lambda _: shown_file(user_file())),
        Layer("file", read_settings(directory / PROJECT_FILE), lambda _: PROJECT_FILE),
        Layer("environment", read_environment(), lambda field: variable_of(_names()[field])),
        Layer(by, dict(given or {})),
    ]
    chosen: dict[str, Any] = {name: value for layer in layers for name, value in layer.values.items()}
    batch = {name.removeprefix(BATCH): chosen.pop(name) for name in list(chosen) if name.startswith(BATCH)}
    if chosen.get("cluster", LOCAL) == LOCAL:
        if not resumes and not (given and "manager" in given):
            chosen.pop("manager", None)
    else:
        variables = _of_sbatch(chosen["cluster"])
        chosen["batch"] = variables | batch | chosen.get("batch", {})
        layers.insert(0, Layer("environment", {"batch": variables}, _sbatch_variables))

    def used(field: str) -> bool:
        if field.startswith("manager"):
            return chosen.get("manager") == IN_JOB
        return field.removeprefix(BATCH) in chosen.get("batch", {}) if field.startswith(BATCH) else field in chosen

    return RunSettings(**chosen, chosen=settings_in_effect(layers, used, _names()))


def _names() -> dict[str, str]:
    """Return the names of settings by field."""
    return {setting.field: name for name, setting in SETTINGS.items()} | {"config": "set"}


def batch_settings(directory: Path, given: Mapping[str, str | None], cluster: str = "slurm") -> dict[str, str]:
    """Return what a batch system is told of jobs in `directory`, where what is `given` outranks all the rest."""
    from headway.clusters.slurm.options import SlurmOptions

    chosen = {name: value for name, value in given.items() if value is not None}
    known = (*SlurmOptions.__struct_fields__, "lines")
    if cluster == "slurm" and (unknown := [name for name in chosen if name not in known]):
        todo = nearest(unknown[0], known, otherwise="there are")
        raise InputError(f"there is no option {unknown[0]!r} of jobs", where="batch", todo=todo)
    return settings_for(directory, {"cluster": cluster, "batch": chosen}).batch


def _of_sbatch(cluster: str) -> dict[str, str]:
    """Return what the variables of sbatch ask for, which everything that is said to Headway outranks."""
    from headway.clusters.slurm.options import sbatch_variables

    return sbatch_variables(os.environ)[0] if cluster == "slurm" else {}


def _sbatch_variables(field: str) -> str:
    """Return the variables of sbatch that ask for a field, such as `batch.account`."""
    from headway.clusters.slurm.options import sbatch_variables

    name = field.removeprefix(BATCH)
    return ", ".join(each for each, value in os.environ.items() if name in sbatch_variables({each: value})[0])


def sizer_names() -> list[str]:
    """Return the names that `sizer` may have, for the shell's completion."""
    from headway.drivers.assemble import sizing_policies

    return sorted(sizing_policies())


def user_file() -> Path:
    """Return the path of the user's own settings."""
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return Path(base) / "headway" / "config.toml"


def checked(settings: RunSettings, directory: Path) -> RunSettings:
    """Return the settings with the default plan filled in; raise an `InputError` if they cannot be met in `directory`.

    Everything here is said before anything of the run is written.
    """
    from headway.clusters.machine import machine, part_of
    from headway.drivers.assemble import known, orders, plans, sizing_policies
    from headway.drivers.targets import check_cluster
    from headway.history.location import history_location

    checked_manager(settings)
    known("sizer", settings.sizer, sizing_policies())
    known("order", settings.order, orders())
    if settings.pool:
        settings = _in_pool(settings)
    elif settings.cluster == LOCAL:
        stray = ["plan"] * bool(settings.plan) + [_OPTIONS.get(name, name) for name in settings.batch]
        if stray:
            raise InputError(f"--{stray[0]} is about a batch system", where=f"--{stray[0]}", todo="add --on slurm")
        part_of(machine(directory), settings.stated)
    else:
        check_cluster(settings.cluster)
        settings = structs.replace(settings, plan=settings.plan or DEFAULT_PLAN)
        known("plan", settings.plan, plans())
    history_location(settings.history)
    return settings


def checked_manager(settings: RunSettings) -> None:
    """Raise an `InputError` if the manager cannot be where the settings want it."""
    from headway.drivers.manager_jobs import LEAST_TIME_S

    if settings.manager != IN_JOB:
        return
    if settings.cluster != SLURM or settings.pool:
        what, todo = "only a run on Slurm can have its manager in a job", "add --on slurm, or --manager here"
        raise InputError(what, where="--manager", todo=todo)
    if settings.manager_time_s is not None and settings.manager_time_s < LEAST_TIME_S:
        what = f"{format_duration(settings.manager_time_s)} are too short for a manager to hand over"
        raise InputError(what, where="--manager-time", todo=f"give it {format_duration(LEAST_TIME_S)} at least")


def _in_pool(settings: RunSettings) -> RunSettings:
    """Return the settings of a run whose tasks run in a pool; an error if there is none."""
    from headway.workers.pool_place import PoolPlace

    stray = ["on"] * (settings.cluster != LOCAL) + ["plan"] * bool(settings.plan) + ["budget"] * bool(settings.budget)
    stray += [_OPTIONS.get(name, name) for name in settings.batch]
    if stray:
        todo = f"give it to `{PoolPlace.of(settings.pool).start}`, or leave out --pool"
        raise InputError(f"with --pool, --{stray[0]} is the pool's to decide", where=f"--{stray[0]}", todo=todo)
    if PoolPlace.of(settings.pool).told().draining:
        todo = "wait for its end and start it again, or leave out --pool"
        raise BusyError(f"the pool {settings.pool!r} is stopping and takes no more workflows", todo=todo)
    return structs.replace(settings, cluster=POOL, batch={POOL: settings.pool})


# --- files ---


def read_settings(path: Path) -> dict[str, Any]:
    """Return the settings in a file, by field of `RunSettings`; none if there is no such file."""
    try:
        _check_author(path)
        if path.is_fifo() or path.is_char_device():
            raise InputError("this is a pipe or a device", where=str(path), todo="write the settings to a file")
        with path.open("rb") as file:
            data = file.read(MOST_SETTINGS_BYTES + 1)
        if len(data) > MOST_SETTINGS_BYTES:
            what = f"this file is larger than {format_bytes(MOST_SETTINGS_BYTES)}, and no file of settings is"
            raise InputError(what, where=str(path), todo="shorten it")
        text = data.decode("utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(f"this file cannot be read ({reason})", where=str(path)) from error
    found = dict(_checked(path, text, key, value) for key, value in _parse(path, text).items())
    history = found.get("history", "none")
    if history != "none" and "://" not in history:  # relative to this file, not to the current directory
        found["history"] = str(path.absolute().parent / os.path.expanduser(history))
    return found


def _check_author(path: Path) -> None:
    """Raise an error if anybody could have written these settings: they may name a command."""
    seen, above = path.stat(), path.absolute().parent.stat()
    strange = seen.st_uid not in (0, os.geteuid()) and above.st_mode & 0o002
    if strange or (seen.st_mode & 0o002 and not without_modes(path)):
        todo = "move it away, or if you trust it, copy it and `chmod o-w` the copy"
        raise InputError("anybody could have written these settings", where=str(path), todo=todo)


def _parse(path: Path, text: str) -> dict[str, Any]:
    import tomllib

    for number, line in enumerate(text.split("\n"), 1):
        if line.count(".") > _MOST_DOTS:
            raise InputError(f"a line has more than {_MOST_DOTS} dots", where=f"{path}:{number}", todo="shorten it")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"\(at line (\d+), column \d+\)|\(at end of document\)", str(error))
        line = (position and position[1]) or str(text.count("\n") + 1)
        what = str(error).replace(position[0], "").strip() if position else str(error)
        raise InputError(
            f"this is not TOML: {what[:1].lower()}{what[1:]}",
            where=f"{path}:{line}",
            todo='write for example memory = "8 GB"',
        ) from error
    except (ValueError, RecursionError) as error:  # a number of more than 4,300 digits; brackets without end
        what = "a number in it is too long" if isinstance(error, ValueError) else "values are nested too deeply"
        raise InputError(
            f"this is not TOML: {what}", where=str(path), todo='write for example memory = "8 GB"'
        ) from error


def _checked(path: Path, text: str, key: str, value: Any) -> tuple[str, Any]:
    where = f"{path}:{_line_of(key, text)}"
    setting = SETTINGS.get(key)
    if setting is None or setting.from_file is None:
        known = [name for name, each in SETTINGS.items() if each.from_file]
        raise InputError(f"unknown setting {key!r}", where=where, todo=nearest(key, known, otherwise="known are"))
    if not _is_toml(value):
        raise InputError(f"{key}: a number has more than 64 bits", where=where, todo="write a smaller one")
    try:
        return setting.field, setting.from_file(value)
    except InputError as error:
        raise InputError(f"{key}: {error.what}", where=where, todo=error.todo) from None


def _is_toml(value: Any) -> bool:
    """Whether all whole numbers are within TOML's range, which Python's reader does not check."""
    if isinstance(value, dict | list):
        return all(map(_is_toml, value.values() if isinstance(value, dict) else value))
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _line_of(key: str, text: str) -> int:
    """Return the number of the line in which a key, or a table of that name, stands."""
    found = re.search(rf"^[ \t]*+\[*+[ \t]*+[\"']?{re.escape(key)}[\"']?[ \t]*+[\].=]", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1


# --- the environment ---


def read_environment() -> dict[str, Any]:
    """Return the settings in environment variables (`HEADWAY_CORES`, …), by field; an empty variable does not count."""
    found: dict[str, Any] = {}
    for key, setting in SETTINGS.items():
        variable = variable_of(key)
        text = os.environ.get(variable, "")
        if text:
            try:
                found[setting.field] = setting.from_text(text)
            except InputError as error:
                raise InputError(error.what, where=variable, todo=error.todo) from None
    return found


def variable_of(key: str) -> str:
    """Return the environment variable of a setting."""
    return f"HEADWAY_{key.upper().replace('-', '_')}"


# --- values ---


def _wrong(value: object, wanted: str, todo: str) -> InputError:
    return InputError(f"{value!r} is not {wanted}", todo=todo)


def _stated(
    kinds: Any, wanted: str, todo: str, read: Callable[[Any], Any] = lambda value: value
) -> Callable[[object], Any]:
    """Return a reader of values in a file, which must be of these kinds; True and False are numbers only in Python."""

    def check(value: object) -> Any:
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise _wrong(value, wanted, todo)
        return read(value)

    return check


def _whole_text(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise _wrong(text, "a whole number", "write for example 7") from None


def _flag_text(text: str) -> bool:
    if text.strip().lower() not in (*_TRUE, *_FALSE):
        raise _wrong(text, "true or false", "write 1 or 0")
    return text.strip().lower() in _TRUE


def _one_of(names: tuple[str, ...], wanted: str) -> Callable[[object], str]:
    def check(value: object) -> str:
        if value not in names:
            raise _wrong(value, wanted, f"choose one of {', '.join(names)}")
        return str(value)

    return check


def _location(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _wrong(value, "a file", 'write its path in quotes, or "none" to keep no history')
    return value


def _targets(value: object) -> tuple[str, ...]:
    """Return whom to tell of a run; the error does not repeat the value, which may be a secret."""
    from headway.notifying.targets import target_of

    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise InputError("this is not a list of texts", todo='write for example ["mail:me@example.org"]')
    for text in texts:
        target_of(text)
    return tuple(texts)


class Setting(NamedTuple):
    """A setting: its field of `RunSettings`, and how it is read from a variable and from a file (None: not there)."""

    field: str
    from_text: Callable[[str], Any]
    from_file: Callable[[object], Any] | None


_SIZE = _stated(str, "an amount with a unit", 'write for example "8 GB", in quotes', parse_size)
_SPAN = _stated(str, "a length of time with a unit", 'write for example "10s", in quotes', parse_duration)
_CORES = _stated(
    int | float | str, "a number of cores", "write for example cores = 4", lambda value: parse_cores(str(value))
)
_SHARE = _stated(int | float | str, "a share of attempts", 'write for example "3%" or "any"', parse_share)
_PREFER = _stated(int | float | str, "a preference", 'write "time", "balanced", "cost" or a number', parse_preference)
_BUDGET = _stated(int | float | str, "a number of core-hours", "write for example budget = 500", parse_budget)
_WHOLE = _stated(int, "a whole number", "write for example seed = 7")
_FLAG = _stated(bool, "true or false", "write true or false, without quotes")
_NAME = _stated(str, "a name", "write it in quotes; `headway policies` lists the names")
_MANAGER = _one_of(MANAGERS, "a place for a manager")
_METHOD = _one_of(METHODS, "a way of measuring")
_SANDBOX = _one_of(SANDBOXES, "a kind of sandbox")
_LEVEL = _one_of(LEVELS, "a log level")
_JOBS = _stated(str, "a name", "write it in quotes")
_NAMES = _stated(
    str | list,
    "a list of names",
    'write for example ["short", "long"]',
    lambda value: value if isinstance(value, str) else ",".join(map(_JOBS, value)),
)
_NODES = _one_of(("whole", "shared"), "a way of using nodes")


def _gpu_memory(text: str) -> str:
    """Return the memory of types of GPUs with amounts in bytes."""
    return ",".join(f"{name}={size}" for name, size in parse_gpu_memory(text).items())


def _of_jobs(option: str, from_file: Callable[[object], Any] = _JOBS) -> Setting:
    return Setting(f"{BATCH}{option}", str, from_file)


SETTINGS = {
    "cores": Setting("cores", parse_cores, _CORES),
    "memory": Setting("memory_bytes", parse_size, _SIZE),
    "disk": Setting("disk_bytes", parse_size, _SIZE),
    "sizer": Setting("sizer", str, _NAME),
    "order": Setting("order", str, _NAME),
    "failures": Setting("failures", parse_share, _SHARE),
    "prefer": Setting("prefer", parse_preference, _PREFER),
    "budget": Setting("budget", parse_budget, _BUDGET),
    "seed": Setting("seed", _whole_text, _WHOLE),
    "sandbox": Setting("sandbox", _SANDBOX, _SANDBOX),
    "keep-going": Setting("keep_going", _flag_text, _FLAG),
    "quiet": Setting("quiet", _flag_text, _FLAG),
    "report": Setting("report", _flag_text, _FLAG),
    "notify": Setting("notify", lambda text: _targets(text.splitlines()), _targets),
    "stuck-after": Setting("stuck_s", parse_duration, _SPAN),
    "manager": Setting("manager", _MANAGER, _MANAGER),
    "manager-time": Setting("manager_time_s", parse_duration, _SPAN),
    "manager-partition": Setting("manager_partition", str, _stated(str, "a name", "write it in quotes")),
    "measure": Setting("measure", _METHOD, _METHOD),
    "grace": Setting("grace_s", parse_duration, _SPAN),
    "linger": Setting("linger_s", parse_duration, _SPAN),
    "fresh": Setting("fresh", _flag_text, _FLAG),
    "project": Setting("project", str, _stated(str, "a project's name", 'write for example project = "rnaseq"')),
    "history": Setting("history", str, _location),
    "log-level": Setting("log_level", _LEVEL, _LEVEL),
    "on": Setting("cluster", str, None),
    "plan": Setting("plan", str, None),
    **{name: _of_jobs(name) for name in ("constraint", "reservation", "clusters")},
    **{name: _of_jobs(name, _NAMES) for name in ("partition", "account", "qos", "preemptible")},
    "prefer-partitions": _of_jobs("prefer_partitions", _NAMES),
    "avoid-partitions": _of_jobs("avoid_partitions", _NAMES),
    "gpu-memory": Setting(f"{BATCH}gpu_memory", _gpu_memory, lambda value: _gpu_memory(_NAMES(value))),
    "nodes": Setting(f"{BATCH}nodes", _NODES, _NODES),
    "requeue": Setting(
        f"{BATCH}requeue",
        lambda text: str(_flag_text(text)).lower(),
        lambda value: str(_FLAG(value)).lower(),
    ),
    "ask-every": Setting(f"{BATCH}interval_s", lambda text: str(parse_duration(text)), lambda value: str(_SPAN(value))),
    "submissions": Setting(
        f"{BATCH}submissions", lambda text: str(_whole_text(text)), lambda value: str(_WHOLE(value))
    ),
    "most-jobs": Setting(f"{BATCH}most_jobs", lambda text: str(_whole_text(text)), lambda value: str(_WHOLE(value))),
}
