"""`Tree`: one command's process tree, from the request to the end of its last process."""

from __future__ import annotations

import asyncio
import math
import os
import time
from functools import partial
from typing import Protocol

from headway.model.outcome import Ending, Usage
from headway.workers.trees.command import CommandSpec
from headway.workers.trees.disk import directory_bytes
from headway.workers.trees.group import Group, Sample, Totals
from headway.workers.trees.launcher import LeaderEnd
from headway.workers.trees.meter import Meter
from headway.workers.trees.orphans import ReapedProcess
from headway.workers.trees.processes import ChildrenOf, children_lookup, proportional_bytes
from headway.workers.trees.slow_measurements import SlowMeasurements

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_FIRST_LOOK_S = 0.1
_FIRST_DISK_LOOK_S = 0.5  # most commands are over by then and need only the one sample at their end
_RUNAWAY = 1.1  # of its memory limit: a tree that grows this far while it is asked to end is killed at once
_NEWS = 1.02  # a sum of processes must exceed the known peak by this to be worth a slow sample at what they share
_SOON_S, _LATER_S = 0.005, 0.1  # between two looks at a tree that should be ending: at first, and in the end


class Keeper(Protocol):
    """Whoever looks after all trees."""

    sharing: SlowMeasurements
    disks: SlowMeasurements

    def wake(self) -> None:
        """A tree's `due_s` has changed."""

    def collect_orphans(self) -> None:
        """Hand every orphan to its tree."""

    @property
    def has_all_orphans(self) -> bool:
        """Whether the last collecting can have missed none."""

    def finished(self, tree: Tree, *, removed: bool) -> None:
        """Its last process has ended; its group may have to be removed later."""


