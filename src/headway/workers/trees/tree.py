"""`Tree`: the process tree of one command, from the request to the end of its last process; `Rounds` samples them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import math
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from msgspec import Struct, structs

from headway.model.outcome import Ending, Measured, Quality, Usage
from headway.model.resources import Resources
from headway.workers.gpus.watching import GpuWatch
from headway.workers.trees.end_note import NotedEnd, read_end, void_end
from headway.workers.trees.group import Group, Sample, Totals
from headway.workers.trees.meter import Meter
from headway.workers.trees.orphans import Orphans
from headway.workers.trees.processes import ChildrenOf, children_lookup, proportional_bytes, read_process
from headway.workers.trees.slow_measurements import SlowMeasurement, SlowMeasurements, directory_bytes
from headway.workers.trees.strays import wake, witnesses

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_FIRST_SAMPLE_S = 0.1
_FIRST_DISK_S = 0.5  # most commands end before and are measured only once, at their end
_RUNAWAY = 1.1  # a tree that exceeds this multiple of its memory limit while it is asked to end is killed at once
_NEW_PEAK = 1.02  # shared memory is measured, which is slow, if the sum exceeds this multiple of the known peak
_SHORT_PAUSE_S, _LONG_PAUSE_S = 0.005, 0.1  # between two samples of a tree that is being stopped: first and longest
_SHORTEST_INTERVAL_S = 0.1  # between two samples of a tree
_STOPPED_S = 3.0  # if a sample is later than this, this process and its trees were stopped: their job was suspended
_LONGEST_INTERVAL_S = 0.4  # so that a peak that lasts half a second is seen
_SAMPLING_SHARE = 0.05  # of one core, which sampling may use unless the interval would exceed _LONGEST_INTERVAL_S
_DISK_INTERVAL_S = 0.5
_START_WITHIN_S = 1.0  # after this time, witnesses are woken: the command may have stopped its own at once
_TELL_WITHIN_S = 60.0  # the longest that a witness takes to tell of an end
_THREADS = 8  # for the slow measurements of all trees, which mostly wait for the kernel

_log = logging.getLogger(__name__)


class CommandSpec(Struct, frozen=True):
    """A command to run."""

    key: str  # unique, e.g. "r1/count[aa]/2"; its processes have HEADWAY_ATTEMPT=<key> in their environment
    argv: list[str]
    environment: dict[str, str]  # added to this process's own
    directory: str  # its working directory
    stdout: str  # files, overwritten; stdin is /dev/null
    stderr: str
    limits: Resources  # memory_bytes and disk_bytes 0: no limit; walltime_s None: no limit; cores are not enforced
    measured_directory: str | None = None  # the directory that its disk limit applies to
    grace_s: float = 5.0  # between SIGTERM and SIGKILL
    elsewhere: bool = False  # it has processes that it does not start itself: those of a container
    held_bytes: int = 0  # the memory that is held for it, where its limit is higher
    node_bytes: int = 0  # the memory that all commands may use together; 0: no limit
    without: tuple[str, ...] = ()  # variables of this process's environment that it must not have
    uses_gpus: bool = False  # what it uses of GPUs is measured
    end_file: str = ""  # an empty file, whose name tells later how the first process ended (`end_note`)


class CommandEnd(Struct, frozen=True):
    """How a command ended. Times are seconds since the epoch."""

    started_at: float
    ended_at: float
    usage: Usage
    exit_code: int | None = None
    signal: int | None = None
    stopped_for: Ending | None = None  # MEMORY, TIME, DISK or CANCELLED, however its processes reacted
    launch_error: str = ""  # why it could not be started
    launch_errno: int = 0  # the system's number for that, if it has one
    lost: bool = False  # the process that started it has died, and with it the news of its end


class Tree:
    """Decides when the tree must be stopped and when it is over. It gets events and the time from its callers.

    The tree is over, and `done` is set, when its last process has ended. When the first process ends, the others are
    stopped; what they use still counts. Times are monotonic seconds.
    """

    def __init__(self, spec: CommandSpec, group: Group, meter: Meter, rounds: Rounds) -> None:
        self.spec = spec
        self.group = group
        self.requested_ticks = time.clock_gettime(time.CLOCK_BOOTTIME) * _TICKS_PER_S
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.due_s = time.monotonic() + _START_WITHIN_S  # when its next sample is due
        self.leader: int | None = None  # the first process
        self.witness: int | None = None  # the process that waits for its end (`spawner`)
        self.status: int | None = None  # wait status of the first process
        self.launch_error = ""
        self.launch_errno = 0
        self.is_lost = False
        self.stopped_for: Ending | None = None
        self.started_s = self.ended_s = 0.0
        self.held_bytes = 0  # the memory that it used when it was last sampled
        self._meter = meter
        self._rounds = rounds
        self._grace_s = spec.grace_s
        self._deadline_s = math.inf
        self._stopping_s: float | None = None  # since when it is being stopped
        self._suspended_s = 0.0  # how long it could not run
        self._pause_s = _SHORT_PAUSE_S
        self._asked: set[int] = set()  # processes that got SIGTERM
        self._killing = False
        self._without_leader = False  # the first process has ended, or was never started
        self._untold_s: float | None = None  # since when its end should have been told
        self._totals = Totals()
        self._sharing = SlowMeasurement(rounds.sharing, self._see_shared)
        self._disk = SlowMeasurement(rounds.disks, self._see_disk)
        self._gpus = rounds.gpus.follow() if spec.uses_gpus else None

    @property
    def awaits_start(self) -> bool:
        """Whether it is not known yet if the first process was started."""
        return self.leader is None and not self._without_leader

    @property
    def is_stopping(self) -> bool:
        """Whether its processes have been told to end."""
        return self._stopping_s is not None

    # Replies of the spawner

    def started(self, pid: int, at_s: float, witness: int | None) -> None:
        """Note the start of the first process, and which process will note its end, unless that was killed."""
        self.leader = pid
        self.witness = witness
        self.started_s = at_s
        self._meter.begin(at_s)
        self.group.set_leader(pid)
        if self.spec.limits.walltime_s is not None:
            self._deadline_s = at_s + self.spec.limits.walltime_s
        self._disk.wait(at_s + _FIRST_DISK_S)
        if self._stopping_s is not None:  # `stop` was called before the first process existed
            self.group.terminate(children_lookup(), self._asked)
            self._set_due(at_s)
        else:
            self._set_due(min(at_s + _FIRST_SAMPLE_S, self._deadline_s))

    def failed(self, reason: str, number: int) -> None:
        """Note that the command could not be executed."""
        self.launch_error = reason
        self.launch_errno = number
        self.started_s = self.ended_s = time.monotonic()
        self._leader_ended()

    def lost(self) -> None:
        """Note that nothing is known of the command's end, if it was started at all. All its processes are dead."""
        self.is_lost = True
        self.ended_s = time.monotonic()
        self.started_s = self.started_s or self.ended_s
        self._leader_ended()

    def ended(self, at_s: float, status: int, cpu_s: float, largest_bytes: int, alone: bool) -> None:
        """Note the end of the first process; usually the tree is over then.

        Its usage includes all descendants that were waited for; it is `alone` if it never waited for a child.
        """
        if at_s > time.monotonic() - _STOPPED_S / 2:  # otherwise it ran on while this process did not
            self._rounds.notice_suspension()
        self.status = status
        self.ended_s = at_s
        self._meter.add_reaped(cpu_s, largest_bytes, alone=alone)
        self._leader_ended()

    def ended_unseen(self, end: NotedEnd) -> None:
        """Note the end of a first process that was reaped by a spawner which died before it could report it."""
        since_boot_s = time.monotonic() - time.time()
        self.started_s = end.started_at + since_boot_s
        if self.leader is None:
            self._meter.begin(self.started_s)
        self.ended(end.ended_at + since_boot_s, end.status, end.cpu_s, largest_bytes=0, alone=False)

    # Orphans

    def witness_ended(self) -> None:
        """Note the end of its witness before it told of an end: that was noted, or the first process is our child."""
        if self._without_leader:
            return
        if (end := read_end(self.spec.end_file)) is not None:
            self.ended_unseen(end)
        elif self.leader is None or not _has_parent(self.leader, os.getpid()):  # it was stopped, or its folder is gone
            self.lost()

    def reaped(self, pid: int, status: int, cpu_s: float, largest_bytes: int) -> None:
        """Note the end of an orphan, or of the first process if its witness died before it."""
        if pid == self.leader and not self._without_leader:
            self.ended(time.monotonic(), status, cpu_s, largest_bytes, alone=False)
        else:
            self._meter.add_reaped(cpu_s, largest_bytes, alone=False)

    # Samples and limits

    def sample(self, now_s: float, interval_s: float, children_of: ChildrenOf) -> None:
        """Measure the tree and enforce its limits; if it is being stopped, continue with that."""
        if self.awaits_start:
            self.due_s = now_s + _START_WITHIN_S
            return
        self._hurry_witness(now_s)
        sample = self.group.sample(children_of)
        self.held_bytes = sample.held_bytes if sample else 0
        if self._gpus is not None:
            self._gpus.pids = self.group.members(children_of)
        if sample is not None:
            self._meter.add_sample(now_s, sample)
            self._measure_slowly(now_s, sample)
        if self._stopping_s is None:
            self.due_s = min(now_s + interval_s, self._deadline_s)
            self._enforce_limits(now_s, sample.held_bytes if sample else 0)
        else:
            self._continue_stopping(now_s, sample.held_bytes if sample else 0, children_of)

    def was_suspended(self, for_s: float) -> None:
        """Note that its processes were stopped for some time, which counts neither as run time nor for its limits."""
        self._suspended_s += for_s
        self._deadline_s += for_s
        if self._untold_s is not None:
            self._untold_s += for_s
        if self._stopping_s is not None:
            self._stopping_s += for_s

    def stop(self, cause: Ending | None, now_s: float, *, at_once: bool = False) -> None:
        """Stop all processes: SIGTERM now, SIGKILL after the grace time. If called again, the first cause stands."""
        if self._stopping_s is None:
            _log.info("%s: stopping, cause: %s", self.spec.key, cause.value if cause else "its first process ended")
            self._stopping_s = now_s
            self.stopped_for = cause
            if cause is not None:
                void_end(self.spec.end_file)
            if self.leader is not None:
                self.group.terminate(children_lookup(), self._asked)
        if at_once:
            self._grace_s = 0.0
        if self.leader is not None:
            self._set_due(now_s + (0.0 if at_once else self._pause_s))

    # The end

    def end(self, disk_bytes: int | None) -> CommandEnd:
        """Return how the command ended and what it used, given the final size of its directory."""
        usage = Usage(method=self.group.method)  # empty if it was never started
        if not self.launch_error:
            if disk_bytes is not None:
                self._meter.add_disk(disk_bytes)
            limit_bytes = self.spec.limits.memory_bytes
            started_s = self.started_s + self._suspended_s
            usage = self._meter.usage(started_s, self.ended_s, self._totals, self.stopped_for, limit_bytes)
            usage = self._with_gpus(usage)
        started_at = time.time() - (time.monotonic() - self.started_s)
        status = self.status
        return CommandEnd(
            started_at=started_at,
            ended_at=started_at + (self.ended_s - self.started_s),
            usage=usage,
            exit_code=os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
            signal=os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            stopped_for=self.stopped_for,
            launch_error=self.launch_error,
            launch_errno=self.launch_errno,
            lost=self.is_lost,
        )

    def _with_gpus(self, usage: Usage) -> Usage:
        memory, busy = self._gpus.end() if self._gpus is not None else (None, None)
        if memory is not None and self.stopped_for is not None:
            memory = Measured(memory.value, Quality.LOWER_BOUND)
        return structs.replace(usage, gpu_memory_bytes=memory, gpus_average=busy)

    def _hurry_witness(self, now_s: float) -> None:
        """Let a witness tell of an end: wake it and the spawner, which the command may have stopped by a signal.

        A witness that still does not tell is killed: the first process is our child then.
        """
        leader = None if self.leader is None else read_process(self.leader)
        if self.leader is None or self._without_leader or (leader is not None and not leader.dead):
            return
        if self._untold_s is None:
            self._untold_s = now_s
        wake({self._rounds.spawner_pid} - {0})
        if leader is not None and leader.parent == self.witness:
            wake({leader.parent})
            if now_s - self._untold_s > _TELL_WITHIN_S:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(leader.parent, signal.SIGKILL)

    def _measure_slowly(self, now_s: float, sample: Sample) -> None:
        if self.spec.measured_directory is not None and self._stopping_s is None:
            self._disk.take_if_due(now_s, partial(directory_bytes, self.spec.measured_directory))
        new_peak_bytes = max(self._meter.held_bytes, sample.held_bytes) * _NEW_PEAK
        if sample.summed_bytes > min(new_peak_bytes, self.spec.limits.memory_bytes or math.inf) and sample.pids:
            hurry = self._stopping_s is not None
            self._sharing.take_if_due(now_s, partial(proportional_bytes, sample.pids), hurry=hurry)

    def _see_shared(self, held_bytes: int) -> None:
        self._meter.add_held(held_bytes)
        if self._stopping_s is None:
            self._enforce_limits(time.monotonic(), held_bytes)
        elif self._is_runaway(held_bytes):
            self.stop(None, time.monotonic(), at_once=True)

    def _see_disk(self, disk_bytes: int) -> None:
        self._meter.add_disk(disk_bytes)
        if 0 < self.spec.limits.disk_bytes < disk_bytes:
            self.stop(Ending.DISK, time.monotonic())

    def _enforce_limits(self, now_s: float, held_bytes: int) -> None:
        if 0 < self.spec.limits.memory_bytes < held_bytes or self.group.memory_kills():
            self.stop(Ending.MEMORY, now_s)
        elif now_s >= self._deadline_s:
            self.stop(Ending.TIME, now_s)

    def _is_runaway(self, held_bytes: int) -> bool:
        return 0 < self.spec.limits.memory_bytes * _RUNAWAY < held_bytes

    def _continue_stopping(self, now_s: float, held_bytes: int, children_of: ChildrenOf) -> None:
        if self._without_leader and self._is_empty(children_of):
            self.ended_s = now_s
            self._finish()
            return
        overdue = now_s >= (self._stopping_s or 0.0) + self._grace_s
        if self._killing or overdue or self._is_runaway(held_bytes):
            self._killing = True
            self.group.kill(children_of)
        elif self._without_leader:
            # Processes started after the first SIGTERM. While the first process lives, they may be a part of its
            # cleaning up; after its end they are stopped, too.
            self.group.terminate(children_of, self._asked)
        self._pause_s = min(self._pause_s * 1.5, _LONG_PAUSE_S)
        self.due_s = now_s + self._pause_s

    def _leader_ended(self) -> None:
        self._without_leader = True
        self.group.set_leader(None)
        self._rounds.collect_orphans()
        if self._is_empty(children_lookup()):
            self._finish()
        else:
            self._stop_the_rest()

    def _is_empty(self, children_of: ChildrenOf) -> bool:
        return self._rounds.orphans.seen_all and self.group.is_empty(children_of)

    def _stop_the_rest(self) -> None:
        """Stop the processes that are left after the end of the first one."""
        now_s = time.monotonic()
        if self._stopping_s is None:
            self.stop(None, now_s)
        else:
            self._set_due(now_s)

    def _set_due(self, at_s: float) -> None:
        self.due_s = at_s
        self._rounds.wake()

    def _finish(self) -> None:
        self._totals = self.group.totals()  # before the group is removed
        removed = self.group.remove()
        if not removed and self.group.members(children_lookup()):  # the cgroup still has processes
            self._stop_the_rest()
            return
        self.due_s = math.inf
        self._sharing.end()
        self._disk.end()
        if self._totals.memory_kills and self.stopped_for is None:
            self.stopped_for = Ending.MEMORY
        self._rounds.finished(self, removed=removed)
        self.done.set_result(None)


