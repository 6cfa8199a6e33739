"""Choose the method of measuring: the best that this machine allows, or the one asked for."""

from __future__ import annotations

import contextlib
import os

from headway.model.errors import InputError, SiteError
from headway.workers.trees import cgroup_v2, cgroups
from headway.workers.trees.cgroup_v1 import CgroupV1Groups
from headway.workers.trees.cgroup_v2 import CgroupV2Groups
from headway.workers.trees.group import Groups, PolledGroups

METHODS = ("auto", "polling", "cgroup-v1", "cgroup-v2")


def detect_method() -> tuple[str, str]:
    """Return the method that "auto" chooses on this machine, and why."""
    obstacles = []
    for method, find_obstacle in _OBSTACLES.items():
        obstacle = find_obstacle()
        if not obstacle:
            return method, f"{method} can be used"
        obstacles.append(f"{method}: {obstacle}")
    return "polling", "; ".join(obstacles)


def set_up(method: str) -> tuple[Groups, str]:
    """Set up the method asked for; return it with the reason for its choice."""
    if method not in METHODS:
        raise InputError(f"{method!r} is not a method of measuring", todo=f"choose one of {', '.join(METHODS)}")
    chosen, reason = detect_method() if method == "auto" else (method, "asked for")
    try:
        obstacle = _OBSTACLES[method]() if method in _OBSTACLES else ""
        if not obstacle:
            return _open(chosen), reason
    except OSError as error:  # folders can be made in this cgroup, but not used
        if method == "auto":
            return PolledGroups(), f"{chosen} could not be set up: {error}"
        obstacle = str(error)
    raise SiteError(f"{method} cannot be used here: {obstacle}", todo="choose auto or polling")


def _open(method: str) -> Groups:
    match method:
        case "cgroup-v1":
            return CgroupV1Groups(cgroups.own_directory("memory") or "", cgroups.own_directory("cpuacct"))
        case "cgroup-v2":
            return CgroupV2Groups(cgroups.own_directory("") or "")
        case _:
            return PolledGroups()


def _v1_obstacle() -> str:
    own = cgroups.own_directory("memory")
    return "no memory controller" if own is None else _cannot_make_folder(own)


def _v2_obstacle() -> str:
    own = cgroups.own_directory("")
    if own is None:
        return "not mounted"
    return cgroup_v2.unusable_because(own) or _cannot_make_folder(own)


def _cannot_make_folder(own: str) -> str:
    """Return why no folder can be made in this cgroup. Tries it: permissions do not tell of limits on depth."""
    trial = f"{own}/headway-trial-{os.getpid()}"
    try:
        os.mkdir(trial)
    except OSError as error:
        return f"{own}: {error.strerror}"
    with contextlib.suppress(OSError):
        os.rmdir(trial)
    return ""


_OBSTACLES = {"cgroup-v1": _v1_obstacle, "cgroup-v2": _v2_obstacle}
