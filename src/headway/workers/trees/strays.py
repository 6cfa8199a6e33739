"""Strays: processes of attempts whose supervisor has died."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable

from headway.model.errors import SiteError
from headway.workers.trees import cgroups
from headway.workers.trees.processes import all_pids, children_lookup, descendants, marker_of

_PATIENCE_S = 60.0


def kill_strays(marker_prefix: str) -> int:
    """Kill this user's processes of all attempts whose key begins with `marker_prefix`; returns how many there were.

    They are found by their environment, with all their descendants, and by their attempts' cgroups. Returns when none
    is left.
    """
    if not marker_prefix:
        raise ValueError("an empty prefix would kill every attempt on this machine")
    return _kill(lambda key: key.startswith(marker_prefix), cgroups.name_beginning(marker_prefix))


def kill_attempt(key: str) -> int:
    """The same for one attempt."""
    return _kill(lambda other: other == key, cgroups.attempt_name(key))


def _kill(is_meant: Callable[[str], bool], group_beginning: str) -> int:
    killed: set[tuple[int, int]] = set()
    give_up_s = time.monotonic() + _PATIENCE_S
    pause_s = 0.001
    while strays := _find(is_meant, group_beginning):
        if time.monotonic() > give_up_s:
            pids = ", ".join(str(pid) for pid, _ in sorted(strays))
            raise SiteError(f"these processes cannot be killed: {pids}", todo="they hang in the kernel, ask the site")
        for pid, _ in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= strays
        time.sleep(pause_s)  # the dying need a moment, and nothing tells of the end of others' children
        pause_s = min(pause_s * 2, 0.1)
    return len(killed)


def _find(is_meant: Callable[[str], bool], group_beginning: str) -> set[tuple[int, int]]:
    marked = {pid for pid in all_pids() if _is_ours(pid) and is_meant(marker_of(pid) or "")}
    found = descendants((marked | _in_groups(group_beginning)) - {os.getpid()}, children_lookup())
    return {(process.pid, process.start_ticks) for process in found if process.pid != os.getpid()}


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _in_groups(group_beginning: str) -> set[int]:
    pids: set[int] = set()
    for own in filter(None, (cgroups.own_directory("memory"), cgroups.own_directory(""))):
        for folder, _, _ in cgroups.owned_folders(own):
            for group in cgroups.folders_in(folder, group_beginning):
                pids.update(cgroups.processes_below(group))
    return pids