class Tree:
    """Told by others what happened and what time it is; decides when the tree has to be stopped and when it is over.

    It is over when the first process has ended and no member is left: those that remain are stopped, too, and count.
    `done` is fulfilled then. Times are monotonic seconds.
    """

    def __init__(self, spec: CommandSpec, group: Group, meter: Meter, keeper: Keeper) -> None:
        self.spec = spec
        self.group = group
        self.requested_ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_S
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.due_s = math.inf  # when it wants the next sample
        self.leader: int | None = None
        self.status: int | None = None  # the first process's, when it has ended
        self.launch_error = ""
        self.stopped_for: Ending | None = None
        self.started_s = self.ended_s = 0.0
        self._meter = meter
        self._keeper = keeper
        self._grace_s = spec.grace_s
        self._deadline_s = math.inf
        self._stopping_s: float | None = None  # since when
        self._patience_s = _SOON_S
        self._asked: set[int] = set()  # to end
        self._killing = False
        self._without_leader = False  # it has ended, or never was
        self._totals = Totals()
        self._sharing = keeper.sharing.new(self._see_shared)
        self._disk = keeper.disks.new(self._see_disk)

    # What the launcher tells.

    def started(self, pid: int, at_s: float) -> None:
        """The first process exists."""
        self.leader = pid
        self.started_s = at_s
        self._meter.begin(at_s)
        self.group.set_leader(pid)
        if self.spec.limits.walltime_s is not None:
            self._deadline_s = at_s + self.spec.limits.walltime_s
        self._disk.wait(at_s + _FIRST_DISK_LOOK_S)
        if self._stopping_s is not None:  # that was asked for before there was anything to stop
            self.group.terminate(children_lookup(), self._asked)
            self._set_due(at_s)
        else:
            self._set_due(min(at_s + _FIRST_LOOK_S, self._deadline_s))

    def failed(self, reason: str) -> None:
        """It never became the command."""
        self.launch_error = reason
        self.started_s = self.ended_s = time.monotonic()
        self._leader_ended()

    def ended(self, end: LeaderEnd) -> None:
        """The first process has ended; usually that is all."""
        self.status = end.status
        self.ended_s = end.at_s
        self._meter.add_reaped(end.cpu_s, end.largest_bytes, alone=end.alone)
        self._leader_ended()

    # What becomes of its orphans.

    def reaped(self, remains: ReapedProcess) -> None:
        """One of its orphans has ended; or the first process itself, if the spawner died before it."""
        if remains.pid == self.leader and not self._without_leader:
            self.ended(LeaderEnd(time.monotonic(), *remains[1:], alone=False))
        else:
            self._meter.add_reaped(remains.cpu_s, remains.largest_bytes, alone=False)

    # What the clock brings.

    def sample(self, now_s: float, interval_s: float, children_of: ChildrenOf) -> None:
        """Measure, hold it to its limits, and go on with stopping it if that has begun."""
        sample = self.group.sample(children_of)
        if sample is not None:
            self._meter.add_sample(now_s, sample)
            self._look_closer(now_s, sample)
        if self._stopping_s is None:
            self.due_s = min(now_s + interval_s, self._deadline_s)
            self._hold_to_limits(now_s, sample.held_bytes if sample else 0)
        else:
            self._go_on_stopping(now_s, sample.held_bytes if sample else 0, children_of)

    def stop(self, cause: Ending | None, now_s: float, *, at_once: bool = False) -> None:
        """Ask every member to end, and see to it that they do. The first cause is the one that counts."""
        if self._stopping_s is None:
            self._stopping_s = now_s
            self.stopped_for = cause
            if self.leader is not None:
                self.group.terminate(children_lookup(), self._asked)
        if at_once:
            self._grace_s = 0.0
        if self.leader is not None:
            self._set_due(now_s + (0.0 if at_once else self._patience_s))

    # At the end.

    def usage(self, disk_bytes: int | None) -> Usage:
        """What it used, its directory having been measured once more; nothing if it was never started."""
        if self.launch_error:
            return Usage(method=self.group.method)
        if disk_bytes is not None:
            self._meter.add_disk(disk_bytes)
        limit_bytes = self.spec.limits.memory_bytes
        return self._meter.usage(self.started_s, self.ended_s, self._totals, self.stopped_for, limit_bytes)

    def _look_closer(self, now_s: float, sample: Sample) -> None:
        if self.spec.measured_directory is not None and self._stopping_s is None:
            self._disk.take_if_due(now_s, partial(directory_bytes, self.spec.measured_directory))
        news_bytes = max(self._meter.held_bytes, sample.held_bytes) * _NEWS
        if sample.summed_bytes > min(news_bytes, self.spec.limits.memory_bytes or math.inf) and sample.pids:
            hurry = self._stopping_s is not None
            self._sharing.take_if_due(now_s, partial(proportional_bytes, sample.pids), hurry=hurry)

    def _see_shared(self, held_bytes: int) -> None:
        self._meter.add_held(held_bytes)
        if self._stopping_s is None:
            self._hold_to_limits(time.monotonic(), held_bytes)
        elif self._runs_away(held_bytes):
            self.stop(None, time.monotonic(), at_once=True)

    def _see_disk(self, disk_bytes: int) -> None:
        self._meter.add_disk(disk_bytes)
        if 0 < self.spec.limits.disk_bytes < disk_bytes:
            self.stop(Ending.DISK, time.monotonic())

    def _hold_to_limits(self, now_s: float, held_bytes: int) -> None:
        if 0 < self.spec.limits.memory_bytes < held_bytes or self.group.memory_kills():
            self.stop(Ending.MEMORY, now_s)
        elif now_s >= self._deadline_s:
            self.stop(Ending.TIME, now_s)

    def _runs_away(self, held_bytes: int) -> bool:
        return 0 < self.spec.limits.memory_bytes * _RUNAWAY < held_bytes

    def _go_on_stopping(self, now_s: float, held_bytes: int, children_of: ChildrenOf) -> None:
        if self._without_leader and self._is_empty(children_of):
            self.ended_s = now_s
            self._finish()
            return
        overdue = now_s >= (self._stopping_s or 0.0) + self._grace_s
        if self._killing or overdue or self._runs_away(held_bytes):
            self._killing = True
            self.group.kill(children_of)
        elif self._without_leader:
            # Who came after the others had been asked. As long as the first process lives that may be its way of
            # cleaning up; after its end it is nobody's.
            self.group.terminate(children_of, self._asked)
        self._patience_s = min(self._patience_s * 1.5, _LATER_S)
        self.due_s = now_s + self._patience_s

    def _leader_ended(self) -> None:
        self._without_leader = True
        self.group.set_leader(None)
        self._keeper.collect_orphans()
        if self._is_empty(children_lookup()):
            self._finish()
        else:
            self._stop_the_rest()

    def _is_empty(self, children_of: ChildrenOf) -> bool:
        return self._keeper.has_all_orphans and self.group.is_empty(children_of)

    def _stop_the_rest(self) -> None:
        """The first process has ended; others have not."""
        now_s = time.monotonic()
        if self._stopping_s is None:
            self.stop(None, now_s)
        else:
            self._set_due(now_s)

    def _set_due(self, at_s: float) -> None:
        self.due_s = at_s
        self._keeper.wake()

    def _finish(self) -> None:
        self._totals = self.group.totals()  # before the group is removed
        removed = self.group.remove()
        if not removed and self.group.members(children_lookup()):  # a cgroup knows best
            self._stop_the_rest()
            return
        self.due_s = math.inf
        self._sharing.end()
        self._disk.end()
        if self._totals.memory_kills and self.stopped_for is None:
            self.stopped_for = Ending.MEMORY
        self._keeper.finished(self, removed=removed)
        self.done.set_result(None)
