"""Strays: processes that are left of attempts whose supervisor has died."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import time
from collections.abc import Callable, Iterable
from functools import partial

from headway.model.errors import SiteError
from headway.workers.trees import cgroups
from headway.workers.trees.processes import (
    all_pids,
    children_lookup,
    descendants,
    is_witness,
    list_folder,
    marker_of,
    read_process,
)

_KILL_WITHIN_S = 60.0
_SHORT_PAUSE_S = 0.001

_log = logging.getLogger(__name__)


def kill_strays(marker_prefix: str) -> int:
    """Kill this user's processes of all attempts whose keys have this prefix; return how many there were.

    They are found by the marker in their environment, with all their descendants, and by the cgroups of the attempts.
    Returns when none is left, and all witnesses have noted how their commands ended. The spawner, whose marker is the
    prefix itself, goes first.
    """
    if not marker_prefix:
        raise ValueError("an empty prefix would kill every attempt on this machine")
    kill_forked(marker_prefix)
    find = partial(_find, partial(_is_key, marker_prefix), cgroups.name_prefix(marker_prefix), marker_prefix)
    killed = _kill(find)
    give_up_s = time.monotonic() + _KILL_WITHIN_S
    while (left := witnesses(marker_prefix)) and time.monotonic() < give_up_s:
        wake(left)
        killed |= _kill(find)  # a witness may not have started its command before
        time.sleep(_SHORT_PAUSE_S)
    _kill(partial(_with_marker, lambda marker: marker == marker_prefix))  # witnesses that hang
    return len(killed)


def _is_key(prefix: str, marker: str) -> bool:
    return marker.startswith(prefix) and marker != prefix


def kill_attempt(key: str, marker: str) -> set[int]:
    """Kill the processes of one attempt; return which they were. Its witness then notes that, and ends.

    `marker` is that of the spawner which started it.
    """
    return _kill(partial(_find, lambda other: other == key, cgroups.attempt_name(key), marker))


def kill_forked(marker: str) -> None:
    """Kill the spawner with this marker, and what it has forked that is no witness yet."""
    _kill(lambda: {it for it in _with_marker(lambda other: other == marker) if not is_witness(it[0], marker)})


def witnesses(marker: str) -> set[int]:
    """Return the witnesses that a spawner with this marker has made and that still wait for their commands."""
    return {pid for pid, _ in _with_marker(lambda other: other == marker) if is_witness(pid, marker)}


def wake(pids: Iterable[int]) -> None:
    """Let witnesses or their spawner go on, which a command may have stopped by a signal."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def _kill(find: Callable[[], set[tuple[int, int]]]) -> set[int]:
    """Kill processes until none is found. All are stopped first: none may go on since another one was killed."""
    killed: set[tuple[int, int]] = set()
    give_up_s = time.monotonic() + _KILL_WITHIN_S
    pause_s = _SHORT_PAUSE_S
    while strays := find():
        if time.monotonic() > give_up_s:
            pids = ", ".join(str(pid) for pid, _ in sorted(strays))
            todo = "they hang in the kernel: ask the administrators of this machine"
            raise SiteError(f"these processes cannot be killed: {pids}", todo=todo)
        number = signal.SIGSTOP if strays - killed else signal.SIGKILL
        for pid, _ in strays:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        killed |= strays
        if number == signal.SIGKILL:
            time.sleep(pause_s)  # they are not our children, so we cannot wait for their end
            pause_s = min(pause_s * 2, 0.1)
    if killed:
        _log.info("killed %d stray processes", len(killed))
    return {pid for pid, _ in killed}


def _find(is_wanted: Callable[[str], bool], group_prefix: str, marker: str) -> set[tuple[int, int]]:
    marked = {pid for pid, _ in _with_marker(is_wanted)}
    found = descendants(marked | _in_groups(group_prefix) - {os.getpid()}, children_lookup())
    return {(it.pid, it.start_ticks) for it in found if it.pid != os.getpid() and not is_witness(it.pid, marker)}


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
