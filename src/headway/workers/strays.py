"""Strays: processes of attempts whose supervisor has died."""

from __future__ import annotations

import contextlib
import os
import signal
import time

from headway.model.errors import SiteError
from headway.workers import cgroups
from headway.workers.processes import all_pids, descendants, kin, marker_of

_PATIENCE_S = 60.0


def kill_strays(marker_prefix: str) -> int:
    """Kill this user's processes of all attempts whose key begins with `marker_prefix`; returns how many there were.

    Found by their environment, with all their descendants, and by the cgroups of those attempts. Returns when none is
    left.
    """
    if not marker_prefix:
        raise ValueError("an empty prefix would kill every attempt on this machine")
    killed: set[tuple[int, int]] = set()
    give_up_s = time.monotonic() + _PATIENCE_S
    pause_s = 0.001
    while strays := _find(marker_prefix):
        if time.monotonic() > give_up_s:
            pids = ", ".join(str(pid) for pid, _ in sorted(strays))
            raise SiteError(f"processes {pids} of {marker_prefix} cannot be killed", todo="they hang in the kernel")
        for pid, _ in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed |= strays
        time.sleep(pause_s)  # the dying need a moment; and no signal tells of the end of others' children
        pause_s = min(pause_s * 2, 0.1)
    return len(killed)


def _find(marker_prefix: str) -> set[tuple[int, int]]:
    marked = [pid for pid in all_pids() if _is_ours(pid) and (marker_of(pid) or "").startswith(marker_prefix)]
    roots = set(marked) | set(_in_cgroups(marker_prefix))
    roots.discard(os.getpid())
    found = descendants(roots, kin())
    return {(process.pid, process.start_ticks) for process in found if process.pid != os.getpid()}


def _is_ours(pid: int) -> bool:
    try:
        return os.stat(f"/proc/{pid}").st_uid == os.geteuid()
    except OSError:
        return False


def _in_cgroups(marker_prefix: str) -> list[int]:
    pids = []
    for own in filter(None, (cgroups.own_directory("memory"), cgroups.own_directory(""))):
        for folder, _, _ in cgroups.owned_folders(own):
            for group in cgroups.groups_in(folder, marker_prefix):
                pids += cgroups.processes_below(group)
    return pids
