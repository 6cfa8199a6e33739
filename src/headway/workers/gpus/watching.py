"""`GpuWatch`: what processes use of a node's GPUs; `GpuUse`: what the processes of one attempt did.

A process of its own asks the driver ten times a second and tells the supervisor. It runs from the first attempt with
GPUs on. Memory of a peak between two looks is missed, and what a program keeps for itself after freeing it counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import subprocess
import time
from collections.abc import Callable, Collection

import msgspec
from msgspec import Struct

from headway.model.outcome import Measured, Quality
from headway.workers.gpus.finding import ask_command, has_driver

_FIRST_NAMESPACE = 0xEFFFFFFC  # the number of the machine's own namespace of processes
_DEVICE_FILES = ("/dev/nvidia", "/dev/dxg")  # what a process that uses a GPU has open; the second in WSL
_SILENT_S = 5.0  # without a look for so long, the driver does not answer

_log = logging.getLogger(__name__)


class Look(Struct, frozen=True):
    """One look: memory in bytes and utilisation in GPUs by process, None where the driver does not tell."""

    processes: dict[int, tuple[float | None, float | None]] = {}
    lost: dict[str, str] = {}  # GPUs that do not answer any more, and the driver's words
    trouble: str = ""


class GpuWatch:
    """Follows the looks of another process, for all attempts of a supervisor."""

    def __init__(self, is_used_by: Callable[[int], bool] | None = None) -> None:
        """`is_used_by` tells whether a process of this node really is the one that the driver means."""
        self.uses: set[GpuUse] = set()
        self.lost: dict[str, str] = {}  # by GPU: what is wrong with it, in a sentence
        self._is_used_by = is_used_by or _is_used_by
        self._known: set[int] = set()  # processes that were found to use a GPU
        self._watching: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._looked_s = 0.0
        self._over = False

    def follow(self) -> GpuUse | None:
        """Begin to measure an attempt; None where there is no driver, or it does not work."""
        if self._over or not has_driver():
            return None
        if self._watching is None:
            self._looked_s = time.monotonic()
            self._watching = subprocess.Popen(
                ask_command("watch"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
            if self._watching.stdout is not None:
                os.set_blocking(self._watching.stdout.fileno(), False)
                asyncio.get_running_loop().add_reader(self._watching.stdout.fileno(), self._read)
        use = GpuUse(self)
        self.uses.add(use)
        return use

    def close(self) -> None:
        """Let the other process end; one that a broken driver holds is left alone."""
        watching, self._watching, self._over = self._watching, None, True
        if watching is None or watching.stdin is None or watching.stdout is None:
            return
        asyncio.get_running_loop().remove_reader(watching.stdout.fileno())
        watching.stdout.close()
        watching.stdin.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            watching.wait(1.0)
            return
        watching.kill()

    @property
    def answers(self) -> bool:
        """Whether the driver has answered lately; otherwise it is said once that nothing is measured."""
        if self._over:
            return False
        if time.monotonic() - self._looked_s > _SILENT_S:
            _log.warning("the driver of NVIDIA's GPUs does not answer: what tasks use of them is not measured")
            self.close()
        return not self._over

    def belongs(self, pid: int) -> bool:
        """Whether a process that the driver names is the one that has this number here."""
        if pid not in self._known and self._is_used_by(pid):
            self._known.add(pid)
        return pid in self._known

    def see(self, look: Look) -> None:
        """Tell all attempts of a look."""
        self._looked_s = time.monotonic()
        self._known &= look.processes.keys()
        for gpu, words in look.lost.items():
            if gpu not in self.lost:
                self.lost[gpu] = f"GPU {gpu} of this node does not answer any more: {words}"
                _log.warning("%s", self.lost[gpu])
        ours = {pid for use in self.uses for pid in use.pids if pid in look.processes and self.belongs(pid)}
        strangers = not _numbers_agree() and bool(look.processes.keys() - ours)
        for use in self.uses:
            use.see(look, ours, strangers=strangers)

    def _read(self) -> None:
        if self._watching is None or self._watching.stdout is None:
            return
        read = b""
        with contextlib.suppress(BlockingIOError):
            read = os.read(self._watching.stdout.fileno(), 1 << 20)
            if not read:
                self.close()
                return
        *lines, self._unread = (self._unread + read).split(b"\n")
        for line in lines:
            look = msgspec.json.decode(line, type=Look)
            if look.trouble:
                _log.warning("%s", look.trouble)
                self.close()
                return
            self.see(look)


class GpuUse:
    """What the processes of one attempt used of GPUs, from the first look to the last."""

    def __init__(self, watch: GpuWatch) -> None:
        self.pids: Collection[int] = ()  # its processes, when it was last sampled
        self._watch = watch
        self._peak_bytes: float | None = 0
        self._looks = 0
        self._busy: float | None = 0.0  # the sum over all looks
        self._seen = False
        self._strangers = False  # the driver named processes that are none of ours; perhaps they are, by other numbers

    def see(self, look: Look, ours: Collection[int], *, strangers: bool) -> None:
        """Take note of a look."""
        self._looks += 1
        self._strangers |= strangers
        mine = [look.processes[pid] for pid in self.pids if pid in ours]
        self._seen |= bool(mine)
        held = [memory for memory, _ in mine]
        busy = [share for _, share in mine]
        known = [memory for memory in held if memory is not None]
        if self._peak_bytes is not None:
            self._peak_bytes = max(self._peak_bytes, sum(known)) if len(known) == len(held) else None
        shares = [share for share in busy if share is not None]
        if self._busy is not None:
            self._busy = self._busy + sum(shares) if shares or not busy else None

    def end(self) -> tuple[Measured | None, Measured | None]:
        """The peak of memory and the average number of busy GPUs; None where nothing certain is known."""
        self._watch.uses.discard(self)
        if not self._looks or not self._watch.answers or (self._strangers and not self._seen):
            return None, None
        memory, busy = self._peak_bytes, self._busy
        return (
            None if memory is None else Measured(memory, Quality.SAMPLED),
            None if busy is None else Measured(round(busy / self._looks, 4), Quality.SAMPLED),
        )


def _numbers_agree() -> bool:
    """Whether processes have the numbers here that the driver knows: not so in a container."""
    return os.stat("/proc/self/ns/pid").st_ino == _FIRST_NAMESPACE


def _is_used_by(pid: int) -> bool:
    """Whether a process is the one that the driver names: in a container another may have its number."""
    if _numbers_agree():
        return True
    try:
        links = [os.readlink(entry.path) for entry in os.scandir(f"/proc/{pid}/fd")]
    except OSError:
        return False
    return any(name in link for link in links for name in _DEVICE_FILES)