def _has_parent(pid: int, parent: int) -> bool:
    process = read_process(pid)
    return process is not None and process.parent == parent


class Rounds:
    """Owns the running trees, their orphans, and the groups that could not be removed at once."""

    def __init__(self, marker: str) -> None:
        """`marker` is in the environment of the spawners and their witnesses."""
        self._marker = marker
        self._loop = asyncio.get_running_loop()
        self._pool = ThreadPoolExecutor(_THREADS, thread_name_prefix="headway-measure")
        self.sharing = SlowMeasurements(self._pool, least_interval_s=_SHORTEST_INTERVAL_S)
        self.disks = SlowMeasurements(self._pool, least_interval_s=_DISK_INTERVAL_S)
        self.gpus = GpuWatch()
        self.trees: dict[str, Tree] = {}
        self.spawner_pid = 0
        self.orphans = Orphans(marker)
        self._unremoved: list[Group] = []
        self._timer: asyncio.TimerHandle | None = None
        self._interval_s = _SHORTEST_INTERVAL_S
        self._resumed_s = -math.inf  # when this process was last found to have been stopped

    def wake(self) -> None:
        """Set the timer to the earliest time at which a tree is due, or an orphan may have to be reaped."""
        due_s = min((tree.due_s for tree in self.trees.values()), default=math.inf)
        if due_s == math.inf:
            if not self.orphans.left:
                return
            due_s = self._loop.time() + self._interval_s
        if self._timer is not None:
            if self._timer.when() <= due_s:
                return
            self._timer.cancel()
        self._timer = self._loop.call_at(due_s, self._round)

    def notice_suspension(self) -> None:
        """Tell the trees how long this process could not run, if it was stopped since the last round."""
        if self._timer is None:
            return
        now_s = self._loop.time()
        late_s = now_s - max(self._timer.when(), self._resumed_s)
        if late_s > _STOPPED_S:
            _log.info("stopped for %.1f s, with its tasks", late_s)
            self._resumed_s = now_s
            for tree in self.trees.values():
                tree.was_suspended(late_s)

    def collect_orphans(self) -> None:
        """Assign every orphan to its tree and reap the dead ones."""
        self.orphans.collect(self.trees.values(), self.spawner_pid)

    def finished(self, tree: Tree, *, removed: bool) -> None:
        """Drop a tree whose last process has ended; its group is removed later if it is not `removed` yet."""
        del self.trees[tree.spec.key]
        if not removed:
            self._unremoved.append(tree.group)
        self.wake()

    async def close(self) -> None:
        """Kill all running trees and return when all their processes have ended."""
        now_s = self._loop.time()
        waiting = [tree.done for tree in self.trees.values()]
        for tree in list(self.trees.values()):
            tree.stop(Ending.CANCELLED, now_s, at_once=True)
        await asyncio.gather(*waiting)
        self.collect_orphans()
        while self.orphans.left or not self._remove_groups():
            await asyncio.sleep(0.005)
            self.collect_orphans()
        if self._timer is not None:
            self._timer.cancel()
        self.gpus.close()
        self._pool.shutdown(wait=False)

    def _round(self) -> None:
        self.notice_suspension()
        self._timer = None
        now_s = self._loop.time()
        began_s = time.thread_time()
        self.collect_orphans()
        children = children_lookup()
        # Trees that are nearly due are sampled now, so that all trees share one timer.
        due = [tree for tree in self.trees.values() if tree.due_s <= now_s + self._interval_s / 4]
        if any(tree.awaits_start for tree in due):
            wake({self.spawner_pid, *witnesses(self._marker)} - {0})
        for tree in due:
            tree.sample(now_s, self._interval_s, children)
        self._protect_node(now_s)
        self._remove_groups()
        cost_s = time.thread_time() - began_s
        self._interval_s = min(max(_SHORTEST_INTERVAL_S, cost_s / _SAMPLING_SHARE), _LONGEST_INTERVAL_S)
        _log.debug("sampled %d of %d trees in %.4f s of CPU time", len(due), len(self.trees), cost_s)
        self.wake()

    def _protect_node(self, now_s: float) -> None:
        """If all trees together use more memory than they may, stop the one that most exceeds what is held for it."""
        trees = self.trees.values()
        node_bytes = max((tree.spec.node_bytes for tree in trees), default=0)
        if not 0 < node_bytes < sum(tree.held_bytes for tree in trees) or any(tree.is_stopping for tree in trees):
            return
        borrowed = {tree: tree.held_bytes - tree.spec.held_bytes for tree in trees if tree.spec.held_bytes}
        most = max(borrowed, key=lambda tree: borrowed[tree])
        if borrowed[most] > 0:
            most.stop(Ending.MEMORY, now_s)

    def _remove_groups(self) -> bool:
        self._unremoved = [group for group in self._unremoved if not group.remove()]
        return not self._unremoved
