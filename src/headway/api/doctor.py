"""`doctor`: check whether Headway can work in a directory, and how well."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from headway.api.answers import Answer
from headway.api.finding import reading, state_in
from headway.api.runs import RESUMABLE
from headway.clusters.machine import machine
from headway.drivers.at_work import others_at_work
from headway.file_systems import file_system_of, journal_mode
from headway.journal.folder import Project, RunFolder
from headway.model.errors import HeadwayError
from headway.model.records import SeenWait
from headway.model.units import format_bytes
from headway.version import __version__
from headway.workers.containers import CHOICE, RUNTIMES, check_runtime, find_runtime, try_image

OK, WARN, FAIL = "ok", "warn", "fail"
_LITTLE_DISK_BYTES = 1_000_000_000


class Check(Struct, frozen=True):
    """The result of one check: OK, WARN or FAIL, what was checked, and what was found."""

    mark: str
    about: str
    found: str


class Diagnosis(Answer, frozen=True):
    """All checks; `works` is False if one of them failed."""

    works: bool
    checks: list[Check]


def doctor(
    directory: str | os.PathLike[str] = ".",
    cluster: str | None = None,
    container: str | None = None,
    batch: Mapping[str, str] | None = None,
) -> Diagnosis:
    """Check this machine and a directory; with `cluster="slurm"`, also whether jobs can be submitted there.

    `batch` is what Slurm is told of jobs (`account`, `partition`, …), as for `headway.run`. Slurm's commands are called
    about ten times; nothing is submitted. `container` is an image: `true` is run in it.

    >>> doctor().checks[0].about
    'headway'
    """
    where = Path(directory)
    checks = [
        Check(OK, "headway", f"{__version__}, Python {platform.python_version()}, {platform.platform(terse=True)}"),
        _shell(),
        _machine(where),
        _gpus(),
        _measuring(),
        _control_groups(),
        _writable(where),
        _disk(where),
        _file_system(where),
        _containers(container),
        _others(where),
        _beside(),
    ]
    if cluster == "slurm":
        from headway.api.settings import batch_settings
        from headway.clusters.slurm.diagnosis import diagnose
        from headway.clusters.slurm.options import options_of

        found = diagnose(options_of(batch_settings(where, batch or {})), _past_waits)
        checks += [Check(finding.mark, finding.about, finding.found) for finding in found]
    return Diagnosis(all(check.mark != FAIL for check in checks), checks)


def _past_waits(cluster: str) -> list[SeenWait]:
    """How long jobs of earlier runs on a cluster have waited, as far as the history can be read."""
    from headway.drivers.run_history import RunHistory, history_key

    with contextlib.closing(RunHistory(history_key("", "", cluster), lambda trouble: None, read_only=True)) as history:
        return history.waits()


def _shell() -> Check:
    if bash := shutil.which("bash"):
        return Check(OK, "shell", bash)
    if os.access("/bin/sh", os.X_OK):
        what = "there is no bash, so /bin/sh runs the commands: a failure inside a pipe goes unnoticed"
        return Check(WARN, "shell", what)
    return Check(FAIL, "shell", "there is neither bash nor /bin/sh to run commands")


def _machine(directory: Path) -> Check:
    try:
        whole = machine(directory)
    except HeadwayError as error:
        return Check(FAIL, "machine", str(error))
    return Check(OK, "machine", f"{whole.cores:g} cores, {format_bytes(whole.memory_bytes)} memory may be used")


def _gpus() -> Check:
    from headway.workers.gpus import find_devices

    found = find_devices()
    if found.trouble:
        return Check(WARN, "GPUs", found.trouble)
    if not found.devices:
        return Check(OK, "GPUs", "none that tasks could use; `headway docs gpus` says how they are found")
    kinds = Counter(f"{each.type or 'unknown'} ({format_bytes(each.memory_bytes)})" for each in found.devices)
    return Check(OK, "GPUs", ", ".join(f"{number} x {kind}" for kind, number in kinds.items()))


def _measuring() -> Check:
    """Check how the peak memory of tasks is measured."""
    try:
        from headway.workers.trees import detect_method

        method, reason = detect_method()
    except (ImportError, OSError, HeadwayError) as error:
        return Check(FAIL, "measuring", f"tasks cannot be measured here: {error}")
    return Check(OK if method.startswith("cgroup") else WARN, "measuring", f"{method}: {reason}")


def _control_groups() -> Check:
    """Check which control groups exist, and in which of them this process is."""
    try:
        mine = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError as error:
        return Check(WARN, "cgroups", f"none: {error.strerror}")
    unified = Path("/sys/fs/cgroup/cgroup.controllers")
    if unified.exists():
        controllers = unified.read_text().strip() or "no controllers"
        path = next((line[3:] for line in mine if line.startswith("0::")), "?")
        return Check(OK, "cgroups", f"version 2 at {path}, with {controllers}")
    memory = next((line.split(":", 2)[2] for line in mine if "memory" in line.split(":")[1].split(",")), None)
    if memory is None:
        return Check(WARN, "cgroups", "no memory controller is visible from here")
    return Check(OK, "cgroups", f"version 1, memory controller at {memory}")


def _writable(directory: Path) -> Check:
    if not directory.is_dir():
        return Check(FAIL, "directory", f"{directory} is not a directory")
    try:
        with tempfile.TemporaryFile(dir=directory):
            return Check(OK, "directory", f"{directory.absolute()} can be written to")
    except OSError as error:
        return Check(FAIL, "directory", f"{directory.absolute()} cannot be written to: {error.strerror}")


def _disk(directory: Path) -> Check:
    try:
        usage = shutil.disk_usage(directory)
    except OSError as error:
        return Check(FAIL, "disk", f"cannot tell how much is free: {error.strerror}")
    found = f"{format_bytes(usage.free)} of {format_bytes(usage.total)} free"
    return Check(WARN if usage.free < _LITTLE_DISK_BYTES else OK, "disk", found)


def _file_system(directory: Path) -> Check:
    """Check how the journal is written: a network file system cannot hold a write-ahead log."""
    kind = file_system_of(directory)
    if journal_mode(directory) == "WAL":
        return Check(OK, "journal", f"write-ahead log on {kind or 'an unknown file system'}")
    return Check(WARN, "journal", f"rollback journal, slower, since {kind} is shared between machines")


def _containers(image: str | None) -> Check:
    """Check whether the container runtime works; with an image, by starting a container of it."""
    if not os.environ.get(CHOICE) and not any(map(shutil.which, RUNTIMES)) and image is None:
        return Check(OK, "containers", f"none of {', '.join(RUNTIMES)}: tasks with `container` cannot run here")
    try:
        runtime = find_runtime()
        check_runtime(runtime)
        if image is not None:
            try_image(runtime, image)
    except HeadwayError as error:
        return Check(WARN, "containers", f"tasks with `container` cannot run here: {error}")
    tried = f"started a container of {image}" if image else "it answers; `--container IMAGE` starts a container"
    return Check(OK, "containers", f"{runtime}: {tried}")


def _others(directory: Path) -> Check:
    """Check for runs in this directory and their manager."""
    try:
        project = Project(directory)
        runs = project.runs()
        manager = project.manager()
        newest = f"; run {runs[-1].run}: {_state(runs[-1])}" if runs else ""
    except OSError as error:
        return Check(WARN, "runs", f"cannot be read: {error.strerror}")
    except HeadwayError as error:
        return Check(WARN, "runs", str(error))
    if manager is not None:
        return Check(
            OK, "runs", f"{len(runs)}, and process {manager.pid} on {manager.host} is at work on run {manager.run}"
        )
    return Check(OK, "runs", f"{len(runs) or 'none yet'}, and no manager is at work here{newest}")


def _state(folder: RunFolder) -> str:
    with reading(folder) as journal:
        state = state_in(folder, journal)
    return f"{state}; `headway resume` goes on with it" if state in RESUMABLE else state


def _beside() -> Check:
    """Check for this user's runs on this machine, in any directory, which share it with a run that starts now."""
    left = ", interrupted: its manager is gone, and its supervisor may still run tasks"
    found = "; ".join(f"{run}{'' if run.is_managed else left}" for run in others_at_work())
    return Check(WARN if found else OK, "at work", found or "no run of yours is at work on this machine")
