"""Strays: processes that are left of attempts whose supervisor has died."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable
from functools import partial

from headway.model.errors import SiteError
from headway.workers.trees import cgroups
from headway.workers.trees.processes import (
    all_pids,
    children_lookup,
    descendants,
    list_folder,
    marker_of,
    read_process,
)

_KILL_WITHIN_S = 60.0

_log = logging.getLogger(__name__)


def kill_strays(marker_prefix: str) -> int:
    """Kill this user's processes of all attempts whose keys have this prefix; return how many there were.

    They are found by the marker in their environment, with all their descendants, and by the cgroups of the attempts.
    Returns when none is left. The spawner, whose marker is the prefix itself, goes first: it must not note the end of
    a command that is killed here.
    """
    if not marker_prefix:
        raise ValueError("an empty prefix would kill every attempt on this machine")
    _kill(partial(_with_marker, lambda key: key == marker_prefix))
    return len(_kill(partial(_find, lambda key: key.startswith(marker_prefix), cgroups.name_prefix(marker_prefix))))


def kill_attempt(key: str) -> set[int]:
    """Kill the processes of one attempt; return which they were."""
    return _kill(partial(_find, lambda other: other == key, cgroups.attempt_name(key)))


def _kill(find: Callable[[], set[tuple[int, int]]]) -> set[int]:
    killed: set[tuple[int, int]] = set()
    give_up_s = time.monotonic() + _KILL_WITHIN_S
    pause_s = 0.001
    while strays := find():
        if time.monotonic() > give_up_s:
            pids = ", ".join(str(pid) for pid, _ in sorted(strays))
            todo = "they hang in the kernel: ask the administrators of this machine"
            raise SiteError(f"these processes cannot be killed: {pids}", todo=todo)
        for pid, _ in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= strays
        time.sleep(pause_s)  # they are not our children, so we cannot wait for their end
        pause_s = min(pause_s * 2, 0.1)
    if killed:
        _log.info("killed %d stray processes", len(killed))
    return {pid for pid, _ in killed}


def _find(is_wanted: Callable[[str], bool], group_prefix: str) -> set[tuple[int, int]]:
    marked = {pid for pid, _ in _with_marker(is_wanted)}
    found = descendants(marked | _in_groups(group_prefix) - {os.getpid()}, children_lookup())
    return {(process.pid, process.start_ticks) for process in found if process.pid != os.getpid()}


def _with_marker(is_wanted: Callable[[str], bool]) -> set[tuple[int, int]]:
    marked = (pid for pid in all_pids() if _is_ours(pid) and is_wanted(marker_of(pid) or ""))
    found = (read_process(pid) for pid in marked if pid != os.getpid())
    return {(process.pid, process.start_ticks) for process in found if process and not process.dead}


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _in_groups(group_prefix: str) -> set[int]:
    pids: set[int] = set()
    for own in filter(None, (cgroups.own_directory("memory"), cgroups.own_directory(""))):
        for folder, _, _ in cgroups.owned_folders(own):
            for name in list_folder(folder):
                if name.startswith(group_prefix):
                    pids.update(cgroups.processes_below(f"{folder}/{name}"))
    return pids
